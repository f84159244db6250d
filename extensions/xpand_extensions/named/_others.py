"""Functions along one axis and of matrices of two axes; comparisons, searches, counts and padding by name."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from xpand import array_namespace, comparison, is_concrete
from xpand.extend import DType, checks, describe, is_array

from .. import histograms, indexing, padding, sorting
from . import _axis, _positional as positional
from ._array import NamedArray, interned, make
from ._axis import Axis, AxisSelector
from ._elementwise import elementwise
from ._methods import method
from ._plans import (
    Positional,
    aligned,
    along,
    array_like,
    array_of,
    as_array,
    check_named,
    check_type,
    namespace_of,
    position,
    rest_of,
    selected,
    without_axes,
)
from ._shapes import permuted

__all__ = [
    "allclose",
    "argsort",
    "array_equal",
    "array_equiv",
    "bincount",
    "clip",
    "cumprod",
    "cumsum",
    "isclose",
    "nancumprod",
    "nancumsum",
    "nonzero",
    "packbits",
    "pad",
    "searchsorted",
    "sort",
    "top_k",
    "trace",
    "tril",
    "triu",
    "unpackbits",
    "where",
]

_SUM: Final = Positional("cumulative_sum")
_PROD: Final = Positional("cumulative_prod")
_SORT: Final = Positional("sort")
_ARGSORT: Final = Positional("argsort")
_PACK: Final = Positional("bits.packbits")
_UNPACK: Final = Positional("bits.unpackbits")
_TOP_K: Final = Positional("sorting.top_k")


@method
def cumsum(a: NamedArray, axis: AxisSelector, *, dtype: DType | None = None) -> NamedArray:
    """Compute cumulative sums along an axis.

    >>> import numpy as np
    >>> cumsum(NamedArray(np.asarray([1, 2, 3]), "a"), "a")
    NamedArray({'a': 3}, array([1, 3, 6]))
    """
    return along("cumsum", _SUM, a, axis, "a", dtype=dtype)


@method
def cumprod(a: NamedArray, axis: AxisSelector, dtype: DType | None = None) -> NamedArray:
    """Compute cumulative products along an axis."""
    return along("cumprod", _PROD, a, axis, "a", dtype=dtype)


def _without_nan(function: str, a: NamedArray, value: int) -> NamedArray:
    check_type(function, "a", a)
    x, xp = a.array, array_namespace(a.array)
    if not xp.isdtype(x.dtype, ("real floating", "complex floating")):
        return a
    return make(xp.where(xp.isnan(x), xp.full_like(x, value), x), a.names)


def nancumsum(a: NamedArray, axis: AxisSelector, *, dtype: DType | None = None) -> NamedArray:
    """Compute cumulative sums along an axis; NaN counts as 0."""
    return along("nancumsum", _SUM, _without_nan("nancumsum", a, 0), axis, dtype=dtype)


def nancumprod(a: NamedArray, axis: AxisSelector, dtype: DType | None = None) -> NamedArray:
    """Compute cumulative products along an axis; NaN counts as 1."""
    return along("nancumprod", _PROD, _without_nan("nancumprod", a, 1), axis, dtype=dtype)


@method
def sort(a: NamedArray, axis: AxisSelector) -> NamedArray:
    """Sort along an axis, in ascending order."""
    return along("sort", _SORT, a, axis, "a")


def packbits(a: NamedArray, axis: AxisSelector, *, bitorder: Literal["big", "little"] = "big") -> NamedArray:
    """Pack eight elements along an axis into one byte. Nonzero elements become bits that are 1."""
    return along("packbits", _PACK, a, axis, "a", bitorder=bitorder)


def unpackbits(
    a: NamedArray, axis: AxisSelector, *, count: int | None = None, bitorder: Literal["big", "little"] = "big"
) -> NamedArray:
    """Unpack the bits of bytes along an axis: all bits, or the first `count`."""
    return along("unpackbits", _UNPACK, a, axis, "a", count=count, bitorder=bitorder)


def top_k(
    arr: NamedArray, axis: AxisSelector, k: int, new_axis: AxisSelector | None = None
) -> tuple[NamedArray, NamedArray]:
    """Find the `k` largest elements along an axis, the largest first, and their positions.

    Args:
        arr: A named array of real numbers.
        axis: The axis.
        k: The number of elements.
        new_axis: The axis of size `k` that replaces it. By default, it has the same name.

    Raises:
        ValueError: There is no such axis, or `k` is not from 0 to its size.

    >>> import numpy as np
    >>> top_k(NamedArray(np.asarray([1, 3, 2]), "a"), "a", 2, "best")[1]
    NamedArray({'best': 2}, array([1, 2]))
    """
    check_named("top_k", "arr", arr)
    i = position("top_k", arr, axis)
    name, size = (arr.names[i], None) if new_axis is None else _axis.selector("top_k", new_axis)
    if size not in (None, k):
        raise ValueError(f"top_k: k is {k}, but new_axis {name!r} has size {size}")
    if checks.integer("top_k", "k", k, minimum=0) > arr.array.shape[i]:  # an unknown size is NaN
        raise ValueError(f"top_k: k must be from 0 to the size {arr.array.shape[i]} of axis {arr.names[i]!r}, got {k}")
    names = (*arr.names[:i], name, *arr.names[i + 1 :])
    _axis.different("top_k", names)
    values, indices = _TOP_K(arr.array, k, axis=i)
    return make(values, interned(names)), make(indices, interned(names))


# --- matrices: two axes ----------------------------------------------------------------------------------------------


_TRACE: Final = Positional("linalg.trace")
_TRIL: Final = Positional("tril")
_TRIU: Final = Positional("triu")


def _matrices(
    name: str, function: Positional, array: NamedArray, axes: tuple[AxisSelector, AxisSelector], **params: Any
) -> tuple[Any, tuple[str, ...]]:
    """Call a function of matrices with their axes last; return its result and the names of its argument's axes."""
    check_named(name, "array", array)
    if isinstance(params.get("dtype"), str):
        params["dtype"] = checks.named_dtype(name, array_namespace(array.array), params["dtype"])
    matrix = selected(name, array, axes)
    moved = permuted(array, (*rest_of(array.names, matrix), *matrix))
    return function(moved.array, **params), moved.names


