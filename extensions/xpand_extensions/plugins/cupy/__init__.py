"""What CuPy does natively."""

SPARSE = ("cupyx",)
"""The modules that the classes of its sparse arrays come from."""
