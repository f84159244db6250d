"""Native implementations on PyTorch."""

SPARSE = ("torch",)
"""The modules that define PyTorch's sparse arrays."""
