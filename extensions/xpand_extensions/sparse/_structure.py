"""The structure of sparse arrays: duplicates, order, stored zeros, triangles, axes."""

from functools import partial
from math import prod
from typing import Any, cast

from xpand import array_namespace
from xpand.extend import Array, checks as _arguments

from .._bounds import index_dtype
from . import _checks as checks, _pattern as order
from ._containers import COO, CSC, CSR, Sparse, namespace_of
from ._convert import FORMATS, Format, assembled, container, convert, matrix_transpose, nonzero_in_any, tocoo
from ._operands import by_coordinates, chosen, coo_of
from ._pattern import along, are_concrete, coords_of, flat, full, merge, merged_values, pattern_work


def sum_duplicates(a: Sparse, /, *, nse: int | None = None, format: Format | None = None) -> Any:
    """Sum entries at one position, and sort.

    Args:
        a: A container of any format and data type. Booleans at one position are combined by "or".
        nse: The number of entries of the result; surplus ones are padding. None: the number of positions, or the number
            of entries of `a` if the pattern is abstract.
        format: The format of the result; None: that of `a`. To assemble a matrix in one pass, write
            `sum_duplicates(coo, format="csr")`.

    Returns:
        A sorted and unique container. If lanes have different patterns, those with fewer positions are padded.

    Raises:
        TypeError: `a` is not sparse.
        ValueError: There are more positions than `nse`, or an unknown format.

    The pattern is computed first, then the sums of the values, which have derivatives. Takes as long as a sort.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> a = COO(np.asarray([1.0, 2.0, 4.0]), (np.asarray([1, 0, 1]),), (3,))
    >>> b = sum_duplicates(a)
    >>> b.values, b.coords
    (array([2., 5.]), (array([0, 1]),))
    """
    a = container("sum_duplicates", a)
    if nse is not None:
        nse = _arguments.integer("sum_duplicates", "nse", nse, minimum=0)
    into = cast(Format, a.format) if format is None else format
    _arguments.choice("sum_duplicates", "format", into, FORMATS)
    if a.is_unique and nse in (None, a.nse):
        return convert(sort(a), into)
    if nse is None and _is_plain_matrix(a):
        return convert(assembled(tocoo(a), CSC if into == "csc" else CSR, sum_duplicates=True), into)
    found = convert(by_coordinates(lambda coo: _summed(coo, nse), a), into)
    found._is_unique = True  # padding of sums is out of bounds by both indices, so no row holds any
    return found


def _is_plain_matrix(a: Sparse) -> bool:
    """Return whether an array is a matrix with one known pattern, no dense axes, and values that are not booleans."""
    if a.sparse_ndim != 2 or a.dense_ndim or any(x.ndim > 1 for x in a.pattern):
        return False
    xp = array_namespace(a.values)
    return are_concrete(*a.pattern) and not xp.isdtype(a.dtype, "bool")


def _summed(a: COO, nse: int | None) -> COO:
    plan = merge(a.coords, a._sparse_shape, nse)
    values = merged_values(a.values, plan, a.batch_ndim)
    return coo_of(values, plan.coords, a._sparse_shape, is_sorted=True, is_unique=True, dense_ndim=a.dense_ndim)


def sort(a: Sparse, /) -> Any:
    """Sort entries by position, the last axis fastest; for a CSC, within columns.

    Args:
        a: A container of any format and data type. Entries at one position keep their order.

    Returns:
        A sorted container of the same format; `a` itself if it is declared to be sorted.

    Raises:
        TypeError: `a` is not sparse.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> sort(COO(np.asarray([1.0, 2.0]), (np.asarray([1, 0]),), (3,))).values
    array([2., 1.])
    """
    a = container("sort", a)
    if a.is_sorted:
        return a
    found = by_coordinates(_sorted, a)
    found._is_unique |= a.is_unique  # the conversion from coordinates does not know this of an abstract pattern
    return found


def _sorted(a: COO) -> COO:
    def work(*coords: Array) -> tuple[Array, tuple[Array, ...]]:
        xp = array_namespace(*coords)
        positions = order.sorting(xp, coords, a._sparse_shape)
        return positions, tuple(xp.take_along_axis(x, positions, axis=-1) for x in coords)

    if not a.nse:
        return coo_of(a.values, a.coords, a._sparse_shape, is_sorted=True, is_unique=True, dense_ndim=a.dense_ndim)
    positions, coords = pattern_work(work, *a.coords)
    values = along(a.values, positions, a.batch_ndim)
    return coo_of(values, coords, a._sparse_shape, is_sorted=True, is_unique=a.is_unique, dense_ndim=a.dense_ndim)


