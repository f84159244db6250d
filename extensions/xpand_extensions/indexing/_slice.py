"""Slices with dynamic starts, and repeated elements."""

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any, Final, Literal, TypeAlias

from xpand import array_namespace, is_concrete, library_name
from xpand.extend import Array, checks, eager

from .._bounds import index_dtype, signed
from .._dispatch import pluggable

SliceMode: TypeAlias = Literal["raise", "clip", "wrap"]
"""The treatment of a slice that is not within the array."""

_MODES: Final = (None, "raise", "clip", "wrap")


@pluggable
def dynamic_slice(
    x: Array,
    /,
    starts: Sequence[int | Array],
    sizes: Sequence[int],
    *,
    strides: Sequence[int] | None = None,
    mode: SliceMode | None = None,
) -> Array:
    """Read a slice of known size, whose start may be an array.

    Args:
        x: An array of any data type.
        starts: The start of the slice along each axis: Python integers, or integer arrays of shape `()`, whose values
            need not be known. Negative starts count from the end.
        sizes: The size of the result along each axis.
        strides: The step along each axis, 1 or more. By default: 1.
        mode: The treatment of a slice that is not within the array: "raise" an `IndexError`; "clip" moves the start so
            that the slice fits; "wrap" continues at the other end. By default: "raise" if the start is known, else
            "clip".

    Returns:
        A copy, of the shape `sizes`: its element `i` is the element `starts + i * strides` of `x`.

    Raises:
        TypeError: An argument of the wrong type, starts that are not integers, or arrays of two libraries.
        ValueError: Not one start, size and stride for each axis, a slice larger than the array (unless it wraps),
            an unknown mode, "raise" for an unknown start, or arrays on two devices.
        IndexError: A slice that is not within the array.

    Source: `jax.lax.dynamic_slice`, and `Nx.slice` for the strides.

    >>> import numpy as np
    >>> dynamic_slice(np.arange(6), (np.asarray(2),), (3,))
    array([2, 3, 4])
    >>> dynamic_slice(np.arange(6), (4,), (4,), mode="wrap")
    array([4, 5, 0, 1])
    """
    implementation, sizes, steps, spans = dynamic_slice.planned(_check_read, (x,), sizes, strides, mode)
    resolved = _resolved("dynamic_slice", x, starts, spans, mode)
    unknown = _traced(resolved)
    if unknown:  # a start may be traced although `x` isn't
        implementation = dynamic_slice.native(x, *unknown)
    return implementation(x, resolved, sizes, strides=steps, mode=mode)


@pluggable
def put_slice(x: Array, values: Array, /, starts: Sequence[int | Array], *, mode: SliceMode | None = None) -> Array:
    """Replace a slice, whose start may be an array, by values.

    Args:
        x: An array of any data type. It is never changed.
        values: An array of the shape of the slice, with as many axes as `x`. It is cast to the data type of `x`.
        starts: As in `dynamic_slice`.
        mode: As in `dynamic_slice`.

    Returns:
        An array of the shape and data type of `x`.

    Raises:
        TypeError: An argument of the wrong type, starts that are not integers, values of a kind that doesn't promote to
            that of `x`, or arrays of two libraries.
        ValueError: Not one start for each axis, values with more or fewer axes, a slice larger than the array, an
            unknown mode, "raise" for an unknown start, or arrays on two devices.
        IndexError: A slice that is not within the array.

    Source: `Nx.put_slice`, `jax.lax.dynamic_update_slice`.

    >>> import numpy as np
    >>> put_slice(np.zeros(5), np.asarray([1.0, 2.0]), (-3,))
    array([0., 0., 1., 2., 0.])
    """
    implementation, spans = put_slice.planned(_check_written, (x, values), mode)
    resolved = _resolved("put_slice", x, starts, spans, mode)
    unknown = _traced(resolved)
    if unknown:
        implementation = put_slice.native(x, values, *unknown)
    return implementation(x, values, resolved, mode=mode)


