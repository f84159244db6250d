"""Conversion between containers and the sparse matrices of `cupyx.scipy.sparse`."""

from typing import Any

import cupyx.scipy.sparse as cupy_sparse

from xpand_extensions.sparse import _native as native
from xpand_extensions.sparse._containers import COO, CSC, CSR, Sparse
from xpand_extensions.sparse._convert import Format

_COMPRESSED = {"csr": (CSR, cupy_sparse.csr_matrix), "csc": (CSC, cupy_sparse.csc_matrix)}


def format_of(x: Any) -> str | None:
    found: str | None = x.format if cupy_sparse.issparse(x) else None
    return found


def from_native(x: Any) -> Sparse:
    shape = tuple(x.shape)
    if x.format in _COMPRESSED:
        # Whether the indices are sorted is unknown: a check would take a pass and wait for the device.
        return _COMPRESSED[x.format][0]._of(x.data, (x.indices, x.indptr), (shape, False, False))
    if x.format == "coo":
        canonical = bool(x.has_canonical_format)
        return COO._of(x.data, (x.row, x.col), (shape, False, canonical, 0))
    return from_native(x.tocsr())


def to_native(a: Sparse, /, *, format: Format | None = None) -> Any:
    a = native.converted(a, format)
    native.plain("CuPy", a)
    if a.sparse_ndim != 2:
        raise ValueError(f"to_native: CuPy has only sparse matrices, with two axes, got {a!r}")
    if isinstance(a, COO):
        return cupy_sparse.coo_matrix((a.values, a.coords), shape=a.shape)
    return _COMPRESSED[a.format][1]((a.values, *a.pattern), shape=a.shape)
