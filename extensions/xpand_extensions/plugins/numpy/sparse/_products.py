"""Sparse products on NumPy: call the kernels of SciPy's sparse arrays on the parts.

No sparse array is made of the parts, since this would read all indices.
"""

from itertools import pairwise
from typing import Any, Final

import numpy as np
from scipy.sparse import _sparsetools as kernels, csr_array

from xpand.extend import LibraryArray as Array
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.generic.sparse import csr_assembly as generic_assembly
from xpand_extensions.sparse import _products as facade
from xpand_extensions.sparse._assembly import CSRAssembly
from xpand_extensions.sparse._products import Shape

from ..scatter import WIDE

_BLOCK: Final = 1 << 15  # elements; the operands stay in the cache
_CONVERTED: Final = 1 << 17
"""The number of entries that are converted to a wider data type at a time."""

_LONG: Final = 64
"""Rows of more entries are summed in a wider data type."""


@forwards_to(facade.csr_matmul)
def csr_matmul(values: Array, indices: Array, indptr: Array, x: Array, /, *, shape: Shape, **hints: Any) -> Array:
    m, n = shape

    def multiply(values: Array, x: Array, out: Array) -> None:
        values, x = values.astype(out.dtype, copy=False), x.astype(out.dtype, copy=False)
        if x.ndim == 1:
            kernels.csr_matvec(m, n, indptr, indices, values, x, out)
        else:
            kernels.csr_matvecs(m, n, x.shape[1], indptr, indices, values, x.reshape(-1), out.reshape(-1))

    is_long = len(indices) > _LONG and m and np.diff(indptr).max() > _LONG
    return _each_lane(multiply, values, x, m, is_long=bool(is_long))


@forwards_to(facade.csr_rmatmul)
def csr_rmatmul(values: Array, indices: Array, indptr: Array, x: Array, /, *, shape: Shape, **hints: Any) -> Array:
    n, m = shape

    def multiply(values: Array, x: Array, out: Array) -> None:
        if values.dtype == out.dtype:
            return add(0, n, values, x, out)
        ends: Any = np.searchsorted(indptr, np.arange(0, len(indices), _CONVERTED)[1:], "right")
        for first, last in pairwise([0, *ends.tolist(), n]):
            part = slice(indptr[first], indptr[last])
            add(first, last, values[part].astype(out.dtype), x[first:last].astype(out.dtype), out)
        return None

    def add(first: int, last: int, values: Array, x: Array, out: Array) -> None:
        starts, part = indptr[first : last + 1], slice(indptr[first], indptr[last])
        starts = starts - starts[0] if first else starts
        if x.ndim == 1:
            kernels.csc_matvec(m, last - first, starts, indices[part], values, x, out)
        else:
            rows = x.reshape(-1)
            kernels.csc_matvecs(m, last - first, x.shape[1], starts, indices[part], values, rows, out.reshape(-1))

    return _each_lane(multiply, values, x, m, is_long=len(indices) > _LONG)


@forwards_to(facade.coo_matmul)
def coo_matmul(values: Array, rows: Array, columns: Array, x: Array, /, *, shape: Shape, **hints: Any) -> Array:
    values, rows, columns = without_padding(values, rows, columns, shape)

    def multiply(values: Array, x: Array, out: Array) -> None:
        if values.dtype == out.dtype:
            return add(slice(None), values, x, out)
        x = x.astype(out.dtype)
        for start in range(0, len(rows), _CONVERTED):
            part = slice(start, start + _CONVERTED)
            add(part, values[part].astype(out.dtype), x, out)
        return None

    def add(part: slice, values: Array, x: Array, out: Array) -> None:
        if x.ndim == 1:
            kernels.coo_matvec(len(values), rows[part], columns[part], values, x, out)
        else:
            kernels.coo_matmat_dense(len(values), x.shape[1], rows[part], columns[part], values, x.reshape(-1), out)

    return _each_lane(multiply, values, x, shape[0], is_long=len(rows) > _LONG)


