"""Reductions: one line of a table each, an axis signature and the positional function, and a form with a mask."""

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from xpand import array_namespace
from xpand.extend import Array, Namespace

from .._plans import Memory
from . import _axis
from ._array import NamedArray, make
from ._calls import call
from ._plans import Positional, aligned, check_named, check_rank, derived, floating, hashable, selected

_new = object.__new__

SIGNATURE: Final = "...(axis)->..."


class Reduction(NamedTuple):
    """The positional form of a reduction."""

    function: str
    masked: Callable[..., Array]
    """With a mask: `masked(function, xp, x, mask, axis, **params)`."""
    signature: str = SIGNATURE


def _filled(value: Callable[[Namespace, Array], Any]) -> Callable[..., Array]:
    """Reduce an array in which masked elements are replaced by a value that changes nothing."""

    def masked(function: Any, xp: Namespace, x: Array, mask: Array, axis: Any, **params: Any) -> Array:
        return function(xp.where(mask, x, xp.full_like(x, value(xp, x))), axis=axis, **params)

    return masked


def _lowest(xp: Namespace, x: Array) -> Any:
    if xp.isdtype(x.dtype, "bool"):
        return False
    return -math.inf if xp.isdtype(x.dtype, "real floating") else xp.iinfo(x.dtype).min


def _highest(xp: Namespace, x: Array) -> Any:
    if xp.isdtype(x.dtype, "bool"):
        return True
    return math.inf if xp.isdtype(x.dtype, "real floating") else xp.iinfo(x.dtype).max


def _mean(function: Any, xp: Namespace, x: Array, mask: Array, axis: Any, keepdims: bool = False) -> Array:
    x = floating(xp, x)
    mask = xp.broadcast_to(mask, x.shape)
    total = xp.sum(xp.where(mask, x, xp.zeros_like(x)), axis=axis, keepdims=keepdims)
    return total / xp.sum(xp.astype(mask, total.dtype), axis=axis, keepdims=keepdims)


def _var(function: Any, xp: Namespace, x: Array, mask: Array, axis: Any, correction: float = 0) -> Array:
    x = floating(xp, x)
    mask = xp.broadcast_to(mask, x.shape)
    # Masked elements may be NaN, which must not reach derivatives.
    x = xp.where(mask, x, xp.zeros_like(x))
    centred = xp.abs(x - _mean(None, xp, x, mask, axis, keepdims=True))
    total = xp.sum(xp.where(mask, centred * centred, xp.zeros_like(centred)), axis=axis)
    return total / (xp.sum(xp.astype(mask, total.dtype), axis=axis) - correction)


def _std(function: Any, xp: Namespace, x: Array, mask: Array, axis: Any, correction: float = 0) -> Array:
    return xp.sqrt(_var(None, xp, x, mask, axis, correction))


def _ptp(function: Any, xp: Namespace, x: Array, mask: Array, axis: Any) -> Array:
    high = xp.max(xp.where(mask, x, xp.full_like(x, _lowest(xp, x))), axis=axis)
    return high - xp.min(xp.where(mask, x, xp.full_like(x, _highest(xp, x))), axis=axis)


def _not_nan(masked: Callable[..., Array]) -> Callable[..., Array]:
    """Mask NaN, too."""

    def both(function: Any, xp: Namespace, x: Array, mask: Array, axis: Any, **params: Any) -> Array:
        if xp.isdtype(x.dtype, ("real floating", "complex floating")):
            mask = xp.logical_and(mask, ~xp.isnan(x))
        return masked(function, xp, x, mask, axis, **params)

    return both


def _nan_extreme(masked: Callable[..., Array]) -> Callable[..., Array]:
    """Find the extreme of elements that are neither NaN nor masked; NaN if there are none."""

    def found(function: Any, xp: Namespace, x: Array, mask: Array, axis: Any) -> Array:
        if not xp.isdtype(x.dtype, "real floating"):
            return masked(function, xp, x, mask, axis)
        return function(xp.where(mask, x, xp.full_like(x, math.nan)), axis=axis)

    return found


_WHOLE: Final = "...[(axis)]->..."
_MAX: Final = _filled(_lowest)
_MIN: Final = _filled(_highest)
_SUM: Final = _filled(lambda xp, x: 0)
_PROD: Final = _filled(lambda xp, x: 1)

REDUCTIONS: Final[dict[str, Reduction]] = {
    "amax": Reduction("max", _MAX),
    "amin": Reduction("min", _MIN),
    "product": Reduction("prod", _PROD),
    "all": Reduction("all", _filled(lambda xp, x: 1)),
    "any": Reduction("any", _filled(lambda xp, x: 0)),
    "max": Reduction("max", _MAX),
    "min": Reduction("min", _MIN),
    "mean": Reduction("mean", _mean),
    "prod": Reduction("prod", _PROD),
    "ptp": Reduction("statistics.ptp", _ptp, _WHOLE),
    "std": Reduction("std", _std, _WHOLE),
    "sum": Reduction("sum", _SUM),
    "var": Reduction("var", _var, _WHOLE),
    "nanmax": Reduction("statistics.nanmax", _nan_extreme(_MAX)),
    "nanmin": Reduction("statistics.nanmin", _nan_extreme(_MIN)),
    "nanmean": Reduction("statistics.nanmean", _not_nan(_mean), _WHOLE),
    "nanprod": Reduction("statistics.nanprod", _PROD),
    "nanstd": Reduction("statistics.nanstd", _not_nan(_std), _WHOLE),
    "nansum": Reduction("statistics.nansum", _SUM),
    "nanvar": Reduction("statistics.nanvar", _not_nan(_var), _WHOLE),
}

