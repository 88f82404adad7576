"""A parser for languages without trees, learnt from the trees of many others by tags and features."""
