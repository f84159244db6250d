"""Right-hand sides: one vector or columns, as in the standard; vectors along the last axis with `axis=-1`."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from xpand import array_namespace
from xpand.extend import Array, checks, describe

AXES = (-2, -1)
"""The axes along which the vectors of a right-hand side may lie."""


def axis_of(function: str, axis: Any) -> int:
    """Check along which axis of `b` its vectors lie.

    Raises:
        TypeError: No integer.
        ValueError: Neither -2 nor -1.
    """
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise TypeError(f"{function}: axis must be -2 or -1, got {axis!r} of {describe(axis)}")
    if axis not in AXES:
        raise ValueError(
            f"{function}: axis must be -2, for vectors that are the columns of b, or -1, for vectors along its last "
            f"axis, got {axis}"
        )
    return axis


def stack_of(
    function: str, name: str, matrices: tuple[Any, ...], shape: tuple[Any, ...], axis: int, size: int | None = None
) -> tuple[Any, ...]:
    """Check that right-hand sides fit matrices; return the stack that both broadcast to.

    Args:
        function: The name of the function, for errors.
        name: The name of the argument, for errors.
        matrices: The shape of the matrices, `(..., m, n)`.
        shape: The shape of the right-hand sides.
        axis: -2: one vector, `(m,)`, or columns, `(..., m, k)`; -1: vectors along the last axis, `(..., m)`.
        size: The size of the vectors. By default m.

    Raises:
        ValueError: Another size, or stacks that don't broadcast.
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
    """Right-hand sides as matrices of columns."""

    array: Array
    """Shape `(..., m, k)`; `(m, k)` where there is one matrix A."""
    restore: Callable[[Array], Array]
    """Give solutions, `(..., n, k)`, the layout of the right-hand sides."""


def columns_of(b: Array, axis: int, *, is_one_matrix: bool) -> Columns:
    """Write checked right-hand sides as columns; all columns of one matrix together."""
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
