"""Operations along one axis, by their axis signatures: one line of a table each."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from xpand import array_namespace
from xpand.extend import Array, checks

from .._plans import Memory
from . import _axis
from ._array import NamedArray, make
from ._axis import AxisSelector
from ._calls import call, operation
from ._plans import Positional, check_named, check_rank, derived, position
from ._shapes import permuted


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

_TOP_K: Final = Positional("sorting.top_k")


@operation
def _top_k(
    arr: NamedArray, axis: AxisSelector, k: int, new_axis: AxisSelector | None = None
) -> tuple[NamedArray, NamedArray]:
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
def _argsort(a: Any, axis: Any = None, *, stable: bool = False) -> Any:
    if axis is not None:
        return _ARGSORT(a, axis, stable=stable)
    check_named("argsort", "a", a)
    line = array_namespace(a.array).reshape(a.array, (-1,))
    return _ORDER.of(line)(line, stable=stable)


@operation
def _trace(array: Any, axis1: Any, axis2: Any, offset: int = 0, dtype: Any = None) -> NamedArray:
    if isinstance(dtype, str):
        dtype = getattr(array_namespace(array.array), dtype)
    found: NamedArray = _TRACE(array, axis1, axis2, offset=offset, dtype=dtype)
    return found
