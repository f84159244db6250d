"""Creation of arrays: with `like=`, like other arrays, and between limits.

NumPy passes a call with `like=x` to the class of `x`, without this argument.
"""

from operator import index
from typing import Any

import numpy as np

from xpand import check

from .._arguments import array, common_dtype, dtype_of, integers, shape_of
from .._table import Implementation, find, implements, with_signature


def _filled(name: str) -> Implementation:
    def create(xp: Any, shape: Any, dtype: Any = None) -> Any:
        return getattr(xp, name)(shape_of(shape), dtype=dtype_of(dtype))

    return create


def _filled_like(name: str, of_prototype: bool) -> Implementation:
    def create(xp: Any, a: Any, dtype: Any = None, shape: Any = None) -> Any:
        a = array(xp, a)
        return getattr(xp, name)(
            tuple(a.shape) if shape is None else shape_of(shape), dtype=a.dtype if dtype is None else dtype_of(dtype)
        )

    if of_prototype:
        return lambda xp, prototype, dtype=None, shape=None: create(xp, prototype, dtype, shape)
    return create


for _name in ("empty", "ones", "zeros"):
    implements(_name)(_filled(_name))
    implements(f"{_name}_like")(_filled_like(_name, of_prototype=_name == "empty"))


@implements("full")
def _full(xp: Any, shape: Any, fill_value: Any, dtype: Any = None) -> Any:
    value = array(xp, fill_value)
    value = value if dtype is None else xp.astype(value, dtype_of(dtype), copy=False)
    return xp.asarray(xp.broadcast_to(value, shape_of(shape)), copy=True)


@implements("full_like")
def _full_like(xp: Any, a: Any, fill_value: Any, dtype: Any = None, shape: Any = None) -> Any:
    a = array(xp, a)
    return _full(xp, a.shape if shape is None else shape, fill_value, a.dtype if dtype is None else dtype)


@implements("arange")
def _arange(xp: Any, start_or_stop: Any, stop: Any = None, step: Any = 1, *, dtype: Any = None) -> Any:
    return xp.arange(start_or_stop, stop, step, dtype=dtype_of(dtype))


@implements("eye")
def _eye(xp: Any, N: Any, M: Any = None, k: Any = 0, dtype: Any = float) -> Any:
    return xp.eye(integers(N), integers(M), k=integers(k), dtype=dtype_of(dtype))


@implements("identity")
def _identity(xp: Any, n: Any, dtype: Any = None) -> Any:
    return xp.eye(integers(n), dtype=dtype_of(dtype))


@implements("tri")
def _tri(xp: Any, N: Any, M: Any = None, k: Any = 0, dtype: Any = float) -> Any:
    N = integers(N)
    return xp.tril(xp.ones((N, N if M is None else integers(M)), dtype=dtype_of(dtype)), k=integers(k))


@implements("fromfunction")
def _fromfunction(xp: Any, function: Any, shape: Any, *, dtype: Any = float, **kwargs: Any) -> Any:
    return function(*[array(xp, x) for x in np.indices(shape, dtype=dtype)], **kwargs)


# Functions that read arrays, which are constants


def _read(name: str) -> Implementation:
    return with_signature(name, lambda xp, **options: array(xp, find(name)(**options)))


for _name in ("genfromtxt", "loadtxt"):
    implements(_name)(_read(_name))


@implements("frombuffer")
def _frombuffer(xp: Any, buffer: Any, dtype: Any = None, count: int = -1, offset: int = 0) -> Any:
    return array(xp, np.frombuffer(buffer, dtype_of(dtype or float), count, offset))


@implements("fromfile")
def _fromfile(xp: Any, file: Any, dtype: Any = None, count: int = -1, sep: str = "", offset: int = 0) -> Any:
    return array(xp, np.fromfile(file, dtype_of(dtype or float), count, sep, offset))


@implements("fromiter")
def _fromiter(xp: Any, iter: Any, dtype: Any, count: int = -1) -> Any:
    return array(xp, np.fromiter(iter, dtype_of(dtype), count))


@implements("fromstring")
def _fromstring(xp: Any, string: Any, dtype: Any = float, count: int = -1, *, sep: Any) -> Any:
    return array(xp, np.fromstring(string, dtype_of(dtype), count, sep=sep))


# Between limits


@implements("linspace")
def _linspace(
    xp: Any,
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    retstep: Any = False,
    dtype: Any = None,
    axis: Any = 0,
) -> Any:
    num = _number(num)
    start, stop = _limits(xp, start, stop)
    intervals = num - 1 if endpoint else num
    fractions = np.arange(num, dtype=np.real(np.ones(1, start.dtype)).dtype) / max(intervals, 1)
    fractions = array(xp, np.reshape(fractions, (num,) + (1,) * start.ndim))
    # The last number is exactly `stop`.
    result = xp.moveaxis(start * (1 - fractions) + stop * fractions, 0, integers(axis))
    if dtype is not None:
        dtype = dtype_of(dtype)
        result = xp.astype(xp.floor(result) if xp.isdtype(dtype, "integral") else result, dtype, copy=False)
    if not retstep:
        return result
    return result, (stop - start) / intervals if intervals > 0 else xp.full_like(start, np.nan)


def _limits(xp: Any, start: Any, stop: Any, base: Any = 1.0) -> Any:
    """Return both limits in one shape and a floating-point data type."""
    dtype = common_dtype(xp, [start, stop, base, 1.0])
    return xp.broadcast_arrays(*(xp.astype(array(xp, x), dtype, copy=False) for x in (start, stop)))


def _number(num: Any) -> int:
    num = index(num)
    if num < 0:
        raise ValueError(f"np.linspace: the number of samples must not be negative, got {num}")
    return num


@implements("logspace")
def _logspace(
    xp: Any,
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: Any = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: Any = 0,
) -> Any:
    start, stop = _limits(xp, start, stop, base)
    base = xp.astype(array(xp, base), start.dtype, copy=False)
    if base.ndim:
        start, stop, base = xp.broadcast_arrays(start, stop, base)
        base = xp.expand_dims(base, axis=integers(axis))
    result = xp.pow(base, _linspace(xp, start, stop, num, endpoint, axis=axis))
    return result if dtype is None else xp.astype(result, dtype_of(dtype), copy=False)


@implements("geomspace")
def _geomspace(
    xp: Any, start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None, axis: Any = 0
) -> Any:
    start, stop = _limits(xp, start, stop)
    for name, x in (("start", start), ("stop", stop)):
        check(x != 0, f"np.geomspace: {name} must not be zero, whose logarithm is infinite")
    sign = xp.sign(start)
    exponents = _linspace(xp, xp.log(start / sign), xp.log(stop / sign), num, endpoint, axis=axis)
    result = xp.exp(exponents) * xp.expand_dims(sign, axis=integers(axis))
    return result if dtype is None else xp.astype(result, dtype_of(dtype), copy=False)
