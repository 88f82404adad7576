"""The text that the page annotates, and the changes of it."""
