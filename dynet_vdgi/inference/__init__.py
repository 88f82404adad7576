"""Exact sums and maxima over projective trees, and the transition system of linear-time parsers."""
