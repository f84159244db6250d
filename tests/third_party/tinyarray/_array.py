"""The array object."""

from types import ModuleType
from typing import Any

import numpy as np

DEVICE = "cpu"


class Array:
    """An array of the array API standard. NumPy knows nothing of it: it has no `__array__`."""

    def __init__(self, data: Any) -> None:
        """Wrap an array of NumPy."""
        self._data = np.asarray(data)

    __array_ufunc__ = None  # NumPy's operators leave the work to ours

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """Return the module of this library."""
        import tinyarray

        return tinyarray

    @property
    def device(self) -> str:
        """Where the array lies."""
        return DEVICE

    @property
    def dtype(self) -> Any:
        """The data type."""
        return self._data.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self._data.shape

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._data.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._data.size

    @property
    def T(self) -> "Array":
        """The transpose of a matrix."""
        return Array(self._data.T)

    @property
    def mT(self) -> "Array":
        """The transpose of the last two axes."""
        return Array(self._data.mT)

    def to_device(self, device: Any, /, *, stream: Any = None) -> "Array":
        """Move to a device: there is only one."""
        return self

    def __getitem__(self, index: Any) -> "Array":
        """Select elements."""
        return Array(self._data[unwrap(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        """Assign to elements."""
        self._data[unwrap(index)] = unwrap(value)

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """Hand the memory to another library."""
        return self._data.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> Any:
        """Say where the memory lies."""
        return self._data.__dlpack_device__()

    def __repr__(self) -> str:
        """Show the values."""
        return f"tinyarray.{self._data!r}"

    __hash__ = None  # type: ignore[assignment]  # as arrays everywhere


def unwrap(value: Any) -> Any:
    """Take NumPy's arrays out of ours, in tuples and lists too."""
    if isinstance(value, Array):
        return value._data
    if type(value) in (tuple, list):
        return type(value)(map(unwrap, value))
    return value


def wrap(value: Any) -> Any:
    """Put NumPy's arrays into ours, in tuples and named tuples too."""
    if isinstance(value, np.ndarray | np.generic):
        return Array(value)
    if hasattr(value, "_fields"):
        return type(value)(*map(wrap, value))
    return type(value)(map(wrap, value)) if isinstance(value, tuple | list) else value


_UNARY = ("abs", "invert", "neg", "pos", "bool", "complex", "float", "index", "int")
_BINARY = ("eq", "ne", "lt", "le", "gt", "ge")
_ARITHMETIC = (
    "add",
    "and",
    "floordiv",
    "lshift",
    "matmul",
    "mod",
    "mul",
    "or",
    "pow",
    "rshift",
    "sub",
    "truediv",
    "xor",
)


def _operator(name: str) -> Any:
    method = f"__{name}__"

    def operate(self: Array, *others: Any) -> Any:
        if not all(isinstance(other, Array | bool | int | float | complex) for other in others):
            return NotImplemented
        return wrap(getattr(self._data, method)(*map(unwrap, others)))

    operate.__name__ = method
    return operate


for _name in (*_UNARY, *_BINARY, *_ARITHMETIC, *(f"r{name}" for name in _ARITHMETIC)):
    setattr(Array, f"__{_name}__", _operator(_name))
