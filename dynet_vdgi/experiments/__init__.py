"""Grids of experiments, treebanks x systems x seeds, and the tables made of their results."""
