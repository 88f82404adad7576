"""Messages, limits, processes and locks, which several packages use."""
