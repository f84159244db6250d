"""Rules of `x[key]`, `x[key] = value`, and of taking elements at indices."""

import math
from collections.abc import Sequence
from typing import Any, Final

from xpand.extend import device_of, is_lazy

from ..._bounds import index_dtype
from ..._dtypes import plain_sum
from ...extend._derivatives import LINEAR, First
from .._core import Aval, TracedArray, TracedError, bare
from .._fit import Placed, broadcast, zeros_around
from .._indexing import get, numbers_of, put, write_rows
from .._keys import axis_for_mask, is_mask, is_rows, put_together, selected, without_masks
from ._derived import axis_of, flattened, lengthened, lifted
from .scatter import numbered


def _unknown_mask(xp: Any, arrays: Sequence[Any], where: str) -> None:
    if any(is_mask(xp, x) for x in arrays):
        raise TracedError(
            f"x[mask]: the size of the result depends on the values of the mask, which aren't known under {where}; use "
            "`xp.where`, or `xpand_extensions.indexing.boolean_mask` with size"
        )


# Derivatives


def _zeros(xp: Any, ct: Any, x: Any, shape: Sequence[int] | None = None) -> Any:
    return zeros_around(xp, ct, tuple(x.shape if shape is None else shape), device_of(x))


def _ungot(xp: Any, ct: Any, x: Any, *arrays: Any, key: tuple[Any, ...]) -> Any:
    """Put selected elements back to their positions; sum elements that were selected several times."""
    if not arrays and any(part is None for part in key):
        # Remove axes from `None`, which the values to set don't have.
        key = tuple(part for part in key if part is not None) or (Ellipsis,)
        ct = xp.reshape(ct, selected(xp, x.shape, key, ())[0])
        if all(part is Ellipsis or part == slice(None) for part in key):
            return ct
    if all(is_mask(xp, array) for array in arrays):
        zeros = _zeros(xp, ct, x)
        if isinstance(zeros, TracedArray):
            return put(xp, zeros, ct, key, arrays)
        if 0 in ct.shape:  # Dask cannot set elements of an empty array
            return zeros
        if any(size != size for size in ct.shape):  # Dask assigns arrays of a known shape only
            _unknown_mask(xp, arrays, "reverse mode of lazy arrays")
        if is_lazy(xp):  # Dask's assignment sets wrong elements for slices with negative steps
            return put(xp, zeros, ct, key, arrays)
        zeros[put_together(key, arrays)] = ct
        return zeros
    if is_rows(key):
        return _untaken(xp, ct, x, xp.reshape(arrays[0], (-1,)), 0)
    number = flattened(xp, numbers_of(xp, x.shape, key, arrays, device_of(x)))
    size = math.prod(x.shape)
    found = write_rows(xp, "add", _zeros(xp, ct, x, (size, 1)), xp.reshape(ct, (-1, 1)), number)
    return xp.reshape(found, tuple(x.shape))


def _untaken(xp: Any, ct: Any, x: Any, index: Any, axis: int) -> Any:
    """Add elements that were taken along an axis to zeros at their positions."""
    size, rest = x.shape[axis], (*x.shape[:axis], *x.shape[axis + 1 :])
    if not axis:
        values = xp.reshape(ct, (index.shape[0], math.prod(rest)))
    else:
        values = xp.reshape(xp.moveaxis(ct, axis, 0), (index.shape[0], math.prod(rest)))
    index = from_start(xp, index, size)
    found = write_rows(xp, "add", _zeros(xp, ct, x, (size, values.shape[1])), values, index)
    found = xp.reshape(found, (size, *rest))
    return xp.moveaxis(found, 0, axis) if axis else found


def from_start(xp: Any, index: Any, size: int) -> Any:
    """Count negative indices from the start, in the library's integers."""
    device = getattr(index, "device", None)
    dtype = index_dtype(xp, device)
    if index.dtype != dtype:
        index = xp.astype(index, dtype)
    return xp.where(index < 0, index + size, index)


def _take_transposed(xp: Any, ct: Any, x: Any, indices: Any, axis: int | None = None) -> Any:
    axis = 0 if axis is None else axis_of("take", axis, len(x.shape))
    if len(indices.shape) != 1:
        indices = flattened(xp, indices)
        ct = xp.reshape(ct, (*x.shape[:axis], indices.shape[0], *x.shape[axis + 1 :]))
    return _untaken(xp, ct, x, indices, axis)


