"""Parts for one annotation scheme: tags of the Penn Treebank, and the heads that Penn2Malt assigns.

Function words are heads in this scheme, and so is the last conjunct. Only the table `wsj-best` uses these
parts, which were written with trees of the Wall Street Journal in view; tables for Universal Dependencies
have no use for them.
"""
