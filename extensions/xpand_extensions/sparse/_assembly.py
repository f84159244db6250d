"""Assembly of a CSR from entries in any order, with duplicates: computed once for a pattern."""

from typing import NamedTuple

from xpand import array_namespace, is_concrete
from xpand.extend import LibraryArray as Array, checks as _arguments

from .._dispatch import pluggable
from . import _parts as checks
from ._products import csr_matmul

Shape = checks.Shape


class CSRAssembly(NamedTuple):
    """The pattern of a CSR, and the entries that are summed for each of its values."""

    indices: Array
    """The column of each value."""
    indptr: Array
    """Where rows begin, and the last one ends."""
    order: Array
    """The entries in the order of their positions: integers of shape `(nse,)`."""
    runs: Array
    """Where in `order` those of each value begin, and the last ones end."""


@pluggable
def csr_assembly(
    rows: Array, columns: Array, /, *, shape: Shape, sum_duplicates: bool = True, size: int | None = None
) -> CSRAssembly:
    """Compute the pattern by rows (CSR) of a matrix whose entries are given by coordinates.

    Args:
        rows: The row of each entry: integers of shape `(nse,)`; the number of rows for padding, which is omitted.
        columns: The column of each entry, of the same shape; that of columns for padding.
        shape: The shape of the matrix, `(m, n)`.
        sum_duplicates: Whether entries at one position become one value. Otherwise they follow each other.
        size: The number of values. By default: the number of different positions. Required where the pattern isn't
            known: under jit. Beyond those that are needed there are zeros, which belong to no row; those beyond are
                omitted.

    Returns:
        The pattern by rows, columns in order, as `indices` and `indptr`; and for `assembled_values` the `order` of the
        entries and the `runs` that are summed. Entries at one position keep their order.

    Raises:
        TypeError: No array, no integers, or arrays of two libraries.
        ValueError: Shapes that don't fit, arrays on two devices, a negative `size`, or one omitted where it is
            required.

    Takes the time of a sort; on the CPU, if the pattern is concrete, the time of two counting passes.

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
    checks.indices("csr_assembly", xp, rows=rows, columns=columns)
    _arguments.boolean("csr_assembly", "sum_duplicates", sum_duplicates)
    if size is not None:
        size = _arguments.integer("csr_assembly", "size", size, minimum=0)
    elif not (is_concrete(rows) and is_concrete(columns)):
        raise ValueError(
            "csr_assembly: size must be given where the values of rows and columns aren't known (under jit or vmap, or "
            "in a lazy array), since it is that of the result"
        )
    rows, columns = checks.usual_indices(rows, columns)
    return csr_assembly.native(rows, columns)(rows, columns, shape=shape, sum_duplicates=sum_duplicates, size=size)


def assembled_values(values: Array, assembly: CSRAssembly, /) -> Array:
    """Sum entries given by coordinates into the values of a matrix by rows (CSR).

    Args:
        values: The values of the entries, of shape `(*batch, nse)`, of a numeric data type.
        assembly: The result of `csr_assembly` for their rows and columns.

    Returns:
        An array of shape `(*batch, size)`: the values that belong to `assembly.indices`.

    Raises:
        TypeError: No array, or arrays of two libraries.
        ValueError: The number of values is not that of the entries.

    It is linear: the sum is a product with a sparse matrix of ones, and has its derivatives.

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
