"""Conversion from and to NumPy."""

import importlib
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np

from xpand.extend import LibraryArray as Array, Namespace
from xpand_extensions.convert import Pointer
from xpand_extensions.convert._dtypes import copy_needed, name_of, no_dtype
from xpand_extensions.devices import to_device


def exported(x: Array, /, *, to_host: bool = False, copy: bool | None = None) -> Array:
    if type(x) is not np.ndarray:
        if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
            raise TypeError("convert: x is a masked array, and other libraries have no masks; use `x.filled(…)` first")
        x = np.asarray(x)
    if x.dtype.kind not in "?biufc" and x.dtype.type.__module__ != "ml_dtypes":
        raise no_dtype("the standard", x.dtype, "convert it to numbers with `x.astype` first")
    if not x.dtype.isnative:
        if copy is False:
            raise copy_needed("the bytes are in the other order")
        return x.astype(x.dtype.newbyteorder("="))
    return x.copy() if copy and to_host else x


def imported(x: Any, /, *, copy: bool | None = None, xp: Namespace | str | None = None) -> Array:
    # The half of the source library makes the NumPy array, and the copy.
    return x


def from_bytes(
    data: Any, /, dtype: Any, shape: Any = None, *, byteorder: Any = "little", device: Any = None, xp: Any = None
) -> Array:
    x = np.frombuffer(data, dtype=_dtype(dtype)).reshape(shape)
    x = x.copy() if byteorder == sys.byteorder else x.byteswap()
    return x if device is None else to_device(x, device)


def _dtype(dtype: Any) -> Any:
    name = name_of(dtype)
    try:
        return np.dtype(name)
    except TypeError:  # known only if the package `ml_dtypes` is imported
        types = importlib.import_module("ml_dtypes") if find_spec("ml_dtypes") is not None else None
        found = getattr(types, name, None)
    if found is None:
        raise no_dtype("NumPy", name, "install the package `ml_dtypes` for it")
    return np.dtype(found)


def pointer(x: Array, /) -> Pointer:
    x = exported(x, copy=False)
    return Pointer(x.ctypes.data, x.shape, x.dtype, x.strides, owner=x, read_only=not x.flags.writeable)


class _Memory:
    """The owner of the memory of an array. NumPy keeps a reference to it."""

    def __init__(self, memory: Pointer) -> None:
        self.owner = memory.owner
        self.__array_interface__ = {
            "data": (memory.address, memory.read_only),
            "shape": memory.shape,
            "strides": memory.strides,
            "typestr": f"|V{memory.itemsize}",
            "version": 3,
        }


def from_pointer(memory: Pointer, /, *, xp: Namespace | str | None = None) -> Array:
    if memory.device != "cpu":
        raise ValueError(f"from_pointer: arrays of NumPy are on the host, and the memory is on {memory.device}")
    return np.asarray(_Memory(memory)).view(_dtype(memory.dtype))
