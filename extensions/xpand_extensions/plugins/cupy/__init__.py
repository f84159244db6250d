"""Native implementations on CuPy."""

SPARSE = ("cupyx",)
"""The modules that define CuPy's sparse matrices."""
