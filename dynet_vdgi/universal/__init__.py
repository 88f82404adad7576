"""A parser learnt from the trees of many languages, for a language without trees: tags, features, punctuation."""
