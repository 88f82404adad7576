"""Relations (DEPREL) of trees: from an editable table, and learnt from trees with relations."""
