"""Comparisons, searches, counts and padding by name."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from xpand import array_namespace, comparison
from xpand.extend import describe, is_array

from .. import histograms, indexing, padding, sorting
from . import _axis, _positional as positional
from ._array import NamedArray, check_rank, interned, make
from ._axis import Axis
from ._elementwise import elementwise
from ._methods import method
from ._plans import aligned, array_of, check_named, namespace_of, position

__all__ = [
    "allclose",
    "array_equal",
    "array_equiv",
    "bincount",
    "clip",
    "isclose",
    "nonzero",
    "pad",
    "searchsorted",
    "where",
]


def _where_by_position(condition: Any, x: Any, y: Any) -> Any:
    if type(condition) is type(x) is type(y) and is_array(x):
        return array_namespace(condition, x, y).where(condition, x, y)
    xp = namespace_of(condition, x, y)
    if not is_array(condition):
        condition = xp.asarray(condition)
    if not is_array(x) and not is_array(y):
        x = xp.asarray(x)
    return xp.where(condition, x, y)


_choose = elementwise("where", _where_by_position)


def where(
    condition: Any, x: Any = None, y: Any = None, fill_value: int | None = None, new_axis: Axis | None = None
) -> Any:
    """Choose elements of two arrays, which broadcast by name; or return the positions of true elements.

    Args:
        condition: Booleans.
        x: The elements where the condition is true.
        y: The elements where it is false. Without `x` and `y`, positions are returned, as by `nonzero`.
        fill_value: The number in place of missing positions.
        new_axis: The axis of the positions.

    Raises:
        ValueError: Only one of `x` and `y` is given; or neither, and `fill_value` or `new_axis` is missing.

    >>> import numpy as np
    >>> x = NamedArray(np.asarray([-1, 2]), "a")
    >>> where(x > 0, x, 0)
    NamedArray({'a': 2}, array([0, 2]))
    """
    if (x is None) != (y is None):
        raise ValueError("where: takes both x and y, or neither")
    if x is not None:
        if fill_value is not None or new_axis is not None:
            raise ValueError("where: fill_value and new_axis are for a condition alone")
        return _choose(condition, x, y)
    if fill_value is None or new_axis is None:
        raise ValueError("where: a condition alone needs fill_value, and new_axis with a size")
    return nonzero(condition, size=new_axis, fill_value=fill_value)


def nonzero(array: NamedArray, *, size: Axis, fill_value: int = 0) -> tuple[NamedArray, ...]:
    """Return the positions of nonzero elements, in an array for each axis.

    Args:
        array: A named array.
        size: The axis of the results. If it is shorter than the number of positions, the first ones are returned; if it
            is longer, `fill_value` is appended.
        fill_value: An integer.
    """
    check_named("nonzero", "array", array)
    check_rank("nonzero", array)
    (axis,) = _axis.specified("nonzero", size)
    found = indexing.nonzero(array.array, size=axis.size, fill_value=fill_value)
    return tuple([make(x, interned((axis.name,))) for x in found])


def _compared(function: str, a: Any, b: Any, equal_axes: bool) -> list[Any] | None:
    """Align two arrays by name; return None if their axes don't fit."""
    arrays = [x for x in (a, b) if isinstance(x, NamedArray)]
    if len(arrays) == 2:
        shape, other = arrays[0].shape, arrays[1].shape
        if (equal_axes and shape != other) or any(other.get(name, size) != size for name, size in shape.items()):
            return None
    return aligned(function, (a, b))[1]


def allclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Return whether two arrays, broadcast by name, are equal within tolerances: an array without names or axes."""
    return comparison.allclose(*aligned("allclose", (a, b))[1], rtol=rtol, atol=atol, equal_nan=equal_nan)


def array_equal(a: Any, b: Any) -> Any:
    """Return whether two arrays have the same axes, in any order, and equal elements. The result may be traced or lazy.

    >>> import numpy as np
    >>> x = NamedArray(np.asarray([[1, 2], [3, 4]]), ("a", "b"))
    >>> array_equal(x, x.rearrange(("b", "a")))
    True
    """
    found = _compared("array_equal", a, b, equal_axes=True)
    return False if found is None else _all_equal(*found)


def array_equiv(a: Any, b: Any) -> Any:
    """Return whether two arrays, broadcast by name, have equal elements: a boolean, perhaps traced or lazy."""
    found = _compared("array_equiv", a, b, equal_axes=False)
    return False if found is None else _all_equal(*found)


def _all_equal(a: Any, b: Any) -> Any:
    from xpand import is_concrete

    found = namespace_of(a, b).all(namespace_of(a, b).equal(a, b))
    return bool(found) if is_concrete(found) else found


def pad(
    array: NamedArray,
    pad_width: Mapping[Any, tuple[int, int]],
    *,
    mode: str = "constant",
    constant_values: Any = 0,
    **kwargs: Any,
) -> NamedArray:
    """Extend an array at the ends of axes.

    Args:
        array: A named array.
        pad_width: A dictionary from axes to the numbers of new elements before and after.
        mode: The rule for the new elements, as in `padding.pad`.
        constant_values: The new elements, for the mode "constant".
        **kwargs: Further arguments of `padding.pad`.

    Raises:
        ValueError: There is no such axis.

    >>> import numpy as np
    >>> pad(NamedArray(np.asarray([1, 2]), "a"), {"a": (1, 0)})
    NamedArray({'a': 3}, array([0, 1, 2]))
    """
    check_named("pad", "array", array)
    check_rank("pad", array)
    if not isinstance(pad_width, Mapping):
        raise TypeError(f"pad: pad_width must be a dictionary from axes to (before, after), got {describe(pad_width)}")
    widths = [(0, 0)] * len(array.names)
    for axis, width in pad_width.items():
        widths[position("pad", array, axis)] = width
    if mode == "constant":
        value = array_of(constant_values)
        if isinstance(constant_values, NamedArray) and constant_values.names:
            raise ValueError("pad: constant_values must be a number or an array without axes")
        kwargs["constant_values"] = value
    return make(padding.pad(array.array, tuple(widths), mode=mode, **kwargs), array.names)  # type: ignore[arg-type]


def searchsorted(
    a: NamedArray, v: Any, *, side: Literal["left", "right"] = "left", sorter: Any = None, method: str = "scan"
) -> NamedArray:
    """Find the positions at which values must be inserted into sorted values to keep the order.

    Args:
        a: Sorted values, of one axis.
        v: The values to insert. The result has their axes.
        side: Whether to return the first ("left") or the last ("right") position among equal values.
        sorter: The positions that sort `a`.
        method: The name of an algorithm of JAX. It has no effect: each library uses its own algorithm.

    Raises:
        ValueError: `a` has several axes.
    """
    check_named("searchsorted", "a", a)
    if len(a.names) != 1:
        raise ValueError(f"searchsorted: a must have one axis, got {_axis.written(a.shape.items())}")
    check_rank("searchsorted", a)
    xp = array_namespace(a.array)
    values = array_of(v)
    if not is_array(values):
        values = xp.asarray(values, dtype=a.array.dtype)
    elif not isinstance(v, NamedArray) and len(values.shape):
        raise TypeError(f"searchsorted: v must be a NamedArray or a number, got {describe(v)}")
    found = sorting.searchsorted(a.array, values, side=side, sorter=array_of(sorter))
    return make(found, v.names if isinstance(v, NamedArray) else ())


def bincount(x: NamedArray, Counts: Axis, *, weights: Any = None, minlength: int = 0) -> NamedArray:
    """Count how often each integer occurs among all elements, or add up the weights of its occurrences.

    Args:
        x: Integers from 0 to below the size of `Counts`. Others raise an `IndexError` if values are known, and are
            ignored otherwise.
        Counts: The axis of the result.
        weights: The weights, which broadcast to `x` by name.
        minlength: At most the size of `Counts`, which is the length.
    """
    check_named("bincount", "x", x)
    check_rank("bincount", x)
    (axis,) = _axis.specified("bincount", Counts)
    if minlength > axis.size:
        raise ValueError(f"bincount: minlength is {minlength}, but axis {axis.name!r} has size {axis.size}")
    xp = array_namespace(x.array)
    count = xp.reshape(x.array, (-1,))
    if isinstance(weights, NamedArray):
        names, (_, values) = aligned("bincount", (x, weights))
        if set(names) != set(x.names):
            raise ValueError(f"bincount: weights have axes that x lacks; it has {_axis.written(x.shape.items())}")
        weights = xp.reshape(xp.broadcast_to(values, x.array.shape), (-1,))
    elif is_array(weights) and len(weights.shape) and tuple(weights.shape) != tuple(x.array.shape):
        raise ValueError(f"bincount: weights must have the shape of x, {_axis.written(x.shape.items())}")
    elif is_array(weights) and len(weights.shape):
        weights = xp.reshape(weights, (-1,))
    return make(histograms.bincount(count, weights=weights, length=axis.size), interned((axis.name,)))


_ASTYPE: Final = elementwise("astype", positional.astype)
_CLIP: Final = elementwise("clip", positional.clip)
_ISCLOSE: Final = elementwise("isclose", comparison.isclose)


@method
def astype(x: NamedArray, dtype: Any) -> NamedArray:
    """Convert to a data type of the library, which may be given by name."""
    return _ASTYPE(x, dtype=dtype)


@method
def clip(array: Any, a_min: Any = None, a_max: Any = None) -> Any:
    """Limit values from below and above, by numbers or arrays that broadcast by name; None sets no limit."""
    return _CLIP(array, a_min, a_max)


def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Return whether elements are equal within tolerances: abs(a - b) <= atol + rtol * abs(b)."""
    return _ISCLOSE(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