@method
def argsort(a: NamedArray, axis: AxisSelector | None = None, *, stable: bool = False) -> Any:
    """Return the positions that sort an array along an axis.

    Args:
        a: A named array.
        axis: The axis. None sorts all elements as one sequence, and returns an array without names.
        stable: Whether equal elements keep their order.
    """
    if axis is not None:
        return along("argsort", _ARGSORT, a, axis, "a", stable=stable)
    check_named("argsort", "a", a)
    line = array_namespace(a.array).reshape(a.array, (-1,))
    return _ARGSORT(line, stable=stable)


@method
def trace(
    array: NamedArray, axis1: AxisSelector, axis2: AxisSelector, offset: int = 0, dtype: DType | None = None
) -> NamedArray:
    """Sum the diagonal of two axes, or the diagonal `offset` elements to its right.

    Raises:
        ValueError: There is no such axis, or both axes are the same.
    """
    found, names = _matrices("trace", _TRACE, array, (axis1, axis2), offset=offset, dtype=dtype)
    return make(found, interned(names[:-2]))


def tril(array: NamedArray, axis1: AxisSelector, axis2: AxisSelector, k: int = 0) -> NamedArray:
    """Set the elements above a diagonal of two axes to zero. These become the last axes.

    `k` moves the diagonal to the right.
    """
    return make(*_matrices("tril", _TRIL, array, (axis1, axis2), k=k))


def triu(array: NamedArray, axis1: AxisSelector, axis2: AxisSelector, k: int = 0) -> NamedArray:
    """Set the elements below a diagonal of two axes to zero. These become the last axes.

    `k` moves the diagonal to the right.
    """
    return make(*_matrices("triu", _TRIU, array, (axis1, axis2), k=k))


# --- of several arrays, and of all axes ------------------------------------------------------------------------------


