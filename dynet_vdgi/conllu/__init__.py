"""Sentences, and reading and writing them: CoNLL-U, raw text, the Penn Treebank. No DyNet."""
