"""Native implementations on NumPy."""

SPARSE = ("scipy",)
"""The modules with the classes of NumPy's sparse arrays."""
