"""Conversion from and to CuPy."""

from typing import Any

import cupy as cp
import numpy as np

from xpand.extend import LibraryArray as Array, Namespace
from xpand_extensions.convert import Pointer, exported as export
from xpand_extensions.convert._dtypes import copy_needed


def exported(x: Array, /, *, to_host: bool = False, copy: bool | None = None) -> Array:
    if not to_host:
        return x
    if copy is False:
        raise copy_needed(f"the values lie on {x.device}, not on the host")
    return cp.asnumpy(x)


def imported(x: Any, /, *, copy: bool | None = None, xp: Namespace | str | None = None) -> Array:
    if not isinstance(x, np.ndarray):
        try:
            made = cp.from_dlpack(x)
        except (BufferError, NotImplementedError, RuntimeError, TypeError, ValueError) as error:
            # The values are on the host, or their library exports nothing.
            if copy is False:
                raise copy_needed(f"CuPy does not take the memory by DLPack ({error})") from error
        else:
            return made.copy() if copy else made
    if copy is False:
        raise copy_needed("the values lie on the host, not on a GPU")
    return cp.asarray(export(x, to_host=True))


def pointer(x: Array, /) -> Pointer:
    return Pointer(x.data.ptr, x.shape, x.dtype, x.strides, f"cuda:{x.device.id}", owner=x)


def from_pointer(memory: Pointer, /, *, xp: Namespace | str | None = None) -> Array:
    if memory.read_only:
        raise ValueError("from_pointer: the memory is read-only, and CuPy has no read-only arrays")
    kind, _, number = memory.device.partition(":")
    if kind != "cuda":
        raise ValueError(f"from_pointer: CuPy takes only memory on a GPU, and this memory is on {memory.device}")
    # With negative strides, the memory starts before the first element.
    before = sum(-step * (size - 1) for step, size in zip(memory.strides, memory.shape) if step < 0 and size)
    after = sum(step * (size - 1) for step, size in zip(memory.strides, memory.shape) if step > 0 and size)
    span = before + after + memory.itemsize
    unowned = cp.cuda.UnownedMemory(memory.address - before, span, memory.owner, int(number or 0))
    start = cp.cuda.MemoryPointer(unowned, before)
    return cp.ndarray(memory.shape, memory.dtype, start, strides=memory.strides)
