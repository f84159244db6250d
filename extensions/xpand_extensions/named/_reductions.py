"""Reductions over axes by name.

`axis` is an axis, several, or None for all; the result has the remaining axes. `where`, a named array of booleans that
broadcasts to the array, selects the elements. Without any, the result is that of an empty array: 0 for a sum, NaN for a
mean, and the lowest or highest value of the data type for a maximum or minimum. `dtype` is the data type to compute in.
`ddof` is subtracted from the number of elements in the divisor of a variance. A missing axis, or one of another size,
raises a `ValueError`. Source: Haliax's functions of the same names.

>>> import numpy as np
>>> x = NamedArray(np.asarray([[1.0, 2.0], [3.0, 4.0]]), ("a", "b"))
>>> sum(x, "a"), sum(x, "a", where=x < 3.0)
(NamedArray({'b': 2}, array([4., 6.])), NamedArray({'b': 2}, array([1., 2.])))
"""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, Protocol

from xpand import array_namespace
from xpand.extend import Array, DType, Namespace, checks, device_of

from .._dtypes import is_narrow, long_sum
from .._plans import Memory
from ..scatter._segments import Combination, identity
from . import _axis
from ._array import NamedArray, make
from ._axis import AxisSelection, AxisSelector
from ._methods import method
from ._others import astype
from ._plans import Positional, aligned, check_named, documented, floating, hashable, rest_of, selected

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "max",
    "mean",
    "min",
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "prod",
    "ptp",
    "std",
    "sum",
    "var",
]

_new = object.__new__
_OVER_AXES: Final = (
    "\n\nThe result has the axes that remain. By default, all axes are reduced. `where` selects elements."
)

REDUCTIONS: Final[dict[str, str]] = {}
"""The positional function of each reduction."""


class Reduction(Protocol):
    """A function that removes axes."""

    def __call__(
        self,
        array: NamedArray,
        axis: AxisSelection | None = None,
        *,
        where: NamedArray | None = None,
        dtype: DType | None = None,
    ) -> NamedArray:
        """Return an array with the other axes."""
        ...


class Deviation(Protocol):
    """A function that removes axes, and divides by the number of elements minus `ddof`."""

    def __call__(
        self,
        array: NamedArray,
        axis: AxisSelection | None = None,
        *,
        where: NamedArray | None = None,
        ddof: float = 0,
        dtype: DType | None = None,
    ) -> NamedArray:
        """Return an array with the other axes."""
        ...


class Search(Protocol):
    """A function that finds positions along one axis, by default in the flattened array."""

    def __call__(self, array: NamedArray, axis: AxisSelector | None = None) -> NamedArray:
        """Return an array of integers with the other axes."""
        ...


def _filled(combination: Combination) -> Callable[..., Array]:
    """Make a reduction that replaces masked elements by a value without effect."""

    def masked(function: Any, xp: Namespace, x: Array, mask: Array, axis: Any, **params: Any) -> Array:
        fill = xp.full_like(x, identity(xp, x.dtype, combination))
        return function(xp.where(mask, x, fill), axis=axis, **params)

    return masked


_MAX: Final = _filled("max")
_MIN: Final = _filled("min")
_SUM: Final = _filled("add")
_PROD: Final = _filled("multiply")


def _floating(function: Callable[..., Array]) -> Callable[..., Array]:
    """Have a masked reduction compute with floating-point numbers, and in float32 if they are narrower."""

    @wraps(function)
    def masked(name: Any, xp: Namespace, x: Array, *args: Any, **params: Any) -> Array:
        x = floating(xp, x)
        if not is_narrow(xp, x.dtype):
            return function(name, xp, x, *args, **params)
        return xp.astype(function(name, xp, xp.astype(x, xp.float32), *args, **params), x.dtype)

    return masked


@_floating
def _mean(function: Any, xp: Namespace, x: Array, mask: Array, axis: Any, keepdims: bool = False) -> Array:
    mask = xp.broadcast_to(mask, x.shape)
    total = long_sum(xp, xp.where(mask, x, xp.zeros_like(x)), _axes(x, axis), keepdims=keepdims)
    return _divided(xp, total, mask, axis, keepdims=keepdims)


def _axes(x: Array, axis: Any) -> tuple[int, ...]:
    return tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)


