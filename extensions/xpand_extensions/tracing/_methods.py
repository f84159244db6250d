"""Methods of some libraries' arrays beyond the standard, written with the standard.

The table has NumPy's methods. A traced array has the methods of the library's own arrays: `x.sum(axis=0)` over NumPy,
and none over a strict library. Libraries differ in the order of options, so options are given by name.
"""

from collections.abc import Callable
from typing import Any, Final

from ._core import apart

Method = Callable[..., Any]


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


def _number(xp: Any, x: Any, dtype: Any = None) -> Any:
    """Convert booleans to integers, which NumPy does for sums."""
    return xp.astype(x, xp.int64) if xp.isdtype(x.dtype, "bool") else x


def _floating(xp: Any, x: Any, dtype: Any = None) -> Any:
    """Convert to a data type. By default, convert booleans and integers to float64."""
    if dtype is None and xp.isdtype(x.dtype, ("bool", "integral")):
        dtype = xp.float64
    return x if dtype is None else xp.astype(x, dtype, copy=False)


def _flat(xp: Any, x: Any) -> Any:
    return xp.reshape(x, (-1,))


def _array(xp: Any, values: Any, like: Any) -> Any:
    return values if hasattr(values, "dtype") else xp.asarray(values, device=like.device)


def _along(
    name: str, *options: str, method: str = "", converted: Callable[..., Any] | None = None, is_cumulative: bool = False
) -> Method:
    """Make the method of a function along axes.

    Args:
        name: The function of the standard.
        options: The options of NumPy's method that it takes besides the axis.
        method: The name of the method, if it is another one.
        converted: Converts the array first: `converted(xp, x, dtype)`.
        is_cumulative: Whether the method flattens the array by default.
    """

    def along(x: Any, axis: Any = None, **given: Any) -> Any:
        known = {key: given.pop(key) for key in options if key in given}
        _refuse(method or name, **given)
        xp = x._namespace
        if "ddof" in known:
            known["correction"] = float(known.pop("ddof"))
        if converted is not None:
            x = converted(xp, x, known.get("dtype"))
        if converted is _floating:
            known.pop("dtype", None)
        if is_cumulative and axis is None:
            x, axis = _flat(xp, x), 0
        return getattr(xp, name)(x, axis=axis, **known)

    return along


def _extreme(name: str, of_booleans: str) -> Method:
    """Make the method of a maximum or minimum, which the standard doesn't have for booleans."""
    of = {True: _along(of_booleans, "keepdims", method=name), False: _along(name, "keepdims")}
    return lambda x, axis=None, **given: of[x._namespace.isdtype(x.dtype, "bool")](x, axis, **given)


def _argsort(x: Any, axis: int | None = -1, *, kind: Any = None, order: Any = None, stable: bool | None = None) -> Any:
    _refuse("argsort", order=order)
    xp = x._namespace
    if axis is None:
        x, axis = _flat(xp, x), -1
    return xp.argsort(x, axis=axis)


