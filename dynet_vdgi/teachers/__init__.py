"""Learners that sum exactly over whole trees; linear-time parsers learn from them."""
