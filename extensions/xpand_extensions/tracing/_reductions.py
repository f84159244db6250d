"""Reductions of arrays with NumPy's options, written with the standard.

They are methods of traced arrays over libraries whose own arrays have them, and the functions of NumPy with these
names. Libraries differ in the order of options, so options are given by name.
"""

from collections.abc import Callable
from typing import Any, Final

from xpand.extend import checks

from ._core import TracedArray, TracedError

Method = Callable[..., Any]

_ORDER: Final = ("bool", "unsigned", "signed", "real", "complex")
"""The kinds of data types; NumPy writes results of each kind to arrays of the same and of later kinds."""


def written(name: str, out: Any, result: Any) -> Any:
    """Write a result to the argument `out`, and return it; without `out`, return the result.

    Raises:
        TracedError: The array is the library's own, which cannot hold traced values.
    """
    array: Any = out[0] if isinstance(out, tuple) else out
    is_traced = isinstance(array, TracedArray)
    if array is None:
        return result
    if not is_traced:
        raise TracedError(
            f"{name}(…, out=…): the library's own array can't hold values that a transformation traces; make it with "
            "`zeros_like` of a traced array, or omit `out`"
        )
    if tuple(array.shape) != tuple(result.shape):
        raise ValueError(
            f"{name}: out must have the shape of the result, {tuple(result.shape)}, got {tuple(array.shape)}"
        )
    xp = result._namespace
    kinds = [_ORDER.index(str(checks.kind(xp.base, x.dtype))) for x in (result, array)]
    if kinds[0] > kinds[1]:
        raise TypeError(
            f"{name}: out must have a data type that can hold {result.dtype}, got {array.dtype}; convert the result "
            "with `astype`"
        )
    array[...] = result if result.dtype == array.dtype else xp.astype(result, array.dtype)
    return array


def flat(x: Any) -> Any:
    """Return the elements in row-major order."""
    return x._namespace.reshape(x, (-1,))


def alike(xp: Any, values: Any, like: Any, dtype: Any = None) -> Any:
    """Return an array of values on the device of another array."""
    if not hasattr(values, "dtype"):
        return xp.asarray(values, dtype=dtype, device=like.device)
    return values if dtype is None or values.dtype == dtype else xp.astype(values, dtype)


def number(xp: Any, x: Any) -> Any:
    """Convert booleans to integers, which NumPy does for sums."""
    return xp.astype(x, xp.int64) if is_bool(xp, x) else x


def is_bool(xp: Any, x: Any) -> bool:
    """Return whether an array has booleans. The namespace remembers floating-point types, so ask for them first."""
    return not xp.is_floating(x.dtype) and bool(xp.isdtype(x.dtype, "bool"))


def floating(xp: Any, x: Any, dtype: Any = None) -> Any:
    """Convert to a data type. By default, convert booleans and integers to float64."""
    if dtype is None:
        return x if xp.is_floating(x.dtype) else xp.astype(x, xp.float64)
    return xp.astype(x, dtype, copy=False)


def _selected(xp: Any, x: Any, where: Any, fill: Any) -> Any:
    """Replace the elements that a mask does not select."""
    return x if where is True else xp.where(_mask(xp, x, where), x, alike(xp, fill, x, x.dtype))


def _mask(xp: Any, x: Any, where: Any) -> Any:
    return xp.broadcast_to(alike(xp, where, x, xp.bool), tuple(x.shape))


def _count(xp: Any, x: Any, axis: Any, where: Any, keepdims: bool) -> Any:
    """Count the selected elements, in the real data type of `x`."""
    mask = xp.ones(tuple(x.shape), dtype=xp.bool, device=x.device) if where is True else _mask(xp, x, where)
    dtype = xp.real(x).dtype if xp.is_complex(x.dtype) else x.dtype
    return xp.sum(xp.astype(mask, dtype), axis=axis, keepdims=keepdims)


