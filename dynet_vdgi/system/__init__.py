"""Messages, bounds, processes, locks: what belongs to no room of its own."""
