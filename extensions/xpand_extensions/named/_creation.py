"""Creation of named arrays.

Results belong to the library of the arguments. For numbers, that is the library `xp`, by default that of
`default_namespace`. `shape` and `axis` give the axes with their sizes. Source: Haliax's functions of the same names.
"""

import math
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, Device, DType, Namespace, checks, describe, device_of, is_array, namespace_or_default

from ..arithmetic import promote
from . import _axis
from ._array import NamedArray, created
from ._axis import AxisSelector, AxisSpec
from ._others import astype
from ._plans import array_of, check_type, floating
from ._shapes import broadcast_to

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


def _spec(function: str, axes: AxisSpec) -> tuple[tuple[str, ...], tuple[int, ...]]:
    found = _axis.specified(function, axes)
    return tuple([axis.name for axis in found]), tuple([axis.size for axis in found])


def _numbers(function: str, xp: Any, device: Any, **values: Any) -> tuple[Namespace, Device | None, list[Any]]:
    """Return the namespace and the device of a new array, and the values: numbers, or arrays of one data type.

    Arrays among the values determine the namespace and the device. They must have no axes, and may be wrapped.
    """
    found = [array_of(x) for x in values.values()]
    for name, x in zip(values, found):
        if is_array(x) and len(x.shape):
            raise TypeError(f"{function}: {name} must be a number or an array without axes, got {describe(x)}")
    arrays = [x for x in found if is_array(x)]
    if not arrays:
        return namespace_or_default(xp, function), device, found
    xp = array_namespace(*arrays)
    if any(isinstance(x, float) for x in found):
        found = [floating(xp, x) if is_array(x) else x for x in found]
    return xp, device_of(arrays[0]), list(promote(*found, int_to_float=True))


def _filled(function: str, shape: AxisSpec, fill_value: Any, dtype: Any, xp: Any, device: Any) -> NamedArray:
    names, sizes = _spec(function, shape)
    if isinstance(fill_value, NamedArray):
        found: NamedArray = broadcast_to(fill_value, shape)
        return found if dtype is None else astype(found, dtype=dtype)
    xp, device, (value,) = _numbers(function, xp, device, fill_value=fill_value)
    if is_array(value):
        value = value if dtype is None else xp.astype(value, checks.named_dtype(function, xp, dtype))
        return created(xp.broadcast_to(value, sizes), names)
    if function == "full":
        return created(xp.full(sizes, fill_value, dtype=checks.named_dtype(function, xp, dtype), device=device), names)
    return created(getattr(xp, function)(sizes, dtype=checks.named_dtype(function, xp, dtype), device=device), names)


def _filled_like(function: str, a: NamedArray, fill_value: Any, dtype: Any) -> NamedArray:
    check_type(function, "a", a)
    xp = array_namespace(a.array)
    dtype = a.array.dtype if dtype is None else checks.named_dtype(function, xp, dtype)
    if isinstance(fill_value, NamedArray):
        found: NamedArray = broadcast_to(fill_value, a.axes)
        return astype(found, dtype=dtype)
    _numbers(function, xp, None, fill_value=fill_value)
    if is_array(fill_value):
        xp = array_namespace(a.array, fill_value)
        return created(xp.astype(xp.broadcast_to(fill_value, a.array.shape), dtype), a.names)
    return created(xp.full_like(a.array, fill_value, dtype=dtype), a.names)


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
    return _filled("zeros", shape, 0, dtype, xp, device)


def ones(
    shape: AxisSpec,
    dtype: DType | str | None = None,
    *,
    xp: Namespace | str | None = None,
    device: Device | None = None,
) -> NamedArray:
    """Return an array of ones."""
    return _filled("ones", shape, 1, dtype, xp, device)


def full(
    shape: AxisSpec,
    fill_value: Any,
    dtype: DType | str | None = None,
    *,
    xp: Namespace | str | None = None,
    device: Device | None = None,
) -> NamedArray:
    """Return an array filled with a value: a number, or an array without axes. A named array is broadcast."""
    return _filled("full", shape, fill_value, dtype, xp, device)


def zeros_like(a: NamedArray, dtype: DType | str | None = None) -> NamedArray:
    """Return zeros with the axes, the data type and the device of an array."""
    return _filled_like("zeros_like", a, 0, dtype)


def ones_like(a: NamedArray, dtype: DType | str | None = None) -> NamedArray:
    """Return ones with the axes, the data type and the device of an array."""
    return _filled_like("ones_like", a, 1, dtype)


