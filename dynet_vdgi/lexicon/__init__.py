"""What is known of words beyond a treebank: vectors and Brown clusters."""
