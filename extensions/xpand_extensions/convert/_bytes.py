"""Arrays as bytes, and bytes as arrays."""

import math
import sys
from typing import Any, Final, Literal, TypeAlias

from xpand import array_namespace
from xpand.extend import Device, DType, LibraryArray as Array, Namespace, checks, describe, namespace_or_default

from .. import bits
from .._dispatch import pluggable
from ..devices._list import library_under
from ._arrays import exported, resolved
from ._dtypes import checked, integer_of, is_short, name_of

ByteOrder: TypeAlias = Literal["little", "big", "native"]
"""The order of the bytes of a number: lowest first, highest first, or the order of this machine."""

_ORDERS: Final = ("little", "big", "native")


def to_bytes(x: Array, /, *, limit: int | None = None, byteorder: ByteOrder = "little") -> bytes:
    r"""Return the elements of an array as bytes without gaps, with the last axis varying fastest.

    Args:
        x: An array of any library, data type and shape, on any device.
        limit: The maximum number of elements: only the first ones leave the device. None: all.
        byteorder: Which byte of a number comes first: "little" for the lowest, "big" for the highest, "native" for the
            order of this machine. The real part of a complex number always comes first. A boolean is one byte.

    Returns:
        The bytes of the elements. They do not include the data type and shape, which `from_bytes` takes.

    Raises:
        TypeError: `x` is not an array, is traced by a transformation or requires a gradient, or `limit` is not an
            integer.
        ValueError: `limit` is negative, or the byte order is unknown.

    Source: `Nx.to_binary`.

    >>> import numpy as np
    >>> to_bytes(np.asarray([1, 258], dtype=np.int16))
    b'\x01\x00\x02\x01'
    >>> to_bytes(np.asarray([1, 258], dtype=np.int16), limit=1, byteorder="big")
    b'\x00\x01'
    """
    checks.namespace_of("to_bytes", x=x)
    if limit is not None:
        limit = checks.integer("to_bytes", "limit", limit, minimum=0)
    order = _order("to_bytes", byteorder)
    x = _first(resolved(x), limit)
    xp, name = array_namespace(x), name_of(x.dtype)
    if is_short(name) and hasattr(xp, name):
        x = bits.bitcast.native(x)(x, getattr(xp, integer_of(name)))
    on_host = exported.native(x)(x, to_host=True)
    data: bytes = (on_host if order == sys.byteorder else on_host.byteswap()).tobytes()
    return data


def _first(x: Array, limit: int | None) -> Array:
    """Return at most `limit` elements; if these are not all elements, along one axis."""
    size = math.prod(x.shape)
    if limit is None or limit >= size:
        return x
    xp = array_namespace(x)
    if x.ndim > 1:  # select whole rows first, so that less of the array is copied
        x = x[: -(-limit // (size // x.shape[0])), ...]
    return xp.reshape(x, (-1,))[:limit]


@pluggable
def from_bytes(
    data: Any,
    /,
    dtype: DType | str,
    shape: int | tuple[int, ...] | None = None,
    *,
    byteorder: ByteOrder = "little",
    device: Device | None = None,
    xp: Namespace | str | None = None,
) -> Array:
    """Create an array from bytes, as `to_bytes` returns them.

    Args:
        data: Bytes, or an object with the buffer protocol: `bytes`, `bytearray`, `memoryview`. They are copied.
        dtype: The data type of the elements: one of the library, or its name, such as "float32".
        shape: The shape of the array. None: one axis, of the size given by the number of bytes.
        byteorder: Which byte of a number comes first, as in `to_bytes`.
        device: The device of the array.
        xp: The library: a namespace or a name. None: `xpand.default_namespace()`.

    Raises:
        TypeError: `data` is not bytes, or the library has no such data type.
        ValueError: The number of bytes does not fit `shape` or is not a multiple of the element size, a byte of a
            boolean is neither 0 nor 1, the byte order is unknown, or a size is negative.

    Source: `Nx.from_binary`.

    >>> from_bytes(bytes([1, 0, 2, 1]), "int16", xp="numpy")
    array([  1, 258], dtype=int16)
    """
    xp = library_under(namespace_or_default(xp, "from_bytes"))
    memory = _memory(data)
    name, width = checked("from_bytes", dtype)
    count, rest = divmod(len(memory), width)
    if rest:
        raise ValueError(
            f"from_bytes: {len(memory)} bytes are not a multiple of {width}, the size of an element of {name}"
        )
    if name == "bool" and memory.tobytes().translate(None, b"\0\1"):
        raise ValueError("from_bytes: a boolean must be a byte of 0 or 1, but data has others")
    shape = (count,) if shape is None else checks.shape("from_bytes", "shape", shape)
    if math.prod(shape) != count:
        raise ValueError(
            f"from_bytes: an array of {name} of shape {shape} takes {math.prod(shape) * width} bytes, got {len(memory)}"
        )
    order: Any = _order("from_bytes", byteorder)
    return from_bytes.native_for(xp)(memory, name, shape, byteorder=order, device=device, xp=xp)


def _memory(data: Any) -> memoryview:
    try:
        memory = memoryview(data)
        return memory.cast("B") if memory.c_contiguous else memoryview(memory.tobytes())
    except TypeError:
        raise TypeError(f"from_bytes: data must be bytes, a bytearray or a memoryview, got {describe(data)}") from None


def _order(function: str, byteorder: Any) -> Any:
    """Check the order of bytes, and replace "native" by the order of this machine."""
    checks.choice(function, "byteorder", byteorder, _ORDERS)
    return sys.byteorder if byteorder == "native" else byteorder
