"""Knowledge of words beyond a treebank: word vectors and Brown clusters."""
