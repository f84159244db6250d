"""Native implementations on JAX."""

SPARSE = ("jax",)
"""The modules that the classes of its sparse arrays come from."""
