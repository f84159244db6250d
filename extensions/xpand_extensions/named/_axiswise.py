"""Operations along one axis, by their axis signatures: one line of a table each."""

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

from xpand import array_namespace
from xpand.extend import Array, DType, checks

from .._plans import Memory
from . import _axis
from ._array import NamedArray, make
from ._axis import AxisSelector
from ._calls import call, operation
from ._plans import Positional, check_named, check_rank, derived, position
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


class Along(NamedTuple):
    """An operation along one axis."""

    function: str | Callable[..., Any]
    signature: str = "...[(axis)]->...[(axis)]"


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


ALONG: Final[dict[str, Along]] = {
    "argsort": Along("argsort"),
    "cumprod": Along("cumulative_prod"),
    "cumsum": Along("cumulative_sum"),
    "nancumprod": Along(_nancumprod),
    "nancumsum": Along(_nancumsum),
    "packbits": Along("bits.packbits", "...[(axis)]->...[(axis:k)]"),
    "sort": Along("sort"),
    "unpackbits": Along("bits.unpackbits", "...[(axis)]->...[(axis:k)]"),
}
"""Functions of one array and one axis."""


def _along(name: str, line: Along) -> Callable[..., NamedArray]:
    function = Positional(line.function)
    plans = Memory()

    def apply(a: Any, axis: Any, **params: Any) -> NamedArray:
        check_named(name, "a", a)
        i = position(name, a, axis)
        names = plans.get((a.names, i))
        if names is None:
            plan = derived(line.signature, a.names, params={"axis": (a.names[i],)})
            names = plans.add((a.names, i), plan.names[0])
        check_rank(name, a)
        return make(function.of(a.array)(a.array, axis=i, **params), names)

    return apply


for _name, _line in ALONG.items():
    setattr(call, _name, _along(_name, _line))


def cumsum(a: NamedArray, axis: AxisSelector, *, dtype: DType | None = None) -> NamedArray:
    """Compute the sums of the elements up to each along an axis.

    >>> import numpy as np
    >>> cumsum(NamedArray(np.asarray([1, 2, 3]), "a"), "a")
    NamedArray({'a': 3}, array([1, 3, 6]))
    """
    return call.cumsum(a, axis, dtype=dtype)


def cumprod(a: NamedArray, axis: AxisSelector, dtype: DType | None = None) -> NamedArray:
    """Compute cumulative products along an axis."""
    return call.cumprod(a, axis, dtype=dtype)


def nancumsum(a: NamedArray, axis: AxisSelector, *, dtype: DType | None = None) -> NamedArray:
    """Compute cumulative sums along an axis; NaN counts as 0."""
    return call.nancumsum(a, axis, dtype=dtype)


def nancumprod(a: NamedArray, axis: AxisSelector, dtype: DType | None = None) -> NamedArray:
    """Compute cumulative products along an axis; NaN counts as 1."""
    return call.nancumprod(a, axis, dtype=dtype)


def sort(a: NamedArray, axis: AxisSelector) -> NamedArray:
    """Sort along an axis, in ascending order."""
    return call.sort(a, axis)


def packbits(a: NamedArray, axis: AxisSelector, *, bitorder: Literal["big", "little"] = "big") -> NamedArray:
    """Pack eight elements along an axis into the bits of one byte, which is 1 where an element isn't zero."""
    return call.packbits(a, axis, bitorder=bitorder)


def unpackbits(
    a: NamedArray, axis: AxisSelector, *, count: int | None = None, bitorder: Literal["big", "little"] = "big"
) -> NamedArray:
    """Unpack the bits of bytes along an axis, the first `count` or all of them."""
    return call.unpackbits(a, axis, count=count, bitorder=bitorder)


_TOP_K: Final = Positional("sorting.top_k")


