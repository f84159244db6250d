"""Backends of three packages, each one source for every array library: TensorLy, POT and pyhf."""
