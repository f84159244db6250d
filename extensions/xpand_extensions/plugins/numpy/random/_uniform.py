"""Uniform and normal numbers on NumPy."""

from typing import Any, Final

import numpy as np

from xpand.extend import Array, DType
from xpand_extensions.generic.random import _uniform as generic
from xpand_extensions.generic.random._scaled import scaled

from ._blocks import double, normal_double, normal_single, single
from ._keys import made

UNIFORM: Final = {np.dtype(np.float32): single, np.dtype(np.float64): double}
NORMAL: Final = {np.dtype(np.float32): normal_single, np.dtype(np.float64): normal_double}


def uniform(key: Array, /, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0) -> Array:
    dtype = np.dtype(dtype)
    if dtype not in UNIFORM:
        return generic.uniform(key, shape, dtype, minval, maxval)
    return scaled(key, made(key, shape, dtype, UNIFORM[dtype]), minval, maxval)


def normal(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    dtype = np.dtype(dtype)
    if dtype not in NORMAL:
        return generic.normal(key, shape, dtype)
    return made(key, shape, dtype, NORMAL[dtype])