_TYPED: Final = frozenset({"prod", "product", "sum", "nanprod", "nansum"})  # whose positional functions take `dtype`


def _reduction(name: str, line: Reduction) -> Callable[..., Any]:
    function = Positional(line.function)
    by_type = function.by_type
    find = function.found
    plans = Memory()
    named = NamedArray
    new = _new
    typed = name in _TYPED

    def apply(array: Any, axis: Any = None, *, where: Any = None, dtype: Any = None, **params: Any) -> Any:
        if where is None and dtype is None and not params and type(array) is named:
            try:
                plan = plans.get((array.names, axis))
            except TypeError:  # lists and dictionaries have no hash
                plan = None
            x = array.array
            if plan is None:
                plan = planned(array, axis)
            positions, names, size = plan
            shape = x.shape
            if len(shape) == len(array.names) and (size is None or shape[positions] == size):
                out = new(named)
                out.array = (by_type.get(type(x)) or find(x))(x, axis=positions)
                out.names = names
                return out
        return general(array, axis, where, dtype, params)

    def planned(array: NamedArray, axis: Any) -> Any:
        """Return the positions, the names that remain, and the size that a single axis must have."""
        removed = selected(name, array, axis)
        plan = derived(line.signature, array.names, params={"axis": removed})
        positions: Any = plan.params["axis"]
        size = axis.size if isinstance(axis, _axis.Axis) else None
        found = (positions[0] if len(positions) == 1 else positions, plan.names[0], size)
        # Sizes of several axes are compared in each call.
        if axis is None or size is not None or _is_of_names(axis):
            plans.add((array.names, hashable(axis)), found)
        return found

    def general(array: Any, axis: Any, where: Any, dtype: Any, params: dict[str, Any]) -> Any:
        check_named(name, "array", array)
        check_rank(name, array)
        removed = selected(name, array, axis)
        if dtype is not None:
            if typed:
                params = {**params, "dtype": dtype}
            else:
                array = call.astype(array, dtype=dtype)
        if where is None:
            plan = derived(line.signature, array.names, params={"axis": removed})
            return make(function.of(array.array)(array.array, axis=plan.params["axis"], **params), plan.names[0])
        names, (x, mask) = aligned(name, (array, where))
        if not isinstance(where, NamedArray):
            mask = array_namespace(x).asarray(where, dtype=array_namespace(x).bool)
        elif names != array.names:
            extra = [each for each in where.names if each not in array.names]
            if extra:
                raise ValueError(
                    f"{name}: where has the axes {', '.join(map(repr, extra))}, which the array lacks; it has "
                    f"{_axis.written(array.shape.items())}"
                )
        plan = derived(line.signature, names, params={"axis": removed})
        xp = array_namespace(x)
        found = line.masked(function.of(x), xp, x, mask, plan.params["axis"], **params)
        return make(found, plan.names[0])

    return apply


def _is_of_names(axis: Any) -> bool:
    """Return whether a selection gives no sizes, so that its plan can be cached."""
    return isinstance(axis, str) or (isinstance(axis, (tuple, list)) and all(isinstance(each, str) for each in axis))


for _name, _line in REDUCTIONS.items():
    setattr(call, _name, _reduction(_name, _line))


def _deviation(name: str) -> Callable[..., Any]:
    """Give the positional functions NumPy's `ddof` as the standard's `correction`."""
    apply = getattr(call, name)

    def deviation(array: Any, axis: Any = None, *, where: Any = None, ddof: float = 0, dtype: Any = None) -> Any:
        if ddof == 0:
            return apply(array, axis, where=where, dtype=dtype)
        return apply(array, axis, where=where, dtype=dtype, correction=ddof)

    return deviation


for _name in ("std", "var", "nanstd", "nanvar"):
    setattr(call, _name, _deviation(_name))


def _found_position(name: str, path: str) -> Callable[..., Any]:
    """Return the positions of extremes along one axis; by default, in the flattened array."""
    function = Positional(path)
    plans = Memory()

    def apply(array: Any, axis: Any = None) -> Any:
        check_named(name, "array", array)
        x = array.array
        if axis is None:
            check_rank(name, array)
            return make(function.of(x)(x), ())
        names = selected(name, array, axis)
        key = (array.names, names)
        plan = plans.get(key)
        if plan is None:
            if len(names) != 1:
                raise ValueError(f"{name}: takes one axis, got {names}; flatten several with `flatten_axes` first")
            plan = plans.add(key, derived(_WHOLE, array.names, params={"axis": names}))
        return make(function.of(x)(x, axis=plan.params["axis"][0]), plan.names[0])

    return apply


POSITIONS: Final = {
    "argmax": "argmax",
    "argmin": "argmin",
    "nanargmax": "statistics.nanargmax",
    "nanargmin": "statistics.nanargmin",
}
for _name, _path in POSITIONS.items():
    setattr(call, _name, _found_position(_name, _path))
