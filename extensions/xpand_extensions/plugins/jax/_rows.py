"""Checks of the bounds of indices before the compiled part of an operation."""

import jax
import jax.numpy as jnp
import numpy as np

from xpand import is_concrete
from xpand.extend import LibraryArray as Array
from xpand_extensions._bounds import Mode, out_of_bounds
from xpand_extensions.plugins.numpy._rows import are_within

_extremes = jax.jit(lambda index: (jnp.min(index), jnp.max(index)))


def is_on_cpu(x: Array) -> bool:
    return all(device.platform == "cpu" for device in x.devices())


def is_on_host(x: Array) -> bool:
    """Return whether an array is concrete and only on the CPU."""
    return is_concrete(x) and len(x.devices()) == 1 and is_on_cpu(x)


def are_offsets(index: Array, size: int) -> bool:
    """Return whether a concrete index is on the CPU, not empty, and only has values from 0 to `size - 1`."""
    if not index.size or not is_on_cpu(index):
        return False
    values = np.asarray(index)
    return bool(values.min() >= 0 and values.max() < size)


def bounds(index: Array) -> tuple[int, int]:
    """Return the smallest and the largest of a concrete, non-empty index."""
    if is_on_cpu(index):
        # This needs no copy, and is six times faster than XLA's minimum and maximum.
        index = np.asarray(index)
        return int(index.min()), int(index.max())
    low, high = _extremes(index)
    return int(low), int(high)


def mode_once_checked(
    function: str, x: Array, indices: Array, axes: tuple[int, ...], mode: Mode | None, *, multi: bool = False
) -> Mode | None:
    """Raise for indices out of bounds, if requested and possible; return the mode for the other indices.

    If `multi`, the last axis of `indices` has one index for each of `axes`. Otherwise there is one axis, for all
    indices.
    """
    if mode not in (None, "raise") or not is_concrete(indices):
        return mode
    sizes = [x.shape[axis] for axis in axes]
    if indices.size and not (is_on_cpu(indices) and are_within(np.asarray(indices), sizes)):
        for j, (axis, size) in enumerate(zip(axes, sizes)):
            with jax.ensure_compile_time_eval():  # concrete values can be read in a traced function, too
                low, high = bounds(indices[..., j] if multi else indices)
            if low < -size or high >= size:
                raise out_of_bounds(function, high if high >= size else low, axis, size)
    return "clip"  # All are within bounds: "clip" is the cheapest mode that counts negative indices from the end.
