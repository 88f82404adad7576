"""Parts for one annotation scheme: tags of the Penn Treebank, and the heads that Penn2Malt gives its trees.

Function words are heads there, and the last conjunct is. Only the table `wsj-best` uses these parts, and they
were written with trees of the Wall Street Journal in view; tables for Universal Dependencies have no use for
them.
"""
