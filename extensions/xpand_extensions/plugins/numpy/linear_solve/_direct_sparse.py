"""Factors of sparse matrices by SuperLU.

SuperLU's factors are objects that no array can hold. So they are cached and found by the matrix, and transformations
see pure functions of arrays.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any, Final

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array, tril, triu

import xpand.numpy as xp
from xpand.extend import LibraryArray as Array
from xpand_extensions._solver_status import Status
from xpand_extensions.linear_solve._factors import Factors, estimate

_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "general": {},
    # This gives less fill-in if the pattern is symmetric and pivots may stay on the diagonal.
    "symmetric": {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.001, "options": {"SymmetricMode": True}},
    # A triangle is its own factor, without exchanges or fill-in.
    "triangle": {"permc_spec": "NATURAL", "diag_pivot_thresh": 0.0, "options": {"SymmetricMode": True}},
}

_MAX_BYTES: Final = 2**30
_MIN_COUNT: Final = 4
_OBJECT_BYTES: Final = 4096  # approximate size of the Python objects

_cache: Final[dict[tuple[Any, ...], "_Factors"]] = {}  # least recently used first
_cached_bytes = 0
_lock: Final = Lock()  # callbacks of compiled programs run in several threads


class _Factors:
    """The factors of one matrix, or the reason why there are none, with the matrix to identify them."""

    def __init__(self, parts: tuple[Array, ...], format: str, size: int, kind: str) -> None:
        self.parts = parts
        self.solve: Callable[..., Array] | None = None
        self.bytes = _OBJECT_BYTES + sum(x.nbytes for x in parts)
        self.condition, self.status = self._factor(format, size, kind)

    def is_of(self, parts: tuple[Array, ...]) -> bool:
        """Return whether the factors belong to a matrix, with the same format and kind."""
        return all(map(np.array_equal, self.parts, parts))

    def _factor(self, format: str, size: int, kind: str) -> tuple[float, Status]:
        from scipy.sparse.linalg import splu  # dense systems do without this import, 15 ms

        a = _columns(self.parts, format, size)
        if kind in ("lower", "upper"):
            a = (tril if kind == "lower" else triu)(a, format="csc")
        if not np.isfinite(a.data).all():
            return np.nan, Status.NON_FINITE
        if size == 0:
            self.solve = lambda columns, trans: columns
            return 0.0, Status.CONVERGED
        try:
            factors = splu(a, **_OPTIONS.get(kind, _OPTIONS["triangle"]))
        except RuntimeError:  # a factor is exactly singular
            return np.inf, Status.SINGULAR
        self.solve = factors.solve
        self.bytes += factors.nnz * (a.dtype.itemsize + 4)
        with np.errstate(all="ignore"):  # overflow means singular
            sums = np.asarray(abs(a).sum(axis=1))
            condition = estimate(xp, sums, a.dtype, factors.solve, lambda b: factors.solve(b, "T"))
        is_regular = condition < 1 / np.finfo(a.dtype).eps
        return float(condition), Status.CONVERGED if is_regular else Status.SINGULAR


def _columns(parts: tuple[Array, ...], format: str, size: int) -> Any:
    """Make SciPy's matrix by columns, and sum entries at the same position."""
    values, *pattern = parts
    if format == "coo":
        return coo_array((values, tuple(pattern)), shape=(size, size)).tocsc()
    indices, indptr = pattern
    used = int(indptr[-1])  # the entries after it are padding
    make = csc_array if format == "csc" else csr_array
    a = make((values[:used], indices[:used], indptr), shape=(size, size))
    if format == "csr":
        return a.tocsc()
    return a if a.has_canonical_format else a.copy()  # SuperLU sorts it in place


def factor_sparse(
    values: Array, pattern: tuple[Array, ...], /, *, format: str, size: int, kind: str = "general"
) -> Factors:
    batch = values.shape[:-1]
    whole = [np.broadcast_to(x, (*batch, x.shape[-1])) for x in (values, *pattern)]
    found = [_found(tuple(x[index] for x in whole), format, size, kind) for index in np.ndindex(batch)]
    condition = np.asarray([each.condition for each in found], dtype=values.real.dtype).reshape(batch)
    status = np.asarray([each.status for each in found], dtype=np.int32).reshape(batch)
    return condition, status


def solve_sparse(
    values: Array,
    pattern: tuple[Array, ...],
    b: Array,
    /,
    *,
    format: str,
    size: int,
    kind: str = "general",
    transposed: bool = False,
) -> Array:
    of_matrix = np.broadcast_shapes(values.shape[:-1], *[x.shape[:-1] for x in pattern])
    batch = np.broadcast_shapes(of_matrix, b.shape[:-2])
    axes = (1,) * (len(batch) - len(of_matrix)) + of_matrix
    whole = [np.broadcast_to(x, (*axes, x.shape[-1])) for x in (values, *pattern)]
    b = np.broadcast_to(b, (*batch, size, b.shape[-1]))
    x = np.empty(b.shape, b.dtype)
    for index in np.ndindex(axes):
        # Solve for all right-hand sides of one matrix in one call.
        chosen = tuple(slice(None) if n == 1 else i for i, n in zip(index, axes))
        factors = _found(tuple(x[index] for x in whole), format, size, kind)
        x[chosen] = _solved(factors, b[chosen], transposed)
    return x


def _found(parts: tuple[Array, ...], format: str, size: int, kind: str) -> _Factors:
    """Return the factors of a matrix, from the cache if possible."""
    global _cached_bytes
    values = parts[0]
    with np.errstate(all="ignore"):
        key = (format, kind, size, values.dtype, values.shape, values.sum().tobytes())
    with _lock:
        found = _cache.pop(key, None)
        if found is None or not found.is_of(parts):
            _cached_bytes -= 0 if found is None else found.bytes
            found = _Factors(
                tuple(map(np.array, parts)), format, size, kind
            )  # copy, since callers may write to their arrays
            _cached_bytes += found.bytes
        _cache[key] = found
        while _cached_bytes > _MAX_BYTES and len(_cache) > _MIN_COUNT:
            _cached_bytes -= _cache.pop(next(iter(_cache))).bytes
    return found


def _solved(factors: _Factors, b: Array, transposed: bool) -> Array:
    """Solve for the columns of several stacks."""
    if factors.solve is None:
        return np.full_like(b, np.nan)
    if b.dtype.kind == "c" and factors.parts[0].dtype.kind != "c":
        return _solved(factors, b.real, transposed) + 1j * _solved(factors, b.imag, transposed)
    if b.size == 0:
        return b
    first = np.moveaxis(b, -2, 0)
    columns = np.ascontiguousarray(first.reshape(b.shape[-2], -1), dtype=factors.parts[0].dtype)
    x = factors.solve(columns, "T" if transposed else "N")
    return np.moveaxis(x.reshape(first.shape), 0, -2)
