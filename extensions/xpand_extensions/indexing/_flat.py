"""Conversion of multi-indices to flat indices, and back."""

from collections.abc import Sequence
from typing import Any

from xpand.extend import Array, checks, describe

from .._bounds import MODES, Mode
from .._dispatch import pluggable
from ._take import check_indices


@pluggable
def unravel_index(
    indices: Array, /, shape: Sequence[int], *, mode: Mode | None = None, fill_value: int = -1
) -> tuple[Array, ...]:
    """Convert flat, row-major indices of an array to an index for each axis.

    Args:
        indices: Integers of any shape, from 0 to the number of elements minus one.
        shape: The shape of the array.
        mode: The treatment of indices that are negative or out of bounds: "raise" an `IndexError`; "fill" (or "drop")
            returns `fill_value` for every axis; "clip" to the first or last element; "wrap" around. By default: "raise"
            if the values of the indices are known, otherwise (under jit and vmap, in lazy arrays) "fill".
        fill_value: The value for "fill", an integer.

    Returns:
        An array for each axis, of the shape of `indices` and the library's data type for indices.

    Raises:
        TypeError: An argument of the wrong type, or indices that are not integers.
        ValueError: A negative size, or an unknown mode.
        IndexError: Indices out of bounds.

    Source: `numpy.unravel_index`; the modes are those of `numpy.ravel_multi_index`, and "fill".

    >>> import numpy as np
    >>> unravel_index(np.asarray([0, 5]), (2, 3))
    (array([0, 1]), array([0, 2]))
    """
    implementation, sizes, fill_value = unravel_index.planned(_check_flat, (indices,), shape, mode, fill_value)
    return implementation(indices, sizes, mode=mode, fill_value=fill_value)


@pluggable
def ravel_multi_index(
    multi_index: Sequence[Array], /, shape: Sequence[int], *, mode: Mode | None = None, fill_value: int = -1
) -> Array:
    """Convert an index for each axis of an array to flat, row-major indices.

    Args:
        multi_index: One integer array for each axis; their shapes broadcast together.
        shape: The shape of the array.
        mode: The treatment of a multi-index with an index that is negative or out of bounds: "raise" an `IndexError`;
            "fill" (or "drop") returns `fill_value`; "clip" to the first or last index of the axis; "wrap" around. By
            default: "raise" if the values of the indices are known, otherwise (under jit and vmap, in lazy arrays)
            "fill".
        fill_value: The value for "fill", an integer.

    Returns:
        An array of the broadcast shape of the indices, of the library's data type for indices.

    Raises:
        TypeError: An argument of the wrong type, indices that are not integers, or arrays of two libraries.
        ValueError: More or fewer arrays than sizes, a negative size, an unknown mode, shapes that don't broadcast, or
            arrays on two devices.
        IndexError: Indices out of bounds.

    Source: `numpy.ravel_multi_index`, which has no mode "fill".

    >>> import numpy as np
    >>> ravel_multi_index((np.asarray([0, 1]), np.asarray([0, 5])), (2, 3), mode="clip")
    array([0, 5])
    """
    given: Any = multi_index
    if not isinstance(given, Sequence) or not len(given):
        raise TypeError(
            "ravel_multi_index: multi_index must be a tuple of one or more arrays, got "
            f"{describe(multi_index)}; split an array with `xp.unstack(multi_index, axis=-1)`"
        )
    parts, options = tuple(multi_index), (shape, mode, fill_value)
    implementation, sizes, fill_value = ravel_multi_index.planned(_check_parts, parts, *options)
    return implementation(parts, sizes, mode=mode, fill_value=fill_value)


def _check_flat(function: str, indices: Array, shape: Any, mode: Any, fill_value: Any) -> tuple[tuple[int, ...], int]:
    check_indices(function, indices, indices, mode)
    return _sizes(function, shape), checks.integer(function, "fill_value", fill_value)


def _check_parts(function: str, *arguments: Any) -> tuple[tuple[int, ...], int]:
    *parts, shape, mode, fill_value = arguments
    names = {f"multi_index[{i}]": part for i, part in enumerate(parts)}
    checks.together(function, checks.INTEGERS, **names)
    checks.choice(function, "mode", mode, MODES)
    sizes = _sizes(function, shape)
    if len(sizes) != len(parts):
        raise ValueError(
            f"{function}: multi_index must hold an array for each of the {len(sizes)} axes of shape {tuple(shape)}, "
            f"got {len(parts)}"
        )
    shapes = [checks.known_shape(function, name, part) for name, part in names.items()]
    try:
        checks.broadcast(*shapes)
    except ValueError:
        raise ValueError(f"{function}: the shapes of the arrays in multi_index do not broadcast: {shapes}") from None
    return sizes, checks.integer(function, "fill_value", fill_value)


def _sizes(function: str, shape: Any) -> tuple[int, ...]:
    if not isinstance(shape, Sequence):
        raise TypeError(f"{function}: shape must be a sequence of integers, got {shape!r}")
    return tuple([checks.integer(function, f"shape[{i}]", size, minimum=0) for i, size in enumerate(shape)])
