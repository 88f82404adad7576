"""The inputs and outputs of runs: material, model files, folders, logs."""
