"""Linear algebra on Dask: products block by block; factorisations by blocks of the stack, with whole matrices."""

from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np

from xpand.dask.array._blocks import merge
from xpand.extend import DType, LibraryArray as Array
from xpand_extensions import linalg
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.generic.linalg._products import execute
from xpand_extensions.linalg._factorizations import LUFactors, LUResult
from xpand_extensions.linalg._lstsq import LstsqResult, least_squares as least_squares_of_columns
from xpand_extensions.linalg._plan import Pair, plan_of


def einsum(subscripts: str, /, *operands: Array, optimize: bool | str = True) -> Array:
    plan = plan_of(subscripts, tuple([x.shape for x in operands]), optimize)
    return execute(plan, operands, _pair)


def _pair(step: Pair, x1: Array, x2: Array) -> Array:
    # For small integers, Dask sums the blocks in a wider type.
    return da.einsum(step.subscripts, x1, x2).astype(x1.dtype)


diagonal = da.diagonal


@forwards_to(linalg.triangular_solve)
def triangular_solve(a: Array, b: Array, /, **options: Any) -> Array:
    return _solve(linalg.triangular_solve, "(i,i)", [a], b, **options)


def cho_solve(c: Array, b: Array, /, *, lower: bool = True) -> Array:
    return _solve(linalg.cho_solve, "(i,i)", [c], b, lower=lower)


def lu_solve(
    factors: Array, permutation: Array, b: Array, /, *, transpose: bool = False, conjugate: bool = False
) -> Array:
    options = {"transpose": transpose, "conjugate": conjugate}
    return _solve(linalg.lu_solve, "(i,i),(i)", [factors, permutation], b, **options)


def lu_factor(x: Array, /) -> LUFactors:
    return LUFactors(*_over_stacks(linalg.lu_factor, "(i,j)->(i,j),(i)", [x], [x.dtype, np.dtype(np.int64)]))


def lu(x: Array, /) -> LUResult:
    dtypes = [np.dtype(np.int64), x.dtype, x.dtype]
    sizes = {"k": min(x.shape[-2:])}
    return LUResult(*_over_stacks(linalg.lu, "(i,j)->(i),(i,k),(k,j)", [x], dtypes, sizes))


def least_squares(a: Array, b: Array, /, *, rtol: float | None = None) -> LstsqResult:
    real = np.empty(0, dtype=a.dtype).real.dtype
    dtypes = [a.dtype, real, np.dtype(np.int64), real]
    sizes = {"s": min(a.shape[-2:])}
    signature = "(i,j),(i,k)->(j,k),(k),(),(s)"
    return LstsqResult(*_over_stacks(least_squares_of_columns, signature, [a, b], dtypes, sizes, rtol=rtol))


def expm(x: Array, /) -> Array:
    return _over_stacks(linalg.expm, "(i,i)->(i,i)", [x], [x.dtype])


def logm(x: Array, /) -> Array:
    return _over_stacks(linalg.logm, "(i,i)->(i,i)", [x], [x.dtype])


def _solve(function: Any, signature: str, factors: Sequence[Array], b: Array, **options: Any) -> Array:
    """Solve with whole matrices. A vector is a matrix with one column or one row."""
    is_vector, left = b.ndim == 1, options.get("left_side", True)
    if is_vector:
        b = b[:, None] if left else b[None, :]
    core = "(i,k)" if left else "(k,i)"
    x = _over_stacks(function, f"{signature},{core}->{core}", [*factors, b], [b.dtype], **options)
    if is_vector:
        return x[..., 0] if left else x[..., 0, :]
    return x


def _over_stacks(
    function: Any,
    signature: str,
    arrays: Sequence[Array],
    dtypes: Sequence[DType],
    sizes: dict[str, int] | None = None,
    **options: Any,
) -> Any:
    """Apply a facade to the blocks of stacks; `signature` is the signature of a generalised ufunc."""
    inputs = signature.partition("->")[0].strip("()").split("),(")
    cores = [len(axes.split(",")) for axes in inputs]
    whole = _stacks_alike([_whole(x, core) for x, core in zip(arrays, cores)], cores)
    meta = tuple(np.empty_like(arrays[0]._meta, shape=(0,), dtype=dtype) for dtype in dtypes)
    return da.apply_gufunc(
        function, signature, *whole, output_sizes=sizes, meta=meta if len(meta) > 1 else meta[0], **options
    )


def _stacks_alike(arrays: Sequence[Array], cores: Sequence[int]) -> list[Array]:
    """Rechunk several stacks that broadcast, so that their blocks match."""
    # Number the axes from the last one of the stack; each array has its own matrix axes.
    labels = [
        [(number, axis) if axis >= x.ndim - core else x.ndim - core - axis for axis in range(x.ndim)]
        for number, (x, core) in enumerate(zip(arrays, cores))
    ]
    pairs = [part for pair in zip(arrays, labels) for part in pair]
    return list(da.core.unify_chunks(*pairs)[1])


def _whole(x: Array, core: int) -> Array:
    """Merge the last axes into one chunk."""
    if x.size == 0:
        # Dask divides by sizes when it rechunks. An empty array has no values to keep.
        return da.zeros_like(x, chunks=x.shape)
    return merge(x, range(x.ndim - core, x.ndim))