def eliminate_zeros(a: Sparse, /) -> Any:
    """Remove the entries whose value is zero, in all lanes that share a pattern.

    Args:
        a: A container whose values are known, also inside derivatives. Entries at one position are summed first.

    Returns:
        A container of the same format, sorted and unique.

    Raises:
        TypeError: `a` is not sparse, or its values aren't known, under `jit` and `vmap` and for lazy arrays.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> eliminate_zeros(COO(np.asarray([1.0, 0.0]), (np.asarray([1, 0]),), (3,)))
    <COO of shape (3,), 1 entries of float64>
    """
    a = container("eliminate_zeros", a)
    if not are_concrete(_is_nonzero(a), *a.pattern):
        raise TypeError(
            "eliminate_zeros: the number of nonzero values isn't known under jit and vmap, nor for lazy arrays; leave "
            "the zeros in, they are harmless, or call it before"
        )
    return by_coordinates(lambda coo: chosen(coo, lambda mask, *coords: mask, _is_nonzero(coo)), sum_duplicates(a))


def _is_nonzero(a: Sparse) -> Array:
    """Return whether entries are not zero, in one of the lanes that share the pattern."""
    batch = a.batch_ndim if a.pattern[0].ndim == 1 else 0
    axes = (*range(batch), *range(a.batch_ndim + 1, a.values.ndim))
    return pattern_work(partial(nonzero_in_any, axes=axes), a.values)


def tril(a: Sparse, /, *, k: int = 0) -> Any:
    """Keep the entries on and below a diagonal.

    Args:
        a: A matrix or a batch of matrices.
        k: The number of the diagonal: 0 is the main one, positive ones are above it, negative ones below.

    Returns:
        A container of the same format. If the pattern isn't known, the other entries become padding.

    Raises:
        TypeError: `a` is not sparse, or `k` is not an integer.
        ValueError: `a` is not a matrix.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import from_dense
    >>> tril(from_dense(np.ones((2, 2)))).todense()
    array([[1., 0.],
           [1., 1.]])
    """
    return _triangle("tril", a, k)


def triu(a: Sparse, /, *, k: int = 0) -> Any:
    """Keep the entries on and above a diagonal. See `tril`.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import from_dense
    >>> triu(from_dense(np.ones((2, 2)))).todense()
    array([[1., 1.],
           [0., 1.]])
    """
    return _triangle("triu", a, k)


def _triangle(function: str, a: Any, k: Any) -> Any:
    a = container(function, a)
    checks.matrix(function, "a", a)
    k = _arguments.integer(function, "k", k)
    is_lower = (function == "tril") != (a.format == "csc")
    if a.format == "csc":
        k = -k

    def mask(rows: Array, columns: Array) -> Array:
        xp = array_namespace(rows, columns)
        offsets = xp.astype(columns, index_dtype(xp)) - xp.astype(rows, index_dtype(xp))
        return offsets <= full(offsets, k) if is_lower else offsets >= full(offsets, k)

    return by_coordinates(lambda coo: chosen(coo, mask), a)


