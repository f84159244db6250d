"""Conversions between formats: dense arrays, COO, CSR and CSC."""

from functools import partial
from math import prod
from typing import Any, Literal, TypeAlias

from xpand import array_namespace, is_concrete
from xpand.extend import Array, checks as _arguments, describe

from .. import indexing
from .._bounds import index_dtype
from . import _checks as checks
from ._assembly import assembled_values, csr_assembly
from ._containers import COO, CSC, CSR, Sparse, namespace_of
from ._libraries import container_of, native_format
from ._pattern import along, are_concrete, eagerly, flat, full, joined_index, pattern_work, summed
from ._products import check_parts, csr_rows, matrix_shape

Format: TypeAlias = Literal["coo", "csr", "csc"]
FORMATS: tuple[Format, ...] = ("coo", "csr", "csc")


def is_sparse(x: Any, /) -> bool:
    """Return whether an object is a container, or a library's own sparse array.

    >>> import numpy as np
    >>> is_sparse(np.zeros((2, 2))), is_sparse(COO(np.ones(1), (np.asarray([0]),), (3,)))
    (False, True)
    """
    return isinstance(x, Sparse) or native_format(x) is not None


def sparse_format(x: Any, /) -> str:
    """Return the format of an array: "coo", "csr", "csc", the library's name for its own format, or "dense".

    Raises:
        TypeError: The argument is not an array.

    >>> import numpy as np
    >>> sparse_format(np.zeros((2, 2)))
    'dense'
    """
    if isinstance(x, Sparse):
        return x.format
    found = native_format(x)
    if found is not None:
        return found
    checks.like("sparse_format", "x", x)
    return "dense"


def todense(a: Sparse | Array, /) -> Array:
    """Convert a container to a dense array; entries at the same position are summed.

    Boolean entries at the same position are combined by "or".

    Args:
        a: A container, a library's own sparse array, or a dense array, which is returned unchanged.

    Raises:
        TypeError: The argument is not an array.

    >>> import numpy as np
    >>> todense(COO(np.asarray([1.0, 2.0]), (np.asarray([1, 1]),), (3,)))
    array([0., 3., 0.])
    """
    a = any_sparse("todense", "a", a)
    if not isinstance(a, Sparse):
        return a
    return _scattered(tocoo(a))


def coo_todense(values: Array, rows: Array, columns: Array, /, *, shape: tuple[int, int]) -> Array:
    """Build dense matrices from the parts of sparse matrices by coordinates (COO).

    Args:
        values: The values, of shape `(*batch, nse)`, of a boolean or numeric data type. Those at one position are
            summed; booleans are combined by "or".
        rows: The row of each value: integers of shape `(nse,)`, for all lanes, or `(*batch, nse)`.
        columns: The column of each value, of the shape of `rows`.
        shape: The shape of a matrix, `(m, n)`.

    Returns:
        An array of shape `(*batch, m, n)`.

    Raises:
        TypeError: Arguments that aren't arrays of one library, or indices that are not integers.
        ValueError: Shapes that don't fit, or arrays on two devices.

    >>> import numpy as np
    >>> coo_todense(np.asarray([1.0, 2.0, 3.0]), np.asarray([1, 0, 1]), np.asarray([0, 2, 0]), shape=(2, 3))
    array([[0., 0., 2.],
           [4., 0., 0.]])
    """
    shape = matrix_shape("coo_todense", shape)
    check_parts("coo_todense", values, shape, rows=rows, columns=columns)
    return _scattered(COO._of(values, (rows, columns), (shape, False, False, 0)))


def csr_todense(values: Array, indices: Array, indptr: Array, /, *, shape: tuple[int, int]) -> Array:
    """Build dense matrices from the parts of sparse matrices by rows (CSR).

    The parts are those of `csr_matmul`; values may be booleans. Result and errors are those of `coo_todense`.

    >>> import numpy as np
    >>> csr_todense(np.asarray([1.0, 2.0, 3.0]), np.asarray([0, 2, 1]), np.asarray([0, 2, 3]), shape=(2, 3))
    array([[1., 0., 2.],
           [0., 3., 0.]])
    """
    shape = matrix_shape("csr_todense", shape)
    check_parts("csr_todense", values, shape, indices=indices, indptr=indptr)
    return coo_todense(values, csr_rows(indptr, nse=values.shape[-1]), indices, shape=shape)


