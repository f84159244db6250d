"""Fourier transforms along axes by name.

`axis` is a name, or an `Axis` with the length of the transform; a sequence in the order of the transforms; or a
dictionary from axes to lengths, to an `Axis` that replaces the axis, or to None for the unchanged length. By default,
the last axis is transformed. The module can be called like its function `fft`. Source: `haliax.fft`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from xpand import array_namespace
from xpand.extend import Array, Device, Namespace, knows_namespace, namespace_or_default

from .._modules import make_callable
from . import _axis
from ._array import NamedArray, created, interned, make
from ._axis import Axis, AxisSelection, AxisSelector
from ._plans import attribute, check_named, floating, position, selected

__all__ = ["fft", "fftfreq", "fftshift", "hfft", "ifft", "ifftshift", "ihfft", "irfft", "rfft", "rfftfreq"]
__dir__ = __all__.copy

AxisSizeLike: TypeAlias = int | Axis | None
AxisMapping: TypeAlias = Mapping[AxisSelector, AxisSizeLike]
TransformedAxes: TypeAlias = AxisSelector | Sequence[AxisSelector] | AxisMapping | None

make_callable(__name__)


def _transformed(name: str, a: NamedArray, axis: TransformedAxes, norm: str | None) -> NamedArray:
    check_named(name, "a", a)
    positions, sizes, renamed = _axes(name, a, axis)
    x = _accepted(name, a.array)
    norm = "backward" if norm is None else norm
    names = tuple([renamed.get(i, each) for i, each in enumerate(a.names)])
    _axis.different(name, names)
    xp = array_namespace(x)
    if len(positions) == 1:
        found = attribute(xp, f"fft.{name}")(x, n=sizes[0], axis=positions[0], norm=norm)
    elif name in ("hfft", "ihfft"):
        raise ValueError(f"{name}: takes one axis, got {len(positions)}; transform them one after the other")
    else:
        lengths = [x.shape[i] if size is None else size for i, size in zip(positions, sizes)]
        if name == "irfft" and sizes[-1] is None:
            lengths[-1] = 2 * (lengths[-1] - 1)
        found = attribute(xp, f"fft.{name}n")(x, s=tuple(lengths), axes=positions, norm=norm)
    return make(found, interned(names))


def _accepted(name: str, x: Array) -> Array:
    """Convert to a data type that the standard's function accepts. The namespaces of xpand accept every type."""
    if knows_namespace(type(x)):
        return x
    xp = array_namespace(x)
    x = floating(xp, x)
    if name in ("rfft", "ihfft") or xp.isdtype(x.dtype, "complex floating"):
        return x
    return xp.astype(x, xp.result_type(x.dtype, xp.complex64))


def _axes(name: str, a: NamedArray, axis: Any) -> tuple[tuple[int, ...], list[int | None], dict[int, str]]:
    """Return the positions of axes, their lengths or None, and the names of renamed ones."""
    if axis is None:
        if not a.names:
            raise ValueError(f"{name}: takes an array with one axis or more, got none")
        return (len(a.names) - 1,), [None], {}
    if not isinstance(axis, Mapping):
        lengths = _axis.pairs(name, axis)
        _axis.different(name, [each for each, _ in lengths])
        axis = dict(lengths)
    if not axis:
        raise ValueError(f"{name}: takes one axis or more, got none")
    positions, sizes, renamed = [], [], {}
    for each, size in axis.items():
        i = position(name, a, each)
        positions.append(i)
        sizes.append(size.size if isinstance(size, Axis) else size)
        if isinstance(size, Axis):
            renamed[i] = size.name
    return tuple(positions), sizes, renamed


def _shifted(name: str, x: NamedArray, axes: AxisSelection | None) -> NamedArray:
    check_named(name, "x", x)
    positions = tuple([x.names.index(each) for each in selected(name, x, axes)])
    return make(attribute(array_namespace(x.array), f"fft.{name}")(x.array, axes=positions), x.names)


def _frequencies(name: str, axis: Axis, d: float, xp: Namespace | str | None, device: Device | None) -> NamedArray:
    (found,) = _axis.specified(name, axis)
    function = attribute(namespace_or_default(xp, name), f"fft.{name}")
    return created(function(found.size, d=d, device=device), (found.name,))


def fft(a: NamedArray, axis: TransformedAxes = None, norm: str | None = None) -> NamedArray:
    """Compute the discrete Fourier transform.

    >>> import numpy as np
    >>> fft(NamedArray(np.asarray([1.0, 0.0]), "t"), "t")
    NamedArray({'t': 2}, array([1.+0.j, 1.+0.j]))
    """
    return _transformed("fft", a, axis, norm)


def ifft(a: NamedArray, axis: TransformedAxes = None, norm: str | None = None) -> NamedArray:
    """Compute the inverse discrete Fourier transform."""
    return _transformed("ifft", a, axis, norm)


def rfft(a: NamedArray, axis: TransformedAxes = None, norm: str | None = None) -> NamedArray:
    """Compute the transform of real numbers. Along the last given axis, the result has only the first half."""
    return _transformed("rfft", a, axis, norm)


def irfft(a: NamedArray, axis: TransformedAxes = None, norm: str | None = None) -> NamedArray:
    """Compute the inverse of `rfft`. By default, the last given axis gets an even length."""
    return _transformed("irfft", a, axis, norm)


def hfft(a: NamedArray, axis: TransformedAxes = None, norm: str | None = None) -> NamedArray:
    """Compute the real transform of an array with Hermitian symmetry, along one axis."""
    return _transformed("hfft", a, axis, norm)


def ihfft(a: NamedArray, axis: TransformedAxes = None, norm: str | None = None) -> NamedArray:
    """Compute the inverse of `hfft`, along one axis."""
    return _transformed("ihfft", a, axis, norm)


def fftshift(x: NamedArray, axes: AxisSelection | None = None) -> NamedArray:
    """Move the zero frequency to the middle, along all axes or the given ones."""
    return _shifted("fftshift", x, axes)


def ifftshift(x: NamedArray, axes: AxisSelection | None = None) -> NamedArray:
    """Move the zero frequency from the middle to the front: the inverse of `fftshift`."""
    return _shifted("ifftshift", x, axes)


def fftfreq(
    axis: Axis, d: float = 1.0, *, xp: Namespace | str | None = None, device: Device | None = None
) -> NamedArray:
    """Return the frequencies of `fft` along an axis, for samples with the distance `d`.

    >>> fftfreq(Axis("t", 4), xp="numpy")
    NamedArray({'t': 4}, array([ 0.  ,  0.25, -0.5 , -0.25]))
    """
    return _frequencies("fftfreq", axis, d, xp, device)


def rfftfreq(
    axis: Axis, d: float = 1.0, *, xp: Namespace | str | None = None, device: Device | None = None
) -> NamedArray:
    """Return the frequencies of `rfft` along an axis: one more than half its length."""
    return _frequencies("rfftfreq", axis, d, xp, device)
