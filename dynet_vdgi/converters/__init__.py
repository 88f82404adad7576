"""Readers of other programs' files: tables of words, and interlinear text from the field."""