def tocoo(a: Sparse, /) -> COO:
    """Convert a container to COO: the number and order of the entries stay the same.

    >>> import numpy as np
    >>> a = CSR(np.asarray([1.0, 2.0]), np.asarray([2, 0]), np.asarray([0, 1, 2]), (2, 3))
    >>> [x.tolist() for x in tocoo(a).coords]
    [[0, 1], [2, 0]]
    """
    a = container("tocoo", a)
    if isinstance(a, COO):
        return a
    used = trimmed(a)
    major, minor = pattern_work(partial(csr_rows, nse=used.nse), used.indptr), used.indices
    coords = (major, minor) if isinstance(a, CSR) else (minor, major)
    is_sorted = a.is_sorted and isinstance(a, CSR)
    return COO._of(used.values, coords, (a._sparse_shape, is_sorted, a.is_unique, 0))


def tocsr(a: Sparse, /) -> CSR:
    """Convert a matrix to CSR: entries are sorted by row.

    Entries at one position stay separate and in order; `sum_duplicates` sums them.

    Raises:
        TypeError: `a` is not a container.
        ValueError: `a` is not a matrix or a batch of matrices.

    >>> import numpy as np
    >>> a = COO(np.asarray([1.0, 2.0]), (np.asarray([1, 0]), np.asarray([0, 2])), (2, 3)).tocsr()
    >>> a.values, a.indices, a.indptr
    (array([2., 1.]), array([2, 0]), array([0, 1, 2]))
    """
    a = container("tocsr", a)
    return a if isinstance(a, CSR) else _compressed("tocsr", a, CSR)


def tocsc(a: Sparse, /) -> CSC:
    """Convert a matrix to CSC: entries are sorted by column. See `tocsr`.

    >>> import numpy as np
    >>> a = COO(np.asarray([1.0, 2.0]), (np.asarray([1, 0]), np.asarray([0, 2])), (2, 3)).tocsc()
    >>> a.values, a.indices, a.indptr
    (array([1., 2.]), array([1, 0]), array([0, 1, 1, 2]))
    """
    a = container("tocsc", a)
    return a if isinstance(a, CSC) else _compressed("tocsc", a, CSC)


def convert(a: Sparse, /, format: Format) -> Sparse:
    """Convert a container to a format.

    Raises:
        ValueError: There is no such format, or the format needs a matrix and the container is not one.

    >>> import numpy as np
    >>> convert(COO(np.ones(1), (np.asarray([0]), np.asarray([1])), (2, 2)), "csc")
    <CSC of shape (2, 2), 1 entries of float64>
    """
    _arguments.choice("convert", "format", format, FORMATS)
    return {"coo": tocoo, "csr": tocsr, "csc": tocsc}[format](a)


def matrix_transpose(a: Sparse, /) -> Sparse:
    """Exchange rows and columns of a matrix or a batch. CSR becomes CSC, and CSC becomes CSR. Nothing is copied.

    Raises:
        ValueError: `a` is not a matrix.

    >>> import numpy as np
    >>> matrix_transpose(CSR(np.ones(1), np.asarray([2]), np.asarray([0, 1, 1]), (2, 3)))
    <CSC of shape (3, 2), 1 entries of float64>
    """
    a = container("matrix_transpose", a)
    checks.matrix("matrix_transpose", "a", a)
    if isinstance(a, COO):
        return COO._of(a.values, a.coords[::-1], (a._sparse_shape[::-1], False, a.is_unique, 0))
    assert isinstance(a, (CSR, CSC)), "there are three formats"
    return a._transposed(CSC if isinstance(a, CSR) else CSR)


def container(function: str, a: Any, name: str = "a") -> Sparse:
    """Return a container; a library's own sparse array is converted.

    Raises:
        TypeError: `a` is not sparse.
    """
    found = any_sparse(function, name, a)
    if isinstance(found, Sparse):
        return found
    raise TypeError(
        f"{function}: {name} must be sparse, got {describe(a)}; `sparse.from_dense` makes a container of an array"
    )


def any_sparse(function: str, name: str, a: Any) -> Any:
    """Return a container for a sparse array; return other arrays unchanged.

    Raises:
        TypeError: `a` is not an array.
    """
    if isinstance(a, Sparse):
        return a
    if native_format(a) is not None:
        return container_of(a)
    checks.like(function, name, a)
    return a


