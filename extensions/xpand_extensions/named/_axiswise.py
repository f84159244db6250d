"""Operations along one axis, and on matrices of two axes."""

from collections.abc import Callable
from typing import Any, Final, Literal

from xpand import array_namespace
from xpand.extend import Array, DType, checks

from . import _axis
from ._array import NamedArray, check_rank, interned, make
from ._axis import AxisSelector
from ._methods import method
from ._plans import Positional, along, check_named, position, rest_of, selected
from ._shapes import permuted

__all__ = [
    "argsort",
    "cumprod",
    "cumsum",
    "nancumprod",
    "nancumsum",
    "packbits",
    "sort",
    "top_k",
    "trace",
    "tril",
    "triu",
    "unpackbits",
]


def _without_nan(value: int) -> Callable[[Array], Array]:
    def replaced(x: Array) -> Array:
        xp = array_namespace(x)
        if not xp.isdtype(x.dtype, ("real floating", "complex floating")):
            return x
        return xp.where(xp.isnan(x), xp.full_like(x, value), x)

    return replaced


def _nancumsum(x: Array, /, *, axis: int, dtype: Any = None) -> Array:
    return array_namespace(x).cumulative_sum(_without_nan(0)(x), axis=axis, dtype=dtype)


def _nancumprod(x: Array, /, *, axis: int, dtype: Any = None) -> Array:
    return array_namespace(x).cumulative_prod(_without_nan(1)(x), axis=axis, dtype=dtype)


_SUM: Final = Positional("cumulative_sum")
_PROD: Final = Positional("cumulative_prod")
_NAN_SUM: Final = Positional(_nancumsum)
_NAN_PROD: Final = Positional(_nancumprod)
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


def nancumsum(a: NamedArray, axis: AxisSelector, *, dtype: DType | None = None) -> NamedArray:
    """Compute cumulative sums along an axis; NaN counts as 0."""
    return along("nancumsum", _NAN_SUM, a, axis, "a", dtype=dtype)


def nancumprod(a: NamedArray, axis: AxisSelector, dtype: DType | None = None) -> NamedArray:
    """Compute cumulative products along an axis; NaN counts as 1."""
    return along("nancumprod", _NAN_PROD, a, axis, "a", dtype=dtype)


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
    check_rank("top_k", arr)
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
    check_rank(name, array)
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
    if isinstance(dtype, str):
        dtype = getattr(array_namespace(array.array), dtype)
    found, names = _matrices("trace", _TRACE, array, (axis1, axis2), offset=offset, dtype=dtype)
    return make(found, interned(names[:-2]))


def tril(array: NamedArray, axis1: AxisSelector, axis2: AxisSelector, k: int = 0) -> NamedArray:
    """Set the elements above a diagonal of two axes to zero. `k` moves the diagonal to the right."""
    return permuted(make(*_matrices("tril", _TRIL, array, (axis1, axis2), k=k)), array.names)


def triu(array: NamedArray, axis1: AxisSelector, axis2: AxisSelector, k: int = 0) -> NamedArray:
    """Set the elements below a diagonal of two axes to zero. `k` moves the diagonal to the right."""
    return permuted(make(*_matrices("triu", _TRIU, array, (axis1, axis2), k=k)), array.names)
