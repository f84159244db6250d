"""Arrays made of several, and parts of arrays."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from xpand_extensions import padding, statistics
from xpand_extensions.tracing._methods import METHODS

from .._arguments import array, array_list, cast, common, constant, floating, integers
from .._table import NO_VALUE, implements
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


# Padding


@implements("pad")
def _pad(
    xp: Any,
    array: Any,
    pad_width: Any,
    mode: Any = "constant",
    *,
    stat_length: Any = NO_VALUE,
    constant_values: Any = NO_VALUE,
    end_values: Any = NO_VALUE,
    reflect_type: Any = NO_VALUE,
) -> Any:
    x = _array(xp, array)
    options = {
        name: value
        for name, value in (
            ("stat_length", stat_length),
            ("constant_values", constant_values),
            ("end_values", end_values),
            ("reflect_type", reflect_type),
        )
        if value is not NO_VALUE
    }
    if not callable(mode) and not options.keys() <= _PAD_OPTIONS.get(mode, frozenset()):
        raise ValueError(f"np.pad: mode={mode!r} takes no {', '.join(sorted(options))}, or there is no such mode")
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(i, pad_width.get(i - x.ndim, 0)) for i in range(x.ndim)]
        pad_width = [(w, w) if np.ndim(w) == 0 else w for w in pad_width]
    widths = _pairs(pad_width, x.ndim)
    if min(map(min, widths), default=0) < 0:
        raise ValueError(f"np.pad: pad_width must not have negative numbers, got {pad_width!r}")
    if callable(mode):
        raise TypeError(
            "np.pad: mode must be a name for traced arrays, got a function, which writes into NumPy's own array; make "
            "the array with np.concatenate"
        )
    if mode in _STATISTICS:
        return _pad_with_statistics(xp, x, widths, mode, options.get("stat_length"))
    if mode == "linear_ramp" and not xp.is_floating(x.dtype):
        return _pad_integers_with_ramps(xp, x, widths, options.get("end_values", 0))
    for name in ("constant_values", "end_values"):
        if name in options:
            options[name] = _values(xp, x, options[name])
    return padding.pad(x, widths, mode="constant" if mode == "empty" else mode, **options)


_array: Final = array  # also the name of a parameter of NumPy
_PAD_OPTIONS: Final = {
    "constant": frozenset({"constant_values"}),
    "edge": frozenset[str](),
    "empty": frozenset[str](),
    "linear_ramp": frozenset({"end_values"}),
    **dict.fromkeys(("maximum", "mean", "median", "minimum"), frozenset({"stat_length"})),
    **dict.fromkeys(("reflect", "symmetric"), frozenset({"reflect_type"})),
    "wrap": frozenset[str](),
}
"""The options of each mode."""


def _pairs(width: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    """Return a pair of integers for each axis."""
    pairs = np.broadcast_to(np.asarray(width), (ndim, 2)).tolist()
    return tuple([(low.__index__(), high.__index__()) for low, high in pairs])


def _values(xp: Any, x: Any, values: Any) -> Any:
    """Return a pair of values for each axis, of the array's data type."""
    pairs = xp.broadcast_to(cast(xp, array(xp, values), x.dtype), (x.ndim, 2))
    return tuple([(pairs[i, 0], pairs[i, 1]) for i in range(x.ndim)])


_STATISTICS: Final[dict[str, Any]] = {
    "maximum": lambda xp, x, axis: xp.max(x, axis=axis, keepdims=True),
    "minimum": lambda xp, x, axis: xp.min(x, axis=axis, keepdims=True),
    "mean": lambda xp, x, axis: xp.mean(floating(xp, x), axis=axis, keepdims=True),
    "median": lambda xp, x, axis: statistics.median(floating(xp, x), axis=axis, keepdims=True),
}


def _pad_with_statistics(xp: Any, x: Any, widths: Any, mode: str, stat_length: Any) -> Any:
    """Extend an array by statistics of the elements at its ends, one axis after the other as in NumPy."""
    lengths = ((None, None),) * x.ndim if stat_length is None else _pairs(stat_length, x.ndim)
    for axis, (width, length) in enumerate(zip(widths, lengths)):
        size = x.shape[axis]
        if not size and any(width):
            raise ValueError(f"np.pad: axis {axis} is empty, which mode={mode!r} can't extend")
        if 0 in length:
            raise ValueError(f"np.pad: stat_length must be at least 1 for mode={mode!r}, got {stat_length!r}")
        parts = [x]
        for is_end, (count, number) in enumerate(zip(width, length)):
            taken = size if number is None else min(number, size)
            part = slice(size - taken, size) if is_end else slice(taken)
            if count:
                value = _STATISTICS[mode](xp, x[(slice(None),) * axis + (part,)], axis)
                if not xp.is_floating(x.dtype):
                    value = xp.astype(xp.round(value), x.dtype) if xp.is_floating(value.dtype) else value
                filled = xp.broadcast_to(value, (*x.shape[:axis], count, *x.shape[axis + 1 :]))
                parts = [*parts, filled] if is_end else [filled, *parts]
        x = xp.concat(parts, axis=axis)
    return x


