"""Bounds of JAX's indices, checked before the rest is compiled."""

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
    """Return whether an array is concrete, on one device, and that is the CPU."""
    return is_concrete(x) and len(x.devices()) == 1 and is_on_cpu(x)


def are_offsets(index: Array, size: int) -> bool:
    """Return whether a concrete index is not empty, on the CPU, and all from 0 to `size - 1`."""
    if not index.size or not is_on_cpu(index):
        return False
    values = np.asarray(index)
    return bool(values.min() >= 0 and values.max() < size)


def bounds(index: Array) -> tuple[int, int]:
    """Return the smallest and the largest of a concrete, non-empty index."""
    if is_on_cpu(index):
        # Without a copy, and six times faster than XLA's minimum and maximum.
        index = np.asarray(index)
        return int(index.min()), int(index.max())
    low, high = _extremes(index)
    return int(low), int(high)


def mode_once_checked(
    function: str, x: Array, indices: Array, axes: tuple[int, ...], mode: Mode | None, *, multi: bool = False
) -> Mode | None:
    """Raise for indices out of bounds, where requested and possible; return the mode for the rest.

    `multi`: the last axis of `indices` holds an index for each of `axes`; else there is one axis, for all indices.
    """
    if mode not in (None, "raise") or not is_concrete(indices):
        return mode
    sizes = [x.shape[axis] for axis in axes]
    if indices.size and not (is_on_cpu(indices) and are_within(np.asarray(indices), sizes)):
        for j, (axis, size) in enumerate(zip(axes, sizes)):
            with jax.ensure_compile_time_eval():  # known values may be read in a traced function
                low, high = bounds(indices[..., j] if multi else indices)
            if low < -size or high >= size:
                raise out_of_bounds(function, high if high >= size else low, axis, size)
    return "clip"  # the rest are within bounds: the cheapest mode that also counts negative ones from the end
