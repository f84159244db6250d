"""What PyTorch does natively."""

SPARSE = ("torch",)
"""The modules that the classes of its sparse arrays come from."""