def _divided(xp: Namespace, total: Array, mask: Array, axis: Any, correction: float = 0, keepdims: bool = False) -> Any:
    """Divide by the corrected number of selected elements; return NaN where it is not positive."""
    number = xp.sum(xp.astype(mask, xp.int64), axis=axis, keepdims=keepdims)  # float16 can't count beyond 2048
    some = number > math.floor(correction)
    divisor = xp.astype(xp.where(some, number, xp.ones_like(number)), total.dtype)
    return xp.where(some, total / xp.where(some, divisor - correction, divisor), math.nan)


@_floating
def _var(function: Any, xp: Namespace, x: Array, mask: Array, axis: Any, correction: float = 0) -> Array:
    mask = xp.broadcast_to(mask, x.shape)
    # Masked elements may be NaN, and must not reach derivatives.
    x = xp.where(mask, x, xp.zeros_like(x))
    centred = xp.abs(x - _mean(None, xp, x, mask, axis, keepdims=True))
    total = long_sum(xp, xp.where(mask, centred * centred, xp.zeros_like(centred)), _axes(x, axis))
    return _divided(xp, total, mask, axis, correction)


@_floating
def _std(function: Any, xp: Namespace, x: Array, mask: Array, axis: Any, correction: float = 0) -> Array:
    return xp.sqrt(_var(None, xp, x, mask, axis, correction))


def _ptp(function: Any, xp: Namespace, x: Array, mask: Array, axis: Any) -> Array:
    return _MAX(xp.max, xp, x, mask, axis) - _MIN(xp.min, xp, x, mask, axis)


def _as_nan(masked: Callable[..., Array]) -> Callable[..., Array]:
    """Make a masked reduction of a function that ignores NaN. Other data types have no NaN, and use `masked`."""

    def found(function: Any, xp: Namespace, x: Array, mask: Array, axis: Any, **params: Any) -> Array:
        if not xp.isdtype(x.dtype, ("real floating", "complex floating")):
            return masked(function, xp, x, mask, axis, **params)
        return function(xp.where(mask, x, xp.full_like(x, math.nan)), axis=axis, **params)

    return found


_TYPED: Final = frozenset({"prod", "product", "sum"})  # their positional functions take `dtype`


def _reducer(
    name: str, source: str, masked: Callable[..., Array]
) -> tuple[Callable[..., NamedArray], Callable[..., NamedArray]]:
    """Return a reduction with the common options, and one that also takes options of the positional function."""
    REDUCTIONS[name] = source
    function = Positional(source)
    by_type = function.by_type
    find = function.found
    plans = Memory()
    named = NamedArray
    new = _new
    typed = name in _TYPED

    def apply(array: Any, axis: Any = None, *, where: Any = None, dtype: Any = None) -> Any:
        if where is None and dtype is None and type(array) is named:
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
        return general(array, axis, where, dtype)

    def planned(array: NamedArray, axis: Any) -> Any:
        """Return the positions, the remaining names, and the size that a single axis must have."""
        removed = selected(name, array, axis)
        positions: Any = _positions(array.names, removed)
        size = axis.size if isinstance(axis, _axis.Axis) else None
        found = (positions[0] if len(positions) == 1 else positions, rest_of(array.names, removed), size)
        # Sizes of several axes are compared in each call.
        if axis is None or size is not None or not _axis.has_sizes(name, axis):
            plans.add((array.names, hashable(axis)), found)
        return found

    def general(array: Any, axis: Any, where: Any, dtype: Any, **params: Any) -> Any:
        check_named(name, "array", array)
        removed = selected(name, array, axis)
        if dtype is not None:
            if typed:
                params["dtype"] = checks.named_dtype(name, array_namespace(array.array), dtype)
            else:
                array = astype(array, dtype=dtype)
        if where is None:
            found = function(array.array, axis=_positions(array.names, removed), **params)
            return make(found, rest_of(array.names, removed))
        names, (x, mask) = aligned(name, (array, where))
        if not isinstance(where, NamedArray):
            mask = array_namespace(x).asarray(where, dtype=array_namespace(x).bool, device=device_of(x))
        elif names != array.names:
            extra = [each for each in where.names if each not in array.names]
            if extra:
                raise ValueError(
                    f"{name}: where has the axes {', '.join(map(repr, extra))}, which the array lacks; the array has "
                    f"{_axis.written(array.shape.items())}"
                )
        found = masked(
            function.among((x, mask)), array_namespace(x, mask), x, mask, _positions(names, removed), **params
        )
        return make(found, rest_of(names, removed))

    return apply, general


def _positions(names: tuple[str, ...], chosen: tuple[str, ...]) -> tuple[int, ...]:
    return tuple([names.index(name) for name in chosen])


