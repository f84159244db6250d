"""Indexing of sparse arrays: rows, columns, elements and other parts."""

from typing import Any

from xpand import array_namespace
from xpand.extend import Array, checks, describe

from .._bounds import index_dtype, out_of_bounds
from ._checks import extremes
from ._containers import COO, Sparse, namespace_of
from ._convert import container, convert, matrix_transpose, tocoo
from ._operands import chosen, coo_of, over_entries
from ._pattern import along, are_concrete, eagerly, full, joined, lookup, pattern_work, summed
from ._structure import sort, sum_duplicates

_FULL = slice(None)


def getitem(a: Sparse, index: Any, /) -> Any:
    """Return part of a sparse array: `a[index]`.

    Args:
        a: A container of any format.
        index: For each axis an integer, a slice, an array of integers or a mask of one axis; `...` for omitted axes. If
            several sparse axes have arrays, each sparse axis must have an array or an integer; these broadcast and
            select elements.

    Returns:
        An array if each sparse axis has an integer or an array. Otherwise a container: of the same format if both axes
        of a matrix remain, else COO. Each sparse axis is indexed separately; batch and dense axes are indexed like
        those of arrays.

    Raises:
        TypeError: `a` is not sparse; an object that is not an index; arrays of two libraries; or an array next to a
            slice on sparse axes, if the array or the pattern isn't known.
        IndexError: An index out of bounds, too many indices, or a mask that doesn't fit.
        ValueError: Arrays on several sparse axes but not on all.

    The result has derivatives in the values. If the pattern isn't known, the entries outside become padding.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import from_dense
    >>> a = from_dense(np.asarray([[0.0, 3.0], [4.0, 0.0], [0.0, 5.0]]))
    >>> getitem(a, slice(1, None)).todense()
    array([[4., 0.],
           [0., 5.]])
    >>> getitem(a, (np.asarray([0, 1]), 1))
    array([3., 0.])
    """
    a = container("getitem", a)
    items = _items(a, index)
    batch, sparse = a.batch_ndim, a.sparse_ndim
    inner = [_sparse_item(a, item, batch + i) for i, item in enumerate(items[batch : batch + sparse])]
    a = _outer(a, items[:batch], items[batch + sparse :])
    are_chosen = [not isinstance(item, slice) for item in inner]
    arrays = [item for item in inner if not isinstance(item, (int, slice))]
    if all(are_chosen):
        return _elements(a, inner)
    if len(arrays) > 1:
        raise ValueError(
            "getitem: takes one array among slices of sparse axes, or an integer or an array for each of them, got "
            f"{len(arrays)} for {sparse} axes; index in two steps"
        )
    if all(isinstance(item, slice) and _is_full(item, size) for item, size in zip(inner, a._sparse_shape)):
        return a
    if a.format == "csc" and not any(isinstance(item, int) for item in inner):
        return matrix_transpose(convert(_axis_by_axis(tocoo(matrix_transpose(a)), inner[::-1]), "csr"))
    found = _axis_by_axis(tocoo(a), inner)
    return convert(found, a.format) if found.sparse_ndim == sparse else found  # type: ignore[arg-type]


def _items(a: Sparse, index: Any) -> list[Any]:
    """Return one item for each axis."""
    items = list(index) if isinstance(index, tuple) else [index]
    if any(item is None for item in items):
        raise TypeError("getitem: index holds None; new axes of sparse arrays are made by `sparse.reshape`")
    locations = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(locations) > 1:
        raise IndexError(f"getitem: index has {len(locations)} ellipses ('...'), takes at most one")
    if len(items) - len(locations) > a.ndim:
        raise IndexError(
            f"getitem: too many indices: index has {len(items) - len(locations)} for the {a.ndim} axes of a"
        )
    position = locations[0] if locations else len(items)
    rest = [_FULL] * (a.ndim - len(items) + len(locations))
    return [*items[:position], *rest, *items[position + 1 :]]


def _sparse_item(a: Sparse, item: Any, axis: int) -> Any:
    """Check the index of a sparse axis: a slice, an integer counted from the front, or an array of integers."""
    size = a.shape[axis]
    if isinstance(item, slice):
        return item
    if not checks.is_array(item) or (
        hasattr(item, "__index__") and getattr(item, "ndim", 1) == 0 and _is_concrete_integer(item)
    ):
        if isinstance(item, bool) or not hasattr(item, "__index__"):
            raise TypeError(
                f"getitem: index holds {describe(item)}; takes integers, slices, '...', and integer or boolean arrays; "
                "turn a list into an array with `xp.asarray`"
            )
        number = checks.integer("getitem", "index", item)
        if not -size <= number < size:
            raise out_of_bounds("getitem", number, axis, size)
        return number % size
    xp = checks.namespace_of("getitem", a=a.values, index=item)
    checks.one_device("getitem", a=a.values, index=item)
    kind = checks.dtype("getitem", "index", xp, item, checks.BITS)
    return _mask(item, axis, size) if kind == "bool" else _integers(xp, item, axis, size)


