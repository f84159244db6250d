"""Differences, integrals, interpolation, convolutions."""

from typing import Any

import numpy as np

from xpand import sampled
from xpand_extensions import convolution, interpolation, statistics
from xpand_extensions.tracing._reductions import flat

from .._arguments import array, common, floating, integers, ndim
from .._table import NO_VALUE, Implementation, implements, with_signature


@implements("diff")
def _diff(xp: Any, a: Any, n: Any = 1, axis: Any = -1, prepend: Any = NO_VALUE, append: Any = NO_VALUE) -> Any:
    a, n, axis = array(xp, a), integers(n), integers(axis)
    if a.ndim == 0:
        raise ValueError("np.diff: the array must have at least one axis, got an array of one value")
    if n == 0:
        return a
    axis = axis % a.ndim
    parts = [a if x is a else _edge(xp, x, a, axis) for x in (prepend, a, append) if x is not NO_VALUE]
    joined = xp.concat(common(xp, parts), axis=axis) if len(parts) > 1 else a
    if not xp.isdtype(joined.dtype, "bool"):
        return xp.diff(joined, axis=axis, n=n)
    before = (slice(None),) * axis
    for _ in range(n):
        joined = joined[(*before, slice(1, None), ...)] != joined[(*before, slice(None, -1), ...)]
    return joined


def _edge(xp: Any, x: Any, a: Any, axis: int) -> Any:
    """Return values to put before or after an array along an axis; a number is repeated along the other axes."""
    x = array(xp, x)
    return x if x.ndim else xp.broadcast_to(x, (*a.shape[:axis], 1, *a.shape[axis + 1 :]))


def _ediff1d(xp: Any, **options: Any) -> Any:
    ary = flat(array(xp, options["ary"]))
    parts = [ary[1:] - ary[:-1]]
    for name, position in (("to_begin", 0), ("to_end", 2)):
        if options.get(name) is None:
            continue
        x = flat(array(xp, options[name]))
        if not np.can_cast(x.dtype, ary.dtype, "same_kind"):
            raise TypeError(f"np.ediff1d: {name} must have a data type that {ary.dtype} can hold, got {x.dtype}")
        parts.insert(position, xp.astype(x, ary.dtype, copy=False))
    return xp.concat(parts)


implements("ediff1d")(with_signature("ediff1d", _ediff1d))


@implements("gradient")
def _gradient(xp: Any, f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    f = floating(xp, f)
    dtype = xp.real(f).dtype if xp.is_complex(f.dtype) else f.dtype
    spacing = [float(x) if type(x) in (int, float) else xp.astype(array(xp, x), dtype, copy=False) for x in varargs]
    result = statistics.gradient(f, *spacing, axis=integers(axis), edge_order=integers(edge_order))
    return result[0] if isinstance(result, tuple) and len(result) == 1 else result


@implements("trapezoid")
def _trapezoid(xp: Any, y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    y, axis = array(xp, y), integers(axis)
    if xp.isdtype(y.dtype, "bool") or (x is None and ndim(dx)):
        return _sum_of_trapezoids(xp, y, x, dx, axis)
    y = floating(xp, y)
    if x is not None:
        x = floating(xp, x)
        y = xp.astype(y, np.result_type(y.dtype, x.dtype), copy=False)
        return sampled.trapezoid(y, x, axis=axis)
    dx = float(dx) if isinstance(dx, (int, float)) else xp.astype(array(xp, dx), y.dtype, copy=False)
    return sampled.trapezoid(y, dx=dx, axis=axis)


def _sum_of_trapezoids(xp: Any, y: Any, x: Any, dx: Any, axis: int) -> Any:
    """Integrate booleans, which NumPy combines by "or", or with a distance for each interval."""
    rows = xp.moveaxis(y, axis, -1)
    before, after = rows[..., :-1], rows[..., 1:]
    sums = xp.moveaxis(before | after if xp.isdtype(y.dtype, "bool") else before + after, -1, axis)
    if x is not None:
        x = array(xp, x)
        dx = xp.diff(x, axis=axis if x.ndim > 1 else 0)
        dx = xp.reshape(dx, (-1,) + (1,) * (y.ndim - 1 - axis % y.ndim)) if x.ndim == 1 else dx
    return xp.sum(floating(xp, sums) * 0.5 * floating(xp, dx), axis=axis)


@implements("interp")
def _interp(namespace: Any, x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    # NumPy computes with float64 and complex128 only.
    x, points = (namespace.astype(array(namespace, part), np.float64, copy=False) for part in (x, xp))
    values = array(namespace, fp)
    values = namespace.astype(values, np.result_type(values.dtype, np.float64), copy=False)
    if points.ndim != 1 or values.shape != points.shape:
        raise ValueError(
            f"np.interp: xp and fp must have one axis and the same size, got {tuple(points.shape)} and "
            f"{tuple(values.shape)}"
        )
    if period is not None:
        if float(period) == 0:
            raise ValueError("np.interp: period must not be zero")
        return interpolation.interp(x, points, values, period=abs(float(period)))
    result = interpolation.interp(x, points, values)
    if left is not None:
        result = namespace.where(x < points[0], left, result)
    return result if right is None else namespace.where(x > points[-1], right, result)


def _convolve(name: str) -> Implementation:
    def compute(xp: Any, a: Any, v: Any, mode: Any = "full") -> Any:
        a, v = common(xp, [_vector(xp, name, x) for x in (a, v)])
        if v.shape[0] > a.shape[0]:
            a, v = v, a
        return convolution.convolve(a, v, mode=mode, method="direct")

    return compute


def _vector(xp: Any, name: str, x: Any) -> Any:
    x = array(xp, x)
    x = x if x.ndim else xp.reshape(x, (1,))
    if x.ndim != 1 or not x.shape[0]:
        raise ValueError(f"np.{name}: takes arrays with one axis and at least one element, got {tuple(x.shape)}")
    return x


implements("convolve")(_convolve("convolve"))


@implements("correlate")
def _correlate(xp: Any, a: Any, v: Any, mode: Any = "valid") -> Any:
    a, v = common(xp, [_vector(xp, "correlate", x) for x in (a, v)])
    v = xp.conj(v) if xp.is_complex(v.dtype) else v
    if v.shape[0] > a.shape[0]:
        return xp.flip(convolution.convolve(v, xp.flip(a), mode=mode, method="direct"))
    return convolution.convolve(a, xp.flip(v), mode=mode, method="direct")


@implements("unwrap")
def _unwrap(xp: Any, p: Any, discont: Any = None, axis: Any = -1, *, period: Any = 2 * np.pi) -> Any:
    p = array(xp, p)
    is_whole = isinstance(period, (int, np.integer)) and not xp.is_floating(p.dtype)
    if not is_whole:
        p, period = floating(xp, p), float(period)
    elif not xp.isdtype(p.dtype, "signed integer"):
        p = xp.astype(p, xp.int64)
    discont = discont if discont is None else int(discont) if is_whole else float(discont)
    return sampled.unwrap(p, discont=discont, axis=integers(axis), period=int(period) if is_whole else period)
