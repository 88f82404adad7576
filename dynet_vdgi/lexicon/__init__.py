"""Knowledge about words beyond a treebank: vectors and Brown clusters."""
