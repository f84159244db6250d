"""Conversion between NumPy, PyTorch and JAX compared with each library's bare DLPack call."""

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any, Final

import numpy as np

from xpand_extensions.convert import convert

from ._measure import Budget, Call, Row

BUDGET: Final = Budget(ratio=1.2, extra=1e-6)
"""A bare call checks nothing, neither for read-only memory nor for lost gradients."""

SMALL: Final[dict[str, Any]] = {"size": 40}
"""The size with which the tests run every row."""


def rows(size: int = 1_000_000) -> Iterator[Row]:
    memory = np.zeros(size + 16, dtype=np.float32)
    start = -memory.ctypes.data % 64 // 4  # JAX shares memory that starts at a multiple of 64 bytes
    arrays = {name: convert(memory[start : start + size], name, copy=False) for name in ("numpy", "torch", "jax")}
    for source, target in permutations(arrays, 2):
        x = arrays[source]
        ours = Call(convert, x, target)
        name, function = _dlpack(target)
        fault = "" if _address(ours()) == _address(function(x)) == _address(x) else "memory is not shared"
        topic = f"conversion of {size:,} numbers"
        yield Row(topic, f"{source} to {target}", ours, {name: Call(function, x)}, BUDGET, fault=fault)


def _dlpack(library: str) -> tuple[str, Callable[[Any], Any]]:
    import jax
    import torch

    return {
        "numpy": ("np.from_dlpack", np.from_dlpack),
        "torch": ("torch.from_dlpack", torch.from_dlpack),
        "jax": ("jax.dlpack.from_dlpack", jax.dlpack.from_dlpack),
    }[library]


def _address(x: Any) -> int:
    if isinstance(x, np.ndarray):
        return x.ctypes.data
    found: int = x.data_ptr() if hasattr(x, "data_ptr") else x.unsafe_buffer_pointer()
    return found