def _astype(
    x: Any, dtype: Any, *, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    _in_order("astype", order)
    _refuse("astype", casting=None if casting == "unsafe" else casting)
    return x._namespace.astype(x, dtype, copy=copy)


def _clip(x: Any, min: Any = None, max: Any = None, *, out: Any = None, **others: Any) -> Any:
    _refuse("clip", out=out, **others)
    return x._namespace.clip(x, min, max)


def _conj(x: Any) -> Any:
    return x._namespace.conj(x) if x._namespace.is_complex(x.dtype) else x


def _diagonal(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    xp = x._namespace
    return xp.linalg.diagonal(xp.moveaxis(x, (axis1, axis2), (-2, -1)), offset=offset)


def _trace(x: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, *, dtype: Any = None, out: Any = None) -> Any:
    _refuse("trace", out=out)
    xp = x._namespace
    return xp.sum(_number(xp, _diagonal(x, offset, axis1, axis2)), axis=-1, dtype=dtype)


def _dot(x: Any, b: Any, *, out: Any = None) -> Any:
    _refuse("dot", out=out)
    xp = x._namespace
    b = _array(xp, b, x)
    if not x.ndim or not b.ndim:
        return x * b
    return xp.tensordot(x, b, axes=((x.ndim - 1,), (max(b.ndim - 2, 0),)))


def _fill(x: Any, value: Any) -> None:
    x[...] = value


def _flatten(x: Any, order: str = "C") -> Any:
    _in_order("flatten", order)
    return apart(_flat(x._namespace, x))


def _ravel(x: Any, order: str = "C") -> Any:
    _in_order("ravel", order)
    found = _flat(x._namespace, x)
    found._view.function = _raveled
    return found


def _raveled(x: Any, **params: Any) -> Any:
    """Return the library's own flat array, which unlike that of `reshape` is always contiguous."""
    return x.ravel()


def _repeat(x: Any, repeats: Any, axis: int | None = None) -> Any:
    xp = x._namespace
    if axis is None:
        x, axis = _flat(xp, x), 0
    return xp.repeat(x, repeats if isinstance(repeats, int) else _array(xp, repeats, x), axis=axis)


def _reshape(x: Any, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
    _in_order("reshape", order)
    return x._namespace.reshape(x, _one_or_several(shape), copy=copy)


def _one_or_several(given: tuple[Any, ...]) -> Any:
    """Return integers that were passed separately, or as one tuple or list."""
    if len(given) == 1:
        return tuple(given[0]) if isinstance(given[0], (tuple, list)) else given
    return given


def _round(x: Any, decimals: int = 0, *, out: Any = None) -> Any:
    _refuse("round", out=out)
    xp = x._namespace
    if decimals == 0:
        return xp.round(x)
    if not xp.is_floating(x.dtype):
        raise TypeError(f"x.round: decimals={decimals} is for floating-point arrays, got {x.dtype}; use 0 for integers")
    scale = 10.0 ** abs(decimals)
    return xp.round(x * scale) / scale if decimals > 0 else xp.round(x / scale) * scale


def _searchsorted(x: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    xp = x._namespace
    return xp.searchsorted(x, _array(xp, v, x), side=side, sorter=None if sorter is None else _array(xp, sorter, x))


def _sort(x: Any, axis: int = -1, *, kind: Any = None, order: Any = None, stable: bool | None = None) -> None:
    _refuse("sort", order=order)
    x[...] = x._namespace.sort(x, axis=axis)


def _squeeze(x: Any, axis: Any = None) -> Any:
    if axis is None:
        axis = tuple(i for i, size in enumerate(x.shape) if size == 1)
    return x._namespace.squeeze(x, axis=axis)


def _swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    axes = list(range(x.ndim))
    axes[axis1], axes[axis2] = axes[axis2], axes[axis1]
    return x._namespace.permute_dims(x, tuple(axes))


def _take(x: Any, indices: Any, axis: int | None = None, *, out: Any = None, mode: str = "raise") -> Any:
    _refuse("take", out=out, mode=None if mode == "raise" else mode)
    xp = x._namespace
    if axis is None:
        x, axis = _flat(xp, x), 0
    indices = _array(xp, indices, x)
    axis %= x.ndim
    found = xp.take(x, _flat(xp, indices), axis=axis)
    return xp.reshape(found, (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


def _transpose(x: Any, *axes: Any) -> Any:
    wanted = _one_or_several(axes)
    if not wanted or wanted == (None,):
        wanted = tuple(range(x.ndim))[::-1]
    return x._namespace.permute_dims(x, wanted)


METHODS: Final[dict[str, Method]] = {
    **{name: _along(name, "keepdims") for name in ("all", "any", "argmax", "argmin")},
    **{name: _along(name, "dtype", "keepdims", converted=_number) for name in ("prod", "sum")},
    **{name: _along(name, "ddof", "dtype", "keepdims", converted=_floating) for name in ("std", "var")},
    "argsort": _argsort,
    "astype": _astype,
    "clip": _clip,
    "conj": _conj,
    "conjugate": _conj,
    "copy": lambda x, order="C": x._namespace.asarray(x, copy=True),
    "cumprod": _along("cumulative_prod", "dtype", method="cumprod", converted=_number, is_cumulative=True),
    "cumsum": _along("cumulative_sum", "dtype", method="cumsum", converted=_number, is_cumulative=True),
    "diagonal": _diagonal,
    "dot": _dot,
    "fill": _fill,
    "flatten": _flatten,
    "max": _extreme("max", "any"),
    "mean": _along("mean", "dtype", "keepdims", converted=_floating),
    "min": _extreme("min", "all"),
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
