"""Arrays by the address of their memory."""

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
        address: Where the element at the index (0, …, 0) begins.
        shape: The shape of the array.
        dtype: The data type of the elements: its name, such as "float32", or one of any library.
        strides: How many bytes further the next element along each axis is. None: the last axis fastest, without gaps.
        device: Where the memory is: "cpu", or, on a GPU, for example "cuda:0".
        owner: An object that keeps the memory alive for as long as there is a reference to it.
        read_only: Whether the memory must not be written into.

    Raises:
        TypeError: `address` or a size is not an integer, `dtype` is not numeric, or `device` is not a string.
        ValueError: A size or the address is negative, or there are not as many strides as axes.

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
                raise ValueError(f"Pointer: strides must be as many as there are axes, {len(shape)}, got {strides}")
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
        """How many bytes an element has."""
        return checked("Pointer", self.dtype)[1]

    @property
    def nbytes(self) -> int:
        """How many bytes all elements have, without gaps between them."""
        count = self.itemsize
        for size in self.shape:
            count *= size
        return count

    @property
    def is_contiguous(self) -> bool:
        """Whether the last axis is fastest and there are no gaps."""
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

    For libraries in other languages, through `ctypes` or `cffi`, and for `from_pointer`. The memory is that of `x`,
    which the result keeps alive; nothing is copied.

    Args:
        x: An array of any library that has its values in memory: on the host, or on a GPU.

    Returns:
        A `Pointer`, whose owner is `x`.

    Raises:
        TypeError: `x` is not an array, is traced by a transformation, or requires a gradient.
        ValueError: The values are not what the memory holds: other order of bytes, or a conjugate not written yet; or
            they are spread over several devices.
        UnsupportedError: The library's arrays have no memory (Dask), or don't say where it is.

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
            holds it, and so keeps the memory.
        xp: The library of the array: a namespace or a name. None: `xpand.default_namespace()`.

    Returns:
        An array of the library over that memory: nothing is copied. Whether there is such memory at the address can't
        be checked.

    Raises:
        TypeError: `memory` is no `Pointer`, or the library has no such data type.
        ValueError: There is no owner: nothing would keep the memory. Or the library can't have an array over it:
            read-only memory (PyTorch), strides or an alignment that it doesn't take (PyTorch, JAX), another device.
        UnsupportedError: The library's arrays can't be over given memory.

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
        raise ValueError("from_pointer: owner is None, so that nothing keeps the memory; name the object that does")
    if memory.address == 0 and memory.nbytes:
        raise ValueError("from_pointer: there is no memory at the address 0")
    xp = library_under(namespace_or_default(xp, "from_pointer"))
    return from_pointer.native_for(xp)(memory, xp=xp)
