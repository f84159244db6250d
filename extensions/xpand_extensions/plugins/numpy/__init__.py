"""What NumPy does natively."""

SPARSE = ("scipy",)
"""The modules that the classes of its sparse arrays come from."""