def transpose(a: Sparse, /, axes: tuple[int, ...] | None = None) -> Sparse:
    """Permute the axes of each kind (batch, sparse, dense) among themselves.

    Args:
        a: A container of any format.
        axes: The axis of `a` for each axis of the result. By default in reverse order, for containers without batch and
            dense axes; for others, see `matrix_transpose`.

    Returns:
        A container. If rows and columns are exchanged, CSR becomes CSC, and CSC becomes CSR. Data is copied only if
        batch or dense axes move.

    Raises:
        TypeError: `a` is not sparse, or `axes` aren't integers.
        ValueError: Axes that don't fit, or that mix batch, sparse and dense axes.

    Source: `xp.permute_dims`.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> transpose(COO(np.ones(1), (np.asarray([0]), np.asarray([2])), (2, 3)))
    <COO of shape (3, 2), 1 entries of float64>
    """
    a = container("transpose", a)
    batch, sparse = a.batch_ndim, a.sparse_ndim
    if axes is None:
        if batch or a.dense_ndim:
            raise ValueError(
                f"transpose: axes must be given for a container with batch or dense axes, got {a!r}; "
                "`matrix_transpose` exchanges rows and columns of each lane"
            )
        axes = tuple(reversed(range(a.ndim)))
    found = _arguments.axes("transpose", axes, a.ndim)
    groups = (range(batch), range(batch, batch + sparse), range(batch + sparse, a.ndim))
    parts = [found[each.start : each.stop] for each in groups]
    if len(found) != a.ndim or any(set(part) != set(group) for part, group in zip(parts, groups)):
        raise ValueError(
            f"transpose: axes={axes} must permute the {batch} batch axes, the {sparse} sparse ones and the "
            f"{a.dense_ndim} dense ones among themselves, each axis once"
        )
    a = _with_batch_permuted(a, parts[0], tuple(axis - sparse + 1 for axis in parts[2]))
    positions = [axis - batch for axis in parts[1]]
    if positions == list(range(sparse)):
        return a
    if isinstance(a, (CSR, CSC)):
        return matrix_transpose(a)
    sizes = [a._sparse_shape[i] for i in positions]
    return coo_of(a.values, [a.pattern[i] for i in positions], sizes, is_unique=a.is_unique, dense_ndim=a.dense_ndim)


def _with_batch_permuted(a: Sparse, batch: tuple[int, ...], dense: tuple[int, ...]) -> Sparse:
    axes = (*batch, a.batch_ndim, *dense)
    if axes == tuple(range(len(axes))):
        return a
    xp = namespace_of(a)
    pattern = tuple(xp.permute_dims(x, (*batch, x.ndim - 1)) if x.ndim > 1 else x for x in a.pattern)
    return type(a)._of(xp.permute_dims(a.values, axes), pattern, a._static())


def reshape(a: Sparse, /, shape: tuple[int, ...]) -> COO:
    """Reshape the sparse axes, in row-major order.

    Args:
        a: A container of any format.
        shape: The sizes of all axes. Those of batch and dense axes must not change; one sparse size may be -1.

    Returns:
        A COO with the same entries, in the same order.

    Raises:
        TypeError: `a` is not sparse, or sizes are not integers.
        ValueError: A shape that doesn't fit, or more than 2**63 positions.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> [x.tolist() for x in reshape(COO(np.ones(2), (np.asarray([1, 5]),), (6,)), (2, 3)).coords]
    [[0, 1], [1, 2]]
    """
    a = container("reshape", a)
    requested: Any = shape
    given = requested if isinstance(requested, (tuple, list)) else (requested,)
    sizes = [_arguments.integer("reshape", "shape", size, minimum=-1) for size in given]
    batch, dense = a.batch_ndim, a.dense_ndim
    inner = sizes[batch : len(sizes) - dense]
    total = prod(a._sparse_shape)
    rest = prod([size for size in inner if size >= 0])  # torch.compile accepts no generator here
    if inner.count(-1) == 1 and rest and total % rest == 0:
        inner = [total // rest if size < 0 else size for size in inner]
    outer = (*sizes[:batch], *sizes[len(sizes) - dense :])
    unchanged = (*a.shape[:batch], *a.shape[a.ndim - dense :])
    if not inner or -1 in inner or prod(inner) != total or outer != unchanged or total >= 2**63:
        raise ValueError(
            f"reshape: shape {tuple(given)} must have the {batch} batch axes and {dense} dense ones of {a.shape}, and "
            f"{total} positions, at most 2**63 - 1, on the sparse axes between"
        )
    coo = tocoo(a)

    def work(*coords: Array) -> tuple[Array, ...]:
        xp = array_namespace(*coords)
        return coords_of(xp, flat(xp, coords, coo._sparse_shape), inner, _index_dtype(xp, coords[0], inner))

    coords = pattern_work(work, *coo.coords)
    return coo_of(coo.values, coords, inner, is_sorted=coo.is_sorted, is_unique=coo.is_unique, dense_ndim=dense)


def _index_dtype(xp: Any, coords: Array, sizes: list[int]) -> Any:
    """Return the data type of coordinates; the one for indices if the sizes don't fit in it."""
    return coords.dtype if max(sizes) <= _arguments.integer_range(xp, coords.dtype)[1] else index_dtype(xp)
