"""Features of words as numbers, which parsers and the labeller hash alike."""