def _where_by_position(condition: Any, x: Any, y: Any) -> Any:
    if type(condition) is type(x) is type(y) and is_array(x):
        return array_namespace(condition, x, y).where(condition, x, y)
    condition = as_array(condition, x, y)
    if not is_array(y):
        x = as_array(x, condition)
    return namespace_of(condition, x, y).where(condition, x, y)


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
    (axis,) = _axis.specified("nonzero", size)
    found = indexing.nonzero(array.array, size=axis.size, fill_value=fill_value)
    return tuple([make(x, interned((axis.name,))) for x in found])


def allclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Return whether two arrays, broadcast by name, are equal within tolerances: an array without names or axes."""
    return array_of(_ALLCLOSE(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan))


def array_equal(a: Any, b: Any) -> Any:
    """Return whether two arrays have the same axes, in any order, and equal elements. The result may be traced or lazy.

    >>> import numpy as np
    >>> x = NamedArray(np.asarray([[1, 2], [3, 4]]), ("a", "b"))
    >>> array_equal(x, x.rearrange(("b", "a")))
    True
    """
    return _all_equal("array_equal", a, b, equal_axes=True)


def array_equiv(a: Any, b: Any) -> Any:
    """Return whether two arrays, broadcast by name, have equal elements: a boolean, perhaps traced or lazy."""
    return _all_equal("array_equiv", a, b, equal_axes=False)


def _all_equal(function: str, a: Any, b: Any, equal_axes: bool) -> Any:
    shape, other = [x.shape if isinstance(x, NamedArray) else {} for x in (a, b)]
    if (equal_axes and shape != other) or any(other.get(name, size) != size for name, size in shape.items()):
        return False
    _, arrays = aligned(function, (a, b))
    xp = namespace_of(*arrays)
    found = xp.all(xp.equal(*arrays))
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
    if not isinstance(v, NamedArray):
        without_axes("searchsorted", v)
    values = array_like(array_of(v), a.array)
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
    (axis,) = _axis.specified("bincount", Counts)
    if minlength > axis.size:
        raise ValueError(f"bincount: minlength is {minlength}, but axis {axis.name!r} has size {axis.size}")
    xp = array_namespace(x.array)
    count = xp.reshape(x.array, (-1,))
    if isinstance(weights, NamedArray):
        names, (_, values) = aligned("bincount", (x, weights))
        if set(names) != set(x.names):
            raise ValueError(f"bincount: weights have axes that x lacks; it has {_axis.written(x.shape.items())}")
        xp = array_namespace(values)
        weights = xp.reshape(xp.broadcast_to(values, x.array.shape), (-1,))
    elif is_array(weights) and len(weights.shape) and tuple(weights.shape) != tuple(x.array.shape):
        raise ValueError(f"bincount: weights must have the shape of x, {_axis.written(x.shape.items())}")
    elif is_array(weights) and len(weights.shape):
        weights = array_namespace(weights).reshape(weights, (-1,))
    return make(histograms.bincount(count, weights=weights, length=axis.size), interned((axis.name,)))


_ASTYPE: Final = elementwise("astype", positional.astype)
_CLIP: Final = elementwise("clip", positional.clip)
_CLIP_ABOVE: Final = elementwise("clip", lambda x, high, /: positional.clip(x, None, high))
_ALLCLOSE: Final = elementwise("allclose", comparison.allclose)
_ISCLOSE: Final = elementwise("isclose", comparison.isclose)


@method
def astype(x: NamedArray, dtype: Any) -> NamedArray:
    """Convert to a data type of the library, which may be given by name."""
    return _ASTYPE(x, dtype=dtype)


@method
def clip(array: Any, a_min: Any = None, a_max: Any = None) -> Any:
    """Limit values from below and above, by numbers or arrays that broadcast by name; None sets no limit."""
    if a_min is None:
        return _CLIP(array) if a_max is None else _CLIP_ABOVE(array, a_max)
    return _CLIP(array, a_min) if a_max is None else _CLIP(array, a_min, a_max)


def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Return whether elements are equal within tolerances: abs(a - b) <= atol + rtol * abs(b)."""
    return _ISCLOSE(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
