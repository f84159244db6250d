"""Native implementations on PyTorch."""

SPARSE = ("torch",)
"""The modules that the classes of its sparse arrays come from."""
