"""What the page learns from what people say in it."""
