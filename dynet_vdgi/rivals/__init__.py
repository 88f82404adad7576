"""Teachers of other authors, made again for comparison; the rest of the package knows their names only."""