def _take_along_axis_transposed(xp: Any, ct: Any, x: Any, indices: Any, axis: int = -1) -> Any:
    shape, ndim = tuple(x.shape), len(x.shape)
    axis = axis_of("take_along_axis", axis, ndim)
    number, stride = from_start(xp, indices, shape[axis]), 1
    for i in reversed(range(ndim)):
        if i == axis:
            number = number * stride if stride != 1 else number
        stride *= shape[i]
    stride = 1
    for i in reversed(range(ndim)):
        if i != axis and shape[i] != 1:
            steps = xp.arange(shape[i], dtype=number.dtype, device=device_of(x)) * stride
            number = number + xp.reshape(steps, (-1, *(1,) * (ndim - 1 - i)))
        stride *= shape[i]
    number = flattened(xp, xp.broadcast_to(number, tuple(ct.shape)))
    found = write_rows(xp, "add", _zeros(xp, ct, x, (math.prod(shape), 1)), xp.reshape(ct, (-1, 1)), number)
    return xp.reshape(found, shape)


def _zeroed(xp: Any, ct: Any, i: int, x: Any, value: Any, *arrays: Any, key: tuple[Any, ...]) -> Any:
    """Replace the elements that were set by zero."""
    return put(xp, ct, _zeros(xp, ct, value, ()), key, arrays)


def _got(xp: Any, ct: Any, i: int, x: Any, value: Any, *arrays: Any, key: tuple[Any, ...]) -> Any:
    """Select the values that were set. If an element was set several times, the last value counts."""
    if not value.shape and len(arrays) == 1 and is_rows(key) and is_mask(xp, arrays[0]):
        # All positions get the same value, so their number does not matter.
        mask = xp.reshape(arrays[0], (*arrays[0].shape, *(1,) * (len(ct.shape) - len(arrays[0].shape))))
        return plain_sum(xp, xp.where(mask, ct, xp.zeros_like(ct)))
    found = get(xp, ct, key, arrays)
    if any(not is_mask(xp, array) for array in arrays):
        shape = tuple(found.shape)
        number = xp.reshape(
            xp.arange(math.prod(shape), dtype=index_dtype(xp, device_of(x)), device=device_of(x)), shape
        )
        writer = put(xp, xp.full(tuple(x.shape), -1, dtype=number.dtype, device=device_of(x)), number, key, arrays)
        found = xp.where(get(xp, writer, key, arrays) == number, found, xp.zeros_like(found))
    # Add leading axes of length 1. The caller sums over the axes along which the value was broadcast.
    more = len(value.shape) - len(found.shape)
    return xp.reshape(found, ((1,) * more + tuple(found.shape))) if more > 0 else found


DERIVATIVES: Final[dict[str, Any]] = {
    "getitem": First(LINEAR),
    "setitem": First(LINEAR, LINEAR),
    "take": First(LINEAR),
    "take_along_axis": First(LINEAR),
}

LINEAR_IN_ALL: Final = ("setitem",)

TRANSPOSES: Final[dict[str, Any]] = {
    "getitem": First(_ungot),
    "setitem": First(_zeroed, _got),
    "take": First(_take_transposed),
    "take_along_axis": First(_take_along_axis_transposed),
}


def _setitem(xp: Any, x: Any, value: Any, *arrays: Any, key: tuple[Any, ...]) -> Any:
    from xpand_extensions.scatter import at

    return at(xp.wrap(x))[put_together(key, arrays)].set(xp.astype(xp.wrap(value), x.dtype))


DECOMPOSITIONS: Final[dict[str, Any]] = {"setitem": _setitem}


# Batches


