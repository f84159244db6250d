"""Linear algebra on CuPy: its views of diagonals. The rest is generic, products of matrices by cuBLAS."""

import cupy as cp

diagonal = cp.diagonal
