"""Conversion from and to NumPy."""

import importlib
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np

from xpand._typing import Array, Device, DType, Namespace
from xpand_extensions._convert_dtypes import name_of
from xpand_extensions._convert_messages import no_device, no_dtype
from xpand_extensions.convert import ByteOrder, Pointer
from xpand_extensions.generic.convert import first_elements


def exported(x: Array, /, *, to_host: bool = False, copy: bool | None = None) -> Array:
    if type(x) is not np.ndarray:
        if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
            raise TypeError("convert: x is a masked array, and other libraries have no masks; use `x.filled(…)` first")
        x = np.asarray(x)
    if x.dtype.kind not in "?biufc" and x.dtype.type.__module__ != "ml_dtypes":
        raise no_dtype("the standard", x.dtype, "convert it to numbers with `x.astype` first")
    return x.copy() if copy and to_host else x


def convert(x: Any, to: Namespace, /, *, device: Device | None = None, copy: bool | None = None) -> Any:
    if device is not None and device != "cpu":
        raise no_device("NumPy", device)
    return x.copy() if copy else x


def to_bytes(x: Array, /, *, limit: int | None = None, byteorder: ByteOrder = "little") -> bytes:
    x = exported(first_elements(x, limit))
    data: bytes = _in_order(x, byteorder).tobytes()
    return data


def _in_order(x: Any, byteorder: str) -> Any:
    """Bring the bytes of an array into an order."""
    wanted = {"little": "<", "big": ">"}[byteorder]
    if x.itemsize == 1 or (x.dtype.byteorder in "<>" and x.dtype.byteorder == wanted):
        return x
    is_little = x.dtype.byteorder == "<" or (x.dtype.byteorder != ">" and sys.byteorder == "little")
    return x if is_little == (wanted == "<") else x.byteswap()


def from_bytes(
    data: Any,
    dtype: DType | str,
    shape: int | tuple[int, ...] | None = None,
    /,
    *,
    byteorder: ByteOrder = "little",
    device: Device | None = None,
    xp: Namespace | str | None = None,
) -> Array:
    if device is not None and device != "cpu":
        raise no_device("NumPy", device)
    x = np.frombuffer(data, dtype=_dtype(dtype)).reshape(shape)
    return x.copy() if byteorder == sys.byteorder else x.byteswap()


def _dtype(dtype: Any) -> Any:
    name = name_of(dtype)
    try:
        return np.dtype(name)
    except TypeError:  # known from the package `ml_dtypes` alone, once that is there
        types = importlib.import_module("ml_dtypes") if find_spec("ml_dtypes") is not None else None
        found = getattr(types, name, None)
    if found is None:
        raise no_dtype("NumPy", name, "install the package `ml_dtypes` for it")
    return np.dtype(found)


def pointer(x: Array, /) -> Pointer:
    if type(x) is not np.ndarray:
        x = exported(x)
    if not x.dtype.isnative:
        raise ValueError(
            f"pointer: the bytes of {x.dtype} are in the other order than this machine's; convert the array with "
            "`x.astype(x.dtype.newbyteorder('='))` first"
        )
    dtype = exported(x).dtype.name
    return Pointer(x.ctypes.data, x.shape, dtype, x.strides, owner=x, read_only=not x.flags.writeable)


class _Memory:
    """What NumPy makes an array over, and keeps."""

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
