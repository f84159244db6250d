"""Native implementations on CuPy."""

SPARSE = ("cupyx",)
"""The modules that the classes of its sparse arrays come from."""
