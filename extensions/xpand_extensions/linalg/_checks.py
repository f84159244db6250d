"""Shared checks of the functions of linear algebra, and forms of right-hand sides."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, ParamSpec, TypeAlias, TypeVar

from xpand import array_namespace
from xpand.extend import Array, DType, Kind, Namespace, checks, describe
from xpand_extensions._dtypes import is_narrow

from .._dispatch import in_one_namespace
from .._dtypes import as_dtype

P = ParamSpec("P")
R = TypeVar("R")

Conversion: TypeAlias = Callable[..., tuple[Any, ...]]
"""Converts arrays to one data type and one namespace."""


def alike(function: str, kinds: frozenset[Kind], /, **arrays: Array) -> list[Array]:
    """Convert arrays of one library, on one device, with known shapes, to one data type of the given kinds.

    Raises:
        TypeError: There is no array, arrays belong to two libraries, or data types have another kind or don't promote.
        ValueError: Arrays are on two devices, or a shape is not known yet.
    """
    return list(conversion(function, kinds, **arrays)(*arrays.values()))


def conversion(function: str, kinds: frozenset[Kind], /, **arrays: Array) -> Conversion:
    """Check arrays as `alike` does, and return the function that converts them."""
    xp = checks.together(function, kinds, **arrays)
    for name, x in arrays.items():
        checks.known_shape(function, name, x)
    dtype = checks.common_dtype(function, xp, **arrays)
    if any(x.dtype != dtype for x in arrays.values()):
        return partial(_converted, dtype)
    # Arrays of one type are all traced or all concrete.
    return _unchanged if len({type(x) for x in arrays.values()}) == 1 else in_one_namespace


def _converted(dtype: DType, *arrays: Array) -> tuple[Any, ...]:
    return in_one_namespace(*as_dtype(dtype, *arrays))


def _unchanged(*arrays: Array) -> tuple[Array, ...]:
    return arrays


def narrow(xp: Namespace, dtype: DType) -> bool:
    """Return whether a data type is float16 or bfloat16: LAPACK doesn't have them, and libraries refuse them."""
    return checks.kind(xp, dtype) == "real" and is_narrow(xp, dtype)


