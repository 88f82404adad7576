"""What the page learns from the changes of its users."""