def _pad_integers_with_ramps(xp: Any, x: Any, widths: Any, end_values: Any) -> Any:
    """Extend an array of integers by steps to its ends, rounded down as by `np.linspace`."""
    ends = xp.broadcast_to(array(xp, end_values), (x.ndim, 2))
    for axis, width in enumerate(widths):
        if not x.shape[axis] and any(width):
            raise ValueError(f"np.pad: axis {axis} is empty, which mode='linear_ramp' can't extend")
        parts = [x]
        for is_high, count in enumerate(width):
            if count:
                edge = xp.take(x, xp.asarray([x.shape[axis] - 1 if is_high else 0]), axis=axis) * 1.0
                end = ends[axis, is_high]
                steps = xp.reshape(xp.arange(count, dtype=xp.int64) * 1.0, (-1, *(1,) * (x.ndim - axis - 1)))
                ramp = steps * ((edge - end) / count) + end
                ramp = xp.astype(ramp if x.dtype.kind == "b" else xp.floor(ramp), x.dtype)
                parts = [*parts, xp.flip(ramp, axis=axis)] if is_high else [ramp, *parts]
        x = xp.concat(parts, axis=axis)
    return x


# Grids and matrices


@implements("meshgrid")
def _meshgrid(xp: Any, *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError(f"np.meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    ndim = len(xi)
    order = [1, 0, *range(2, ndim)] if indexing == "xy" and ndim > 1 else range(ndim)
    arrays = [
        xp.reshape(array(xp, x), tuple([-1 if i == axis else 1 for i in range(ndim)])) for x, axis in zip(xi, order)
    ]
    grids = arrays if sparse else xp.broadcast_arrays(*arrays)
    return tuple([xp.asarray(x, copy=True) for x in grids] if copy else grids)


@implements("ix_")
def _ix(xp: Any, *args: Any) -> Any:
    results = []
    for axis, x in enumerate([array(xp, x) for x in args]):
        if x.ndim != 1:
            raise ValueError(f"np.ix_: sequences must have one axis, got {x.ndim}")
        if x.dtype == xp.bool:
            (x,) = xp.nonzero(x)
        elif not x.size:
            x = xp.astype(x, xp.int64)
        results.append(xp.reshape(x, tuple([x.shape[0] if i == axis else 1 for i in range(len(args))])))
    return tuple(results)


@implements("tril")
def _tril(xp: Any, m: Any, k: int = 0) -> Any:
    return xp.tril(_rows(xp, m), k=integers(k))


@implements("triu")
def _triu(xp: Any, m: Any, k: int = 0) -> Any:
    return xp.triu(_rows(xp, m), k=integers(k))


def _rows(xp: Any, m: Any) -> Any:
    """Return matrices; a vector is all rows of one, as in NumPy."""
    x = array(xp, m)
    return xp.broadcast_to(x, (x.size, x.size)) if x.ndim == 1 else x


@implements("diag")
def _diag(xp: Any, v: Any, k: int = 0) -> Any:
    x, k = array(xp, v), integers(k)
    if x.ndim == 2:
        return xp.linalg.diagonal(x, offset=k)
    if x.ndim != 1:
        raise ValueError(f"np.diag: the array must have one or two axes, got {x.ndim}")
    size = x.size + abs(k)
    flat = xp.zeros((size * size,), dtype=x.dtype)
    start = k if k > 0 else -k * size
    flat[start : start + x.size * (size + 1) : size + 1] = x
    return xp.reshape(flat, (size, size))


@implements("diagflat")
def _diagflat(xp: Any, v: Any, k: int = 0) -> Any:
    return _diag(xp, xp.reshape(array(xp, v), (-1,)), k)


@implements("diagonal")
def _diagonal(xp: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return METHODS["diagonal"](at_least("diagonal", array(xp, a), 2), integers(offset), axis1, axis2)


@implements("trace")
def _trace(xp: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    dtype = None if dtype is None else np.dtype(dtype)
    return xp.sum(_diagonal(xp, a, offset, axis1, axis2), axis=-1, dtype=dtype)
