"""What the page learns from its annotators."""
