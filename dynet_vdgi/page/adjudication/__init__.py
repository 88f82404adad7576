"""Two annotations of one text made into a third, on a page."""
