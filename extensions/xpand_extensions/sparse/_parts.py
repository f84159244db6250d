"""Checks of the parts of sparse matrices, for functions that take parts. The values of indices are not checked."""

from typing import Any

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks

from .._bounds import index_dtype

Shape = tuple[int, int]


def operands(function: str, values: Array, x: Array, shape: Any, axis: int, /, **pattern: Array) -> tuple[Array, ...]:
    """Check the parts of a matrix and its factor `x`; return them as kernels take them. `axis` is the one summed over.

    Raises:
        TypeError: Arguments that aren't arrays of one library, or data types that don't promote.
        ValueError: Shapes that don't fit, or arrays on two devices.
    """
    xp = parts(function, values, shape, x=x, **pattern)
    checks.dtype(function, "values", xp, values, checks.NUMERIC)
    checks.dtype(function, "x", xp, x, checks.NUMERIC)
    size = shape[axis]
    if not x.ndim or x.shape[-2 if x.ndim > 1 else -1] != size:
        raise ValueError(f"{function}: x must have the shape ({size},) or (..., {size}, k), got {tuple(x.shape)}")
    if values.ndim > 1 and x.ndim > 2:
        checks.broadcast_shapes(function, values=tuple(values.shape[:-1]), x=tuple(x.shape[:-2]))
    if values.dtype != x.dtype:
        values, x = checks.promote(function, xp, values=values, x=x)
    return values, *usual_indices(*pattern.values()), x


def parts(function: str, values: Array, shape: Any, /, **others: Array) -> Namespace:
    """Check the parts of a matrix and return their namespace. `others` has its two index arrays, and optionally `x`.

    Raises:
        TypeError: Arguments that aren't arrays of one library, or indices that are not integers.
        ValueError: Shapes that don't fit, or arrays on two devices.
    """
    xp = checks.namespace_of(function, values=values, **others)
    checks.one_device(function, values=values, **others)
    if type(shape) is not tuple or len(shape) != 2:
        raise ValueError(f"{function}: shape must be a tuple of two sizes, (m, n), got {shape!r}")
    (first_name, first), (second_name, second) = [each for each in others.items() if each[0] != "x"]
    checks.dtype(function, first_name, xp, first, checks.INTEGERS)
    checks.dtype(function, second_name, xp, second, checks.INTEGERS)
    if not values.ndim:
        raise ValueError(f"{function}: values must have the shape (*batch, nse), got an array of shape ()")
    entries = values.shape[-1:]
    ends = (shape[0] + 1,) if second_name == "indptr" else entries
    if first.ndim == 1 and first.shape == entries and second.shape == ends:
        return xp
    batch = tuple(values.shape[:-1])
    for name, given, last in ((first_name, first, entries), (second_name, second, ends)):
        if tuple(given.shape) not in (tuple(last), (*batch, *last)):
            raise ValueError(
                f"{function}: {name} must have the shape {tuple(last)} or {(*batch, *last)} for values of shape "
                f"{tuple(values.shape)} of matrices of shape {shape}, got {tuple(given.shape)}"
            )
    if first.ndim != second.ndim:
        raise ValueError(
            f"{function}: a pattern is for all of a batch or for each batch element, got {first_name} of shape "
            f"{tuple(first.shape)} and {second_name} of shape {tuple(second.shape)}"
        )
    return xp


def indices(function: str, xp: Namespace, /, **arrays: Array) -> None:
    """Check index arrays, which must have one axis and the same length.

    Raises:
        TypeError: An array does not have integers.
        ValueError: Arrays have other shapes.
    """
    for name, given in arrays.items():
        checks.dtype(function, name, xp, given, checks.INTEGERS)
    if len({tuple(given.shape) for given in arrays.values()}) > 1 or any(given.ndim != 1 for given in arrays.values()):
        listed = " and ".join(f"{name} of shape {tuple(given.shape)}" for name, given in arrays.items())
        raise ValueError(f"{function}: {' and '.join(arrays)} must have one shape, (nse,), got {listed}")


def usual_indices(*given: Array) -> tuple[Array, ...]:
    """Convert index arrays to int32 or all to int64, so that sums of indices and numbers of rows fit."""
    xp = array_namespace(*given)
    dtype = given[0].dtype
    if (dtype == xp.int32 or dtype == xp.int64) and all(each.dtype == dtype for each in given):
        return given
    target = index_dtype(xp, checks.device_of(given[0]))
    return tuple([xp.astype(each, target) for each in given])
