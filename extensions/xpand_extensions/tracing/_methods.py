"""Methods of some libraries' arrays beyond the standard, written with the standard.

The table has NumPy's methods. A traced array has the methods of the library's own arrays: `x.sum(axis=0)` over NumPy,
and none over a strict library. Libraries differ in the order of options, so options are given by name.
"""

from typing import Any, Final

from ._core import apart
from ._reductions import METHODS as REDUCTIONS, Method, alike, flat, number, written


def _refuse(method: str, **given: Any) -> None:
    """Raise for options that the standard doesn't have, unless they have their default values."""
    for name, value in given.items():
        if value is not (True if name in ("where", "subok") else None):
            raise TypeError(
                f"x.{method}: traced arrays take no {name}=, got {value!r}; use the functions of "
                "`xp = xpand.array_namespace(x)`"
            )


def _in_order(method: str, order: Any) -> None:
    if order not in ("C", "A", "K", None):
        raise ValueError(
            f"x.{method}: traced arrays are in row-major order, got order={order!r}; permute the axes with "
            "`xp.permute_dims` first"
        )


def argsort(
    x: Any,
    axis: int | None = -1,
    *,
    kind: Any = None,
    order: Any = None,
    stable: bool | None = None,
    descending: bool = False,
) -> Any:
    """Return the indices that sort along an axis. All kinds of NumPy's sort are the same stable sort here."""
    _refuse("argsort", order=order)
    xp = x._namespace
    if axis is None or not x.ndim:
        x, axis = flat(x), -1
    if not xp.is_complex(x.dtype):
        return xp.argsort(x, axis=axis, descending=descending)
    # Complex numbers are sorted by their real parts, then by their imaginary parts, with NaN last.
    real, imag = xp.real(x), xp.imag(x)
    missing = 2 * xp.astype(xp.isnan(real), xp.uint8) + xp.astype(xp.isnan(imag), xp.uint8)
    indices = xp.argsort(imag, axis=axis)
    for key in (real, missing):
        then = xp.argsort(xp.take_along_axis(key, indices, axis=axis), axis=axis)
        indices = xp.take_along_axis(indices, then, axis=axis)
    return indices


def sort(x: Any, axis: int | None = -1) -> Any:
    """Sort along an axis; without an axis, sort all elements."""
    xp = x._namespace
    if axis is None:
        x, axis = flat(x), -1
    if not xp.is_complex(x.dtype):
        return xp.sort(x, axis=axis)
    return xp.take_along_axis(x, argsort(x, axis), axis=axis)


def _astype(
    x: Any, dtype: Any, *, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    _in_order("astype", order)
    _refuse("astype", casting=None if casting == "unsafe" else casting)
    return x._namespace.astype(x, dtype, copy=copy)


def _clip(x: Any, min: Any = None, max: Any = None, *, out: Any = None, **others: Any) -> Any:
    _refuse("clip", **others)
    return written("clip", out, x._namespace.clip(x, min, max))


def _conj(x: Any) -> Any:
    return x._namespace.conj(x) if x._namespace.is_complex(x.dtype) else x


def _diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    xp = x._namespace
    if (axis1, axis2) != (x.ndim - 2, x.ndim - 1):
        x = xp.moveaxis(x, (axis1, axis2), (-2, -1))
    return xp.linalg.diagonal(x, offset=offset)


def _trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, *, dtype: Any = None, out: Any = None) -> Any:
    xp = x._namespace
    return written("trace", out, xp.sum(number(xp, _diagonal(x, offset, axis1, axis2)), axis=-1, dtype=dtype))


def _dot(x: Any, b: Any, *, out: Any = None) -> Any:
    xp = x._namespace
    b = alike(xp, b, x)
    is_scaled = not x.ndim or not b.ndim
    product = x * b if is_scaled else xp.tensordot(x, b, axes=((x.ndim - 1,), (max(b.ndim - 2, 0),)))
    return written("dot", out, product)


def _fill(x: Any, value: Any) -> None:
    x[...] = value


def _flatten(x: Any, order: str = "C") -> Any:
    _in_order("flatten", order)
    return apart(flat(x))


def _ravel(x: Any, order: str = "C") -> Any:
    _in_order("ravel", order)
    result = flat(x)
    result._view.function = _raveled
    return result


def _raveled(x: Any, **params: Any) -> Any:
    """Return the library's own flat array, which unlike that of `reshape` is always contiguous."""
    return x.ravel()


