"""Reading and preparing treebanks; nothing here imports DyNet."""
