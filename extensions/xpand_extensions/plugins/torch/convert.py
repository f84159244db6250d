"""Conversion from and to PyTorch."""

import importlib
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
import torch

from xpand import is_concrete, torch as xp
from xpand.extend import LibraryArray as Array, Namespace
from xpand_extensions.convert import Pointer, exported as export, from_pointer as pointed
from xpand_extensions.convert._dtypes import copy_needed, has_gradient, integer_of, is_short, no_dtype, no_values

_BITS: Final = {1: (torch.uint8, np.uint8), 2: (torch.int16, np.int16)}
"""The integer types that replace floating-point types that NumPy lacks, by their size in bytes."""


def exported(x: Array, /, *, to_host: bool = False, copy: bool | None = None) -> Array:
    if x.requires_grad:
        raise has_gradient(x)
    if not is_concrete(x):
        raise no_values(x)
    if x.layout is not torch.strided:
        raise TypeError(
            "convert: x is a sparse tensor, which is stored in several arrays; convert each of them, or the container "
            "`sparse.from_native(x)`"
        )
    if x.is_conj() or x.is_neg():  # the memory has the values without the sign
        if copy is False:
            raise copy_needed("the values are conjugated or negated only when they are read")
        x = x.resolve_conj().resolve_neg()
    return _on_host(x, copy) if to_host else x


def _on_host(x: Any, copy: bool | None) -> Any:
    if not x.is_cpu:
        if copy is False:
            raise copy_needed(f"the values lie on {x.device}, not on the host")
        x, copy = x.cpu(), None
    try:
        found = x.numpy()
    except TypeError:
        found = _short_on_host(x)
    return found.copy() if copy else found


def _short_on_host(x: Any) -> Any:
    """Convert to a data type of the package `ml_dtypes`, which JAX uses."""
    name = str(x.dtype).rpartition(".")[2]
    types = importlib.import_module("ml_dtypes") if find_spec("ml_dtypes") is not None else None
    dtype = getattr(types, name, None)
    if dtype is None or x.itemsize not in _BITS:
        raise no_dtype(
            "NumPy", name, "convert it with `x.to(…)` first, or for bfloat16 and float8 install the package `ml_dtypes`"
        )
    return x.view(_BITS[x.itemsize][0]).numpy().view(dtype)


def imported(x: Any, /, *, copy: bool | None = None, xp: Namespace | str | None = None) -> Array:
    made, is_new = _from_numpy(x, copy) if isinstance(x, np.ndarray) else _from_dlpack(x, copy)
    return made.clone() if copy and not is_new else made


def _from_numpy(x: Any, copy: bool | None) -> tuple[Any, bool]:
    """Convert an array to a tensor, and return whether it has new memory."""
    if x.flags.writeable:
        try:
            return torch.from_numpy(x), False
        except (TypeError, ValueError):  # unsupported strides or data types, which are handled below
            pass
    name = x.dtype.name
    bits = name.startswith(("bfloat16", "float8_")) and hasattr(torch, name)
    if not bits and not (x.dtype.kind in "biufc" and isinstance(getattr(torch, name, None), torch.dtype)):
        raise no_dtype("PyTorch", name)
    why = _why_copied(x)
    if why:
        if copy is False:
            raise copy_needed(f"{why}, which PyTorch does not support")
        x = np.array(x, order="C")
    if bits:
        return torch.from_numpy(x.view(_BITS[x.itemsize][1])).view(getattr(torch, name)), bool(why)
    return torch.from_numpy(x), bool(why)


def _why_copied(x: Any) -> str:
    if not x.flags.writeable:
        return "the memory is read-only"
    if any(stride < 0 for stride in x.strides):
        return "the strides are negative"
    gaps = any(stride % x.itemsize for stride in x.strides)
    return "the strides are not multiples of the size of an element" if gaps else ""


def _from_dlpack(x: Any, copy: bool | None) -> tuple[Any, bool]:
    try:
        return xp.from_dlpack(x, copy=False if copy is False else None), False
    except (BufferError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        # Libraries raise different errors for unsupported arrays, such as those on several devices or of 4-bit types.
        if copy is False:
            raise copy_needed(f"PyTorch does not take the memory by DLPack ({error})") from error
    return _from_numpy(export(x, to_host=True), copy)


def pointer(x: Array, /) -> Pointer:
    x = exported(x, copy=False)
    strides = tuple(step * x.itemsize for step in x.stride())
    return Pointer(x.data_ptr(), tuple(x.shape), x.dtype, strides, str(x.device), owner=x)


def from_pointer(memory: Pointer, /, *, xp: Namespace | str | None = None) -> Array:
    if memory.read_only:
        raise ValueError("from_pointer: the memory is read-only, and PyTorch has no read-only tensors")
    if memory.device != "cpu":
        return _on_gpu(memory)
    if is_short(memory.dtype):
        made = from_pointer(replace(memory, dtype=integer_of(memory.dtype)), xp=xp)
        return made.view(getattr(torch, memory.dtype))
    return imported(pointed(memory, xp="numpy"), copy=False)


class _Memory:
    """GPU memory and its owner. The tensor that PyTorch makes of it keeps both alive."""

    def __init__(self, memory: Pointer) -> None:
        self.owner = memory.owner
        self.__cuda_array_interface__ = {
            "data": (memory.address, False),
            "shape": memory.shape,
            "strides": memory.strides,
            "typestr": np.dtype(memory.dtype).str,
            "version": 2,
        }


def _on_gpu(memory: Pointer) -> Any:
    if is_short(memory.dtype):
        made = _on_gpu(replace(memory, dtype=integer_of(memory.dtype)))
        return made.view(getattr(torch, memory.dtype))
    if not torch.cuda.is_available():
        raise ValueError(f"from_pointer: the memory is on {memory.device}, and PyTorch has no GPU here")
    return torch.as_tensor(_Memory(memory), device=memory.device)
