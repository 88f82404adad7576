"""Learning the universal parser from treebanks; parsing needs nothing of it."""
