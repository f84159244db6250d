"""Linear algebra on Dask: products block by block; factorizations by blocks of the stack, with whole matrices."""

from collections.abc import Sequence
from typing import Any, Final

import dask.array as da
import numpy as np

from xpand.dask.array._blocks import gather, map_core
from xpand.extend import LibraryArray as Array
from xpand_extensions import linalg
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.generic.linalg._products import execute
from xpand_extensions.linalg import _factorizations, _spectra
from xpand_extensions.linalg._factorizations import LUFactors, LUResult, PivotedQRResult
from xpand_extensions.linalg._lstsq import LstsqResult, least_squares as least_squares_of_columns
from xpand_extensions.linalg._plan import Pair, plan_of
from xpand_extensions.linalg._spectra import SchurResult


def einsum(subscripts: str, /, *operands: Array, optimize: bool | str = True) -> Array:
    plan = plan_of(subscripts, tuple([x.shape for x in operands]), optimize)
    return execute(plan, operands, _pair)


def _pair(step: Pair, x1: Array, x2: Array) -> Array:
    # For small integers, Dask sums the blocks in a wider type.
    return da.einsum(step.subscripts, x1, x2).astype(x1.dtype)


diagonal = da.diagonal
_INDICES: Final = np.dtype(np.int64)


@forwards_to(linalg.triangular_solve)
def triangular_solve(a: Array, b: Array, /, **options: Any) -> Array:
    return _solve(linalg.triangular_solve, [a], [2], b, **options)


def cho_solve(c: Array, b: Array, /, *, lower: bool = True) -> Array:
    return _solve(linalg.cho_solve, [c], [2], b, lower=lower)


def lu_solve(
    factors: Array, permutation: Array, b: Array, /, *, transpose: bool = False, conjugate: bool = False
) -> Array:
    return _solve(linalg.lu_solve, [factors, permutation], [2, 1], b, transpose=transpose, conjugate=conjugate)


def lu_factor(x: Array, /) -> LUFactors:
    outputs = (x.shape[-2:], x.dtype), (x.shape[-2:-1], _INDICES)
    return LUFactors(*map_core(linalg.lu_factor, [x], [2], outputs))


def lu(x: Array, /) -> LUResult:
    m, n = x.shape[-2:]
    k = min(m, n)
    return LUResult(*map_core(linalg.lu, [x], [2], [((m,), _INDICES), ((m, k), x.dtype), ((k, n), x.dtype)]))


def least_squares(a: Array, b: Array, /, *, rtol: float | None = None) -> LstsqResult:
    real = np.empty(0, dtype=a.dtype).real.dtype
    n, k = a.shape[-1], b.shape[-1]
    outputs = ((n, k), a.dtype), ((k,), real), ((), _INDICES), ((min(a.shape[-2:]),), real)
    return LstsqResult(*map_core(least_squares_of_columns, [a, b], [2, 2], outputs, rtol=rtol))


def expm(x: Array, /) -> Array:
    return map_core(linalg.expm, [x], [2], [(x.shape[-2:], x.dtype)])[0]


def logm(x: Array, /) -> Array:
    return map_core(linalg.logm, [x], [2], [(x.shape[-2:], x.dtype)])[0]


def sqrtm(x: Array, /) -> Array:
    return map_core(linalg.sqrtm, [x], [2], [(x.shape[-2:], x.dtype)])[0]


def schur(x: Array, /) -> SchurResult:
    return _schur(linalg.schur, x)


def schur_factors(x: Array, /) -> SchurResult:
    return _schur(_spectra.schur_factors, x)


def _schur(function: Any, x: Array) -> SchurResult:
    output = x.shape[-2:], np.result_type(x.dtype, np.complex64)
    return SchurResult(*map_core(function, [x], [2], [output, output]))


def solve_sylvester(a: Array, b: Array, q: Array, /) -> Array:
    return map_core(linalg.solve_sylvester, [a, b, q], [2, 2, 2], [(q.shape[-2:], q.dtype)])[0]


def tridiagonal_solve(dl: Array, d: Array, du: Array, b: Array, /) -> Array:
    core = min(b.ndim, 2)
    return map_core(linalg.tridiagonal_solve, [dl, d, du, b], [1, 1, 1, core], [(b.shape[-core:], b.dtype)])[0]


def column_order(x: Array, /) -> Array:
    return map_core(_factorizations.column_order, [x], [2], [(x.shape[-1:], _INDICES)])[0]


def pivoted_qr(x: Array, /, *, mode: str = "reduced") -> PivotedQRResult:
    m, n = x.shape[-2:]
    k = m if mode == "complete" else min(m, n)
    outputs = ((m, k), x.dtype), ((k, n), x.dtype), ((n,), _INDICES)
    return PivotedQRResult(*map_core(linalg.pivoted_qr, [x], [2], outputs, mode=mode))


def cdist(x1: Array, x2: Array, /, metric: str = "euclidean", *, p: float = 2.0) -> Array:
    ndim = max(x1.ndim, x2.ndim) - 2
    batch, (of_x1, of_x2, along) = tuple(range(ndim)), range(ndim, ndim + 3)
    operands = ((x, (*batch[ndim + 2 - x.ndim :], label, along)) for x, label in ((x1, of_x1), (x2, of_x2)))
    return gather(linalg.cdist, (*batch, of_x1, of_x2), *operands, dtype=x1.dtype, metric=metric, p=p)


def _solve(function: Any, factors: Sequence[Array], ndims: Sequence[int], b: Array, **options: Any) -> Array:
    """Solve with whole matrices."""
    core = min(b.ndim, 2)
    return map_core(function, [*factors, b], [*ndims, core], [(b.shape[-core:], b.dtype)], **options)[0]
