"""Parsers that learn nothing: the bar for every trained model."""
