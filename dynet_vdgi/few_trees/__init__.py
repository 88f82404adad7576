"""Parsers that learn from a few gold trees, and the fast student that learns from the trees of
another parser."""
