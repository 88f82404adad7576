"""A parser for languages without trees, learnt from many others' trees by tags and features."""
