"""Native implementations on NumPy."""

SPARSE = ("scipy",)
"""The modules that the classes of its sparse arrays come from."""
