"""Linear algebra on CuPy: its views of diagonals. The rest is generic, products of matrices by cuBLAS."""

import cupy as cp

from xpand.extend import Array


def diagonal(x: Array, /, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Array:
    return cp.diagonal(x, offset, axis1, axis2)