def full_like(a: NamedArray, fill_value: Any, dtype: DType | str | None = None) -> NamedArray:
    """Return an array filled with a value, with the axes, the data type and the device of an array."""
    return _filled_like("full_like", a, fill_value, dtype)


def arange(
    axis: AxisSpec,
    *,
    start: Any = 0,
    step: Any = 1,
    dtype: DType | str | None = None,
    xp: Namespace | str | None = None,
    device: Device | None = None,
) -> NamedArray:
    """Return the numbers `start`, `start + step`, …, in the order of the axes if there are several.

    `start` and `step` are numbers, or arrays without axes, which may be traced.

    >>> arange({"a": 2, "b": 2}, xp="numpy")
    NamedArray({'a': 2, 'b': 2}, array([[0, 1],
           [2, 3]]))
    """
    names, sizes = _spec("arange", axis)
    xp, device, (start, step) = _numbers("arange", xp, device, start=start, step=step)
    # Count from 0, so that rounding doesn't change the number of elements.
    run = xp.arange(math.prod(sizes), dtype=None, device=device)
    if is_array(start):
        run = xp.astype(run, start.dtype)
    elif isinstance(start, float) or isinstance(step, float):
        run = floating(xp, run)
    if isinstance(start, int) and isinstance(step, int) and (start, step) == (0, 1):
        found = run
    else:
        found = start + step * run
    found = found if dtype is None else xp.astype(found, checks.named_dtype("arange", xp, dtype), copy=False)
    return created(found if len(sizes) == 1 else xp.reshape(found, sizes), names)


def _one(function: str, axis: AxisSelector) -> tuple[tuple[str, ...], int]:
    name, size = _axis.selector(function, axis)
    return (name,), 50 if size is None else size


def _floating(function: str, xp: Namespace, dtype: Any) -> DType | None:
    """Return the data type to compute in: the given one, or None, the default, for integers."""
    found = checks.named_dtype(function, xp, dtype)
    return found if found is not None and xp.isdtype(found, ("real floating", "complex floating")) else None


def _spaced(
    function: str, xp: Namespace, device: Any, start: Any, stop: Any, size: int, endpoint: bool, dtype: Any
) -> Array:
    if not is_array(start):
        return xp.linspace(start, stop, size, endpoint=endpoint, dtype=_floating(function, xp, dtype), device=device)
    start, stop = floating(xp, start), floating(xp, stop)
    steps = xp.linspace(0.0, 1.0, size, endpoint=endpoint, dtype=start.dtype, device=device)
    return start * (1 - steps) + stop * steps


def _typed(function: str, xp: Namespace, x: Array, dtype: Any, names: tuple[str, ...]) -> NamedArray:
    return created(x if dtype is None else xp.astype(x, checks.named_dtype(function, xp, dtype)), names)


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
    """Return evenly spaced numbers from `start` to `stop`: 50 of them if the axis has no size."""
    names, size = _one("linspace", axis)
    xp, device, (start, stop) = _numbers("linspace", xp, device, start=start, stop=stop)
    found = _spaced("linspace", xp, device, start, stop, size, endpoint, dtype)
    if dtype is not None and xp.isdtype(checks.named_dtype("linspace", xp, dtype), "integral"):
        found = xp.floor(found)
    return _typed("linspace", xp, found, dtype, names)


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
    """Return powers of a base. Their exponents are evenly spaced from `start` to `stop`."""
    names, size = _one("logspace", axis)
    xp, device, (start, stop) = _numbers("logspace", xp, device, start=start, stop=stop)
    exponents = _spaced("logspace", xp, device, start, stop, size, endpoint, dtype)
    return _typed("logspace", xp, xp.pow(xp.full_like(exponents, base), exponents), dtype, names)


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
    """Return numbers with equal ratios from `start` to `stop`, which have the same sign."""
    names, size = _one("geomspace", axis)
    xp, device, (start, stop) = _numbers("geomspace", xp, device, start=start, stop=stop)
    working = _floating("geomspace", xp, dtype)
    if not is_array(start):
        start, stop = [xp.asarray(float(x), dtype=working, device=device) for x in (start, stop)]
    first, last = floating(xp, start), floating(xp, stop)
    steps = xp.linspace(0.0, 1.0, size, endpoint=endpoint, dtype=first.dtype, device=device)
    return _typed("geomspace", xp, first * xp.exp(xp.log(last / first) * steps), dtype, names)
