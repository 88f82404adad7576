"""Sentences, tokens and words of raw text, learnt from CoNLL-U."""
