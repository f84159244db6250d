"""Conversion between PyTorch's sparse tensors and containers."""

import warnings
from typing import Any, Final

import torch

from xpand_extensions.sparse import _native as native
from xpand_extensions.sparse._containers import COO, CSC, CSR, Sparse
from xpand_extensions.sparse._convert import Format

_FORMATS: Final = {
    torch.sparse_coo: "coo",
    torch.sparse_csr: "csr",
    torch.sparse_csc: "csc",
    torch.sparse_bsr: "bsr",
    torch.sparse_bsc: "bsc",
}


def format_of(x: Any) -> str | None:
    # `x` may be any object, such as a data type. Only tensors have a layout.
    layout = getattr(x, "layout", torch.strided)
    return None if layout is torch.strided else _FORMATS.get(layout)


def from_native(x: Any) -> Sparse:
    if x.layout is torch.sparse_coo:
        return _from_coo(x)
    if x.layout in (torch.sparse_bsr, torch.sparse_bsc):
        if x.ndim > 2:
            raise ValueError(
                "from_native: PyTorch can't convert batches of blocks; convert the matrices one by one, or use "
                "`to_dense`"
            )
        # Convert to COO first: PyTorch converts blocks to no other format.
        return native.converted(_from_coo(x.to_sparse_coo()), "csr" if x.layout is torch.sparse_bsr else "csc")
    if x.dense_dim():
        return _from_coo(x.to_sparse_coo())
    if x.layout is torch.sparse_csr:
        cls: type[Sparse] = CSR
        pattern = x.col_indices(), x.crow_indices()
    else:
        cls, pattern = CSC, (x.row_indices(), x.ccol_indices())
    # PyTorch requires sorted, distinct indices.
    return cls._of(x.values(), pattern, (tuple(x.shape[-2:]), True, True))


def _from_coo(x: Any) -> COO:
    x = x.coalesce()  # only then PyTorch gives access to the indices
    return COO._of(
        x.values(), tuple(x.indices().unbind(0)), (tuple(x.shape[: x.sparse_dim()]), True, True, x.dense_dim())
    )


def to_native(a: Sparse, /, *, format: Format | None = None) -> Any:
    a = native.converted(a, format)
    parts: tuple[Any, ...] = a.pattern
    if isinstance(a, COO):
        native.plain("PyTorch", a, dense=True)
        indices = torch.stack([x.to(torch.int64) for x in parts])
        coalesced = a.is_sorted and a.is_unique
        return torch.sparse_coo_tensor(indices, a.values, a.shape, is_coalesced=coalesced, check_invariants=False)
    batch = a.shape[:-2]
    indices, indptr = (x if x.ndim > 1 else x.expand(*batch, -1).contiguous() if batch else x for x in parts)
    if indices.dtype != indptr.dtype or indices.dtype not in (torch.int32, torch.int64):
        indices, indptr = indices.to(torch.int64), indptr.to(torch.int64)
    make = torch.sparse_csr_tensor if isinstance(a, CSR) else torch.sparse_csc_tensor
    with warnings.catch_warnings():
        # PyTorch warns once that these are in beta. The warning does not concern the user.
        warnings.filterwarnings("ignore", "Sparse CS[RC] tensor support is in beta")
        return make(indptr, indices, a.values, a.shape, check_invariants=False)
