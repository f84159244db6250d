"""Native implementations on JAX."""

SPARSE = ("jax",)
"""The modules that define JAX's sparse arrays."""
