"""Padding with the standard alone: concatenate pieces, one axis after the other."""

from typing import Any

from xpand import array_namespace
from xpand.extend import DType, LibraryArray as Array, Namespace, checks
from xpand_extensions._bounds import index_dtype

from ._pieces import ends, period_of, runs

_MOST_PIECES = 16
"""If an axis is repeated more often, read its elements by index."""


def pad(
    x: Array,
    /,
    pad_width: Any,
    *,
    mode: Any = "constant",
    constant_values: Any = 0,
    end_values: Any = 0,
    reflect_type: Any = "even",
    interior: Any = 0,
) -> Array:
    xp = array_namespace(x)
    out = x
    for axis, (low, high) in enumerate(pad_width):
        if mode == "constant":
            out = _constant(xp, out, axis, low, high, ends(constant_values, axis), interior[axis])
        elif low == high == 0:
            continue
        elif mode == "linear_ramp":
            out = _linear_ramp(xp, out, axis, low, high, ends(end_values, axis))
        elif reflect_type == "odd":
            out = _odd(xp, out, axis, low, high, include_edge=mode == "symmetric")
        else:
            out = _repeated(xp, out, axis, low, high, mode)
    # If elements are only removed, the result may share memory with the array.
    shared = all(low <= 0 and high <= 0 for low, high in pad_width) and not any(interior)
    return xp.asarray(out, copy=True) if shared else out


def _slice(x: Array, axis: int, start: int, stop: int) -> Array:
    key = [slice(None)] * x.ndim
    key[axis] = slice(start, stop)
    return x[tuple(key)]


def _full(xp: Namespace, x: Array, axis: int, length: int, value: Any) -> Array:
    """Make a constant array like another one, except for the length of an axis."""
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    if isinstance(value, (bool, int, float, complex)):
        return xp.full(shape, value, dtype=x.dtype, device=checks.device_of(x))
    return xp.broadcast_to(xp.astype(value, x.dtype), shape)


def _joined(xp: Namespace, pieces: list[Array], axis: int) -> Array:
    return pieces[0] if len(pieces) == 1 else xp.concat(pieces, axis=axis)


def _cropped(x: Array, axis: int, low: int, high: int) -> Array:
    """Remove elements where widths are negative."""
    if low >= 0 and high >= 0:
        return x
    return _slice(x, axis, max(-low, 0), max(x.shape[axis] + min(high, 0), 0))


def _constant(xp: Namespace, x: Array, axis: int, low: int, high: int, values: tuple[Any, Any], interior: int) -> Array:
    length = x.shape[axis]
    if interior and length > 1:
        # Add an axis with each element and the constants after it. Cut off the constants after the last element.
        new = xp.expand_dims(x, axis=axis + 1)
        new = xp.concat([new, _full(xp, new, axis + 1, interior, values[0])], axis=axis + 1)
        length = length * (interior + 1)
        x = _slice(xp.reshape(new, (*x.shape[:axis], length, *x.shape[axis + 1 :])), axis, 0, length - interior)
    pieces = [_full(xp, x, axis, low, values[0])] if low > 0 else []
    pieces.append(x)
    if high > 0:
        pieces.append(_full(xp, x, axis, high, values[1]))
    return _cropped(_joined(xp, pieces, axis), axis, low, high)


def _repeated(xp: Namespace, x: Array, axis: int, low: int, high: int, mode: str) -> Array:
    """Extend by elements of the array itself."""
    size = x.shape[axis]
    if low <= 0 and high <= 0:
        return _cropped(x, axis, low, high)
    if mode == "edge" or size == 0:
        pieces = [x]
        if low > 0:
            first = _slice(x, axis, 0, 1)
            pieces.insert(0, xp.broadcast_to(first, (*x.shape[:axis], low, *x.shape[axis + 1 :])))
        if high > 0:
            last = _slice(x, axis, size - 1, size)
            pieces.append(xp.broadcast_to(last, (*x.shape[:axis], high, *x.shape[axis + 1 :])))
        return _cropped(_joined(xp, pieces, axis), axis, low, high)
    period, mirror = period_of(mode, size)
    if low + size + high > _MOST_PIECES * period // 2:
        device = checks.device_of(x)
        dtype = index_dtype(xp, device)
        position = xp.arange(-low, size + high, dtype=dtype, device=device)
        position = xp.remainder(position, xp.full((), period, dtype=dtype, device=device))
        return xp.take(x, xp.where(position < size, position, mirror - position), axis=axis)
    pieces = []
    for run in runs(mode, size, -low, size + high):
        piece = _slice(x, axis, run.start, run.stop)
        pieces.append(xp.flip(piece, axis=axis) if run.reverse else piece)
    # A single remaining piece must not share memory with the array.
    joined = _joined(xp, pieces or [_slice(x, axis, 0, 0)], axis)
    return joined if len(pieces) > 1 else xp.asarray(joined, copy=True)


