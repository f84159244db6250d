"""New arrays, of the default namespace or of that of another array."""

import math
from typing import Any

from xpand import array_namespace, default_namespace
from xpand.extend import Array, DType, Namespace, device_of, is_array

from . import _axis
from ._array import NamedArray, interned, make
from ._axis import AxisSelector, AxisSpec
from ._calls import call, operation
from ._plans import array_of, check_named, check_rank, namespace_of


def _dtype(xp: Namespace, dtype: DType | str | None) -> DType | None:
    return getattr(xp, dtype) if isinstance(dtype, str) else dtype


def _spec(function: str, axes: AxisSpec) -> tuple[tuple[str, ...], tuple[int, ...]]:
    found = _axis.specified(function, axes)
    return interned(tuple([axis.name for axis in found])), tuple([axis.size for axis in found])


@operation
def _full(shape: AxisSpec, fill_value: Any, dtype: Any = None, *, function: str = "full") -> NamedArray:
    names, sizes = _spec(function, shape)
    value = array_of(fill_value)
    if isinstance(fill_value, NamedArray):
        found = call.broadcast_to(fill_value, shape)
        return found if dtype is None else call.astype(found, dtype=dtype)  # type: ignore[no-any-return]
    xp = namespace_of(value)
    if is_array(value):
        return make(xp.broadcast_to(value if dtype is None else xp.astype(value, _dtype(xp, dtype)), sizes), names)
    return make(xp.full(sizes, value, dtype=_dtype(xp, dtype)), names)


@operation
def _zeros(shape: AxisSpec, dtype: Any = None) -> NamedArray:
    names, sizes = _spec("zeros", shape)
    xp = default_namespace()
    return make(xp.zeros(sizes, dtype=_dtype(xp, dtype)), names)


@operation
def _ones(shape: AxisSpec, dtype: Any = None) -> NamedArray:
    names, sizes = _spec("ones", shape)
    xp = default_namespace()
    return make(xp.ones(sizes, dtype=_dtype(xp, dtype)), names)


def _like(function: str, a: NamedArray, value: Any, dtype: Any) -> NamedArray:
    check_named(function, "a", a)
    xp = array_namespace(a.array)
    if isinstance(value, NamedArray):
        found = call.broadcast_to(value, a.axes)
        return call.astype(found, dtype=a.dtype if dtype is None else dtype)  # type: ignore[no-any-return]
    if is_array(value):
        value = xp.broadcast_to(value, a.array.shape)
        return make(xp.astype(value, a.array.dtype if dtype is None else _dtype(xp, dtype), copy=True), a.names)
    return make(xp.full_like(a.array, value, dtype=_dtype(xp, dtype)), a.names)


@operation
def _zeros_like(a: NamedArray, dtype: Any = None) -> NamedArray:
    return _like("zeros_like", a, 0, dtype)


@operation
def _ones_like(a: NamedArray, dtype: Any = None) -> NamedArray:
    return _like("ones_like", a, 1, dtype)


@operation
def _full_like(a: NamedArray, fill_value: Any, dtype: Any = None) -> NamedArray:
    return _like("full_like", a, fill_value, dtype)


@operation
def _arange(axis: AxisSpec, *, start: Any = 0, step: Any = 1, dtype: Any = None) -> NamedArray:
    names, sizes = _spec("arange", axis)
    start, step = array_of(start), array_of(step)
    xp = namespace_of(start, step)
    count = math.prod(sizes)
    if is_array(start) or is_array(step):
        run = xp.arange(count, device=device_of(start if is_array(start) else step))
        found = start + step * xp.astype(run, start.dtype if is_array(start) else step.dtype)
        found = found if dtype is None else xp.astype(found, _dtype(xp, dtype))
    else:
        # From the count, not from the end: rounding must not change the number of elements.
        kind = float if isinstance(start, float) or isinstance(step, float) else int
        run = xp.arange(count, dtype=_dtype(xp, dtype) if kind is int else None)
        found = (
            run if (start, step) == (0, 1) and kind is int else start + step * (run if kind is int else _real(xp, run))
        )
        found = found if dtype is None else xp.astype(found, _dtype(xp, dtype), copy=False)
    return make(found if len(sizes) == 1 else xp.reshape(found, sizes), names)


def _real(xp: Namespace, x: Array) -> Array:
    return xp.astype(x, xp.__array_namespace_info__().default_dtypes(device=None)["real floating"])


_SAMPLES = 50


def _one(function: str, axis: AxisSelector) -> tuple[tuple[str, ...], int]:
    name, size = _axis.selector(function, axis)
    return interned((name,)), _SAMPLES if size is None else size


@operation
def _linspace(axis: AxisSelector, *, start: Any, stop: Any, endpoint: bool = True, dtype: Any = None) -> NamedArray:
    names, size = _one("linspace", axis)
    start, stop = array_of(start), array_of(stop)
    xp = namespace_of(start, stop)
    if not is_array(start) and not is_array(stop):
        return make(xp.linspace(start, stop, size, dtype=_dtype(xp, dtype), endpoint=endpoint), names)
    where = device_of(start if is_array(start) else stop)
    steps = xp.linspace(0.0, 1.0, size, endpoint=endpoint, device=where)
    found = start * (1 - steps) + stop * steps
    return make(found if dtype is None else xp.astype(found, _dtype(xp, dtype)), names)


@operation
def _logspace(
    axis: AxisSelector, *, start: Any, stop: Any, endpoint: bool = True, base: float = 10.0, dtype: Any = None
) -> NamedArray:
    names, _ = _one("logspace", axis)
    exponents = _linspace(axis, start=start, stop=stop, endpoint=endpoint).array
    xp = array_namespace(exponents)
    found = xp.pow(xp.full_like(exponents, base), exponents)
    return make(found if dtype is None else xp.astype(found, _dtype(xp, dtype)), names)


@operation
def _geomspace(axis: AxisSelector, *, start: Any, stop: Any, endpoint: bool = True, dtype: Any = None) -> NamedArray:
    names, _ = _one("geomspace", axis)
    xp = namespace_of(start, stop)
    start, stop = array_of(start), array_of(stop)
    first = start if is_array(start) else xp.asarray(float(start))
    last = stop if is_array(stop) else xp.asarray(float(stop))
    ratio = _linspace(axis, start=xp.zeros_like(first), stop=xp.log(last / first), endpoint=endpoint).array
    found = first * xp.exp(ratio)
    return make(found if dtype is None else xp.astype(found, _dtype(xp, dtype)), names)


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
    from xpand.inspection import nbytes

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
