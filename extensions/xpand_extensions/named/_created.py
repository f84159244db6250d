"""New named arrays.

They are of the library of their arguments; of numbers, of the library `xp`, by default that of `default_namespace`.
`shape` and `axis` give the axes with their sizes. Source: Haliax's functions of the same names.
"""

from typing import Any

from xpand.extend import Device, DType, Namespace

from . import _creation as _creation
from ._array import NamedArray
from ._axis import AxisSelector, AxisSpec
from ._calls import call

__all__ = [
    "arange",
    "full",
    "full_like",
    "geomspace",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


def zeros(
    shape: AxisSpec,
    dtype: DType | str | None = None,
    *,
    xp: Namespace | str | None = None,
    device: Device | None = None,
) -> NamedArray:
    """Return an array of zeros.

    >>> zeros({"a": 2}, xp="numpy")
    NamedArray({'a': 2}, array([0., 0.]))
    """
    return call.full(shape, 0, dtype, xp=xp, device=device, function="zeros")


def ones(
    shape: AxisSpec,
    dtype: DType | str | None = None,
    *,
    xp: Namespace | str | None = None,
    device: Device | None = None,
) -> NamedArray:
    """Return an array of ones."""
    return call.full(shape, 1, dtype, xp=xp, device=device, function="ones")


def full(
    shape: AxisSpec,
    fill_value: Any,
    dtype: DType | str | None = None,
    *,
    xp: Namespace | str | None = None,
    device: Device | None = None,
) -> NamedArray:
    """Return an array of one value: a number, or an array without axes; a named array is repeated."""
    return call.full(shape, fill_value, dtype, xp=xp, device=device)


def zeros_like(a: NamedArray, dtype: DType | str | None = None) -> NamedArray:
    """Return zeros with the axes, the data type and the device of an array."""
    return call.full_like(a, 0, dtype, function="zeros_like")


def ones_like(a: NamedArray, dtype: DType | str | None = None) -> NamedArray:
    """Return ones with the axes, the data type and the device of an array."""
    return call.full_like(a, 1, dtype, function="ones_like")


def full_like(a: NamedArray, fill_value: Any, dtype: DType | str | None = None) -> NamedArray:
    """Return one value with the axes, the data type and the device of an array."""
    return call.full_like(a, fill_value, dtype)


def arange(
    axis: AxisSpec,
    *,
    start: Any = 0,
    step: Any = 1,
    dtype: DType | str | None = None,
    xp: Namespace | str | None = None,
    device: Device | None = None,
) -> NamedArray:
    """Return numbers at equal distances: `start`, `start + step`, …, in the order of the axes where there are several.

    `start` and `step` are numbers, or arrays without axes, also traced ones.

    >>> arange({"a": 2, "b": 2}, xp="numpy")
    NamedArray({'a': 2, 'b': 2}, array([[0, 1],
           [2, 3]]))
    """
    return call.arange(axis, start=start, step=step, dtype=dtype, xp=xp, device=device)


def linspace(
    axis: AxisSelector,
    *,
    start: Any,
    stop: Any,
    endpoint: bool = True,
    dtype: DType | str | None = None,
    xp: Namespace | str | None = None,
    device: Device | None = None,
) -> NamedArray:
    """Return numbers at equal distances between two; of an axis without a size 50."""
    return call.linspace(axis, start=start, stop=stop, endpoint=endpoint, dtype=dtype, xp=xp, device=device)


def logspace(
    axis: AxisSelector,
    *,
    start: Any,
    stop: Any,
    endpoint: bool = True,
    base: float = 10.0,
    dtype: DType | str | None = None,
    xp: Namespace | str | None = None,
    device: Device | None = None,
) -> NamedArray:
    """Return the powers of a base whose exponents are at equal distances between two."""
    return call.logspace(axis, start=start, stop=stop, endpoint=endpoint, base=base, dtype=dtype, xp=xp, device=device)


def geomspace(
    axis: AxisSelector,
    *,
    start: Any,
    stop: Any,
    endpoint: bool = True,
    dtype: DType | str | None = None,
    xp: Namespace | str | None = None,
    device: Device | None = None,
) -> NamedArray:
    """Return numbers with equal ratios between two of one sign."""
    return call.geomspace(axis, start=start, stop=stop, endpoint=endpoint, dtype=dtype, xp=xp, device=device)