def reduction(name: str, doc: str, source: str, masked: Callable[..., Array]) -> Reduction:
    """Make a reduction from its positional function, and a function that computes it with a mask.

    The second is called as `masked(function, xp, x, mask, axis, **params)`.
    """
    return documented(name, doc + _OVER_AXES, _reducer(name, source, masked)[0])


def deviation(name: str, doc: str, source: str, masked: Callable[..., Array]) -> Deviation:
    """Make a reduction with NumPy's option `ddof`, which is `correction` in positional functions."""
    apply, general = _reducer(name, source, masked)

    def deviation(array: Any, axis: Any = None, *, where: Any = None, ddof: float = 0, dtype: Any = None) -> Any:
        if ddof == 0:
            return apply(array, axis, where=where, dtype=dtype)
        return general(array, axis, where, dtype, correction=ddof)

    return documented(name, f"{doc}{_OVER_AXES} `ddof` is subtracted from the number of elements.", deviation)


def search(name: str, doc: str, source: str) -> Search:
    """Make a function that finds positions along one axis, by default in the flattened array."""
    function = Positional(source)

    def apply(array: Any, axis: Any = None) -> Any:
        check_named(name, "array", array)
        x = array.array
        if axis is None:
            return make(function(x), ())
        names = selected(name, array, axis)
        if len(names) != 1:
            raise ValueError(f"{name}: takes one axis, got {names}; flatten several with `flatten_axes` first")
        return make(function(x, axis=array.names.index(names[0])), rest_of(array.names, names))

    return documented(name, f"{doc}\n\nBy default, count positions in the flattened array.", apply)


all = reduction("all", "Return whether all elements are true.", "all", _PROD)
amax = reduction("amax", "Return the largest element, like `max`.", "max", _MAX)
amin = reduction("amin", "Return the smallest element, like `min`.", "min", _MIN)
any = reduction("any", "Return whether any element is true.", "any", _SUM)
max = reduction("max", "Return the largest element; NaN if one is NaN.", "max", _MAX)
mean = reduction("mean", "Compute the mean.", "mean", _mean)
min = reduction("min", "Return the smallest element; NaN if one is NaN.", "min", _MIN)
nanmax = reduction("nanmax", "Return the largest element that is not NaN.", "statistics.nanmax", _as_nan(_MAX))
nanmean = reduction("nanmean", "Compute the mean of elements that are not NaN.", "statistics.nanmean", _as_nan(_mean))
nanmin = reduction("nanmin", "Return the smallest element that is not NaN.", "statistics.nanmin", _as_nan(_MIN))
nanprod = reduction("nanprod", "Compute the product of elements that are not NaN.", "statistics.nanprod", _PROD)
nanstd = deviation(
    "nanstd", "Compute the standard deviation of elements that are not NaN.", "statistics.nanstd", _as_nan(_std)
)
nansum = reduction("nansum", "Compute the sum of elements that are not NaN.", "statistics.nansum", _SUM)
nanvar = deviation("nanvar", "Compute the variance of elements that are not NaN.", "statistics.nanvar", _as_nan(_var))
prod = reduction("prod", "Compute the product.", "prod", _PROD)
product = reduction("product", "Compute the product, like `prod`.", "prod", _PROD)
ptp = reduction("ptp", "Return the range of the elements, the largest minus the smallest.", "statistics.ptp", _ptp)
std = deviation("std", "Compute the standard deviation.", "std", _std)
sum = reduction("sum", "Compute the sum.", "sum", _SUM)
var = deviation("var", "Compute the variance.", "var", _var)
argmax = search(
    "argmax", "Return the position of the largest element along an axis, or of NaN if there is one.", "argmax"
)
argmin = search(
    "argmin", "Return the position of the smallest element along an axis, or of NaN if there is one.", "argmin"
)
nanargmax = search(
    "nanargmax", "Return the position of the largest element along an axis that is not NaN.", "statistics.nanargmax"
)
nanargmin = search(
    "nanargmin", "Return the position of the smallest element along an axis that is not NaN.", "statistics.nanargmin"
)


def _var_as_method(
    self: NamedArray,
    axis: AxisSelection | None = None,
    dtype: DType | None = None,
    ddof: float = 0,
    *,
    where: Any = None,
) -> NamedArray:
    return var(self, axis, where=where, ddof=ddof, dtype=dtype)


for _function in (all, any, argmax, argmin, max, mean, min, prod, product, ptp, std, sum):
    method(_function)
method(documented("var", "Compute the variance, with NumPy's order of arguments.", _var_as_method))
