"""Cast tangents and cotangents to the shape and the data type of their primals."""

from collections.abc import Sequence
from typing import Any

from xpand.extend import Array, Device, DType, device_of

from .._dtypes import plain_sum
from ._core import TracedArray


def namespace_for(namespace: Any, *arrays: Any) -> Any:
    """Return the namespace to compute with: the traced one if an array is traced, otherwise the library's own."""
    for x in arrays:
        if isinstance(x, TracedArray):
            return namespace
    return namespace.base


def spread(namespace: Any, t: Array, shape: tuple[int, ...], dtype: DType) -> Array:
    """Broadcast a tangent to the shape of a result, and cast it to its data type."""
    xp = namespace_for(namespace, t)
    if t.dtype != dtype:
        t = cast(xp, namespace, t, dtype)
    found = tuple(t.shape)
    return t if found == shape or _are_unknown(found, shape) else xp.broadcast_to(t, shape)


def gathered(namespace: Any, ct: Array, shape: tuple[int, ...], dtype: DType) -> Array:
    """Sum a cotangent over the axes along which an array was broadcast, and cast it to the array's data type."""
    xp = namespace_for(namespace, ct)
    found = tuple(ct.shape)
    if found != shape and not _are_unknown(found, shape):
        extra = len(found) - len(shape)
        axes = tuple(range(extra)) + tuple(
            extra + i for i, length in enumerate(shape) if length == 1 and found[extra + i] != 1
        )
        if axes:
            ct = plain_sum(xp, ct, axis=axes)
        if tuple(ct.shape) != shape:
            ct = xp.reshape(ct, shape)
            if tuple(ct.shape) != shape:
                ct = xp.broadcast_to(ct, shape)
    if ct.dtype != dtype:
        ct = cast(xp, namespace, ct, dtype)
    return ct


def _are_unknown(shape: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Return whether shapes differ only by sizes that aren't known yet: NaN, which Dask has for masked elements."""
    return len(shape) == len(other) and all(a == b or (a != a and b != b) for a, b in zip(shape, other))


def cast(xp: Any, namespace: Any, x: Array, dtype: DType) -> Array:
    """Convert floating-point arrays. Conversion of complex to real numbers drops the imaginary part."""
    if namespace.is_complex(x.dtype) and not namespace.is_complex(dtype):
        x = xp.real(x)
    return x if x.dtype == dtype else xp.astype(x, dtype)


def alike(namespace: Any, args: list[Any]) -> list[Any]:
    """Wrap the library's own arrays if one array is traced, since some libraries don't defer operators to it."""
    if not any(isinstance(x, TracedArray) for x in args):
        return args
    return [namespace.wrap(x) if hasattr(x, "dtype") else x for x in args]


def plus(x: Any, y: Any) -> Any:
    """Add two arrays in this order, which determines the memory order of NumPy's sum."""
    if type(x) is Placed or type(y) is Placed:
        if type(x) is type(y) and x.takes(y):
            return x
        x, y = dense(x), dense(y)
    return y.__radd__(x) if isinstance(y, TracedArray) else x + y  # type: ignore[attr-defined]


class Placed:
    """A cotangent that is zero except for one element, or one slice along the last axes: `zeros[key] = value`.

    Adding another one takes the time of the element instead of that of the array. The sum has the same bits as a sum of
    arrays, also the signs of zeros.
    """

    __slots__ = ("_has_several", "_key", "_like", "_value", "_whole", "_xp")

    def __init__(self, xp: Any, like: Any, key: tuple[Any, ...], value: Array) -> None:
        """Take the namespace, an array with the whole shape, a key of non-negative integers and `...`, and a value."""
        self._xp, self._like, self._key, self._value = xp, like, key, value
        self._whole: Any = None
        self._has_several = False

    def takes(self, other: "Placed") -> bool:
        """Add another cotangent if the elements of both are the same or disjoint; return whether it was added."""
        if len(other._key) != len(self._key) or other._value.dtype != self._value.dtype or other._whole is not None:
            return False
        if self._whole is None:
            self._whole = self.dense()
        self._whole[other._key] += other._value
        self._has_several = self._has_several or other._key != self._key
        return True

    def dense(self) -> Array:
        """Return the whole array."""
        if self._whole is None:
            whole = zeros_around(self._xp, self._value, tuple(self._like.shape), device_of(self._like))
            whole[self._key] = self._value
            return whole
        # Add +0.0 as the sum of whole arrays would, which turns -0.0 into +0.0.
        return self._whole + 0.0 if self._has_several else self._whole


def zeros_around(xp: Any, value: Any, shape: tuple[int, ...], device: Device) -> Any:
    """Return zeros into which an array can be written. If it is split among devices, so are the zeros."""
    found = xp.zeros(shape, dtype=value.dtype, device=device)
    if type(value) is not type(found) and isinstance(value, type(found)):
        found = xp.asarray(xp.broadcast_to(xp.zeros_like(xp.sum(value)), shape), copy=True)
    return found


def dense(x: Any) -> Array:
    """Return the whole array of a cotangent."""
    return x.dense() if type(x) is Placed else x


def product(x: Array, y: Array) -> Array:
    """Multiply two arrays in this order, since NumPy rounds complex products differently in the other."""
    return y.__rmul__(x) if isinstance(y, TracedArray) else x * y


def zeros(namespace: Any, like: Any) -> Array:
    """Return zeros with the shape, data type and device of an array."""
    device = getattr(like, "device", None)
    return namespace.base.zeros(tuple(like.shape), dtype=like.dtype, device=device)


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to, or raise `ValueError`."""
    ndim = max(map(len, shapes), default=0)
    result = []
    for i in range(-ndim, 0):
        lengths = {shape[i] for shape in shapes if len(shape) >= -i} - {1}
        if len(lengths) > 1:
            raise ValueError(f"shapes {', '.join(map(str, map(tuple, shapes)))} can't be broadcast together")
        result.append(lengths.pop() if lengths else 1)
    return tuple(result)
