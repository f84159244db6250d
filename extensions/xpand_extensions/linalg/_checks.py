"""Checks that the functions of linear algebra share."""

import math
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from xpand import array_namespace
from xpand.extend import Array, DType, Kind, Namespace, checks
from xpand_extensions._width import is_narrow

from .._comparable import as_dtype
from .._dispatch import in_one_namespace

P = ParamSpec("P")
R = TypeVar("R")


def alike(function: str, kinds: frozenset[Kind], /, **arrays: Array) -> list[Array]:
    """Bring arrays of one library, on one device, with known shapes, to one data type of the given kinds.

    Raises:
        TypeError: No array, arrays of two libraries, data types of another kind or that don't promote.
        ValueError: Arrays on two devices, or a shape not known yet.
    """
    return list(aligned(alike_dtype(function, kinds, **arrays), *arrays.values()))


def alike_dtype(function: str, kinds: frozenset[Kind], /, **arrays: Array) -> DType | None:
    """Check arrays as `alike` does; return the data type to convert them to, None where they have it."""
    xp = checks.namespace_of(function, **arrays)
    checks.one_device(function, **arrays)
    for name, x in arrays.items():
        checks.known_shape(function, name, x)
        checks.dtype(function, name, xp, x, kinds)
    dtype = checks.common_dtype(function, xp, **arrays)
    return None if all(x.dtype == dtype for x in arrays.values()) else dtype


def aligned(dtype: DType | None, *arrays: Array) -> tuple[Any, ...]:
    """Convert arrays to a data type; None: leave them. Next to a traced array the others become constants."""
    return in_one_namespace(*as_dtype(dtype, *arrays))


def narrow(xp: Namespace, dtype: DType) -> bool:
    """Tell whether a data type is float16 or bfloat16, which LAPACK doesn't know and libraries refuse."""
    return checks.kind(xp, dtype) == "real" and is_narrow(xp, dtype)


def computed(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call an implementation; if the first array is a narrow one, in float32, with the results rounded."""
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
    """Check for one matrix or a stack of them, square ones if asked; return how many rows and columns they have.

    Raises:
        ValueError: The array has another shape.
    """
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        kind = "square matrices, (..., n, n)" if square else "matrices, (..., m, n)"
        raise ValueError(f"{function}: {name} must hold {kind}, got the shape {tuple(x.shape)}")
    return x.shape[-2], x.shape[-1]


def check_one(function: str, x: Array, square: bool) -> tuple[()]:
    """Check the argument of a function of one array of matrices, of a floating-point data type."""
    alike_dtype(function, checks.FLOATING, x=x)
    matrices(function, "x", x, square=square)
    return ()


def check_right_hand_sides(function: str, a: Array, b: Array, size: int, *, left_side: bool = True) -> None:
    """Check that `b` fits the matrices `a`: one vector, or matrices whose columns (or rows) have the size given.

    Raises:
        ValueError: Another size, or stacks of matrices that don't broadcast.
    """
    axis = -1 if b.ndim == 1 or not left_side else -2
    if b.ndim == 0 or b.shape[axis] != size:
        takes = f"({size},) or (..., {size}, k)" if left_side else f"({size},) or (..., k, {size})"
        raise ValueError(
            f"{function}: b must have the shape {takes} for matrices of shape {tuple(a.shape)}, got {tuple(b.shape)}"
        )
    stacks(function, a, b)


def stacks(function: str, a: Array, b: Array, names: tuple[str, str] = ("a", "b")) -> None:
    """Check that two stacks of matrices broadcast.

    Raises:
        ValueError: They don't.
    """
    for m, n in zip(reversed(a.shape[:-2]), reversed(b.shape[:-2])):
        if m != n and 1 not in (m, n):
            raise ValueError(
                f"{function}: the stacks of {names[0]}, of shape {tuple(a.shape)}, and {names[1]}, of shape "
                f"{tuple(b.shape)}, don't broadcast together"
            )


def broadcast_stacks(xp: Namespace, a: Array, b: Array) -> tuple[Array, Array]:
    """Broadcast the stacks, all axes but the last two, of two arrays of matrices."""
    if a.shape[:-2] == b.shape[:-2]:
        return a, b
    stack = xp.broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    return xp.broadcast_to(a, (*stack, *a.shape[-2:])), xp.broadcast_to(b, (*stack, *b.shape[-2:]))


def flat(xp: Namespace, x: Array) -> Array:
    """Write a stack of matrices with one axis for the stack."""
    return xp.reshape(x, (math.prod(x.shape[:-2]), *x.shape[-2:]))
