"""Recipes: from texts and trees to a model file. Each trains one kind of parser, see
`training.recipe`."""
