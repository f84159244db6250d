"""Arrays by the addresses of their memory."""

from dataclasses import dataclass, field
from typing import Any

from xpand.extend import Array, DType, Namespace, checks, describe, namespace_or_default

from .._dispatch import pluggable
from ..devices._list import library_under
from ._arrays import resolved
from ._dtypes import checked


@dataclass(frozen=True)
class Pointer:
    """The memory of an array: its address, its contents, and its owner.

    Args:
        address: The address of the element at the index (0, …, 0).
        shape: The shape of the array.
        dtype: The data type of the elements: its name, such as "float32", or a data type of any library.
        strides: The distance in bytes to the next element along each axis. None: no gaps, with the last axis varying
            fastest.
        device: The device of the memory: "cpu", or, on a GPU, for example "cuda:0".
        owner: An object that keeps the memory alive as long as it is referenced.
        read_only: Whether writing into the memory is forbidden.

    Raises:
        TypeError: `address` or a size is not an integer, `dtype` is not numeric, or `device` is not a string.
        ValueError: A size or the address is negative, or the numbers of strides and axes differ.

    >>> p = Pointer(4096, (2, 3), "float32")
    >>> p.strides, p.nbytes
    ((12, 4), 24)
    """

    address: int
    shape: tuple[int, ...]
    dtype: DType | str
    strides: tuple[int, ...] = None  # type: ignore[assignment] # it is computed
    device: str = "cpu"
    owner: Any = field(default=None, repr=False, compare=False)
    read_only: bool = False

    def __post_init__(self) -> None:
        """Check the description, and normalize it."""
        name, width = checked("Pointer", self.dtype)
        shape = checks.shape("Pointer", "shape", self.shape)
        strides: tuple[int, ...] | None = self.strides
        if strides is None:
            strides = _contiguous(shape, width)
        else:
            strides = tuple(checks.integer("Pointer", "strides", each) for each in strides)
            if len(strides) != len(shape):
                raise ValueError(f"Pointer: there must be one stride for each of {len(shape)} axes, got {strides}")
        if not isinstance(self.device, str):
            raise TypeError(f"Pointer: device must be a string such as 'cpu' or 'cuda:0', got {describe(self.device)}")
        checked_fields = {
            "address": checks.integer("Pointer", "address", self.address, minimum=0),
            "shape": shape,
            "dtype": name,
            "strides": strides,
            "read_only": checks.boolean("Pointer", "read_only", self.read_only),
        }
        for key, value in checked_fields.items():
            object.__setattr__(self, key, value)

    @property
    def itemsize(self) -> int:
        """The number of bytes of an element."""
        return checked("Pointer", self.dtype)[1]

    @property
    def nbytes(self) -> int:
        """The number of bytes of all elements, without gaps."""
        count = self.itemsize
        for size in self.shape:
            count *= size
        return count

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements have no gaps, with the last axis varying fastest."""
        return self.strides == _contiguous(self.shape, self.itemsize)


def _contiguous(shape: tuple[int, ...], width: int) -> tuple[int, ...]:
    strides = []
    for size in reversed(shape):
        strides.append(width)
        width *= size
    return tuple(reversed(strides))


@pluggable
def pointer(x: Array, /) -> Pointer:
    """Return the address of an array's memory, with the facts needed to read it.

    Use it for libraries in other languages, through `ctypes` or `cffi`, and for `from_pointer`. Nothing is copied: the
    memory is that of `x`, and the result keeps `x` alive.

    Args:
        x: An array of any library with its values in memory: on the host, or on a GPU.

    Returns:
        A `Pointer`, whose owner is `x`.

    Raises:
        TypeError: `x` is not an array, is traced by a transformation, or requires a gradient.
        ValueError: The memory does not have the values, because it has another byte order or a pending conjugation; or
            the values are spread over several devices.
        UnsupportedError: The library's arrays have no memory (Dask), or don't report its address.

    Source: `Nx.to_pointer`.

    >>> import numpy as np
    >>> x = np.zeros((2, 3), dtype=np.float32)
    >>> p = pointer(x)
    >>> p.address == x.ctypes.data, p.shape, p.strides, p.dtype
    (True, (2, 3), (12, 4), 'float32')
    """
    checks.namespace_of("pointer", x=x)
    x = resolved(x)
    return pointer.native(x)(x)


@pluggable
def from_pointer(memory: Pointer, /, *, xp: Namespace | str | None = None) -> Array:
    """Create an array over existing memory, without a copy.

    Args:
        memory: The result of `pointer`, or a `Pointer` that describes the memory. Its owner must not be None: the array
            refers to the owner, which keeps the memory alive.
        xp: The library of the array: a namespace or a name. None: `xpand.default_namespace()`.

    Returns:
        An array of the library over this memory, without a copy. It can't be checked whether there is memory at the
        address.

    Raises:
        TypeError: `memory` is not a `Pointer`, or the library has no such data type.
        ValueError: There is no owner, so nothing would keep the memory alive. Or the library can't use the memory: it
            is read-only (PyTorch), has unsupported strides or alignment (PyTorch, JAX), or is on another device.
        UnsupportedError: The library can't make arrays over existing memory.

    Source: `Nx.from_pointer`.

    >>> import numpy as np
    >>> x = np.asarray([1.0, 2.0, 3.0])
    >>> y = from_pointer(pointer(x), xp="numpy")
    >>> y[0] = 7.0
    >>> x
    array([7., 2., 3.])
    >>> from_pointer(Pointer(x.ctypes.data + 8, (2,), "float64", owner=x), xp="numpy")
    array([2., 3.])
    """
    if not isinstance(memory, Pointer):
        raise TypeError(
            f"from_pointer: memory must be a Pointer, got {describe(memory)}; describe the memory at an address with "
            "`Pointer(address, shape, dtype, owner=…)`"
        )
    if memory.owner is None:
        raise ValueError("from_pointer: owner is None, so nothing keeps the memory alive; pass the object that owns it")
    if memory.address == 0 and memory.nbytes:
        raise ValueError("from_pointer: there is no memory at the address 0")
    xp = library_under(namespace_or_default(xp, "from_pointer"))
    return from_pointer.native_for(xp)(memory, xp=xp)
