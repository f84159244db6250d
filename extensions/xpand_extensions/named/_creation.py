"""New arrays, of the default namespace or of that of another array."""

import math
from typing import Any, Final

from xpand import array_namespace
from xpand.extend import Array, Device, DType, Namespace, device_of, is_array, namespace_or_default
from xpand.inspection import nbytes

from . import _axis
from ._array import NamedArray, interned, make
from ._axis import AxisSelector, AxisSpec
from ._calls import call, operation
from ._plans import array_of, check_named, check_rank, floating


def _dtype(xp: Namespace, dtype: DType | str | None) -> DType | None:
    return getattr(xp, dtype) if isinstance(dtype, str) else dtype


def _spec(function: str, axes: AxisSpec) -> tuple[tuple[str, ...], tuple[int, ...]]:
    found = _axis.specified(function, axes)
    return interned(tuple([axis.name for axis in found])), tuple([axis.size for axis in found])


def _place(function: str, xp: Any, device: Any, *values: Any) -> tuple[Namespace, Device | None]:
    """Return the namespace and the device of a new array: those of the values, or those given."""
    for x in values:
        if is_array(x):
            return array_namespace(x), device_of(x)
    return namespace_or_default(xp, function), device


@operation
def _full(
    shape: AxisSpec, fill_value: Any, dtype: Any = None, *, xp: Any = None, device: Any = None, function: str = "full"
) -> NamedArray:
    names, sizes = _spec(function, shape)
    if isinstance(fill_value, NamedArray):
        found: NamedArray = call.broadcast_to(fill_value, shape)
        return found if dtype is None else call.astype(found, dtype=dtype)
    xp, device = _place(function, xp, device, fill_value)
    if is_array(fill_value):
        value = fill_value if dtype is None else xp.astype(fill_value, _dtype(xp, dtype))
        return make(xp.broadcast_to(value, sizes), names)
    if function == "full":
        return make(xp.full(sizes, fill_value, dtype=_dtype(xp, dtype), device=device), names)
    return make(getattr(xp, function)(sizes, dtype=_dtype(xp, dtype), device=device), names)


@operation
def _full_like(a: NamedArray, fill_value: Any, dtype: Any = None, *, function: str = "full_like") -> NamedArray:
    check_named(function, "a", a)
    xp = array_namespace(a.array)
    dtype = a.array.dtype if dtype is None else _dtype(xp, dtype)
    if isinstance(fill_value, NamedArray):
        found: NamedArray = call.broadcast_to(fill_value, a.axes)
        return call.astype(found, dtype=dtype)
    if is_array(fill_value):
        return make(xp.astype(xp.broadcast_to(fill_value, a.array.shape), dtype), a.names)
    return make(xp.full_like(a.array, fill_value, dtype=dtype), a.names)


@operation
def _arange(
    axis: AxisSpec, *, start: Any = 0, step: Any = 1, dtype: Any = None, xp: Any = None, device: Any = None
) -> NamedArray:
    names, sizes = _spec("arange", axis)
    start, step = array_of(start), array_of(step)
    xp, device = _place("arange", xp, device, start, step)
    count = math.prod(sizes)
    # From the count, so that rounding doesn't change the number of elements.
    run = xp.arange(count, dtype=None, device=device)
    is_real = isinstance(start, float) or isinstance(step, float)
    if is_array(start) or is_array(step):
        run = xp.astype(run, start.dtype if is_array(start) else step.dtype)
    if is_real:
        run = floating(xp, run)
    if isinstance(start, int) and isinstance(step, int) and (start, step) == (0, 1):
        found = run
    else:
        found = start + step * run
    found = found if dtype is None else xp.astype(found, _dtype(xp, dtype), copy=False)
    return make(found if len(sizes) == 1 else xp.reshape(found, sizes), names)


_SAMPLES: Final = 50


def _one(function: str, axis: AxisSelector) -> tuple[tuple[str, ...], int]:
    name, size = _axis.selector(function, axis)
    return interned((name,)), _SAMPLES if size is None else size


def _floating(xp: Namespace, dtype: Any) -> DType | None:
    """Return the data type in which to compute numbers of a data type: itself, or None, the default, for integers."""
    found = _dtype(xp, dtype)
    return found if found is not None and xp.isdtype(found, ("real floating", "complex floating")) else None


def _spaced(xp: Namespace, device: Any, start: Any, stop: Any, size: int, endpoint: bool, dtype: Any) -> Array:
    if not is_array(start) and not is_array(stop):
        return xp.linspace(start, stop, size, endpoint=endpoint, dtype=_floating(xp, dtype), device=device)
    dtype = _floating(xp, start.dtype if is_array(start) else stop.dtype)
    steps = xp.linspace(0.0, 1.0, size, endpoint=endpoint, dtype=dtype, device=device)
    return start * (1 - steps) + stop * steps


def _typed(xp: Namespace, x: Array, dtype: Any, names: tuple[str, ...]) -> NamedArray:
    return make(x if dtype is None else xp.astype(x, _dtype(xp, dtype)), names)


@operation
def _linspace(
    axis: AxisSelector, *, start: Any, stop: Any, endpoint: bool, dtype: Any, xp: Any, device: Any
) -> NamedArray:
    names, size = _one("linspace", axis)
    start, stop = array_of(start), array_of(stop)
    xp, device = _place("linspace", xp, device, start, stop)
    return _typed(xp, _spaced(xp, device, start, stop, size, endpoint, dtype), dtype, names)


@operation
def _logspace(
    axis: AxisSelector, *, start: Any, stop: Any, endpoint: bool, base: float, dtype: Any, xp: Any, device: Any
) -> NamedArray:
    names, size = _one("logspace", axis)
    start, stop = array_of(start), array_of(stop)
    xp, device = _place("logspace", xp, device, start, stop)
    exponents = _spaced(xp, device, start, stop, size, endpoint, dtype)
    return _typed(xp, xp.pow(xp.full_like(exponents, base), exponents), dtype, names)


@operation
def _geomspace(
    axis: AxisSelector, *, start: Any, stop: Any, endpoint: bool, dtype: Any, xp: Any, device: Any
) -> NamedArray:
    names, size = _one("geomspace", axis)
    start, stop = array_of(start), array_of(stop)
    xp, device = _place("geomspace", xp, device, start, stop)
    working = _floating(xp, dtype)
    first = start if is_array(start) else xp.asarray(float(start), dtype=working, device=device)
    last = stop if is_array(stop) else xp.asarray(float(stop), dtype=working, device=device)
    steps = xp.linspace(0.0, 1.0, size, endpoint=endpoint, dtype=first.dtype, device=device)
    return _typed(xp, first * xp.exp(xp.log(last / first) * steps), dtype, names)


# --- the elements of an array ----------------------------------------------------------------------------------------


@operation
def _size(x: NamedArray) -> int:
    check_rank("size", x)
    return math.prod(x.array.shape)


@operation
def _ndim(a: Any) -> int:
    return len(a.names) if isinstance(a, NamedArray) else len(getattr(a, "shape", ()))


@operation
def _nbytes(x: NamedArray) -> int:
    return nbytes(x.array)


@operation
def _item(x: NamedArray) -> Any:
    check_rank("item", x)
    if _size(x) != 1:
        raise ValueError(f"item: takes an array of one element, got the axes {_axis.written(x.shape.items())}")
    xp = array_namespace(x.array)
    one = xp.reshape(x.array, ())
    if xp.isdtype(one.dtype, "bool"):
        return bool(one)
    if xp.isdtype(one.dtype, "integral"):
        return int(one)
    return complex(one) if xp.isdtype(one.dtype, "complex floating") else float(one)
