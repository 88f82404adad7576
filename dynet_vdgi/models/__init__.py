"""Model files, the folders of runs, and their logs."""