@pluggable
def repeat(
    x: Array, /, repeats: int | Array, *, axis: int | None = None, total_repeat_length: int | None = None
) -> Array:
    """Repeat each element along an axis.

    Args:
        x: An array of any data type.
        repeats: The number of repetitions: an integer, or an integer array of shape `()`, `(1,)` or `(x.shape[axis],)`.
        axis: The axis. By default, `x` is flattened first.
        total_repeat_length: The size of the result along the axis. Surplus elements are cut off; missing ones are
            copies of the last element. By default: the sum of the repeats. Required if the values of `repeats` aren't
            known: under jit and vmap.

    Returns:
        An array of the shape of `x`, with another size along `axis`. For lazy repeats without a total, that size is
        unknown.

    Raises:
        TypeError: An argument of the wrong type or data type, or arrays of two libraries.
        ValueError: Negative repeats (if their values aren't known, they count as 0), repeats of another shape, no such
            axis, no total although it is required, a positive total for an empty axis, or arrays on two devices.

    Source: `repeat` of the standard, and `jax.numpy.repeat` for the total.

    >>> import numpy as np
    >>> repeat(np.asarray([1, 2, 3]), np.asarray([2, 0, 1]))
    array([1, 1, 3])
    >>> repeat(np.asarray([1, 2, 3]), np.asarray([2, 0, 1]), total_repeat_length=5)
    array([1, 1, 3, 3, 3])
    """
    repeats = checks.plain_integer(repeats)
    several: Any = repeats if not isinstance(repeats, int) and hasattr(repeats, "dtype") else None
    given = repeats if several is None else 0, axis, total_repeat_length
    implementation, number, size, axis, total = repeat.planned(_check_repeat, (x,), *given)
    if size is not None:
        x = array_namespace(x).reshape(x, (size,))
    if several is not None:
        _check_repeats(x, several, axis, total)
        number, implementation = several, repeat.native(x, several)
    return implementation(x, number, axis=axis, total_repeat_length=total)


def _check_repeat(
    function: str, x: Array, repeats: Any, axis: Any, total: Any
) -> tuple[int, int | None, int, int | None]:
    """Check the arguments; return the repeats, the size of a flattened `x` or None, the axis and the total."""
    checks.namespace_of(function, x=x)
    shape = checks.known_shape(function, "x", x)
    size = math.prod(shape) if axis is None else None
    shape = shape if size is None else (size,)
    axis = checks.axis(function, 0 if axis is None else axis, len(shape))
    if total is not None:
        total = checks.integer(function, "total_repeat_length", total, minimum=0)
        if total and not shape[axis]:
            raise ValueError(
                f"{function}: total_repeat_length={total} must be 0 where x has no elements along axis {axis}"
            )
    return checks.integer(function, "repeats", repeats, minimum=0), size, axis, total


def _traced(starts: Sequence[int | Array]) -> list[Array]:
    """Return the starts whose values aren't known."""
    return [start for start in starts if not isinstance(start, int)]


