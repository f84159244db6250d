"""Random integers on PyTorch: on the CPU by NumPy."""

from typing import Any

import numpy as np
import torch

from xpand.extend import DType
from xpand.extend import LibraryArray as Array
from xpand_extensions.generic.random import _uniform as generic
from xpand_extensions.random._arguments import arrays_of

from .._plain import is_plain


def randint(key: Array, /, shape: Any, minval: Array | int, maxval: Array | int, dtype: DType | None = None) -> Array:
    if arrays_of(minval, maxval) or key.device.type != "cpu" or not is_plain(key):
        return generic.randint(key, shape, minval, maxval, dtype)
    # NumPy's data types have the names of PyTorch's.
    named = np.dtype(str(dtype).removeprefix("torch."))
    words = np.asarray(key.tolist(), dtype=np.uint32)
    return torch.from_numpy(generic.randint(words, shape, minval, maxval, named))
