"""Fourier transforms."""

from collections.abc import Callable
from typing import Any, Final

from .._arguments import all_axes, array, floating, integers, shape_of
from .._table import implements


def _norm(norm: str | None) -> str:
    return "backward" if norm is None else norm


def _along_one_axis(name: str) -> Callable[..., Any]:
    def transform(xp: Any, a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> Any:
        return getattr(xp.fft, name)(floating(xp, a), n=integers(n), axis=integers(axis), norm=_norm(norm))

    return transform


def _along_axes(public_name: str, name: str, default: Any) -> Callable[..., Any]:
    def transform(xp: Any, a: Any, s: Any = None, axes: Any = default, norm: str | None = None) -> Any:
        x, sizes = floating(xp, a), None if s is None else shape_of(s)
        if axes is None:
            axes = range(x.ndim) if sizes is None else range(-len(sizes), 0)
        axes = [i for axis in shape_of(tuple(axes)) for i in all_axes(x, axis)]
        if sizes is not None:
            if len(sizes) != len(axes):
                raise ValueError(f"np.fft.{public_name}: s must have a size for each of the axes {axes}, got {sizes}")
            sizes = tuple([x.shape[axis] if size == -1 else size for size, axis in zip(sizes, axes)])
        if len({*axes}) < len(axes):
            return _one_by_one(xp, name, x, sizes, axes, _norm(norm))
        return getattr(xp.fft, name)(x, s=sizes, axes=tuple(axes), norm=_norm(norm))

    return transform


def _one_by_one(xp: Any, name: str, x: Any, sizes: Any, axes: list[int], norm: str) -> Any:
    """Transform along one axis after the other, in NumPy's order, which counts if an axis is named twice."""
    names = ["ifft" if name.startswith("i") else "fft"] * (len(axes) - 1) + [name.removesuffix("n")]
    if sizes is None:
        sizes = [x.shape[axis] for axis in axes]
        sizes[-1] = 2 * (sizes[-1] - 1) if name == "irfftn" else sizes[-1]
    steps = list(zip(names, sizes, axes))
    for one, n, axis in steps if name == "irfftn" else steps[::-1]:
        x = getattr(xp.fft, one)(x, n=n, axis=axis, norm=norm)
    return x


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    implements(f"fft.{_name}")(_along_one_axis(_name))
_PAIR: Final = (-2, -1)
for _name in ("fft", "ifft", "rfft", "irfft"):
    implements(f"fft.{_name}n")(_along_axes(f"{_name}n", f"{_name}n", None))
    implements(f"fft.{_name}2")(_along_axes(f"{_name}2", f"{_name}n", _PAIR))


@implements("fft.fftshift")
def _fftshift(xp: Any, x: Any, axes: Any = None) -> Any:
    x = array(xp, x)
    return xp.fft.fftshift(x, axes=all_axes(x, axes))


@implements("fft.ifftshift")
def _ifftshift(xp: Any, x: Any, axes: Any = None) -> Any:
    x = array(xp, x)
    return xp.fft.ifftshift(x, axes=all_axes(x, axes))