def computed(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call an implementation. If the first array is narrow, compute in float32 and round the results."""
    first: Any = args[0]
    dtype, xp = first.dtype, array_namespace(first)
    if not narrow(xp, dtype):
        return function(*args, **kwargs)
    result: Any = function(*[_cast(xp, x, dtype, xp.float32) for x in args], **kwargs)
    if not isinstance(result, tuple):
        return _cast(xp, result, xp.float32, dtype)
    rounded = [_cast(xp, x, xp.float32, dtype) for x in result]
    return result._make(rounded) if hasattr(result, "_make") else tuple(rounded)  # type: ignore[return-value]


def _cast(xp: Namespace, x: Any, old: DType, new: DType) -> Any:
    return xp.astype(x, new) if x.dtype == old else x


def matrices(function: str, name: str, x: Array, *, square: bool = False) -> tuple[int, int]:
    """Check for a matrix or a stack of matrices, square if required. Return the numbers of rows and columns.

    Raises:
        ValueError: The array has another shape.
    """
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        kind = "square matrices, (..., n, n)" if square else "matrices, (..., m, n)"
        raise ValueError(f"{function}: {name} must hold {kind}, got the shape {tuple(x.shape)}")
    return x.shape[-2], x.shape[-1]


def check_one(function: str, x: Array, square: bool) -> tuple[()]:
    """Check the argument of a function of matrices of a floating-point data type."""
    conversion(function, checks.FLOATING, x=x)
    matrices(function, "x", x, square=square)
    return ()


def check_right_hand_sides(function: str, a: Array, b: Array, size: int, *, left_side: bool = True) -> None:
    """Check that `b` fits the matrices `a`: it is one vector, or matrices whose columns (or rows) have the given size.

    Raises:
        ValueError: The size is wrong, or the stacks of matrices don't broadcast.
    """
    axis = -1 if b.ndim == 1 or not left_side else -2
    if b.ndim == 0 or b.shape[axis] != size:
        takes = f"({size},) or (..., {size}, k)" if left_side else f"({size},) or (..., k, {size})"
        raise ValueError(
            f"{function}: b must have the shape {takes} for matrices of shape {tuple(a.shape)}, got {tuple(b.shape)}"
        )
    stacks(function, a=tuple(a.shape[:-2]), b=tuple(b.shape[:-2]))


def stacks(function: str, **shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Check that stacks of matrices or vectors broadcast, and return the shape that they broadcast to.

    Raises:
        ValueError: They don't.
    """
    try:
        return checks.broadcast(*shapes.values())
    except ValueError:
        listed = " and ".join(f"{name}, {shape}" for name, shape in shapes.items())
        raise ValueError(f"{function}: the stacks of {listed} don't broadcast together") from None


def broadcast_stacks(xp: Namespace, a: Array, b: Array) -> tuple[Array, Array]:
    """Broadcast the stacks of two arrays of matrices: all axes but the last two."""
    if a.shape[:-2] == b.shape[:-2]:
        return a, b
    stack = checks.broadcast(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    return xp.broadcast_to(a, (*stack, *a.shape[-2:])), xp.broadcast_to(b, (*stack, *b.shape[-2:]))


def flat(xp: Namespace, x: Array) -> Array:
    """Reshape a stack of matrices so that the stack has one axis."""
    return xp.reshape(x, (math.prod(x.shape[:-2]), *x.shape[-2:]))


AXES = (-2, -1)
"""The possible axes of the vectors in right-hand sides."""


def axis_of(function: str, axis: Any) -> int:
    """Check the axis of `b` that its vectors lie along.

    Raises:
        TypeError: It is not an integer.
        ValueError: It is neither -2 nor -1.
    """
    axis = checks.plain_integer(axis)
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise TypeError(f"{function}: axis must be -2 or -1, got {axis!r} ({describe(axis)})")
    if axis not in AXES:
        raise ValueError(
            f"{function}: axis must be -2, for vectors that are the columns of b, or -1, for vectors along its last "
            f"axis, got {axis}"
        )
    return axis


def stack_of(
    function: str, name: str, matrices: tuple[Any, ...], shape: tuple[Any, ...], axis: int, size: int | None = None
) -> tuple[Any, ...]:
    """Check that right-hand sides fit matrices. Return the stack that both broadcast to.

    Args:
        function: The name of the function, for errors.
        name: The name of the argument, for errors.
        matrices: The shape of the matrices, `(..., m, n)`.
        shape: The shape of the right-hand sides.
        axis: -2: one vector, `(m,)`, or columns, `(..., m, k)`; -1: vectors along the last axis, `(..., m)`.
        size: The size of the vectors. By default m.

    Raises:
        ValueError: The size is wrong, or the stacks don't broadcast.
    """
    size, stack = matrices[-2] if size is None else size, tuple(matrices[:-2])
    is_one = len(shape) == 1
    along = -1 if is_one else axis
    if not shape or shape[along] != size:
        takes = f"({size},) or (..., {size}, k)" if axis == -2 else f"(..., {size})"
        other = "for vectors along the last axis pass `axis=-1`" if axis == -2 else "for columns leave `axis` out"
        hint = f"; {other}" if shape and shape[-1 if axis == -2 else max(-2, -len(shape))] == size else ""
        raise ValueError(
            f"{function}: {name} must have the shape {takes} for A of shape {tuple(matrices)}, got {tuple(shape)}{hint}"
        )
    return checks.broadcast_shapes(function, **{"A": stack, name: () if is_one else tuple(shape[:axis])})


class Columns(NamedTuple):
    """Right-hand sides as the columns of matrices."""

    array: Array
    """Shape `(..., m, k)`; `(m, k)` if there is one matrix A."""
    restore: Callable[[Array], Array]
    """Return solutions, `(..., n, k)`, in the layout of the right-hand sides."""


def columns_of(b: Array, axis: int, *, is_one_matrix: bool) -> Columns:
    """Convert checked right-hand sides to columns; for one matrix, all of them together."""
    xp, shape = array_namespace(b), tuple(b.shape)
    if b.ndim == 1:
        return Columns(b[:, None], lambda x: x[..., 0])
    if not is_one_matrix:
        return Columns(b, unchanged) if axis == -2 else Columns(b[..., None], lambda x: x[..., 0])
    if axis == -1:
        rows = xp.reshape(b, (math.prod(shape[:-1]), shape[-1]))
        restore: Callable[[Array], Array] = lambda x: xp.reshape(xp.matrix_transpose(x), (*shape[:-1], x.shape[-2]))
        return Columns(xp.matrix_transpose(rows), restore)
    if b.ndim == 2:
        return Columns(b, unchanged)
    first = xp.moveaxis(b, -2, 0)
    return Columns(
        xp.reshape(first, (shape[-2], math.prod(shape[:-2]) * shape[-1])),
        lambda x: xp.moveaxis(xp.reshape(x, (x.shape[-2], *shape[:-2], shape[-1])), 0, -2),
    )


def unchanged(x: Array) -> Array:
    return x
