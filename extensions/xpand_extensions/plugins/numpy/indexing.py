"""Indexing on NumPy: `np.take`, which checks bounds in the same pass, also for multi-indices."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from xpand.extend import LibraryArray as Array
from xpand_extensions._bounds import Mode
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.generic import indexing as generic
from xpand_extensions.indexing._slice import SliceMode

from ._rows import FEW, are_within, blocks, flat

_MOVING: Final = ("clip", "wrap")


def _checks_itself(x: Array, indices: Array, mode: Mode | None) -> bool:
    """Return whether NumPy raises for indices out of bounds. It accepts them for empty arrays, and wraps uint64.

    Within bounds, all modes agree. If "clip" or "wrap" is given, indices are mostly out of bounds.
    """
    return mode not in _MOVING and indices.dtype != np.uint64 and x.size > 0


def take(x: Array, indices: Array, /, *, axis: Any = None, mode: Any = None, fill_value: Any = None) -> Array:
    if _checks_itself(x, indices, mode):
        try:
            return np.take(x, indices, axis)
        except IndexError:
            # Repeat the call with the generic version, whose messages name the argument.
            pass
    return generic.take(x, indices, axis=axis, mode=mode, fill_value=fill_value)


@forwards_to(generic.gather)
def gather(x: Array, indices: Array, /, *, axis: int = 0, batch_dims: int = 0, mode: Any = None, **fill: Any) -> Array:
    if batch_dims == 0 and _checks_itself(x, indices, mode):
        try:
            return np.take(x, indices, axis)
        except IndexError:
            pass
    return generic.gather(x, indices, axis=axis, batch_dims=batch_dims, mode=mode, **fill)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1, mode: Any = None, fill_value: Any = None) -> Array:
    if _checks_itself(x, indices, mode):
        try:
            return np.take_along_axis(x, indices, axis)
        except IndexError:
            pass
    return generic.take_along_axis(x, indices, axis=axis, mode=mode, fill_value=fill_value)


@forwards_to(generic.gather_nd)
def gather_nd(x: Array, indices: Array, /, *, mode: Any = None, fill_value: Any = None, **where: Any) -> Array:
    k = indices.shape[-1]
    sizes, rest = x.shape[:k], x.shape[k:]
    is_plain = k and not where["batch_dims"] and where["axes"] == tuple(range(k))
    if is_plain and indices.size <= k * FEW and _checks_itself(x, indices, mode):
        try:
            return x[tuple([indices[..., j] for j in range(k)])]
        except IndexError:
            pass
    if is_plain and mode not in _MOVING and are_within(indices, sizes):
        if not x.flags.c_contiguous:
            return x[tuple(indices[..., j] for j in range(k))]
        # Ten million pairs take 80 ms, by NumPy's own index 190 ms.
        table, positions = x.reshape(-1, *rest), indices.reshape(-1, k)
        found = np.empty((len(positions), *rest), dtype=x.dtype)
        for part in blocks(len(positions)):
            # The indices are within bounds. "clip" avoids a copy that `np.take` makes for `out` with "raise".
            np.take(table, flat(positions[part], sizes), axis=0, out=found[part], mode="clip")
        return found.reshape(indices.shape[:-1] + rest)
    return generic.gather_nd(x, indices, mode=mode, fill_value=fill_value, **where)


def boolean_mask(x: Array, mask: Array, /, *, axis: int = 0, size: Any = None, fill_value: Any = None) -> Array:
    # Positions take a fifth of the time of NumPy's own index by a large mask.
    positions = np.flatnonzero(mask)[:size]
    before, after = x.shape[:axis], x.shape[axis + mask.ndim :]
    found = np.take(x.reshape(*before, mask.size, *after), positions, axis)
    if size is None:
        return found
    out = np.full((*before, size, *after), 0 if fill_value is None else fill_value, dtype=x.dtype)
    out[(slice(None),) * axis + (slice(len(positions)),)] = found
    return out


def nonzero(x: Array, /, *, size: int | None = None, fill_value: int = 0) -> tuple[Array, ...]:
    found = np.nonzero(x)
    return found if size is None else tuple([_of_size(part, size, fill_value) for part in found])


def _of_size(x: Array, size: int, fill_value: Any) -> Array:
    out = np.full((size,), fill_value, dtype=x.dtype)
    out[: len(x)] = x[:size]
    return out


def put_slice(x: Array, values: Array, /, starts: Sequence[int | Array], *, mode: SliceMode | None = None) -> Array:
    if mode == "wrap":
        return generic.put_slice(x, values, starts, mode=mode)
    out = np.array(x)
    out[tuple([slice(start, start + size) for start, size in zip(starts, values.shape)])] = values
    return out


def unravel_index(
    indices: Array, /, shape: tuple[int, ...], *, mode: Mode | None = None, fill_value: int = -1
) -> tuple[Array, ...]:
    if mode not in _MOVING and shape and indices.ndim:
        try:
            return np.unravel_index(indices, shape)
        except (TypeError, ValueError):  # uint64, which NumPy doesn't take, or out of bounds
            pass
    return generic.unravel_index(indices, shape, mode=mode, fill_value=fill_value)


def ravel_multi_index(
    multi_index: tuple[Array, ...], /, shape: tuple[int, ...], *, mode: Mode | None = None, fill_value: int = -1
) -> Array:
    if mode not in _MOVING and any(part.ndim for part in multi_index):
        try:
            return np.ravel_multi_index(multi_index, shape)
        except (TypeError, ValueError):
            pass
    return generic.ravel_multi_index(multi_index, shape, mode=mode, fill_value=fill_value)
