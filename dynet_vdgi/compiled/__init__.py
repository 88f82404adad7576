"""Kernels as machine code, kept on disk between runs."""
