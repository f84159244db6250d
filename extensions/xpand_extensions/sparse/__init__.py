"""Sparse arrays on every library: containers made of the library's own arrays, and functions of containers.

A container stores values and their positions: `COO` by coordinates, for arrays with any number of axes; `CSR` by rows
and `CSC` by columns, for matrices. Containers are immutable trees: they pass through `jit`, `vmap`, loops and
derivatives. The gradient with respect to a container is a container of the same pattern. The functions also take the
libraries' own sparse arrays.
"""

from typing import TYPE_CHECKING

from .._elsewhere import elsewhere
from ._arithmetic import add, divide, multiply, subtract
from ._assembly import CSRAssembly, assembled_values, csr_assembly
from ._build import diags, eye, kron
from ._containers import COO, CSC, CSR, Sparse
from ._convert import (
    Format,
    convert,
    coo_todense,
    csr_todense,
    from_dense,
    is_sparse,
    matrix_transpose,
    sparse_format,
    tocoo,
    tocsc,
    tocsr,
    todense,
)
from ._elementwise import abs, astype, conj, imag, map_values, negative, power, real, sign, sqrt, square
from ._index import getitem
from ._join import block, block_diag, concat, stack
from ._matmul import matmul
from ._native import disassemble, from_native, to_native
from ._pattern import are_concrete as are_concrete, eagerly as eagerly
from ._products import CSRPlan, coo_matmul, csr_matmul, csr_plan, csr_rmatmul, csr_rows, sampled_matmul
from ._reduce import count_nonzero, diagonal, max, mean, min, norm, sum, trace
from ._structure import eliminate_zeros, reshape, sort, sum_duplicates, transpose, tril, triu

__all__ = [
    "CSRAssembly",
    "CSRPlan",
    "assembled_values",
    "coo_matmul",
    "coo_todense",
    "csr_assembly",
    "csr_matmul",
    "csr_plan",
    "csr_rmatmul",
    "csr_rows",
    "csr_todense",
    "sampled_matmul",
    "COO",
    "CSC",
    "CSR",
    "Format",
    "Sparse",
    "abs",
    "add",
    "astype",
    "block",
    "block_diag",
    "concat",
    "conj",
    "convert",
    "count_nonzero",
    "diagonal",
    "diags",
    "disassemble",
    "divide",
    "eliminate_zeros",
    "eye",
    "from_dense",
    "from_native",
    "getitem",
    "imag",
    "is_sparse",
    "kron",
    "map_values",
    "matmul",
    "matrix_transpose",
    "max",
    "mean",
    "min",
    "multiply",
    "negative",
    "norm",
    "power",
    "real",
    "reshape",
    "sign",
    "sort",
    "sparse_format",
    "sqrt",
    "square",
    "stack",
    "subtract",
    "sum",
    "sum_duplicates",
    "to_native",
    "tocoo",
    "tocsc",
    "tocsr",
    "todense",
    "trace",
    "transpose",
    "tril",
    "triu",
]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # a type checker would accept any name
    __getattr__ = elsewhere(__name__)