@operation
def top_k(
    arr: NamedArray, axis: AxisSelector, k: int, new_axis: AxisSelector | None = None
) -> tuple[NamedArray, NamedArray]:
    """Return the `k` largest elements along an axis, the largest first, and their positions.

    Args:
        arr: A named array of real numbers.
        axis: The axis.
        k: How many.
        new_axis: The axis of size `k` that takes its place. By default, it has the same name.

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
        raise ValueError(f"top_k: k is {k}, and new_axis {name!r} has size {size}")
    if checks.integer("top_k", "k", k, minimum=0) > arr.array.shape[i]:  # an unknown size is NaN
        raise ValueError(f"top_k: k must be from 0 to the size {arr.array.shape[i]} of axis {arr.names[i]!r}, got {k}")
    plan = derived(
        "...[(axis)]->...[(axis:k)],...[(axis:k)]",
        arr.names,
        params={"axis": (arr.names[i],)},
        new={arr.names[i]: name},
    )
    for names in plan.names:
        _axis.different("top_k", names)
    values, indices = _TOP_K.of(arr.array)(arr.array, k, axis=i)
    return make(values, plan.names[0]), make(indices, plan.names[1])


# --- matrices: two axes ----------------------------------------------------------------------------------------------


def _matrix(name: str, path: str, signature: str) -> Callable[..., NamedArray]:
    function = Positional(path)
    plans = Memory()

    def apply(array: Any, axis1: Any, axis2: Any, **params: Any) -> NamedArray:
        check_named(name, "array", array)
        check_rank(name, array)
        i, j = position(name, array, axis1), position(name, array, axis2)
        if i == j:
            raise ValueError(f"{name}: axis1 and axis2 must be different, got {array.names[i]!r} twice")
        key = (array.names, i, j)
        plan = plans.get(key)
        if plan is None:
            letters = {"m": array.names[i], "n": array.names[j]}
            plan = plans.add(key, derived(signature, array.names, letters=letters))
        x = array.array
        if plan.order is not None:
            x = array_namespace(x).permute_dims(x, plan.order)
        found = make(function.of(x)(x, **params), plan.names[0])
        return permuted(found, array.names) if len(found.names) == len(array.names) else found

    return apply


MATRICES: Final = {
    "trace": ("linalg.trace", "...[mn]->..."),
    "tril": ("tril", "...[mn]->...[mn]"),
    "triu": ("triu", "...[mn]->...[mn]"),
}
"""Functions of two axes: the positional function and its axis signature."""

for _name, (_path, _signature) in MATRICES.items():
    setattr(call, _name, _matrix(_name, _path, _signature))


_TRACE: Final = call.trace
_ARGSORT: Final = call.argsort
_ORDER: Final = Positional("argsort")


@operation
def argsort(a: NamedArray, axis: AxisSelector | None, *, stable: bool = False) -> Any:
    """Return the positions that sort an array along an axis.

    Args:
        a: A named array.
        axis: The axis; None: the elements are one line, and the result is an array without names.
        stable: Whether equal elements keep their order.
    """
    if axis is not None:
        return _ARGSORT(a, axis, stable=stable)
    check_named("argsort", "a", a)
    line = array_namespace(a.array).reshape(a.array, (-1,))
    return _ORDER.of(line)(line, stable=stable)


@operation
def trace(
    array: NamedArray, axis1: AxisSelector, axis2: AxisSelector, offset: int = 0, dtype: DType | None = None
) -> NamedArray:
    """Sum the diagonal of two axes, or one `offset` elements to its right.

    Raises:
        ValueError: There is no such axis, or both are the same.
    """
    if isinstance(dtype, str):
        dtype = getattr(array_namespace(array.array), dtype)
    found: NamedArray = _TRACE(array, axis1, axis2, offset=offset, dtype=dtype)
    return found


def tril(array: NamedArray, axis1: AxisSelector, axis2: AxisSelector, k: int = 0) -> NamedArray:
    """Set the elements above the diagonal of two axes, or the one `k` elements to its right, to zero."""
    return call.tril(array, axis1, axis2, k=k)


def triu(array: NamedArray, axis1: AxisSelector, axis2: AxisSelector, k: int = 0) -> NamedArray:
    """Set the elements below the diagonal of two axes, or the one `k` elements to its right, to zero."""
    return call.triu(array, axis1, axis2, k=k)