def _scattered(a: COO) -> Array:
    """Add the entries of a COO into zeros."""
    xp = namespace_of(a)
    if xp.isdtype(a.dtype, "bool"):  # a sum of booleans is true if any is true
        return _scattered(a.with_values(xp.astype(a.values, xp.int32))) != 0
    sizes = a._sparse_shape
    positions = pattern_work(lambda *coords: flat(array_namespace(*coords), coords, sizes), *a.coords)
    return xp.reshape(summed(a.values, positions, prod(sizes), a.batch_ndim), a.shape)


def _compressed(function: str, a: Sparse, cls: Any) -> Any:
    """Sort the entries of a matrix by its rows or columns."""
    checks.matrix(function, "a", a)
    coo = tocoo(a)
    is_sorted = coo.is_sorted and cls is CSR
    if not is_sorted and coo.coords[0].ndim == 1 and are_concrete(*coo.coords):
        return assembled(coo, cls, sum_duplicates=False)
    coo = _without_padding_in_rows(coo, cls) if isinstance(a, COO) else coo
    major, minor = coo.coords if cls is CSR else coo.coords[::-1]
    size, values = coo._sparse_shape[0 if cls is CSR else 1], coo.values
    if not is_sorted:
        positions, minor, indptr = pattern_work(partial(_arranged, size), major, minor)
        values = along(values, positions, coo.batch_ndim)
        is_sorted = isinstance(a, (CSR, CSC)) and a.is_sorted
    else:
        indptr = pattern_work(partial(_ends, size), major)
    return cls._of(values, (minor, indptr), (coo._sparse_shape, is_sorted, coo.is_unique))


def _without_padding_in_rows(a: COO, cls: Any) -> COO:
    """Convert entries whose minor index is out of bounds to padding of the result, or to entries of value zero.

    A CSR or CSC must not have an index out of bounds.
    """
    xp, position = namespace_of(a), 0 if cls is CSR else 1
    major, minor = a.coords[position], a.coords[1 - position]
    size, limit = a._sparse_shape[position], a._sparse_shape[1 - position]

    def is_padded(minor: Array) -> bool:
        return bool(array_namespace(minor).any(minor >= limit))

    if are_concrete(minor) and not eagerly(is_padded, minor):
        return a
    is_sorted = a.is_sorted and cls is CSR
    if is_sorted and limit:  # clamping keeps entries in order
        values = xp.where(minor < limit, a.values, xp.zeros_like(a.values))
        minor = xp.minimum(minor, xp.full_like(minor, limit - 1))
        return COO._of(values, (major, minor), (a._sparse_shape, True, False, 0))
    major, minor = (
        xp.where(minor < limit, major, xp.full_like(major, size)),
        xp.where(minor < limit, minor, xp.zeros_like(minor)),
    )
    coords = (major, minor) if cls is CSR else (minor, major)
    return COO._of(a.values, coords, (a._sparse_shape, a.is_sorted and not limit, a.is_unique, 0))


def assembled(a: COO, cls: Any, *, sum_duplicates: bool) -> Any:
    """Sort the entries of a matrix with one known pattern by its rows or columns.

    Padding is omitted. `sum_duplicates` sums entries at one position, but not booleans.
    """
    (m, n), (rows, columns) = a._sparse_shape, a.coords
    shape, (major, minor) = ((m, n), (rows, columns)) if cls is CSR else ((n, m), (columns, rows))
    found = eagerly(partial(csr_assembly, shape=shape, sum_duplicates=sum_duplicates), major, minor)
    if sum_duplicates:
        values = assembled_values(a.values, found)
    else:  # `order` has the padding last: omit it
        values = along(a.values, found.order[: found.indices.shape[0]], a.batch_ndim)
    return cls._of(values, (found.indices, found.indptr), (a._sparse_shape, True, sum_duplicates or a.is_unique))


def _arranged(size: int, major: Array, minor: Array) -> tuple[Array, Array, Array]:
    """Return the indices that sort entries by row, the sorted columns, and the boundaries of the rows (`indptr`)."""
    xp = array_namespace(major, minor)
    positions = xp.argsort(major, axis=-1, stable=True)
    major, minor = (xp.take_along_axis(x, positions, axis=-1) for x in (major, minor))
    return positions, minor, _ends(size, major)


def _ends(size: int, major: Array) -> Array:
    """Return the boundaries of the rows (`indptr`) from the sorted row of each entry."""
    xp = array_namespace(major)
    counts = summed(xp.ones_like(major), major, size, major.ndim - 1, is_sorted=True)
    return xp.cumulative_sum(counts, axis=-1, include_initial=True, dtype=major.dtype)


