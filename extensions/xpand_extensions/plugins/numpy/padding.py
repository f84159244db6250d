"""Padding on NumPy: make the result once, and fill its ends axis by axis."""

from typing import Any, Final

import numpy as np

from xpand.extend import LibraryArray as Array
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.generic import padding as generic
from xpand_extensions.generic.padding import _pieces as pieces

_MOST_REPEATS: Final = 8
"""If an axis is repeated more often, the generic version reads elements by index."""


@forwards_to(generic.pad)
def pad(x: Array, /, pad_width: Any, *, mode: Any = "constant", constant_values: Any = 0, **options: Any) -> Array:
    if (
        mode == "linear_ramp"
        or options["reflect_type"] == "odd"
        or any(options["interior"])
        or any(
            low < 0 or high < 0 or (mode not in ("constant", "edge") and low + high > _MOST_REPEATS * size)
            for (low, high), size in zip(pad_width, x.shape)
        )
    ):
        with np.errstate(invalid="ignore"):  # complex infinities times a number are NaN in one part
            return generic.pad(x, pad_width, mode=mode, constant_values=constant_values, **options)
    out = np.empty([low + size + high for (low, high), size in zip(pad_width, x.shape)], dtype=x.dtype)
    centre = [slice(low, low + size) for (low, _), size in zip(pad_width, x.shape)]
    out[tuple(centre)] = x
    for axis, (low, high) in enumerate(pad_width):
        if low or high:
            # Earlier axes have their ends already; later axes follow.
            rest = (*centre[axis + 1 :],)
            band = out[(slice(None),) * (axis + 1) + rest] if rest else out
            _fill(band, (slice(None),) * axis, low, x.shape[axis], high, mode, pieces.ends(constant_values, axis))
    return out


def _fill(
    out: Array, key: tuple[slice, ...], low: int, size: int, high: int, mode: Any, constants: tuple[Any, Any]
) -> None:
    """Fill both ends of the axis after those of `key`."""
    end = low + size
    if mode == "constant":
        out[(*key, slice(None, low))] = constants[0]
        out[(*key, slice(end, None))] = constants[1]
    elif mode == "edge":
        out[(*key, slice(None, low))] = out[(*key, slice(low, low + 1))]
        out[(*key, slice(end, None))] = out[(*key, slice(end - 1, end))]
    else:
        for start, length in ((-low, low), (size, high)):
            position = start + low
            for run in pieces.runs(mode, size, start, start + length):
                source = out[(*key, slice(run.start + low, run.stop + low))]
                if run.reverse:
                    source = np.flip(source, axis=len(key))
                step = run.stop - run.start
                out[(*key, slice(position, position + step))] = source
                position += step