def _sum_or_product(name: str, neutral: int) -> Method:
    def reduce(
        x: Any,
        axis: Any = None,
        *,
        dtype: Any = None,
        out: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        xp = x._namespace
        x = number(xp, x)
        if where is not True:
            x = _selected(xp, x, where, neutral)
        result = getattr(xp, name)(x, axis=axis, dtype=dtype, keepdims=keepdims)
        if initial is not None:
            initial = alike(xp, initial, x, result.dtype)
            result = result + initial if name == "sum" else result * initial
        return result if out is None else written(name, out, result)

    return reduce


def _any_or_all(name: str, neutral: bool) -> Method:
    def reduce(x: Any, axis: Any = None, *, out: Any = None, keepdims: bool = False, where: Any = True) -> Any:
        xp = x._namespace
        if where is not True:
            x = _selected(xp, xp.astype(x, xp.bool), where, neutral)
        result = getattr(xp, name)(x, axis=axis, keepdims=keepdims)
        return result if out is None else written(name, out, result)

    return reduce


def _extreme(name: str) -> Method:
    def reduce(
        x: Any, axis: Any = None, *, out: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Any:
        xp = x._namespace
        if initial is None:
            if where is not True:
                raise ValueError(f"{name}: where= needs initial=, the result where no element is selected")
            result = _greatest(name, x, axis, keepdims)
            return result if out is None else written(name, out, result)
        initial = alike(xp, initial, x, x.dtype)
        if 0 in x.shape:  # there may be no element along the axes
            shape = xp.any(xp.astype(x, xp.bool), axis=axis, keepdims=keepdims).shape
            return written(name, out, xp.broadcast_to(initial, tuple(shape)))
        result = _greatest(name, _selected(xp, x, where, initial), axis, keepdims)
        both = xp.stack([result, xp.broadcast_to(initial, tuple(result.shape))])
        return written(name, out, _greatest(name, both, 0, False))

    return reduce


def _greatest(name: str, x: Any, axis: Any, keepdims: bool) -> Any:
    """Return the maximum or minimum. The standard has them for real numbers only."""
    xp = x._namespace
    dtype = x.dtype
    if not xp.is_floating(dtype) and xp.isdtype(dtype, "bool"):
        return (xp.any if name == "max" else xp.all)(x, axis=axis, keepdims=keepdims)
    if not xp.is_complex(dtype):
        return getattr(xp, name)(x, axis=axis, keepdims=keepdims)
    axes = [i % x.ndim for i in (range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,))]
    others = [i for i in range(x.ndim) if i not in axes]
    rows = xp.reshape(xp.permute_dims(x, (*others, *axes)), (*[x.shape[i] for i in others], -1))
    result = xp.take_along_axis(rows, METHODS[f"arg{name}"](rows, -1, keepdims=True), axis=-1)
    shape = [1 if i in axes else size for i, size in enumerate(x.shape)] if keepdims else [x.shape[i] for i in others]
    return xp.reshape(result, tuple(shape))


def _position(name: str) -> Method:
    def reduce(x: Any, axis: Any = None, *, out: Any = None, keepdims: bool = False) -> Any:
        xp = x._namespace
        if is_bool(xp, x):
            x = xp.astype(x, xp.uint8)
        elif xp.is_complex(x.dtype):
            x = _second_key(xp, x, axis, name)
        result = getattr(xp, name)(x, axis=axis, keepdims=keepdims)
        return result if out is None else written(name, out, result)

    return reduce


def _second_key(xp: Any, x: Any, axis: Any, name: str) -> Any:
    """Return real numbers whose maximum or minimum is where that of complex numbers is, in lexicographic order."""
    sign = 1.0 if name == "argmax" else -1.0
    real, imag = xp.real(x) * sign, xp.imag(x) * sign
    infinite = xp.full_like(real, float("inf"))
    key = xp.where(real == xp.max(real, axis=axis, keepdims=True), imag, -infinite)
    return xp.where(xp.isnan(x), infinite, key) * sign


def _cumulative(name: str) -> Method:
    def accumulate(x: Any, axis: int | None = None, *, dtype: Any = None, out: Any = None) -> Any:
        xp = x._namespace
        if axis is None or not x.ndim:
            x, axis = flat(x), 0
        return written(name, out, getattr(xp, name)(number(xp, x), axis=axis, dtype=dtype))

    return accumulate


def _mean(
    x: Any, axis: Any = None, *, dtype: Any = None, out: Any = None, keepdims: bool = False, where: Any = True
) -> Any:
    xp = x._namespace
    x = floating(xp, x, dtype)
    if where is True:
        result = xp.mean(x, axis=axis, keepdims=keepdims)
        return result if out is None else written("mean", out, result)
    wide = _wide(xp, x)
    total = xp.sum(_selected(xp, wide, where, 0), axis=axis, keepdims=keepdims)
    result = total / _count(xp, wide, axis, where, keepdims)
    return written("mean", out, xp.astype(result, x.dtype, copy=False))


def _wide(xp: Any, x: Any) -> Any:
    """Convert float16 to float32, as NumPy does for sums and counts of a mean."""
    return xp.astype(x, xp.float32) if x.dtype == getattr(xp, "float16", None) else x


def _variance(name: str) -> Method:
    def reduce(
        x: Any,
        axis: Any = None,
        *,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        where: Any = True,
        mean: Any = None,
        correction: Any = None,
    ) -> Any:
        xp = x._namespace
        if correction is not None:
            if ddof != 0:
                raise ValueError(f"{name}: takes ddof or correction, got both: {ddof} and {correction}")
            ddof = correction
        x = floating(xp, x, dtype)
        if where is True and mean is None:
            result = getattr(xp, name)(x, axis=axis, correction=float(ddof), keepdims=keepdims)
            return written(name, out, floating(xp, result, dtype))
        narrow = x.dtype
        x = _wide(xp, x)
        center = _mean(x, axis, keepdims=True, where=where) if mean is None else alike(xp, mean, x)
        # Mask the deviations before they are squared: those of NaN would have NaN as derivatives.
        deviation = _selected(xp, x - center, where, 0)
        if xp.is_complex(x.dtype):
            squares = xp.real(deviation) ** 2 + xp.imag(deviation) ** 2
        else:
            squares = deviation * deviation
        left = _count(xp, x, axis, where, keepdims) - float(ddof)
        result = xp.sum(squares, axis=axis, keepdims=keepdims) / xp.where(left > 0, left, 0.0)
        result = _root(xp, result) if name == "std" else result
        dtype = narrow if dtype is None and x.dtype != narrow else dtype
        return written(name, out, floating(xp, result, dtype))

    return reduce


def _root(xp: Any, x: Any) -> Any:
    """Compute the square root, with the derivative 0 at 0, as that of the standard deviation."""
    is_zero = x == 0
    return xp.where(is_zero, xp.zeros_like(x), xp.sqrt(xp.where(is_zero, xp.ones_like(x), x)))


METHODS: Final[dict[str, Method]] = {
    "all": _any_or_all("all", True),
    "any": _any_or_all("any", False),
    "argmax": _position("argmax"),
    "argmin": _position("argmin"),
    "cumprod": _cumulative("cumulative_prod"),
    "cumsum": _cumulative("cumulative_sum"),
    "max": _extreme("max"),
    "mean": _mean,
    "min": _extreme("min"),
    "prod": _sum_or_product("prod", 1),
    "std": _variance("std"),
    "sum": _sum_or_product("sum", 0),
    "var": _variance("var"),
}
"""Reductions and cumulative functions of a traced array."""
