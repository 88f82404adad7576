"""Drawings of trees, from plain columns of words: in a terminal and as SVG."""