def _batched_getitem(xp: Any, mapped: Any, x: Any, *arrays: Any, key: tuple[Any, ...]) -> Any:
    if not arrays:
        return get(xp, x, (slice(None), *key))
    # The number of elements that a lazy mask selects is unknown, too.
    unknown = [array for array, is_mapped in zip(arrays, mapped[1:]) if is_mapped or is_lazy(getattr(xp, "base", xp))]
    _unknown_mask(xp, unknown, "vmap")
    if added := axis_for_mask(xp, x.ndim - mapped[0], key, arrays):
        return _batched_getitem(xp, mapped, xp.expand_dims(x, axis=added[0] + mapped[0]), *added[1], key=key)
    if any(is_mask(xp, array) for array in arrays):
        key, found, sources = without_masks(xp, key, arrays)
        arrays, mapped = tuple(found), (mapped[0], *(mapped[1 + i] for i in sources))
    shape = tuple(x.shape[1:]) if mapped[0] else tuple(x.shape)
    if mapped[0] and not any(mapped[1:]):
        number = numbers_of(xp, shape, key, arrays, getattr(x, "device", None))
        found = xp.take(flattened(xp, x, True), flattened(xp, number), axis=1)
        return xp.reshape(found, (x.shape[0], *number.shape))
    ndim = max(index.ndim - is_mapped for index, is_mapped in zip(arrays, mapped[1:]))
    aligned = [lengthened(xp, index, is_mapped, ndim) for index, is_mapped in zip(arrays, mapped[1:])]
    _, position = selected(xp, shape, key, aligned)
    if not mapped[0]:
        return _batch_first(xp, get(xp, x, key, aligned), position)
    number = _batch_first(xp, numbers_of(xp, shape, key, aligned, getattr(x, "device", None)), position)
    lanes, size = x.shape[0], math.prod(shape)
    index = numbered(xp, xp.reshape(number, (lanes, math.prod(number.shape[1:]))), size, False)
    return xp.reshape(xp.take(flattened(xp, x), index), tuple(number.shape))


def _batch_first(xp: Any, x: Any, position: int) -> Any:
    return xp.moveaxis(x, position, 0) if position else x


def _batched_setitem(xp: Any, mapped: Any, x: Any, value: Any, *arrays: Any, key: tuple[Any, ...]) -> Any:
    if arrays:
        return None  # set elements at index arrays by `scatter.at`
    lanes = (x if mapped[0] else value).shape[0]
    shape = tuple(x.shape[1:]) if mapped[0] else tuple(x.shape)
    if not mapped[0]:
        x = xp.broadcast_to(xp.expand_dims(x, axis=0), (lanes, *shape))
    if mapped[1]:
        ndim = len(selected(xp, shape, key, ())[0])
        sizes = tuple(value.shape[1:])
        more = max(len(sizes) - ndim, 0)
        value = xp.reshape(value, (lanes, *(1,) * (ndim - len(sizes)), *sizes[more:]))
    return put(xp, x, value, (slice(None), *key))


def _batched_take(xp: Any, mapped: Any, x: Any, indices: Any, axis: int | None = None) -> Any:
    ndim = x.ndim - mapped[0]
    axis = axis_of("take", 0 if axis is None else axis, ndim)
    if not mapped[1]:
        return xp.take(x, indices, axis=axis + 1)
    lanes, *sizes = indices.shape
    if not mapped[0]:
        found = xp.take(x, flattened(xp, indices), axis=axis)
        found = xp.reshape(found, (*x.shape[:axis], lanes, *sizes, *x.shape[axis + 1 :]))
        return _batch_first(xp, found, axis)
    rows = xp.moveaxis(x, axis + 1, 1) if axis else x
    size, rest = rows.shape[1], tuple(rows.shape[2:])
    index = numbered(xp, from_start(xp, flattened(xp, indices, True), size), size, False)
    found = xp.take(xp.reshape(rows, (lanes * size, *rest)), index, axis=0)
    found = xp.reshape(found, (lanes, *sizes, *rest))
    return xp.moveaxis(found, tuple(range(1, 1 + len(sizes))), tuple(range(axis + 1, axis + 1 + len(sizes))))


def _batched_take_along_axis(xp: Any, mapped: Any, x: Any, indices: Any, axis: int = -1) -> Any:
    axis = axis_of("take_along_axis", axis, x.ndim - mapped[0])
    x, indices = lifted(xp, mapped, (x, indices))
    return xp.take_along_axis(x, indices, axis=axis + 1)


