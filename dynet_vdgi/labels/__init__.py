"""Relations (DEPREL) of trees: from a table that people can edit, and from trees that have them."""