def _check_read(
    function: str, x: Array, sizes: Any, strides: Any, mode: Any
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Check the arguments of a slice to read, except the starts; return its sizes, steps and spans."""
    checks.namespace_of(function, x=x)
    checks.choice(function, "mode", mode, _MODES)
    shape = checks.known_shape(function, "x", x)
    sizes = _one_for_each_axis(function, "sizes", sizes, x.ndim, minimum=0)
    steps = (1,) * x.ndim if strides is None else _one_for_each_axis(function, "strides", strides, x.ndim, minimum=1)
    spans = tuple([(size - 1) * step + 1 if size else 0 for size, step in zip(sizes, steps)])
    if mode != "wrap" or 0 in shape:
        _check_spans(function, shape, spans)
    return sizes, steps, spans


def _check_written(function: str, x: Array, values: Array, mode: Any) -> tuple[tuple[int, ...]]:
    """Check the arguments of a slice to write, except the starts; return its spans."""
    xp = checks.together(function, x=x, values=values)
    checks.castable(function, "values", xp, values, x, "x")
    checks.choice(function, "mode", mode, _MODES)
    shape = checks.known_shape(function, "x", x)
    spans = checks.known_shape(function, "values", values)
    if len(spans) != x.ndim:
        raise ValueError(f"{function}: values must have as many axes as x, {x.ndim}, got {len(spans)}; reshape them")
    _check_spans(function, shape, spans)
    return (spans,)


def _resolved(function: str, x: Array, starts: Any, spans: tuple[int, ...], mode: SliceMode | None) -> tuple[Any, ...]:
    """Check the starts of a slice, and move them into the array."""
    _check_starts(function, x, starts, mode)
    each = zip(starts, x.shape, spans)
    return tuple([_resolve_start(function, start, k, size, span, mode) for k, (start, size, span) in enumerate(each)])


def _check_starts(function: str, x: Array, starts: Any, mode: Any) -> None:
    if not isinstance(starts, Sequence):
        raise TypeError(
            f"{function}: starts must be a sequence of integers and integer arrays of shape (), got {starts!r}"
        )
    if len(starts) != x.ndim:
        raise ValueError(
            f"{function}: starts must hold one start for each of the {x.ndim} axes of x, got {len(starts)}"
        )
    for i, start in enumerate(starts):
        if type(start) is int:
            continue
        if isinstance(start, Integral) or not hasattr(start, "dtype"):
            checks.integer(function, f"starts[{i}]", start)
            continue
        name = f"starts[{i}]"
        xp = checks.together(function, **{"x": x, name: start})
        checks.dtype(function, name, xp, start, checks.INTEGERS)
        if tuple(start.shape) != ():
            raise ValueError(f"{function}: {name} must have the shape (), got {tuple(start.shape)}")
        if mode == "raise" and not is_concrete(start):
            raise ValueError(
                f"{function}: mode='raise' needs the value of {name}, which isn't known here (under jit or vmap, or in "
                "a lazy array); leave mode out to have the slice moved into the array, or choose 'clip' or 'wrap'"
            )


def _one_for_each_axis(function: str, name: str, values: Any, ndim: int, *, minimum: int) -> tuple[int, ...]:
    if not isinstance(values, Sequence):
        raise TypeError(f"{function}: {name} must be a sequence of integers, got {values!r}")
    if len(values) != ndim:
        raise ValueError(
            f"{function}: {name} must hold one integer for each of the {ndim} axes of x, got {len(values)}"
        )
    return tuple([checks.integer(function, f"{name}[{i}]", v, minimum=minimum) for i, v in enumerate(values)])


def _check_spans(function: str, shape: tuple[int, ...], spans: tuple[int, ...]) -> None:
    for axis, (size, span) in enumerate(zip(shape, spans)):
        if span > size:
            raise ValueError(f"{function}: the slice covers {span} elements along axis {axis}, where x has {size}")


def _resolve_start(function: str, start: Any, axis: int, size: int, span: int, mode: SliceMode | None) -> int | Array:
    """Move the start of a slice into the array, as `mode` requires. A known start becomes a number."""
    if hasattr(start, "dtype") and not is_concrete(start):
        return _resolve_unknown_start(start, size, span, mode)
    given = _number(start)
    if mode == "wrap":
        return given % size if size else 0
    number = given + size if given < 0 else given
    if mode == "clip":
        return min(max(number, 0), size - span)
    if not 0 <= number <= size - span:
        raise IndexError(
            f"{function}: a slice over {span} elements from {given} on does not lie within axis {axis} of size {size}; "
            f"takes starts from {-size} to {size - span}, or choose mode='clip' or 'wrap'"
        )
    return number


def _number(start: Any) -> int:
    """Read a start. Large unsigned integers are read in two halves, because PyTorch reads only signed integers."""
    xp = array_namespace(start) if hasattr(start, "dtype") else None
    if xp is None or checks.integer_range(xp, start.dtype)[1] < 2**63:
        return int(start)
    two = xp.full((), 2, dtype=start.dtype, device=checks.device_of(start))
    return 2 * int(xp.floor_divide(start, two)) + int(xp.remainder(start, two))


def _resolve_unknown_start(start: Array, size: int, span: int, mode: SliceMode | None) -> Array:
    xp = array_namespace(start)
    dtype = index_dtype(xp, checks.device_of(start))
    start = signed(xp, start, max(size, 1), dtype, wraps=mode == "wrap")
    if mode == "wrap":
        return xp.remainder(start, xp.full((), max(size, 1), dtype=dtype, device=checks.device_of(start)))
    start = xp.where(start < 0, start + size, start)
    return xp.clip(start, 0, size - span)


def _check_repeats(x: Array, repeats: Array, axis: int, total: int | None) -> None:
    xp = checks.together("repeat", x=x, repeats=repeats)
    checks.dtype("repeat", "repeats", xp, repeats, checks.INTEGERS)
    if checks.known_shape("repeat", "repeats", repeats) not in ((), (1,), (x.shape[axis],)):
        raise ValueError(
            f"repeat: repeats must have the shape (), (1,) or ({x.shape[axis]},), the size of axis {axis}, got "
            f"{tuple(repeats.shape)}"
        )
    if not is_concrete(repeats):
        if total is None and library_name(xp) != "dask":
            raise ValueError(
                "repeat: total_repeat_length must be given where the values of repeats aren't known (under jit or "
                "vmap), since it is the size of the result"
            )
    elif math.prod(repeats.shape):
        with eager(xp):
            least = int(xp.min(repeats))
        if least < 0:
            raise ValueError(f"repeat: repeats must be at least 0, got {least}")
