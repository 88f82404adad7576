"""From texts and trees to a model file: reading, teaching, learning, saving."""
