"""Training: posterior regularisation, phases, checkpoints."""
