"""Assembly of sparse matrices on NumPy: by counting, with SciPy's kernels."""

import numpy as np
from scipy.sparse import _sparsetools as kernels

from xpand.extend import LibraryArray as Array
from xpand_extensions.generic.sparse import csr_assembly as generic_assembly
from xpand_extensions.sparse._assembly import CSRAssembly, Shape


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
    """Sort entries by rows, then columns: return where rows begin, the columns, and the entries in this order.

    The entries are counted into columns and then into rows. That keeps the order of those at one position, which
    sorting within rows does not, and takes half the time of sorting keys.
    """
    (m, n), nse, dtype = shape, len(rows), rows.dtype
    starts, by_column, order = (np.empty(count, dtype=dtype) for count in (n + 1, nse, nse))
    kernels.coo_tocsr(n, m, nse, columns, rows, np.arange(nse, dtype=dtype), starts, by_column, order)
    row_starts, sorted_columns, sorted_order = (np.empty(count, dtype=dtype) for count in (m + 1, nse, nse))
    kernels.csr_tocsc(n, m, starts, by_column, order, row_starts, sorted_columns, sorted_order)
    return row_starts, sorted_columns, sorted_order
