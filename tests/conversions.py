"""Finds which conversions share memory and which copy, by trying conversions without a copy.

python -m tests.conversions      # writes docs/convert.json, from which the site makes its tables
"""

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import xpand
from xpand_extensions.convert import convert

OUTPUT = Path(__file__).parents[1] / "docs" / "convert.json"
LIBRARIES = ("numpy", "torch", "jax", "dask", "array_api_strict")
SHARING = ("numpy", "torch", "jax")


def measured() -> dict[str, Any]:
    """Classify conversions of every pair of libraries, and of layouts and data types for pairs that share memory."""
    x = aligned(np.float64)
    plain = {source: {target: what(convert(x, source), target) for target in LIBRARIES} for source in LIBRARIES}
    special = {
        name: {
            f"{source} to {target}": "" if array is None else what(array, target)
            for source, target in permutations(SHARING, 2)
            for array in [arrays.get(source)]
        }
        for name, arrays in cases().items()
    }
    return {"libraries": plain, "special": special}


def what(x: Any, target: str) -> str:
    """Return whether conversion to a library shares memory, copies, or is impossible."""
    try:
        found = convert(x, target, copy=False)
    except ValueError:
        convert(x, target)
        return "copied"
    except TypeError:
        return "raises"
    return "itself" if found is x else "shared"


def aligned(dtype: Any) -> np.ndarray:
    """Make an array that JAX can share: its memory starts at a multiple of 64 bytes."""
    memory = np.zeros(64 * 16 + 64, dtype=np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + 64 * 16].view(dtype)[:64].reshape(8, 8)


def cases() -> dict[str, dict[str, Any]]:
    """Make unusual arrays, for each library that has them."""
    import jax
    import torch

    def each(x: np.ndarray) -> dict[str, Any]:
        return {library: convert(x, library) for library in SHARING}

    plain, c = aligned(np.float64), aligned(np.complex128)
    read_only = aligned(np.float64)
    read_only.flags.writeable = False
    return {
        "booleans": each(aligned(np.bool)),
        "uint16, uint32, uint64": each(aligned(np.uint64)),
        "complex numbers": each(c),
        "float16": each(aligned(np.float16)),
        "bfloat16": each(aligned(ml_dtypes.bfloat16)),
        "no axes": each(plain[0, 0, ...]),
        "no elements": each(plain[:0]),
        "axes reversed": {"numpy": plain.T, "torch": convert(plain, "torch").T},
        "gaps between elements": {"numpy": plain[:, ::2], "torch": convert(plain, "torch")[:, ::2]},
        "strides of zero": {
            "numpy": np.broadcast_to(plain[0], (8, 8)),
            "torch": convert(plain, "torch")[0].expand(8, 8),
        },
        "negative strides": {"numpy": plain[::-1]},
        "memory not at a multiple of 64 bytes": {
            "numpy": plain.reshape(-1)[1:],
            "torch": convert(plain, "torch").reshape(-1)[1:],
        },
        "read-only": {"numpy": read_only},
        "the other order of bytes": {"numpy": plain.astype(">f8")},
        "a conjugate not written yet": {"torch": convert(c, "torch").conj()},
        "keys for random numbers": {"jax": jax.random.key(0)},
        "an array that requires a gradient": {"torch": torch.ones(3, requires_grad=True)},
    }


if __name__ == "__main__":
    import jax

    jax.config.update("jax_enable_x64", True)
    for library in LIBRARIES:
        xpand.namespace(library)
    OUTPUT.write_text(json.dumps(measured(), indent=1) + "\n", encoding="utf-8")
