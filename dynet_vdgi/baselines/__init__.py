"""Parsers that learn nothing, which every trained model must beat."""