def trimmed(a: Any) -> Any:
    """Remove the padding of a CSR or CSC, if `indptr` is known."""
    if a.indptr.ndim > 1 or not is_concrete(a.indptr):
        return a
    used = eagerly(lambda indptr: int(indptr[-1]), a.indptr)
    if used == a.nse:
        return a
    indices = pattern_work(lambda x: x[:used], a.indices)
    return type(a)._of(a.values[..., :used], (indices, a.indptr), a._static())


def from_dense(
    x: Array, /, format: Format = "csr", *, nse: int | None = None, batch_ndim: int = 0, dense_ndim: int = 0
) -> Sparse:
    """Convert an array to a sparse container of its nonzero elements, in order.

    Args:
        x: An array of any data type.
        format: "coo", "csr" or "csc".
        nse: The number of entries to store; missing ones are padding with value zero. None: the number of nonzero
            elements, which needs the values of `x`.
        batch_ndim: The number of axes before the sparse ones. A position is stored if it is nonzero in any lane.
        dense_ndim: The number of axes after the sparse ones. An entry is stored if any of its elements is nonzero.

    Returns:
        A sorted container; all entries but padding have different positions. Of an array without elements, "csr" and
        "csc" store no padding, since it has no row or no column for it.

    Raises:
        TypeError: `x` is not an array; or no `nse` under `jit` or `vmap`, or for a lazy array.
        ValueError: An unknown format, axes that don't fit, or more positions than `nse`.

    >>> import numpy as np
    >>> from_dense(np.asarray([[0.0, 3.0], [0.0, 0.0]]))
    <CSR of shape (2, 2), 1 entries of float64>
    """
    xp = checks.like("from_dense", "x", x)
    _arguments.choice("from_dense", "format", format, FORMATS)
    batch = _arguments.integer("from_dense", "batch_ndim", batch_ndim, minimum=0)
    dense = _arguments.integer("from_dense", "dense_ndim", dense_ndim, minimum=0)
    sparse_ndim = x.ndim - batch - dense
    if sparse_ndim < 1 or (format != "coo" and (sparse_ndim, dense) != (2, 0)):
        raise ValueError(
            f"from_dense: {x.ndim} axes with batch_ndim={batch} and dense_ndim={dense} leave {sparse_ndim} sparse "
            f"axes; {format} takes {'one or more' if format == 'coo' else 'two, and no dense ones'}"
        )
    is_nonzero = pattern_work(partial(nonzero_in_any, axes=(*range(batch), *range(x.ndim - dense, x.ndim))), x)
    if nse is None and not are_concrete(is_nonzero):
        raise TypeError(
            "from_dense: the number of nonzero elements isn't known under jit and vmap, nor for lazy arrays; give `nse`"
        )
    sizes = tuple(x.shape[batch : x.ndim - dense])
    if nse is None:
        coords = eagerly(lambda mask: array_namespace(mask).nonzero(mask), is_nonzero)
    else:
        coords = indexing.nonzero(is_nonzero, size=nse)
    if nse and 0 in sizes:  # there is only padding
        shape = (*x.shape[:batch], nse, *x.shape[x.ndim - dense :])
        values = xp.zeros(shape, dtype=x.dtype, device=_arguments.device_of(x))
    else:
        values = _picked(xp, x, coords, batch)
    if nse is not None:
        count = xp.sum(xp.astype(is_nonzero, index_dtype(xp)))
        checks.room("from_dense", count, nse)
        used = xp.arange(nse, dtype=index_dtype(xp), device=_arguments.device_of(x)) < count
        used = xp.reshape(used, (nse,) + (1,) * dense)
        values = xp.where(used, values, xp.zeros((), dtype=x.dtype, device=_arguments.device_of(x)))
    made = COO._of(values, coords, (sizes, nse is None, nse is None, dense))
    return convert(made, format)


def nonzero_in_any(x: Array, *, axes: tuple[int, ...]) -> Array:
    """Return whether an element is not zero at any index along some axes, which are removed."""
    is_nonzero = x != full(x, 0)
    return array_namespace(x).any(is_nonzero, axis=axes) if axes else is_nonzero


def _picked(xp: Any, x: Array, coords: tuple[Array, ...], batch: int) -> Array:
    """Return the values at positions along the sparse axes, for all lanes."""
    sizes = x.shape[batch : batch + len(coords)]
    whole = xp.reshape(x, (*x.shape[:batch], prod(sizes), *x.shape[batch + len(coords) :]))
    return xp.take(whole, joined_index(coords, sizes), axis=batch)