def _odd(xp: Namespace, x: Array, axis: int, low: int, high: int, *, include_edge: bool) -> Array:
    """Extend by `2 * end - element`."""
    pieces = [x]
    if low > 0:
        outward = _odd_end(xp, xp.flip(x, axis=axis), axis, low, include_edge)
        pieces.insert(0, xp.flip(outward, axis=axis))
    if high > 0:
        pieces.append(_odd_end(xp, x, axis, high, include_edge))
    return _cropped(_joined(xp, pieces, axis), axis, low, high)


def _odd_end(xp: Namespace, x: Array, axis: int, width: int, include_edge: bool) -> Array:
    """Make the elements after the last one: mirror the array at its last element, then again at the new one."""
    size = x.shape[axis]
    skip = 0 if include_edge or size == 1 else 1
    pieces, made = [], 0
    while made < width:
        last = _slice(x, axis, size - 1, size)
        image = last + (last - xp.flip(_slice(x, axis, 0, size - skip), axis=axis))
        pieces.append(_slice(image, axis, 0, min(size - skip, width - made)))
        x = xp.concat([last, image], axis=axis) if skip else image
        made += size - skip
    return _joined(xp, pieces, axis)


def _linear_ramp(xp: Namespace, x: Array, axis: int, low: int, high: int, values: tuple[Any, Any]) -> Array:
    pieces = [x]
    if low > 0:
        pieces.insert(0, _ramp(xp, x, axis, low, values[0], _slice(x, axis, 0, 1)))
    if high > 0:
        size = x.shape[axis]
        ramp = _ramp(xp, x, axis, high, values[1], _slice(x, axis, size - 1, size))
        pieces.append(xp.flip(ramp, axis=axis))
    return _cropped(_joined(xp, pieces, axis), axis, low, high)


def _ramp(xp: Namespace, x: Array, axis: int, width: int, value: Any, edge: Array) -> Array:
    """Interpolate from a value to the edge of the array, excluded, in `width` steps."""
    end = _full(xp, edge, axis, 1, value)
    kind = checks.kind(xp, x.dtype)
    integers = kind in checks.INTEGERS
    dtype = _wide(xp, x) if integers else xp.real(edge).dtype if kind == "complex" else x.dtype
    # Start with the value itself, since zero steps times infinity would be NaN.
    step = xp.arange(1, width, dtype=dtype, device=checks.device_of(x))
    step = xp.reshape(step, tuple([-1 if k == axis else 1 for k in range(x.ndim)]))
    if integers:
        rising = xp.astype(_between(xp, xp.astype(end, dtype), xp.astype(edge, dtype), step, width), x.dtype)
    else:
        # Between infinity and anything else the result is NaN; NumPy would warn if it were computed.
        start = xp.where(xp.isfinite(end), end, xp.full_like(end, xp.nan))
        rising = start + (edge - start) * xp.astype(step / width, x.dtype)
    return xp.concat([end, rising], axis=axis)


def _wide(xp: Namespace, x: Array) -> DType:
    """Choose a type that holds the numbers of steps and the integers of `x`, preferably the default one."""
    default = index_dtype(xp, checks.device_of(x))
    ranges = [checks.integer_range(xp, dtype)[1] for dtype in (x.dtype, default)]
    return x.dtype if ranges[0] > ranges[1] else default


def _between(xp: Namespace, end: Array, edge: Array, step: Array, width: int) -> Array:
    """Interpolate integers exactly, rounded down. No difference or product can overflow."""
    number = xp.full((), width, dtype=end.dtype, device=checks.device_of(end))
    back = number - step
    quotients = end // number * back + edge // number * step
    return quotients + (end % number * back + edge % number * step) // number
