"""Learners that sum over whole trees, exactly; parsers that run in linear time learn from them."""
