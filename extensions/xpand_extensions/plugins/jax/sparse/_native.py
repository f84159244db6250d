"""Conversion between containers and the sparse arrays of `jax.experimental.sparse`."""

import sys
from math import prod
from typing import Any

import jax.numpy as jnp

from xpand.extend import Array
from xpand_extensions.sparse import _native as native
from xpand_extensions.sparse._containers import COO, CSC, CSR, Sparse
from xpand_extensions.sparse._convert import Format

_FORMATS = {"BCOO": "bcoo", "BCSR": "bcsr", "COO": "coo", "CSR": "csr", "CSC": "csc"}


def format_of(x: Any) -> str | None:
    # Do not import the module for arrays and tracers, which also come here: the import takes a fifth of a second.
    module = sys.modules.get("jax.experimental.sparse")
    if module is None or not isinstance(x, module.JAXSparse):
        return None
    return _FORMATS.get(type(x).__name__)


def from_native(x: Any) -> Sparse:
    name = type(x).__name__
    if name == "BCOO":
        return _from_bcoo(x)
    if name == "BCSR":
        return _from_bcsr(x)
    shape = tuple(x.shape)
    if name == "COO":
        return COO._of(x.data, (x.row, x.col), (shape, bool(x._rows_sorted and x._cols_sorted), False, 0))
    return {"CSR": CSR, "CSC": CSC}[name]._of(x.data, (x.indices, x.indptr), (shape, False, False))


def _from_bcoo(x: Any) -> COO:
    batch, sparse = tuple(x.shape[: x.n_batch]), tuple(x.shape[x.n_batch : x.n_batch + x.n_sparse])
    values, (indices,) = _values(x.data, batch), _repeated(batch, (x.indices, 2))
    if not sparse:
        raise ValueError(
            f"from_native: a BCOO without sparse axes, of shape {tuple(x.shape)}, is dense; use its `todense`"
        )
    coords = tuple(indices[..., i] for i in range(len(sparse)))
    return COO._of(values, coords, (sparse, bool(x.indices_sorted), bool(x.unique_indices), x.n_dense))


def _from_bcsr(x: Any) -> Sparse:
    if x.n_dense:
        return _from_bcoo(x.to_bcoo())
    batch = tuple(x.shape[: x.n_batch])
    static = (tuple(x.shape[-2:]), bool(x.indices_sorted), bool(x.unique_indices))
    return CSR._of(_values(x.data, batch), _repeated(batch, (x.indices, 1), (x.indptr, 1)), static)


def _repeated(batch: tuple[int, ...], *parts: tuple[Array, int]) -> tuple[Array, ...]:
    """Add batch axes to indices, given with their number of own axes; remove batch axes if all have size 1."""
    if all(prod(x.shape[: len(batch)]) == 1 for x, _ in parts):
        return tuple(jnp.reshape(x, x.shape[len(batch) :]) for x, _ in parts)
    return tuple(jnp.broadcast_to(x, (*batch, *x.shape[x.ndim - own :])) for x, own in parts)


def _values(x: Array, batch: tuple[int, ...]) -> Array:
    return x if x.shape[: len(batch)] == batch else jnp.broadcast_to(x, (*batch, *x.shape[len(batch) :]))


def to_native(a: Sparse, /, *, format: Format | None = None) -> Any:
    from jax.experimental import sparse

    a = native.converted(a, format)
    promised = {"indices_sorted": a.is_sorted, "unique_indices": a.is_unique}
    if isinstance(a, COO):
        indices = _with_batch(jnp.stack(jnp.broadcast_arrays(*a.coords), axis=-1), a.batch_ndim, 2)
        return sparse.BCOO((a.values, indices), shape=a.shape, **promised)
    indices, indptr = a.pattern
    if isinstance(a, CSR):
        indices, indptr = (_with_batch(x, a.batch_ndim, 1) for x in (indices, indptr))
        return sparse.BCSR((a.values, indices, indptr), shape=a.shape, **promised)
    native.plain("JAX", a)
    return sparse.CSC((a.values, indices, indptr), shape=a.shape)


def _with_batch(x: Array, batch: int, own: int) -> Array:
    """Add batch axes of size 1 to a pattern that is common to a batch."""
    return x if x.ndim > own or not batch else jnp.reshape(x, (*(1,) * batch, *x.shape))
