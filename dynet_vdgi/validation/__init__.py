"""UD's rules for treebanks: levels 1 and 2 of one sentence, and UD's own program."""