def _is_concrete_integer(item: Any) -> bool:
    """Return whether the value of an array of shape () is a concrete integer."""
    xp = array_namespace(item)
    return are_concrete(item) and checks.kind(xp, item.dtype) in checks.INTEGERS


def _mask(mask: Array, axis: int, size: int) -> Array:
    if tuple(mask.shape) != (size,):
        raise IndexError(f"getitem: the mask of shape {tuple(mask.shape)} doesn't match axis {axis} of size {size}")
    if not are_concrete(mask):
        raise TypeError(
            "getitem: the number of elements that a mask selects isn't known under jit and vmap, nor for lazy arrays; "
            "multiply by the mask instead"
        )
    found: Array = eagerly(lambda given: array_namespace(given).nonzero(given)[0], mask)
    return found


def _integers(xp: Any, index: Array, axis: int, size: int) -> Array:
    if are_concrete(index) and 0 not in index.shape:
        low, high = eagerly(extremes, index)
        if low < -size or high >= size:
            raise out_of_bounds("getitem", high if high >= size else low, axis, size)

    def from_front(x: Array) -> Array:
        xp = array_namespace(x)
        x = xp.astype(x, index_dtype(xp))
        return xp.where(x < full(x, 0), x + full(x, size), x)

    return pattern_work(from_front, index)


def _outer(a: Sparse, batch: list[Any], dense: list[Any]) -> Sparse:
    """Index batch and dense axes like those of arrays."""
    if all(isinstance(item, slice) and item == _FULL for item in (*batch, *dense)):
        return a
    first = a.ndim - len(dense)
    before = [_outer_item(a, item, axis) for axis, item in enumerate(batch)]
    after = [_outer_item(a, item, first + i) for i, item in enumerate(dense)]
    values = _read(a.values, (*before, _FULL, *after))
    pattern = a.pattern
    if pattern[0].ndim > 1:
        pattern = pattern_work(lambda *given: tuple(_read(x, (*before, _FULL)) for x in given), *pattern)
    if not isinstance(a, COO):
        return type(a)._of(values, pattern, a._static(), a.plan if pattern is a.pattern else None)
    dense_ndim = len([item for item in dense if isinstance(item, slice)])
    return COO._of(values, pattern, (a._sparse_shape, a.is_sorted, a.is_unique, dense_ndim))


def _outer_item(a: Sparse, item: Any, axis: int) -> int | slice:
    """Check the index of a batch or dense axis: an integer counted from the front, or a slice within bounds."""
    if checks.is_array(item) and not (item.ndim == 0 and _is_concrete_integer(item)):
        raise TypeError(f"getitem: takes integers and slices for batch and dense axes, got {describe(item)}")
    found: int | slice = _sparse_item(a, item, axis)
    if isinstance(found, int):
        return found
    span = range(*found.indices(a.shape[axis]))
    if not span:
        return slice(0, 0, 1)
    return slice(span[0], span[-1] + (1 if span.step > 0 else -1), span.step)


def _read(x: Array, items: tuple[int | slice, ...]) -> Array:
    """Index an array. Negative steps become positive ones and a flip: some libraries refuse negative steps."""
    forward: list[int | slice] = []
    flipped: list[int] = []
    for item in items:
        if isinstance(item, slice) and item != _FULL and item.step < 0:
            span = range(item.start, item.stop, item.step)
            flipped.append(len([each for each in forward if isinstance(each, slice)]))
            item = slice(span[-1], span[0] + 1, -item.step)
        forward.append(item)
    found = x[tuple(forward)]
    return array_namespace(x).flip(found, axis=tuple(flipped)) if flipped else found


def _is_full(item: slice, size: int) -> bool:
    return item.indices(size) == (0, size, 1)


def _axis_by_axis(a: COO, items: list[Any]) -> COO:
    """Apply a slice, an integer or an array to each sparse axis; at least one axis remains."""
    axis = 0
    for item in items:
        size = a._sparse_shape[axis]
        if isinstance(item, slice):
            a = a if _is_full(item, size) else _sliced(a, axis, item)
        elif isinstance(item, int):
            a = _at(a, axis, item)
            continue
        else:
            a = _taken(a, axis, item)
        axis += 1
    return a


