"""Fast parsers that learn from the trees of a teacher."""