def sampled_matmul(x: Array, y: Array, rows: Array, columns: Array, /) -> Array:
    y = y.swapaxes(-1, -2)
    stack = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    m, n, width = x.shape[-2], y.shape[-2], x.shape[-1]
    out = np.zeros((*stack, len(rows)), dtype=x.dtype)
    if 0 in (m, n):
        return out
    step = max(1, _BLOCK // max(width, 1))
    for first in range(0, len(rows), step):
        part = slice(first, first + step)
        # Only padding is out of bounds, and `take` is faster without checks.
        left = np.take(x, rows[part], axis=-2, mode="clip")
        right = np.take(y, columns[part], axis=-2, mode="clip")
        if width == 1:
            np.multiply(left[..., 0], right[..., 0], out=out[..., part])
        else:
            np.einsum("...k,...k->...", left, right, out=out[..., part])
    if len(rows) and (rows.max() >= m or columns.max() >= n):
        out[..., (rows >= m) | (columns >= n)] = 0
    return out


def coo_product(
    values: Array,
    rows: Array,
    columns: Array,
    other: Array,
    other_rows: Array,
    other_columns: Array,
    /,
    *,
    shape: Shape,
    inner: int,
) -> tuple[Array, Array, Array] | None:
    if values.dtype.kind not in "fc":
        return None
    dtype = values.dtype
    values, other = (x.astype(WIDE.get(dtype.char, dtype), copy=False) for x in (values, other))
    left = _by_rows(values, rows, columns, (shape[0], inner))
    right = _by_rows(other, other_rows, other_columns, (inner, shape[1]))
    product = pattern = left @ right
    product.sort_indices()
    result = product.data
    # SciPy drops sums that are zero, but they are part of the pattern. Sums of ones are never zero.
    if product.nnz != _number_of_sums(left, right):
        pattern = _of_ones(left) @ _of_ones(right)
        pattern.sort_indices()
        result = np.zeros(pattern.nnz, dtype=values.dtype)
        result[np.searchsorted(_positions(pattern), _positions(product))] = product.data
    columns = pattern.indices
    found: Array = np.repeat(np.arange(shape[0], dtype=rows.dtype), np.diff(pattern.indptr))
    return result.astype(dtype, copy=False), found, columns.astype(other_columns.dtype, copy=False)


def _by_rows(values: Array, rows: Array, columns: Array, shape: Shape) -> csr_array:
    """Make SciPy's matrix of all entries except padding."""
    values, rows, columns = without_padding(values, rows, columns, shape)
    if np.any(rows[1:] < rows[:-1]):
        order = np.argsort(rows, kind="stable")
        values, rows, columns = values[order], rows[order], columns[order]
    ends = np.cumsum(np.bincount(rows, minlength=shape[0]))
    return csr_array((values, columns, np.concatenate([[0], ends])), shape=shape)


def _number_of_sums(a: csr_array, b: csr_array) -> int:
    """Return the number of entries of a product, those that are zero included."""
    dtype = np.result_type(a.indptr, a.indices, b.indptr, b.indices)
    patterns = [x.astype(dtype, copy=False) for x in (a.indptr, a.indices, b.indptr, b.indices)]
    number: int = kernels.csr_matmat_maxnnz(a.shape[0], b.shape[1], *patterns)
    return number


def _of_ones(a: csr_array) -> csr_array:
    return csr_array((np.ones(len(a.data), dtype=np.float32), a.indices, a.indptr), shape=a.shape)


def _positions(a: csr_array) -> Array:
    rows: Array = np.repeat(np.arange(a.shape[0], dtype=np.int64), np.diff(a.indptr))
    return rows * a.shape[1] + a.indices


def csr_rows(indptr: Array, /, *, nse: int) -> Array:
    m = indptr.shape[-1] - 1
    out = np.full((*indptr.shape[:-1], nse), m, dtype=indptr.dtype)
    numbers = np.arange(m, dtype=indptr.dtype)
    for lane in np.ndindex(indptr.shape[:-1]):
        ends = indptr[lane]
        out[lane][: ends[-1]] = np.repeat(numbers, np.diff(ends).astype(np.intp, copy=False))
    return out


def _each_lane(multiply: Any, values: Array, x: Array, m: int, *, is_long: bool) -> Array:
    """Call `multiply(values, x, out)`, which adds to `out`, for each batch element.

    `out` has a wider data type than the values if sums may be long, or the kernels do not support the values.
    """
    dtype = values.dtype
    wide = WIDE.get(dtype.char, dtype) if is_long or dtype.char == "e" else dtype
    is_vector = x.ndim == 1 or x.shape[-1] == 1
    width = () if x.ndim == 1 else (x.shape[-1],)
    if values.ndim == 1 and x.ndim <= 2:
        out = np.zeros((m, *width), dtype=wide)
        if is_vector:
            multiply(values, x.reshape(-1), out.reshape(-1))
        else:
            multiply(values, np.ascontiguousarray(x), out)
        return out.astype(dtype, copy=False)
    stack = np.broadcast_shapes(values.shape[:-1], x.shape[:-2])
    out = np.zeros((*stack, m, *width), dtype=wide)
    values = np.broadcast_to(values, (*stack, values.shape[-1]))
    x = np.broadcast_to(x, (*stack, *x.shape[-2:])) if x.ndim > 1 else x
    for lane in np.ndindex(stack):
        each = x[lane] if x.ndim > 1 else x
        if is_vector:
            multiply(values[lane], each.reshape(-1), out[lane].reshape(-1))
        else:
            multiply(values[lane], np.ascontiguousarray(each), out[lane])
    return out.astype(dtype, copy=False)


def without_padding(values: Array, rows: Array, columns: Array, shape: Shape) -> tuple[Array, Array, Array]:
    """Remove padding, since the kernels would write beyond the end."""
    if not len(rows) or (rows.max() < shape[0] and columns.max() < shape[1]):
        return values, rows, columns
    in_range = (rows < shape[0]) & (columns < shape[1])
    return values[..., in_range], rows[in_range], columns[in_range]


def csr_assembly(
    rows: Array, columns: Array, /, *, shape: Shape, sum_duplicates: bool = True, size: int | None = None
) -> CSRAssembly:
    m, n = shape
    if size is not None or not len(rows) or not m * n or rows.max() >= m or columns.max() >= n:
        return generic_assembly(rows, columns, shape=shape, sum_duplicates=sum_duplicates, size=size)
    starts, columns, order = _in_order(rows, columns, shape)
    if not sum_duplicates:
        return CSRAssembly(columns, starts, order, np.arange(len(order) + 1, dtype=order.dtype))
    is_first: Array = np.empty(len(columns), dtype=np.bool_)
    is_first[0] = True
    np.not_equal(columns[1:], columns[:-1], out=is_first[1:])
    is_first[starts[:-1][np.diff(starts) > 0]] = True
    runs = np.flatnonzero(is_first)
    before = np.zeros(len(columns) + 1, dtype=order.dtype)
    np.cumsum(is_first, out=before[1:])
    indices = columns[runs]
    return CSRAssembly(indices, before[starts], order, np.append(runs, len(order)).astype(order.dtype, copy=False))


def _in_order(rows: Array, columns: Array, shape: Shape) -> tuple[Array, Array, Array]:
    """Sort entries by rows, then columns; return the starts of the rows, the columns, and the entries in this order.

    Count entries into columns and then into rows. Unlike a sort within rows, this preserves the order of entries at the
    same position, and it takes half the time of sorting keys.
    """
    (m, n), nse, dtype = shape, len(rows), rows.dtype
    starts, by_column, order = (np.empty(count, dtype=dtype) for count in (n + 1, nse, nse))
    kernels.coo_tocsr(n, m, nse, columns, rows, np.arange(nse, dtype=dtype), starts, by_column, order)
    row_starts, sorted_columns, sorted_order = (np.empty(count, dtype=dtype) for count in (m + 1, nse, nse))
    kernels.csr_tocsc(n, m, starts, by_column, order, row_starts, sorted_columns, sorted_order)
    return row_starts, sorted_columns, sorted_order
