"""A treebank in UD's form: the files of a release, made of annotated files,
which stay as they are."""
