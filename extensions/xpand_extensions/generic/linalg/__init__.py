"""Linear algebra with the standard alone."""

from ._factorizations import cho_solve, least_squares, lu, lu_factor, lu_solve, triangular_solve
from ._functions import expm, logm
from ._products import diagonal, dot_general, einsum, kron, matvec
