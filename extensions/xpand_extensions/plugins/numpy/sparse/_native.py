"""Convert SciPy's sparse arrays and matrices to and from containers."""

from typing import Any

import scipy.sparse as scipy_sparse

from xpand_extensions.sparse import _native as native
from xpand_extensions.sparse._containers import COO, CSC, CSR, Sparse
from xpand_extensions.sparse._convert import Format

_COMPRESSED = {"csr": (CSR, scipy_sparse.csr_array), "csc": (CSC, scipy_sparse.csc_array)}


def format_of(x: Any) -> str | None:
    found: str | None = x.format if scipy_sparse.issparse(x) else None
    return found


def from_native(x: Any) -> Sparse:
    if x.format in _COMPRESSED and x.ndim == 2:
        static = (tuple(x.shape), bool(x.has_sorted_indices), bool(x.has_canonical_format))
        return _COMPRESSED[x.format][0]._of(x.data, (x.indices, x.indptr), static)
    if x.format == "coo" or x.ndim != 2:
        x = x.tocoo(copy=False)
        canonical = bool(x.has_canonical_format)
        return COO._of(x.data, x.coords, (tuple(x.shape), canonical, canonical, 0))
    return from_native(x.tocsr(copy=False))


def to_native(a: Sparse, /, *, format: Format | None = None) -> Any:
    a = native.converted(a, format)
    native.plain("SciPy", a)
    if isinstance(a, COO):
        made = scipy_sparse.coo_array(a.shape, dtype=a.dtype)
        # The constructor would copy indices to a smaller data type.
        made.data, made.coords = a.values, a.coords
        made.has_canonical_format = a.is_sorted and a.is_unique
        return made
    values, indices, indptr = a.values, *a.pattern
    if indices.dtype != indptr.dtype:
        return _COMPRESSED[a.format][1]((values, indices, indptr), shape=a.shape)
    made = _COMPRESSED[a.format][1](a.shape, dtype=a.dtype)
    made.data, made.indices, made.indptr = values, indices, indptr
    # SciPy determines other properties.
    if a.is_sorted:
        made.has_sorted_indices = True
        if a.is_unique:
            made.has_canonical_format = True
    return made
