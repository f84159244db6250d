"""Arrays made of several, and parts of arrays."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arguments import array, array_list, cast, common, constant, integers
from .._table import implements
from .shapes import at_least, in_one_axis, in_three_axes, in_two_axes


def _typed(xp: Any, name: str, arrays: Sequence[Any], dtype: Any, casting: Any) -> list[Any]:
    """Convert arrays to a data type, by default to their common one."""
    if not arrays:
        raise ValueError(f"np.{name}: at least one array is required, got none")
    if dtype is None:
        return common(xp, arrays)
    for x in arrays:
        if not np.can_cast(x.dtype, dtype, casting):
            raise TypeError(
                f"np.{name}: an array of {x.dtype} can't be cast to {np.dtype(dtype)} by casting={casting!r}"
            )
    return [cast(xp, x, np.dtype(dtype)) for x in arrays]


@implements("concatenate")
def _concatenate(xp: Any, arrays: Any, axis: int | None = 0, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    return xp.concat(_typed(xp, "concatenate", array_list(xp, arrays), dtype, casting), axis=integers(axis))


@implements("stack")
def _stack(xp: Any, arrays: Any, axis: int = 0, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    return xp.stack(_typed(xp, "stack", array_list(xp, arrays), dtype, casting), axis=integers(axis))


@implements("vstack", "row_stack")
def _vstack(xp: Any, tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    return xp.concat(_typed(xp, "vstack", [in_two_axes(xp, x) for x in array_list(xp, tup)], dtype, casting), axis=0)


@implements("hstack")
def _hstack(xp: Any, tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    arrays = _typed(xp, "hstack", [in_one_axis(xp, x) for x in array_list(xp, tup)], dtype, casting)
    return xp.concat(arrays, axis=0 if arrays[0].ndim == 1 else 1)


@implements("dstack")
def _dstack(xp: Any, tup: Any) -> Any:
    return xp.concat(common(xp, [in_three_axes(xp, x) for x in array_list(xp, tup)]), axis=2)


@implements("column_stack")
def _column_stack(xp: Any, tup: Any) -> Any:
    arrays = array_list(xp, tup)
    return xp.concat(common(xp, [x if x.ndim > 1 else xp.reshape(x, (-1, 1)) for x in arrays]), axis=1)


@implements("block")
def _block(xp: Any, arrays: Any) -> Any:
    depth, ndim = _depth(arrays), _most_axes(xp, arrays)
    ndim = max(depth, ndim)

    def joined(part: Any, level: int) -> Any:
        if isinstance(part, list):
            return xp.concat(common(xp, [joined(x, level + 1) for x in part]), axis=level - depth)
        x = array(xp, part)
        return xp.reshape(x, (1,) * (ndim - x.ndim) + tuple(x.shape))

    return joined(arrays, 0) if depth else xp.asarray(array(xp, arrays), copy=True)


def _depth(arrays: Any) -> int:
    """Return the depth of nested lists, which must be the same for all."""
    if isinstance(arrays, tuple):
        raise TypeError("np.block: arrays must be nested lists, got a tuple; make it a list")
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(x) for x in arrays}
    if len(depths) != 1:
        raise ValueError(
            f"np.block: lists must be nested equally deep, and none empty, got the depths {sorted(depths)}"
        )
    return 1 + depths.pop()


def _most_axes(xp: Any, arrays: Any) -> int:
    return max(_most_axes(xp, x) for x in arrays) if isinstance(arrays, list) else array(xp, arrays).ndim


@implements("append")
def _append(xp: Any, arr: Any, values: Any, axis: int | None = None) -> Any:
    return xp.concat(common(xp, [array(xp, arr), array(xp, values)]), axis=integers(axis))


# Parts


@implements("unstack")
def _unstack(xp: Any, x: Any, *, axis: int = 0) -> Any:
    return tuple(xp.unstack(array(xp, x), axis=integers(axis)))


@implements("array_split")
def _array_split(xp: Any, ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    x, ends = array(xp, ary), integers(indices_or_sections)
    size, axis = x.shape[axis], integers(axis) % x.ndim
    if not isinstance(ends, tuple):
        if ends < 1:
            raise ValueError(f"np.array_split: the number of sections must be at least 1, got {ends}")
        length, longer = divmod(size, ends)
        ends = tuple([i * length + min(i, longer) for i in range(1, ends)])
    before = (slice(None),) * axis
    return [x[(*before, slice(start, end))] for start, end in zip((0, *ends), (*ends, size))]


@implements("split")
def _split(xp: Any, ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    x, sections = array(xp, ary), integers(indices_or_sections)
    if not isinstance(sections, tuple) and (sections < 1 or x.shape[axis] % sections):
        raise ValueError(
            f"np.split: {sections} sections do not divide the {x.shape[axis]} elements; use np.array_split"
        )
    return _array_split(xp, x, sections, axis)


@implements("hsplit")
def _hsplit(xp: Any, ary: Any, indices_or_sections: Any) -> Any:
    x = at_least("hsplit", array(xp, ary), 1)
    return _split(xp, x, indices_or_sections, min(1, x.ndim - 1))


@implements("vsplit")
def _vsplit(xp: Any, ary: Any, indices_or_sections: Any) -> Any:
    return _split(xp, at_least("vsplit", array(xp, ary), 2), indices_or_sections, 0)


@implements("dsplit")
def _dsplit(xp: Any, ary: Any, indices_or_sections: Any) -> Any:
    return _split(xp, at_least("dsplit", array(xp, ary), 3), indices_or_sections, 2)


def _along_an_axis(xp: Any, arr: Any, axis: int | None) -> tuple[Any, int]:
    """Return an array and an axis of it; for None, the flat array."""
    x = array(xp, arr)
    if axis is None:
        return xp.reshape(x, (-1,)), 0
    return x, np.lib.array_utils.normalize_axis_index(axis, x.ndim)


@implements("delete")
def _delete(xp: Any, arr: Any, obj: Any, axis: int | None = None) -> Any:
    x, axis = _along_an_axis(xp, arr, axis)
    size = x.shape[axis]
    if getattr(obj, "is_traced", False) and not obj.shape:  # one position, known only when the program runs
        position = xp.take(xp.arange(size, dtype=xp.int64), xp.reshape(obj, (1,)))  # an error if it is out of bounds
        rest = xp.arange(size - 1, dtype=xp.int64)
        return xp.take(x, rest + (rest >= position), axis=axis)
    rest = np.delete(np.arange(size), obj if isinstance(obj, slice) else constant("np.delete", "obj", obj))
    return xp.take(x, xp.asarray(rest), axis=axis)


@implements("insert")
def _insert(xp: Any, arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    x, axis = _along_an_axis(xp, arr, axis)
    size = x.shape[axis]
    new = cast(xp, array(xp, values), x.dtype)
    if isinstance(obj, slice):
        obj = np.arange(*obj.indices(size))
    positions = array(xp, obj)
    if positions.dtype.kind == "b":
        positions = array(xp, np.flatnonzero(constant("np.insert", "obj", obj)))
    if positions.ndim > 1:
        raise ValueError(f"np.insert: obj must be one position or a list of them, got the shape {positions.shape}")
    if positions.size == 1:
        new = xp.reshape(new, (1,) * (x.ndim - new.ndim) + tuple(new.shape))
        if not positions.ndim:
            new = xp.moveaxis(new, 0, axis)
        positions = xp.broadcast_to(positions, (new.shape[axis],))
    new = xp.broadcast_to(new, (*x.shape[:axis], positions.size, *x.shape[axis + 1 :]))
    return xp.take(xp.concat([x, new], axis=axis), _order_of_inserted(xp, size, positions), axis=axis)


def _order_of_inserted(xp: Any, size: int, positions: Any) -> Any:
    """Return, for each element of the result of an insertion, its position in the old elements followed by the new."""
    positions = xp.astype(positions, xp.int64)
    before = xp.where(positions < 0, positions + size, positions)
    checked = xp.take(
        xp.arange(size + 1, dtype=xp.int64), xp.where(before < 0, size + 1, before)
    )  # an error if out of bounds
    return xp.argsort(xp.concat([xp.arange(size, dtype=xp.int64) + 0.5, checked * 1.0]), stable=True)
