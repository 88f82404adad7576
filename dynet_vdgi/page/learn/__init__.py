"""What the page learns from what is said in it."""
