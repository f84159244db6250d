"""Padding on PyTorch, by its functions for constants and copied elements; unsigned integers become signed ones."""

from typing import Any, Final

import torch

from xpand.extend import LibraryArray as Array
from xpand.torch._dtypes import SIGNED
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.generic import padding as generic

_NATIVE: Final = {"edge": "replicate", "wrap": "circular", "reflect": "reflect"}
"""PyTorch's names of the modes."""

_HALF: Final = 2**63


@forwards_to(generic.pad)
def pad(x: Array, /, pad_width: Any, *, mode: Any = "constant", constant_values: Any = 0, **options: Any) -> Array:
    if (
        mode == "constant"
        and isinstance(constant_values, (bool, int, float, complex))
        and not any(options["interior"])
        and all(low >= 0 and high >= 0 for low, high in pad_width)
    ):
        if not x.ndim:
            return x.clone()
        widths = [width for pair in reversed(pad_width) for width in pair]
        return torch.constant_pad_nd(x, widths, constant_values)
    if _is_native(x, pad_width, mode, options["reflect_type"]):
        return _native(x, pad_width, mode)
    options.update(mode=mode, constant_values=constant_values)
    if x.dtype in SIGNED and options["reflect_type"] == "odd":  # the same bits, whether signed or not
        return generic.pad(x.view(SIGNED[x.dtype]), pad_width, **options).view(x.dtype)
    if x.dtype == torch.uint64 and mode == "linear_ramp":
        # Subtract 2**63 from all numbers. The numbers between them change by the same.
        options["end_values"] = _shifted(options["end_values"])
        return _flipped(generic.pad(_flipped(x.view(torch.int64)), pad_width, **options)).view(torch.uint64)
    return generic.pad(x, pad_width, **options)


def _is_native(x: Array, pad_width: Any, mode: str, reflect_type: str) -> bool:
    """Return whether PyTorch supports the padding: of floats, on at most the last three axes, with their elements."""
    return (
        mode in _NATIVE
        and reflect_type == "even"
        and x.dtype in (torch.float32, torch.float64)
        and x.numel() > 0
        and all(low >= 0 and high >= 0 for low, high in pad_width)
        and not any(low or high for low, high in pad_width[:-3])
        and (mode == "edge" or all(max(pair) < size for pair, size in zip(pad_width, x.shape)))
    )


def _native(x: Array, pad_width: Any, mode: str) -> Array:
    """Pad the last 1 to 3 axes; all axes before them are one axis of images, of one channel each."""
    padded = [k for k, pair in enumerate(pad_width) if any(pair)]
    if not padded:
        return x.clone()
    first = padded[0]
    images = x.reshape(-1, 1, *x.shape[first:])
    widths = [width for pair in reversed(pad_width[first:]) for width in pair]
    result = torch.nn.functional.pad(images, widths, mode=_NATIVE[mode])
    return result.reshape(*x.shape[:first], *result.shape[2:])


def _flipped(x: Array) -> Array:
    """Flip the highest bit, which converts between uint64 and int64 with the same order."""
    return x ^ -_HALF


def _shifted(values: Any) -> Any:
    if isinstance(values, tuple):
        return tuple([tuple([_shifted(value) for value in pair]) for pair in values])
    return values - _HALF if isinstance(values, int) else _flipped(values.to(torch.uint64).view(torch.int64))
