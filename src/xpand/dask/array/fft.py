"""Fourier transforms along axes with any number of chunks."""

from collections.abc import Callable, Sequence
from typing import Any

import dask.array as da
import numpy as np
from array_api_compat.dask.array.fft import *
from array_api_compat.dask.array.fft import __all__ as _compat_names

from ...typing import Array, Device, DType
from ._blocks import along_axis
from ._creation import real
from ._info import check_device

_NORMS = ("backward", "ortho", "forward", None)


def _complex(dtype: Any) -> Any:
    return np.result_type(dtype, np.complex64)


def _real(dtype: Any) -> Any:
    return np.empty(0, dtype=_complex(dtype)).real.dtype


def _same(n: int) -> int:
    return n


def _half(n: int) -> int:
    return n // 2 + 1


def _transform(
    name: str, dtype: Callable[[Any], Any], from_size: Callable[[int], int], to_size: Callable[[int], int]
) -> Callable[..., Array]:
    """Make a one-dimensional transform.

    Args:
        name: The name of the transform.
        dtype: Takes the data type of the argument, and returns that of the result.
        from_size: Takes the size of the axis, and returns the default length `n` of the transform.
        to_size: Takes `n`, and returns the size of the axis in the result.
    """

    def function(x: Array, /, n: int | None = None, axis: int = -1, norm: str | None = "backward") -> Array:
        if norm not in _NORMS:
            raise ValueError(f"{name}: norm must be 'backward', 'ortho' or 'forward', got {norm!r}")
        if n is None:
            n = from_size(x.shape[axis])
        if not n >= 1:  # also for an unknown size, which is NaN
            raise ValueError(f"{name}: the transform along axis {axis} needs a known length n of 1 or more, got {n}")
        return along_axis(f"fft.{name}", x, axis, dtype=dtype(x.dtype), size=to_size(n), n=n, norm=norm)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Compute the one-dimensional transform `{name}`. The axis is merged into one chunk."""
    return function


fft = _transform("fft", _complex, _same, _same)
ifft = _transform("ifft", _complex, _same, _same)
rfft = _transform("rfft", _complex, _same, _half)
irfft = _transform("irfft", _real, lambda size: 2 * (size - 1), _same)
hfft = _transform("hfft", _real, lambda size: 2 * (size - 1), _same)
ihfft = _transform("ihfft", _complex, _same, _half)


def _sizes_and_axes(
    name: str, x: Array, s: Sequence[int] | None, axes: Sequence[int] | None
) -> list[tuple[int | None, int]]:
    """Return the length of the transform (None for the size of the axis) and the axis, for each axis."""
    if axes is None:
        axes = range(-(x.ndim if s is None else len(s)), 0)
    lengths = [None] * len(axes) if s is None else list(s)
    if len(lengths) != len(axes) or not lengths:
        raise ValueError(f"{name}: s and axes must have the same length of 1 or more, got s={s} and axes={tuple(axes)}")
    return list(zip(lengths, axes))


def fftn(
    x: Array, /, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = "backward"
) -> Array:
    """Transform along several axes, one after another; only one at a time is merged into one chunk."""
    for n, axis in _sizes_and_axes("fftn", x, s, axes):
        x = fft(x, n, axis, norm)
    return x


def ifftn(
    x: Array, /, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = "backward"
) -> Array:
    """Compute the inverse transform along several axes, one after another."""
    for n, axis in _sizes_and_axes("ifftn", x, s, axes):
        x = ifft(x, n, axis, norm)
    return x


def rfftn(
    x: Array, /, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = "backward"
) -> Array:
    """Transform a real array along several axes; along the last, only nonnegative frequencies are returned."""
    *others, (n, axis) = _sizes_and_axes("rfftn", x, s, axes)
    x = rfft(x, n, axis, norm)
    for n, axis in others:
        x = fft(x, n, axis, norm)
    return x


def irfftn(
    x: Array, /, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: str | None = "backward"
) -> Array:
    """Compute the inverse of `rfftn`, a real array; along the last axis, `x` has the nonnegative frequencies."""
    *others, (n, axis) = _sizes_and_axes("irfftn", x, s, axes)
    for m, other in others:
        x = ifft(x, m, other, norm)
    return irfft(x, n, axis, norm)


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | None = None, chunks: Any = "auto"
) -> Array:
    """Return the `n` sample frequencies of `fft` for samples `d` apart, nonnegative ones first."""
    check_device("fftfreq", device)
    return da.fft.fftfreq(n, d, chunks=chunks).astype(real(dtype))


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | None = None, chunks: Any = "auto"
) -> Array:
    """Return the `n // 2 + 1` sample frequencies of `rfft` for `n` samples `d` apart."""
    check_device("rfftfreq", device)
    return da.fft.rfftfreq(n, d, chunks=chunks).astype(real(dtype))


__all__ = sorted({*_compat_names, "hfft", "ihfft"})


def __dir__() -> list[str]:
    return __all__
