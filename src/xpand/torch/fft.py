"""The standard's `fft` extension for PyTorch, and all other functions of `torch.fft`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from array_api_compat.torch.fft import *
from array_api_compat.torch.fft import __all__ as _compat_all

from .._precision import PRECISION, dtype_for
from ..typing import Device, DType, LibraryArray as Array
from . import _private as private
from ._concrete import holds_at_some_level

_XP: Any = sys.modules[__package__]
_Norm = Literal["backward", "ortho", "forward"]


def _is_empty(x: Array) -> bool:
    """Return whether an array has no elements, or under `vmap` no lanes."""
    # torch.compile cannot see below the levels of torch.func.
    if not private.are_levels_active() or torch.compiler.is_dynamo_compiling():
        return not x.numel()
    return holds_at_some_level(lambda x: not x.numel(), x)


def _of_stacks(native: Callable[..., Array], x: Array, axes: Sequence[int] | None, **kwargs: Any) -> Array:
    """Transform a stack. MKL raises an error for an empty stack, so transform zeros, and cut off the result."""
    transformed = set(range(x.ndim)) if axes is None else {axis % x.ndim for axis in axes}
    empty = [axis for axis, size in enumerate(x.shape) if size == 0 and axis not in transformed]
    if not empty and not x.numel():
        return native(x, **kwargs)
    shape = [1 if axis in empty else size for axis, size in enumerate(x.shape)]
    found = native(torch.zeros(shape, dtype=x.dtype, device=x.device), **kwargs)
    for axis in empty:
        found = found.narrow(axis, 0, 0)
    total = torch.sum(x, tuple(range(x.ndim)), True)  # makes the result depend on `x`, for derivatives and `vmap`
    return found + (total if found.is_complex() or not x.is_complex() else total.real)


def _along_axis(native: Callable[..., Array]) -> Callable[..., Array]:
    def function(
        x: Array, /, n: int | None = None, axis: int = -1, norm: _Norm | None = "backward", **kwargs: Any
    ) -> Array:
        axis = kwargs.pop("dim", axis)
        if not _is_empty(x):
            return native(x, n, axis, norm, **kwargs)
        return _of_stacks(native, x, (axis,), n=n, dim=axis, norm=norm, **kwargs)

    return _named(function, native)


def _along_axes(native: Callable[..., Array]) -> Callable[..., Array]:
    def function(
        x: Array,
        /,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: _Norm | None = "backward",
        **kwargs: Any,
    ) -> Array:
        axes = kwargs.pop("dim", axes)
        if not _is_empty(x):
            return native(x, s, axes, norm, **kwargs)
        last = None if s is None else range(-len(s), 0)
        return _of_stacks(native, x, last if axes is None else axes, s=s, dim=axes, norm=norm, **kwargs)

    return _named(function, native)


def _named(function: Callable[..., Array], native: Callable[..., Array]) -> Callable[..., Array]:
    function.__name__ = function.__qualname__ = name = native.__name__.removeprefix("fft_")
    function.__doc__ = f"Compute `torch.fft.{name}`, also for empty stacks."
    return function


fft, ifft, rfft, irfft, hfft, ihfft = map(
    _along_axis, (torch.fft.fft, torch.fft.ifft, torch.fft.rfft, torch.fft.irfft, torch.fft.hfft, torch.fft.ihfft)
)
fftn, ifftn, rfftn, irfftn = map(_along_axes, (torch.fft.fftn, torch.fft.ifftn, torch.fft.rfftn, torch.fft.irfftn))


def fftfreq(
    n: int, /, d: float = 1.0, *, dtype: DType | None = None, device: Device | None = None, **kwargs: Any
) -> Array:
    """Return the `n` sample frequencies of `fft` for samples `d` apart, nonnegative ones first."""
    if PRECISION.active and dtype is None:
        dtype = dtype_for(_XP, "real floating", device)
    return torch.fft.fftfreq(n, d, dtype=dtype, device=device, **kwargs)


def rfftfreq(
    n: int, /, d: float = 1.0, *, dtype: DType | None = None, device: Device | None = None, **kwargs: Any
) -> Array:
    """Return the `n // 2 + 1` sample frequencies of `rfft` for `n` samples `d` apart."""
    if PRECISION.active and dtype is None:
        dtype = dtype_for(_XP, "real floating", device)
    return torch.fft.rfftfreq(n, d, dtype=dtype, device=device, **kwargs)


__all__ = list(_compat_all)


def __dir__() -> list[str]:
    return __all__
