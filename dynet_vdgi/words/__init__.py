"""From raw text to words with tags: tokeniser and tagger."""
