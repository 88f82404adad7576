"""Scores of predicted trees."""