def _sliced(a: COO, axis: int, item: slice) -> COO:
    span = range(*item.indices(a._sparse_shape[axis]))
    low, high = (span[0], span[-1]) if span.step > 0 and span else (span[-1], span[0]) if span else (0, -1)

    def inside(*coords: Array) -> Array:
        x = coords[axis]
        inside = (x >= full(x, low)) & (x <= full(x, high)) if span else x < full(x, 0)
        steps = abs(span.step)
        if steps == 1:
            return inside
        xp = array_namespace(x)
        wide = xp.astype(x, index_dtype(xp))
        return inside & (xp.remainder(wide - full(wide, low), full(wide, steps)) == full(wide, 0))

    a = chosen(a, inside)
    limit = a._sparse_shape[axis]

    def moved(x: Array) -> Array:
        xp = array_namespace(x)
        wide = xp.astype(x, index_dtype(xp))
        new = xp.floor_divide(wide - full(wide, span.start), full(wide, span.step))
        return xp.astype(xp.where(x < full(x, limit), new, full(wide, len(span))), x.dtype)

    coords = list(a.coords)
    coords[axis] = pattern_work(moved, coords[axis])
    sizes = list(a._sparse_shape)
    sizes[axis] = len(span)
    is_sorted = a.is_sorted and span.step > 0
    return coo_of(a.values, coords, sizes, is_sorted=is_sorted, is_unique=a.is_unique, dense_ndim=a.dense_ndim)


def _at(a: COO, axis: int, number: int) -> COO:
    """Select the entries at one index of an axis, and remove the axis."""
    a = chosen(a, lambda *coords: coords[axis] == full(coords[axis], number))
    coords = [x for i, x in enumerate(a.coords) if i != axis]
    sizes = [size for i, size in enumerate(a._sparse_shape) if i != axis]
    return coo_of(a.values, coords, sizes, is_sorted=a.is_sorted, is_unique=a.is_unique, dense_ndim=a.dense_ndim)


def _taken(a: COO, axis: int, index: Array) -> COO:
    """Take rows, or slices along another axis, by an array of indices, which may repeat."""
    if index.ndim != 1:
        raise ValueError(
            f"getitem: an array next to slices of sparse axes must have one axis, got the shape {tuple(index.shape)}"
        )
    if not are_concrete(index, *a.coords) or a.coords[0].ndim > 1:
        raise TypeError(
            "getitem: the number of entries that an array of indices selects isn't known under jit with containers as "
            "arguments and for lazy arrays, and differs between batch elements that have different patterns; use an "
            "integer or a slice"
        )

    def work(index: Array, *coords: Array) -> tuple[Array, tuple[Array, ...]]:
        xp = array_namespace(index, *coords)
        locations, found = joined(index, xp.astype(coords[axis], index_dtype(xp)))
        new = [xp.take(x, found) for x in coords]
        new[axis] = xp.astype(locations, coords[axis].dtype)
        return found, tuple(new)

    found, coords = eagerly(work, index, *a.coords)
    sizes = list(a._sparse_shape)
    sizes[axis] = index.shape[0]
    is_sorted = a.is_sorted and axis == 0
    values = along(a.values, found, a.batch_ndim)
    return coo_of(values, coords, sizes, is_sorted=is_sorted, is_unique=a.is_unique, dense_ndim=a.dense_ndim)


def _elements(a: Sparse, items: list[Any]) -> Array:
    """Return the elements at an integer or an array for each sparse axis; these broadcast."""
    if all(isinstance(item, int) for item in items):
        return _element(tocoo(a), items)
    xp = namespace_of(a)
    like = next(item for item in items if not isinstance(item, int))
    arrays = [full(like, item) if isinstance(item, int) else item for item in items]
    shape = checks.broadcast_shapes("getitem", **{f"index[{i}]": tuple(x.shape) for i, x in enumerate(arrays)})
    wanted = [xp.reshape(xp.broadcast_to(x, shape), (-1,)) for x in arrays]
    coo = sort(tocoo(sum_duplicates(a)))
    dense = tuple(a.values.shape[a.batch_ndim + 1 :])
    if not coo.nse:
        return xp.zeros((*a.shape[: a.batch_ndim], *shape, *dense), dtype=a.dtype, device=checks.device_of(like))

    locations, met = lookup(coo.coords, tuple(wanted), coo._sparse_shape)
    values = along(coo.values, locations, coo.batch_ndim)
    values = xp.where(over_entries(coo, met), values, full(values, 0))
    return xp.reshape(values, (*values.shape[: a.batch_ndim], *shape, *dense))


def _element(a: COO, items: list[int]) -> Array:
    """Sum the entries at one position."""

    def work(*coords: Array) -> Array:
        xp = array_namespace(*coords)
        other = [x != full(x, number) for x, number in zip(coords, items)]
        found = other[0]
        for each in other[1:]:
            found = found | each
        return xp.astype(found, index_dtype(xp))

    ids = pattern_work(work, *a.coords)
    xp = namespace_of(a)
    is_bool = checks.kind(xp, a.dtype) == "bool"
    values = xp.astype(a.values, xp.int32) if is_bool else a.values
    found = xp.squeeze(summed(values, ids, 1, a.batch_ndim), axis=a.batch_ndim)
    return found != full(found, 0) if is_bool else found
