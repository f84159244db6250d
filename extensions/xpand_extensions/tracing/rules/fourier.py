"""Rules of Fourier transforms, which are linear.

The matrix of a transform is symmetric, so its transpose is the same transform. It cuts or zero-fills arrays on the
other side.
"""

from collections.abc import Callable
from typing import Any, Final

from xpand.extend import device_of

from ..._bounds import index_dtype
from ...extend._derivatives import LINEAR
from ._derived import Axes, dtype_of_result, same
from .products import conjugate

_SWAPPED: Final = {"backward": "forward", "ortho": "ortho", "forward": "backward"}
"""The normalization of the inverse transform with the same factor."""


def fitted(xp: Any, x: Any, axis: int, size: int) -> Any:
    """Cut or zero-fill an axis to a length."""
    found = x.shape[axis]
    if found == size:
        return x
    axis %= x.ndim
    if found > size:
        return x[(*(slice(None),) * axis, slice(0, size), ...)]
    shape = [size - found if i == axis else length for i, length in enumerate(x.shape)]
    return xp.concat([x, xp.zeros(tuple(shape), dtype=x.dtype, device=device_of(x))], axis=axis)


def _transposed(name: str) -> Callable[..., Any]:
    def rule(xp: Any, ct: Any, x: Any, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
        return fitted(xp, getattr(xp.fft, name)(ct, axis=axis, norm=norm), axis, x.shape[axis])

    return rule


def _transposed_along_all(name: str) -> Callable[..., Any]:
    def rule(xp: Any, ct: Any, x: Any, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
        axes = _axes(s, axes, x.ndim)
        found = getattr(xp.fft, name)(ct, axes=axes, norm=norm)
        for axis in axes:
            found = fitted(xp, found, axis, x.shape[axis])
        return found

    return rule


def _weights(xp: Any, like: Any, n: int, axis: int, twice: float) -> Any:
    """Make the weights of half a spectrum: 2 for terms that occur twice in the whole spectrum, and 1 for others."""
    size = n // 2 + 1
    index = xp.arange(size, dtype=index_dtype(xp, device_of(like)), device=device_of(like))
    single = xp.logical_or(index == 0, 2 * index == n)
    one = xp.ones((size,), dtype=like.dtype, device=device_of(like))
    return xp.reshape(xp.where(single, one, twice * one), (size, *(1,) * (like.ndim - 1 - axis % like.ndim)))


def _rfft_transposed(xp: Any, ct: Any, x: Any, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    n = x.shape[axis] if n is None else n
    half = xp.conj(ct) * _weights(xp, ct, n, axis, 0.5)
    return fitted(xp, xp.fft.irfft(half, n=n, axis=axis, norm=_SWAPPED[norm]), axis, x.shape[axis])


def _irfft_transposed(xp: Any, ct: Any, x: Any, n: Any = None, axis: int = -1, norm: str = "backward") -> Any:
    half = xp.conj(xp.fft.rfft(ct, axis=axis, norm=_SWAPPED[norm]))
    return fitted(xp, half * _weights(xp, half, ct.shape[axis], axis, 2.0), axis, x.shape[axis])


def _axes(s: Any, axes: Any, ndim: int) -> tuple[int, ...]:
    """List the axes of a multidimensional transform."""
    if axes is not None:
        return tuple(axes)
    return tuple(range(ndim) if s is None else range(-len(s), 0))


def _rfftn(xp: Any, x: Any, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
    axes = _axes(s, axes, x.ndim)
    x = xp.fft.rfft(x, n=None if s is None else s[-1], axis=axes[-1], norm=norm)
    return xp.fft.fftn(x, s=None if s is None else s[:-1], axes=axes[:-1], norm=norm) if len(axes) > 1 else x


def _irfftn(xp: Any, x: Any, s: Any = None, axes: Any = None, norm: str = "backward") -> Any:
    axes = _axes(s, axes, x.ndim)
    if len(axes) > 1:
        x = xp.fft.ifftn(x, s=None if s is None else s[:-1], axes=axes[:-1], norm=norm)
    return xp.fft.irfft(x, n=None if s is None else s[-1], axis=axes[-1], norm=norm)


_ONE: Final = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
_SEVERAL: Final = ("fftn", "ifftn", "rfftn", "irfftn")
_SHIFTS: Final = ("fftshift", "ifftshift")

DERIVATIVES: Final[dict[str, Any]] = dict.fromkeys(
    [f"fft.{name}" for name in ("fft", "ifft", "rfft", "irfft", "fftn", "ifftn", *_SHIFTS)], (LINEAR,)
)

TRANSPOSES: Final[dict[str, Any]] = {
    **{f"fft.{name}": (_transposed(name),) for name in ("fft", "ifft")},
    **{f"fft.{name}": (_transposed_along_all(name),) for name in ("fftn", "ifftn")},
    "fft.rfft": (_rfft_transposed,),
    "fft.irfft": (_irfft_transposed,),
    "fft.fftshift": (lambda xp, ct, x, axes=None: xp.fft.ifftshift(ct, axes=axes),),
    "fft.ifftshift": (lambda xp, ct, x, axes=None: xp.fft.fftshift(ct, axes=axes),),
}

DECOMPOSITIONS: Final[dict[str, Any]] = {
    "fft.hfft": lambda xp, x, n=None, axis=-1, norm="backward": xp.fft.irfft(
        conjugate(xp, x), n=n, axis=axis, norm=_SWAPPED[norm]
    ),
    "fft.ihfft": lambda xp, x, n=None, axis=-1, norm="backward": xp.conj(
        xp.fft.rfft(x, n=n, axis=axis, norm=_SWAPPED[norm])
    ),
    "fft.rfftn": _rfftn,
    "fft.irfftn": _irfftn,
}


def _length(name: str, size: int, n: Any) -> int:
    """Return the length of an axis after a transform."""
    inverse = name in ("irfft", "hfft")
    n = n if n is not None else 2 * (size - 1) if inverse else size
    if n < 1:
        raise ValueError(f"{name}: takes at least one element along an axis, got {n}")
    return int(n // 2 + 1 if name in ("rfft", "ihfft") else n)


def _along_one(name: str) -> Axes:
    return Axes(
        "...[(axis=-1)]->...[(axis:k)]",
        sizes=lambda lengths, n=None, **params: {"k": _length(name, lengths["axis"][0], n)},
        dtype=lambda namespace, avals, params: dtype_of_result(namespace, f"fft.{name}", tuple(avals), {"n": 1}),
    )


def _along_several(name: str) -> Axes:
    def sizes(lengths: Any, s: Any = None, **params: Any) -> dict[str, Any]:
        given = lengths["axes"]
        last = len(given) - 1
        along = [name[:-1] if i == last else "fft" for i in range(len(given))]
        return {"k": tuple([_length(along[i], n, None if s is None else s[i]) for i, n in enumerate(given)])}

    def dtype(namespace: Any, avals: Any, params: Any) -> Any:
        return dtype_of_result(namespace, f"fft.{name}", tuple(avals), {"s": (1,), "axes": (-1,)})

    positions = lambda ndim, s=None, axes=None, **params: _axes(s, axes, ndim)
    return Axes("...[(axes)]->...[(axes:k)]", sizes=sizes, dtype=dtype, positions=positions)


AXES: Final[dict[str, Axes]] = {
    **{f"fft.{name}": _along_one(name) for name in _ONE},
    **{f"fft.{name}": _along_several(name) for name in _SEVERAL},
    **{f"fft.{name}": Axes("...[(axes)]->...[(axes)]", dtype=same) for name in _SHIFTS},
}
