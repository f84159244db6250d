"""Elementwise functions."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from . import _arguments
from ._arguments import device_of
from ._namespace import describe, is_concrete
from .common import is_writeable_array
from .typing import Array, ArrayLike, Namespace

__all__ = ["angle", "apply_where", "deg2rad", "nan_to_num", "piecewise", "rad2deg"]
__dir__ = __all__.copy


def angle(z: Array, /, *, deg: bool = False) -> Array:
    """Compute the angle of complex numbers, from -pi to pi. For real numbers it is 0, or pi if the sign bit is set.

    Args:
        z: An array of a floating-point data type, real or complex.
        deg: Whether the result is in degrees.

    Returns:
        Real numbers of the same shape and precision; NaN if a part is NaN.

    Raises:
        TypeError: An unsupported data type.

    Source: `numpy.angle`, `array_api_extra.angle`.

    >>> import numpy as np
    >>> angle(np.asarray([1.0, 1.0j, -1.0]), deg=True)
    array([  0.,  90., 180.])
    """
    xp = _arguments.namespace_of("angle", z=z)
    kind = _arguments.dtype("angle", "z", xp, z, _arguments.FLOATING)
    _arguments.boolean("angle", "deg", deg)
    if kind == "complex":
        found = xp.atan2(xp.imag(z), xp.real(z))
    else:
        found = xp.atan2(xp.zeros_like(z), z)
    return found * (180.0 / math.pi) if deg else found


def deg2rad(x: Array, /) -> Array:
    """Convert degrees to radians: `x * pi / 180`, for an array of a real floating-point data type.

    Raises:
        TypeError: An unsupported data type.

    Source: `numpy.deg2rad`, `array_api_extra.deg2rad`.

    >>> import numpy as np
    >>> deg2rad(np.asarray([0.0, 180.0]))
    array([0.        , 3.14159265])
    """
    xp = _arguments.namespace_of("deg2rad", x=x)
    _arguments.dtype("deg2rad", "x", xp, x, _arguments.REAL)
    return x * (math.pi / 180.0)


def rad2deg(x: Array, /) -> Array:
    """Convert radians to degrees: `x * 180 / pi`, for an array of a real floating-point data type.

    Raises:
        TypeError: An unsupported data type.

    Source: `numpy.rad2deg`, `array_api_extra.rad2deg`.

    >>> import numpy as np
    >>> rad2deg(np.asarray([0.0, np.pi]))
    array([  0., 180.])
    """
    xp = _arguments.namespace_of("rad2deg", x=x)
    _arguments.dtype("rad2deg", "x", xp, x, _arguments.REAL)
    return x * (180.0 / math.pi)


def nan_to_num(x: Array, /, *, fill_value: float = 0.0) -> Array:
    """Replace NaN by a number, and infinities by the largest and the smallest finite numbers.

    Args:
        x: An array of a numeric or boolean data type. Integers and booleans are returned unchanged. Real and imaginary
            parts are replaced separately.
        fill_value: The replacement for NaN.

    Returns:
        An array of the shape and data type of `x`.

    Raises:
        TypeError: `x` is not an array, or `fill_value` is not a real number.

    Source: `numpy.nan_to_num`, `array_api_extra.nan_to_num`.

    >>> import numpy as np
    >>> nan_to_num(np.asarray([1.0, np.nan, np.inf], dtype=np.float32), fill_value=-1.0)
    array([ 1.0000000e+00, -1.0000000e+00,  3.4028235e+38], dtype=float32)
    """
    xp = _arguments.namespace_of("nan_to_num", x=x)
    if isinstance(fill_value, (bool, complex)) or not isinstance(fill_value, (int, float)):
        raise TypeError(f"nan_to_num: fill_value must be a real number, got {describe(fill_value)}")
    kind = _arguments.kind(xp, x.dtype)
    if kind == "complex":
        parts = [_finite(xp, part, fill_value) for part in (xp.real(x), xp.imag(x))]
        return xp.astype(parts[0], x.dtype) + 1j * xp.astype(parts[1], x.dtype)
    return _finite(xp, x, fill_value) if kind == "real" else x


def _finite(xp: Any, x: Array, fill_value: float) -> Array:
    info = xp.finfo(x.dtype)
    like = {"dtype": x.dtype, "device": device_of(x)}
    x = xp.where(xp.isnan(x), xp.full((), float(fill_value), **like), x)
    largest, smallest = xp.full((), float(info.max), **like), xp.full((), float(info.min), **like)
    return xp.where(x == math.inf, largest, xp.where(x == -math.inf, smallest, x))


def apply_where(
    cond: Array,
    args: Array | Sequence[Array],
    f1: Callable[..., Array],
    f2: Callable[..., Array] | None = None,
    /,
    *,
    fill_value: ArrayLike | None = None,
    kwargs: Mapping[str, Any] | None = None,
) -> Array:
    """Apply one elementwise function where a condition holds, and another one (or a value) elsewhere.

    Args:
        cond: Booleans.
        args: An array or several, of shapes that broadcast with `cond`.
        f1: The function for elements where `cond` holds. It returns an array of the shape of its arguments.
        f2: The function for the other elements. Either `f2` or `fill_value` must be given.
        fill_value: The value for the other elements: a number or an array of shape ().
        kwargs: More keyword arguments for `f1` and `f2`, passed unchanged.

    Returns:
        An array of the common shape, and of the data type that the results promote to.

    Raises:
        TypeError: An argument is not an array or not a function, `cond` is not boolean, or both or neither of `f2` and
            `fill_value` are given.
        ValueError: The shapes don't broadcast, or a function changes the shape.

    If values are concrete and arrays can be written into, each function gets only its own elements, as an array with
    one axis. Otherwise (under `jit`, `vmap` and derivatives, on JAX and Dask), both functions get all elements, and the
    unused results are dropped. If their derivative is not finite, the derivative of the result is NaN.

    Source: `array_api_extra.apply_where`.

    >>> import numpy as np
    >>> x = np.asarray([4.0, -1.0, 9.0])
    >>> apply_where(x >= 0.0, x, np.sqrt, fill_value=0.0)
    array([2., 0., 3.])
    """
    arrays = [args] if _arguments.is_array(args) else list(cast("Sequence[Array]", args))
    xp = _arguments.namespace_of("apply_where", cond=cond, **{f"args[{i}]": x for i, x in enumerate(arrays)})
    if _arguments.kind(xp, cond.dtype) != "bool":
        raise TypeError(f"apply_where: cond must be booleans, got {cond.dtype}")
    if (f2 is None) == (fill_value is None):
        raise TypeError("apply_where: takes either a second function or fill_value, got both or neither")
    for name, function in (("f1", f1), ("f2", f1 if f2 is None else f2)):
        _arguments.function("apply_where", function, name)
    options = dict(kwargs or {})
    cond, *arrays = xp.broadcast_arrays(cond, *arrays)
    if all(map(is_concrete, (cond, *arrays))) and is_writeable_array(xp.empty_like(cond)) and _takes_masks(xp):
        return _in_parts(xp, cond, arrays, f1, f2, fill_value, options)
    first = _of_shape("f1", f1(*arrays, **options), tuple(cond.shape))
    second = fill_value if f2 is None else _of_shape("f2", f2(*arrays, **options), tuple(cond.shape))
    return xp.where(cond, first, cast("Array", second))


def _takes_masks(xp: Namespace) -> bool:
    """Return whether arrays can be indexed by booleans; the standard has this as an optional capability."""
    info = getattr(xp, "__array_namespace_info__", None)
    return info is None or bool(info().capabilities()["boolean indexing"])


def _in_parts(
    xp: Any, cond: Array, arrays: list[Array], f1: Any, f2: Any, fill_value: Any, options: dict[str, Any]
) -> Array:
    first = f1(*[x[cond] for x in arrays], **options)
    count = (int(xp.count_nonzero(cond)),)
    _of_shape("f1", first, count)
    if f2 is None:
        out = xp.where(cond, xp.zeros((), dtype=first.dtype, device=device_of(first)), fill_value)
    else:
        other = f2(*[x[~cond] for x in arrays], **options)
        _of_shape("f2", other, (math.prod(cond.shape) - count[0],))
        out = xp.zeros(cond.shape, dtype=xp.result_type(first, other), device=device_of(first))
        out[~cond] = xp.astype(other, out.dtype)
    out[cond] = xp.astype(first, out.dtype)
    return out


def _of_shape(name: str, found: Any, shape: tuple[int, ...]) -> Array:
    if not _arguments.is_array(found) or tuple(found.shape) != shape:
        got = f"shape {tuple(found.shape)}" if _arguments.is_array(found) else describe(found)
        raise ValueError(f"apply_where: {name} must return an array of the shape of its arguments, {shape}, got {got}")
    return found


def piecewise(
    x: Array,
    condlist: Sequence[Array],
    funclist: Sequence[Callable[..., Array] | ArrayLike],
    /,
    *,
    kwargs: Mapping[str, Any] | None = None,
) -> Array:
    """Apply a different elementwise function, or a value, where each of several conditions holds.

    Args:
        x: The argument of the functions: an array of any data type.
        condlist: The conditions: arrays of booleans whose shape broadcasts to that of `x`. Where several hold, the
            last one counts.
        funclist: A function or a value for each condition, and optionally another one for elements for which none
            holds; by default, these are 0. Functions return an array of the shape of their argument. Values are numbers
            or arrays of shape (). All must promote to the data type of `x`.
        kwargs: More keyword arguments for the functions, passed unchanged.

    Returns:
        An array of the shape and data type of `x`.

    Raises:
        TypeError: An argument of the wrong type, a condition that is not boolean, or a result or value that does not
            promote to the data type of `x`.
        ValueError: The numbers of conditions and functions don't fit, or shapes differ.

    Which elements a function gets, and the derivatives of those not used, are as in `apply_where`.

    Source: `numpy.piecewise`.

    >>> import numpy as np
    >>> x = np.asarray([-2.0, 1.0, 4.0])
    >>> piecewise(x, [x < 0.0, x > 2.0], [lambda x: -x, np.sqrt, 7.0])
    array([2., 7., 2.])
    """
    if not isinstance(condlist, (list, tuple)) or not condlist:
        raise TypeError(f"piecewise: condlist must be a list of one or more arrays, got {describe(condlist)}")
    if not isinstance(funclist, (list, tuple)):
        raise TypeError(f"piecewise: funclist must be a list of functions and values, got {describe(funclist)}")
    xp = _arguments.namespace_of("piecewise", x=x, **{f"condlist[{i}]": c for i, c in enumerate(condlist)})
    number = len(condlist)
    if len(funclist) not in (number, number + 1):
        raise ValueError(
            f"piecewise: funclist must have {number} or {number + 1} entries for {number} conditions, got "
            f"{len(funclist)}"
        )
    shape = tuple(x.shape)
    for i, condition in enumerate(condlist):
        if _arguments.kind(xp, condition.dtype) != "bool":
            raise TypeError(f"piecewise: condlist[{i}] must be booleans, got {condition.dtype}")
        if not _arguments.broadcasts_to(tuple(condition.shape), shape):
            raise ValueError(
                f"piecewise: condlist[{i}] must broadcast to the shape of x, {shape}, got {tuple(condition.shape)}"
            )
    options = dict(kwargs or {})
    result = xp.zeros_like(x)
    entries = list(zip(condlist, funclist))
    if len(funclist) > number:
        some = condlist[0]
        for condition in condlist[1:]:
            some = some | condition
        entries.append((~some, funclist[-1]))
    for i, (condition, entry) in enumerate(entries):
        piece = _piece(xp, f"funclist[{i}]", x, entry, options)
        condition = xp.broadcast_to(condition, shape)
        result = apply_where(condition, (x, result), piece, lambda x, before: before)
    return result


def _piece(xp: Any, name: str, x: Array, entry: Any, options: dict[str, Any]) -> Callable[[Array, Array], Array]:
    """Return a function of the argument and the result so far, with the data type of the argument."""
    if not callable(entry):
        _arguments.scalar("piecewise", name, xp, entry, x, "x")

    def piece(argument: Array, before: Array) -> Array:
        if not callable(entry):
            value = entry if _arguments.is_array(entry) else xp.full((), entry, dtype=x.dtype, device=device_of(x))
            return xp.broadcast_to(xp.astype(value, x.dtype, copy=False), argument.shape)
        found = entry(argument, **options)
        if not _arguments.is_array(found) or tuple(found.shape) != tuple(argument.shape):
            got = f"shape {tuple(found.shape)}" if _arguments.is_array(found) else describe(found)
            takes = tuple(argument.shape)
            raise ValueError(f"piecewise: {name} must return an array of the shape of its argument, {takes}, got {got}")
        _arguments.castable("piecewise", f"the result of {name}", xp, found, x, "x")
        return xp.astype(found, x.dtype, copy=False)

    return piece
