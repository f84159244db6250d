"""Sparse arrays on every library: containers whose parts are arrays of that library, and functions of them.

A container says where its values belong: `COO` by coordinates, for arrays of any number of axes, `CSR` and `CSC` by
rows and by columns, for matrices. It is immutable, and a tree: it passes through `jit`, `vmap`, loops and derivatives,
and the gradient with respect to a container is one of the same pattern. Functions take the sparse arrays that libraries
have themselves, too.
"""

from ._sparse_containers import COO, CSC, CSR, Sparse
from ._sparse_convert import (
    Format,
    convert,
    from_dense,
    is_sparse,
    matrix_transpose,
    sparse_format,
    tocoo,
    tocsc,
    tocsr,
    todense,
)
from ._sparse_matmul import matmul
from ._sparse_native import from_native, to_native
from ._sparse_trees import disassemble

__all__ = [
    "COO",
    "CSC",
    "CSR",
    "Format",
    "Sparse",
    "convert",
    "disassemble",
    "from_dense",
    "from_native",
    "is_sparse",
    "matmul",
    "matrix_transpose",
    "sparse_format",
    "tocoo",
    "tocsc",
    "tocsr",
    "to_native",
    "todense",
]
