"""Padding."""

from typing import Any, Final

import numpy as np

from xpand_extensions import padding, statistics

from .._arguments import array, cast, floating
from .._table import NO_VALUE, implements


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
