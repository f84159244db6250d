"""Assembly of a CSR from entries in any order, with duplicates; the plan is computed once for a pattern."""

from typing import NamedTuple

from xpand import array_namespace, is_concrete
from xpand.extend import LibraryArray as Array, checks as _arguments

from .._dispatch import pluggable
from ._products import Shape, check_indices, csr_matmul, matrix_shape, usual_indices


class CSRAssembly(NamedTuple):
    """The pattern of a CSR, and the entries that are summed for each of its values."""

    indices: Array
    """The column of each value."""
    indptr: Array
    """The start of each row, and the end of the last."""
    order: Array
    """The indices that sort the entries by position: integers of shape `(nse,)`."""
    runs: Array
    """The start of each value's entries in `order`, and the end of the last."""


@pluggable
def csr_assembly(
    rows: Array, columns: Array, /, *, shape: Shape, sum_duplicates: bool = True, size: int | None = None
) -> CSRAssembly:
    """Compute the pattern by rows (CSR) of a matrix whose entries are given by coordinates.

    Args:
        rows: The row of each entry: integers of shape `(nse,)`. Entries whose row is `m` are padding, and omitted.
        columns: The column of each entry, of the same shape; `n` for padding.
        shape: The shape of the matrix, `(m, n)`.
        sum_duplicates: Whether to sum the entries at one position. Otherwise they stay separate, next to each other.
        size: The number of values, required if the pattern isn't known (under jit). Surplus values are zeros that
            belong to no row; if `size` is too small, the last values are omitted. By default: the number of different
            positions.

    Returns:
        The pattern by rows, with sorted columns: `indices` and `indptr`. For `assembled_values`: the `order` of the
        entries, and the `runs` that are summed. Entries at one position keep their order.

    Raises:
        TypeError: Arguments that aren't integer arrays of one library.
        ValueError: Shapes that don't fit, arrays on two devices, a negative `size`, or no `size` for an unknown
            pattern.

    Takes as long as a sort; on the CPU, with a concrete pattern, as two counting passes.

    Source: SciPy's `coo_array.tocsr`, `sum_duplicates`.

    >>> import numpy as np
    >>> found = csr_assembly(np.asarray([1, 0, 1, 1]), np.asarray([2, 1, 0, 2]), shape=(2, 3))
    >>> found.indices.tolist(), found.indptr.tolist()
    ([1, 0, 2], [0, 1, 3])
    >>> assembled_values(np.asarray([1.0, 2.0, 3.0, 4.0]), found)
    array([2., 3., 5.])
    """
    xp = _arguments.namespace_of("csr_assembly", rows=rows, columns=columns)
    _arguments.one_device("csr_assembly", rows=rows, columns=columns)
    check_indices("csr_assembly", xp, rows=rows, columns=columns)
    _arguments.boolean("csr_assembly", "sum_duplicates", sum_duplicates)
    shape = matrix_shape("csr_assembly", shape)
    if size is not None:
        size = _arguments.integer("csr_assembly", "size", size, minimum=0)
    elif not (is_concrete(rows) and is_concrete(columns)):
        raise ValueError(
            "csr_assembly: size must be given where the values of rows and columns aren't known (under jit or vmap, or "
            "in a lazy array), since it is that of the result"
        )
    rows, columns = usual_indices(rows, columns)
    return csr_assembly.native(rows, columns)(rows, columns, shape=shape, sum_duplicates=sum_duplicates, size=size)


def assembled_values(values: Array, assembly: CSRAssembly, /) -> Array:
    """Sum entries given by coordinates into the values of a matrix by rows (CSR).

    Args:
        values: The values of the entries, of shape `(*batch, nse)`, of a numeric data type.
        assembly: The result of `csr_assembly` for their rows and columns.

    Returns:
        An array of shape `(*batch, size)`: the values that belong to `assembly.indices`.

    Raises:
        TypeError: Arguments that aren't arrays of one library.
        ValueError: `values` does not have one element for each entry.

    The function is linear, and computed as a product with a sparse matrix of ones, which has derivatives.

    >>> import numpy as np
    >>> assembly = csr_assembly(np.asarray([0, 0, 0]), np.asarray([1, 0, 1]), shape=(1, 2))
    >>> assembled_values(np.asarray([[1.0, 2.0, 4.0], [0.0, 1.0, 1.0]]), assembly)
    array([[2., 5.],
           [1., 1.]])
    """
    order, runs = assembly.order, assembly.runs
    _arguments.namespace_of("assembled_values", values=values, order=order)
    if not values.ndim or values.shape[-1] != order.shape[0]:
        raise ValueError(
            f"assembled_values: values must have the shape (*batch, {order.shape[0]}), one for each entry of the "
            f"assembly, got {tuple(values.shape)}"
        )
    xp = array_namespace(values)
    ones = xp.ones(tuple(order.shape), dtype=values.dtype, device=_arguments.device_of(values))
    shape = (runs.shape[0] - 1, order.shape[0])
    if values.ndim == 1:
        return csr_matmul(ones, order, runs, values, shape=shape)
    return csr_matmul(ones, order, runs, values[..., None], shape=shape)[..., 0]