def _repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    xp = x._namespace
    if axis is None:
        x, axis = flat(x), 0
    return xp.repeat(x, repeats if isinstance(repeats, int) else alike(xp, repeats, x), axis=axis)


def _reshape(x: Any, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
    _in_order("reshape", order)
    return x._namespace.reshape(x, _one_or_several(shape), copy=copy)


def _one_or_several(given: tuple[Any, ...]) -> Any:
    """Return integers that were passed separately, or as one tuple or list."""
    if len(given) == 1:
        return tuple(given[0]) if isinstance(given[0], (tuple, list)) else given
    return given


def _round(x: Any, decimals: int = 0, *, out: Any = None) -> Any:
    return written("round", out, _rounded(x, decimals))


def _rounded(x: Any, decimals: int) -> Any:
    xp = x._namespace
    if decimals == 0:
        return xp.round(x)
    if not xp.is_floating(x.dtype):
        raise TypeError(f"x.round: decimals={decimals} is for floating-point arrays, got {x.dtype}; use 0 for integers")
    scale = 10.0 ** abs(decimals)
    return xp.round(x * scale) / scale if decimals > 0 else xp.round(x / scale) * scale


def _searchsorted(x: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    xp = x._namespace
    return xp.searchsorted(x, alike(xp, v, x), side=side, sorter=None if sorter is None else alike(xp, sorter, x))


def _sort(x: Any, axis: int = -1, *, kind: Any = None, order: Any = None, stable: bool | None = None) -> None:
    _refuse("sort", order=order)
    x[...] = sort(x, axis)


def _squeeze(x: Any, axis: Any = None) -> Any:
    if axis is None:
        axis = tuple(i for i, size in enumerate(x.shape) if size == 1)
    return x._namespace.squeeze(x, axis=axis)


def _swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    axes = list(range(x.ndim))
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return x._namespace.permute_dims(x, tuple(axes))


def _take(x: Any, indices: Any, axis: int | None = None, *, out: Any = None, mode: str = "raise") -> Any:
    _refuse("take", mode=None if mode == "raise" else mode)
    xp = x._namespace
    if axis is None:
        x, axis = flat(x), 0
    indices = alike(xp, indices, x)
    axis %= x.ndim
    result = xp.take(x, xp.reshape(indices, (-1,)), axis=axis)
    return written("take", out, xp.reshape(result, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])))


def _transpose(x: Any, *axes: Any) -> Any:
    wanted = _one_or_several(axes)
    if not wanted or wanted == (None,):
        wanted = tuple(range(x.ndim))[::-1]
    return x._namespace.permute_dims(x, wanted)


METHODS: Final[dict[str, Method]] = {
    **REDUCTIONS,
    "argsort": argsort,
    "astype": _astype,
    "clip": _clip,
    "conj": _conj,
    "conjugate": _conj,
    "copy": lambda x, order="C": x._namespace.asarray(x, copy=True),
    "diagonal": _diagonal,
    "dot": _dot,
    "fill": _fill,
    "flatten": _flatten,
    "nonzero": lambda x: x._namespace.nonzero(x),
    "ravel": _ravel,
    "repeat": _repeat,
    "reshape": _reshape,
    "round": _round,
    "searchsorted": _searchsorted,
    "sort": _sort,
    "squeeze": _squeeze,
    "swapaxes": _swapaxes,
    "take": _take,
    "trace": _trace,
    "transpose": _transpose,
}
"""Functions of a traced array with NumPy's arguments."""
for _name, _method in METHODS.items():
    _method.__qualname__ = f"x.{_name}"  # for Python's errors

ATTRIBUTES: Final[dict[str, Method]] = {
    "imag": lambda x: x._namespace.imag(x) if x._namespace.is_complex(x.dtype) else x._namespace.zeros_like(x),
    "itemsize": lambda x: x.dtype.itemsize,
    "nbytes": lambda x: x.dtype.itemsize * x.size,
    "real": lambda x: x._namespace.real(x) if x._namespace.is_complex(x.dtype) else x,
}
"""Functions of a traced array that return an attribute."""


def methods_of(array: type) -> dict[str, Method]:
    """Return the methods of traced arrays over a library, given its class of arrays."""
    return {name: method for name, method in METHODS.items() if hasattr(array, name)}


def attributes_of(array: type) -> dict[str, Method]:
    """Return the attributes of traced arrays over a library, given its class of arrays."""
    return {name: attribute for name, attribute in ATTRIBUTES.items() if hasattr(array, name)}
