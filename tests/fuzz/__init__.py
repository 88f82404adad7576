"""Changed files for every reader of the program; `run/fuzz.sh MINUTES` goes on for longer than the
tests."""
