"""From text to trees with a trained model."""
