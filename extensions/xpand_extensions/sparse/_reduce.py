"""Reductions and diagonals of sparse arrays; the results are dense."""

import builtins
import math
from collections.abc import Callable
from math import prod
from typing import Any, Literal

from xpand import array_namespace
from xpand.extend import Array, checks as _arguments

from .. import scatter
from .._bounds import index_dtype
from .._dtypes import is_narrow
from . import _checks as checks
from ._containers import COO, Sparse, namespace_of
from ._convert import container, tocoo, todense
from ._elementwise import abs as absolute, map_values
from ._operands import coo_of, over_entries
from ._pattern import flat, full, pattern_work, reduced, summed, used
from ._structure import sum_duplicates

Axis = int | tuple[int, ...] | None


def sum(a: Sparse, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Sum over axes.

    Args:
        a: A container of a numeric data type.
        axis: One axis or several, of any kind; None: all.
        keepdims: Whether the summed axes remain, with size one.

    Returns:
        An array, of the data type that `xp.sum` returns.

    Raises:
        TypeError: `a` is not sparse, or boolean.
        ValueError: There is no such axis, or one is named twice.

    The time is proportional to the number of entries and the size of the result.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import from_dense
    >>> sum(from_dense(np.asarray([[1.0, 0.0], [2.0, 3.0]])), axis=0)
    array([3., 3.])
    """
    a, axes = _arguments_of("sum", a, axis, keepdims, _arguments.NUMERIC)
    xp = namespace_of(a)
    device = _arguments.device_of(a.values)
    wide = xp.sum(xp.zeros((0,), dtype=a.dtype, device=device)).dtype
    coo = tocoo(a if wide == a.dtype else a._replace(xp.astype(a.values, wide)))
    found, rest = _without_axes(coo, axes, lambda a, ids, size: summed(a.values, ids, size, a.batch_ndim))
    found = xp.sum(found, axis=rest) if rest else found
    return _with_axes(a, found, axes) if keepdims else found


def mean(a: Sparse, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Compute the mean over axes; elements that are not stored count as zeros.

    Arguments and errors are those of `sum`; the data type must be floating-point.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import from_dense
    >>> mean(from_dense(np.asarray([[1.0, 0.0], [2.0, 3.0]])), axis=0)
    array([1.5, 1.5])
    """
    a, axes = _arguments_of("mean", a, axis, keepdims, _arguments.FLOATING)
    xp, count = namespace_of(a), prod([a.shape[i] for i in axes])
    if is_narrow(xp, a.dtype):  # sums and counts might overflow in float16
        wide = a._replace(xp.astype(a.values, xp.float32))
        return xp.astype(mean(wide, axis=axes, keepdims=keepdims), a.dtype)
    total = sum(a, axis=axes, keepdims=keepdims)
    return total / count if count else total + math.nan


def max(a: Sparse, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the largest element along axes; elements that are not stored count as zeros.

    Args:
        a: A container of a real-valued data type.
        axis: One axis or several, of any kind; None: all.
        keepdims: Whether these axes remain, with size one.

    Returns:
        An array; NaN if one of the elements is NaN.

    Raises:
        TypeError: `a` is not sparse, boolean or complex.
        ValueError: There is no such axis, one is named twice, or nothing to choose from.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import from_dense
    >>> max(from_dense(np.asarray([[1.0, 0.0], [-2.0, -3.0]])), axis=1)
    array([ 1., -2.])
    """
    return _extreme("max", a, axis, keepdims, scatter.segment_max)


def min(a: Sparse, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the smallest element along axes. See `max`.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import from_dense
    >>> min(from_dense(np.asarray([[1.0, 0.0], [2.0, 3.0]])), axis=1)
    array([0., 2.])
    """
    return _extreme("min", a, axis, keepdims, scatter.segment_min)


def norm(a: Sparse, /, *, ord: Literal["fro", 1] | float = "fro") -> Array:
    """Return a norm of a matrix, or of each batch element.

    Args:
        a: A matrix or a batch of matrices of a floating-point data type.
        ord: "fro": the root of the sum of squares. 1: the largest sum of absolute values of a column; `math.inf`: of a
            row.

    Raises:
        TypeError: `a` is not sparse, or not of a floating-point data type.
        ValueError: `a` is not a matrix, or `ord` is another norm.

    Source: `xp.linalg.matrix_norm`.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import from_dense
    >>> norm(from_dense(np.asarray([[3.0, 0.0], [0.0, -4.0]])))
    np.float64(5.0)
    """
    a = container("norm", a)
    checks.matrix("norm", "a", a)
    xp = namespace_of(a)
    _arguments.dtype("norm", "a", xp, a.values, _arguments.FLOATING)
    if isinstance(ord, bool) or ord not in ("fro", 1, math.inf):
        raise ValueError(f"norm: ord must be 'fro', 1 or math.inf, got {ord!r}; others need `sparse.todense`")
    if ord == "fro":
        return _frobenius(a)
    sums = sum(absolute(a), axis=-2 if ord == 1 else -1)
    return xp.max(sums, axis=-1) if sums.shape[-1] else xp.sum(sums, axis=-1)


def count_nonzero(a: Sparse, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Count the elements that aren't zero, as `xp.count_nonzero`. Stored zeros are not counted.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> count_nonzero(COO(np.asarray([1.0, 0.0]), (np.asarray([0, 2]),), (3,)), axis=0).tolist()
    1
    """
    a = container("count_nonzero", a)
    xp = namespace_of(a)
    ones = map_values(lambda values: xp.astype(values != full(values, 0), index_dtype(xp)), a)
    return sum(ones, axis=axis, keepdims=keepdims)


def diagonal(a: Sparse, /, *, offset: int = 0) -> Array:
    """Return a diagonal of a matrix, or of each batch element.

    Args:
        a: A matrix or a batch of matrices.
        offset: The number of the diagonal: 0 is the main one, positive ones are above it, negative ones below.

    Returns:
        An array of shape (*batch, length); of length 0 if the diagonal lies outside of the matrix.

    Raises:
        TypeError: `a` is not sparse, or `offset` is not an integer.
        ValueError: `a` is not a matrix.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import from_dense
    >>> diagonal(from_dense(np.asarray([[1.0, 7.0], [0.0, 2.0]])))
    array([1., 2.])
    """
    a = container("diagonal", a)
    checks.matrix("diagonal", "a", a)
    offset = _arguments.integer("diagonal", "offset", offset)
    rows, columns = a._sparse_shape
    first = -offset if offset < 0 else 0
    length = builtins.max(0, builtins.min(rows - first, columns - offset - first))
    coo = tocoo(a)

    def work(i: Array, j: Array) -> Array:
        xp = array_namespace(i, j)
        i, j = xp.astype(i, index_dtype(xp)), xp.astype(j, index_dtype(xp))
        positions = i - full(i, first)
        on = (j - i == full(i, offset)) & (positions >= full(i, 0)) & (positions < full(i, length))
        return xp.where(on, positions, full(positions, length))

    return todense(coo_of(coo.values, (pattern_work(work, *coo.coords),), (length,)))


def trace(a: Sparse, /, *, offset: int = 0) -> Array:
    """Sum a diagonal of a matrix, or of each batch element. See `diagonal`.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import from_dense
    >>> trace(from_dense(np.asarray([[1.0, 7.0], [0.0, 2.0]])))
    np.float64(3.0)
    """
    found = diagonal(a, offset=offset)
    return array_namespace(found).sum(found, axis=-1)


Entries = Callable[[Any, Array, int], Array]
"""Reduces the values of a COO by ids; the last argument is the number of ids."""


def _arguments_of(
    function: str, a: Any, axis: Any, keepdims: Any, kinds: frozenset[_arguments.Kind]
) -> tuple[Any, tuple[int, ...]]:
    a = container(function, a)
    _arguments.dtype(function, "a", namespace_of(a), a.values, kinds)
    _arguments.boolean(function, "keepdims", keepdims)
    axes = tuple(range(a.ndim)) if axis is None else _arguments.axes(function, axis, a.ndim, "axis")
    return a, tuple(sorted(axes))


def _without_axes(a: COO, axes: tuple[int, ...], reduce: Entries) -> tuple[Array, tuple[int, ...]]:
    """Reduce the sparse axes among `axes`; return a dense array, and those of its axes that are still to be reduced."""
    batch, sparse = a.batch_ndim, a.sparse_ndim
    gone = [i - batch for i in axes if batch <= i < batch + sparse]
    rest = [i for i in axes if i < batch] + [i - len(gone) for i in axes if i >= batch + sparse]
    if not gone:
        return todense(a), tuple(rest)
    stay = [i for i in range(sparse) if i not in gone]
    sizes = [a._sparse_shape[i] for i in stay]

    def work(*coords: Array) -> Array:
        xp = array_namespace(*coords)
        there = used(coords, a._sparse_shape)
        if stay:
            index = flat(xp, tuple(coords[i] for i in stay), sizes)
        else:
            index = xp.zeros(there.shape, dtype=index_dtype(xp), device=_arguments.device_of(there))
        return xp.where(there, index, full(index, prod(sizes)))

    ids = pattern_work(work, *a.coords)
    xp = namespace_of(a)
    found = reduce(a, ids, prod(sizes))
    return xp.reshape(found, (*found.shape[:batch], *sizes, *found.shape[batch + 1 :])), tuple(rest)


def _extreme(function: str, a: Any, axis: Any, keepdims: Any, segments: Callable[..., Array]) -> Array:
    a, axes = _arguments_of(function, a, axis, keepdims, _arguments.REAL_VALUED)
    if prod([a.shape[i] for i in axes]) == 0:
        raise ValueError(f"{function}: there is nothing to choose from along axis={axis} of the shape {a.shape}")
    xp = namespace_of(a)
    better = xp.maximum if function == "max" else xp.minimum
    coo = tocoo(sum_duplicates(a))
    reduced_size = prod([a._sparse_shape[i - a.batch_ndim] for i in axes if 0 <= i - a.batch_ndim < a.sparse_ndim])

    def reduce(a: COO, ids: Array, size: int) -> Array:
        found = reduced(segments, a.values, ids, size, a.batch_ndim)
        ones = xp.ones_like(ids, dtype=index_dtype(xp))
        counts = reduced(scatter.segment_sum, ones, ids, size, ids.ndim - 1)
        has_zero = over_entries(a, counts < full(counts, reduced_size))
        # Set empty segments to zero before comparing: some data types have no value for an empty minimum.
        found = xp.where(over_entries(a, counts > full(counts, 0)), found, full(found, 0))
        return xp.where(has_zero, better(found, xp.zeros_like(found)), found)

    found, rest = _without_axes(coo, axes, reduce)
    if rest:
        found = (xp.max if function == "max" else xp.min)(found, axis=rest)
    return _with_axes(a, found, axes) if keepdims else found


def _with_axes(a: Sparse, found: Array, axes: tuple[int, ...]) -> Array:
    shape = tuple(1 if i in axes else size for i, size in enumerate(a.shape))
    return namespace_of(a).reshape(found, shape)


def _frobenius(a: Sparse) -> Array:
    xp, coo = namespace_of(a), tocoo(sum_duplicates(a))
    mask = pattern_work(lambda *coords: used(coords, coo._sparse_shape), *coo.coords)
    values = xp.where(mask, coo.values, full(coo.values, 0))
    return xp.linalg.vector_norm(values, axis=-1)
