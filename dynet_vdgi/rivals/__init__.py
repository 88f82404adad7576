"""Reimplemented teachers of other authors, for comparison; other packages know only their names."""