BATCHING: Final[dict[str, Any]] = {
    "getitem": _batched_getitem,
    "setitem": _batched_setitem,
    "take": _batched_take,
    "take_along_axis": _batched_take_along_axis,
}


# Shapes


def _got_shape(namespace: Any, x: Any, *arrays: Any, key: tuple[Any, ...]) -> Aval:
    _unknown_mask(namespace, arrays, "jit")
    return Aval(selected(namespace, x.shape, key, arrays)[0], x.dtype, device_of(x))


def _set_shape(namespace: Any, x: Any, value: Any, *arrays: Any, key: tuple[Any, ...]) -> Aval:
    if not any(is_mask(namespace, array) for array in arrays):
        shape, _ = selected(namespace, x.shape, key, arrays)
        sizes = tuple(value.shape)
        more = max(len(sizes) - len(shape), 0)
        if any(length not in (1, wanted) for length, wanted in zip(reversed(sizes[more:]), reversed(shape))) or any(
            length != 1 for length in sizes[:more]
        ):
            raise ValueError(f"x[key] = value: a value of shape {sizes} doesn't broadcast to the selection's {shape}")
    return Aval(x.shape, x.dtype, device_of(x))


def _taken_shape(namespace: Any, x: Any, indices: Any, axis: int | None = None) -> Aval:
    if axis is None and x.ndim != 1:
        raise ValueError(f"take: axis must be given for an array of {x.ndim} axes")
    if not namespace.base.isdtype(indices.dtype, "integral"):
        raise TypeError(f"take: indices must be integers, got {indices}")
    axis = axis_of("take", 0 if axis is None else axis, x.ndim)
    return Aval((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]), x.dtype, device_of(x))


def _taken_along_shape(namespace: Any, x: Any, indices: Any, axis: int = -1) -> Aval:
    axis = axis_of("take_along_axis", axis, x.ndim)
    if x.ndim != indices.ndim:
        raise ValueError(f"take_along_axis: x and indices must have as many axes, got {x.ndim} and {indices.ndim}")
    shape = broadcast(
        (*x.shape[:axis], 1, *x.shape[axis + 1 :]), (*indices.shape[:axis], 1, *indices.shape[axis + 1 :])
    )
    return Aval((*shape[:axis], indices.shape[axis], *shape[axis + 1 :]), x.dtype, device_of(x))


SHAPES: Final[dict[str, Any]] = {
    "getitem": _got_shape,
    "setitem": _set_shape,
    "take": _taken_shape,
    "take_along_axis": _taken_along_shape,
}


# Overrides by interpreters, because a rule would know too little


def _staged_getitem(trace: Any, op: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Replace concrete masks by the indices of their true positions."""
    x, *arrays = map(bare, args)
    key, base = params["key"], trace.namespace.base
    if any(is_mask(base, array) for array in arrays):
        _unknown_mask(base, [array for array in arrays if isinstance(array, TracedArray)], "jit")
        if added := axis_for_mask(base, len(x.shape), key, arrays):
            return get(trace.namespace, trace.namespace.expand_dims(x, axis=added[0]), key, added[1])
        key, arrays, _ = without_masks(base, key, arrays)
    return trace.written(op, (x, *arrays), {"key": key})


def _staged_repeat(trace: Any, op: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Replace concrete repeats by taking elements at indices."""
    return op.decompose(args, params) if hasattr(args[1], "dtype") else trace.written(op, args, params)


def _accumulated_getitem(node: Any, namespace: Any, ct: Any) -> Placed | None:
    """Return the cotangent of `x` for a key of integers, which can be added in the time of one element."""
    key, base = node.params["key"], namespace.base
    if not key or type(key[0]) is not int or isinstance(ct, TracedArray) or is_lazy(base):
        return None
    while type(key[-1]) is not int and (key[-1] is Ellipsis or key[-1] == slice(None)):
        key = key[:-1]
    x = node.args[0]
    index = tuple([part % size for part, size in zip(key, x.shape) if type(part) is int])
    return Placed(base, x, (*index, ...), ct) if len(index) == len(key) else None


OVERRIDES: Final[dict[str, Any]] = {
    "getitem": {"accumulate": _accumulated_getitem, "stage": _staged_getitem},
    "repeat": {"stage": _staged_repeat},
}
