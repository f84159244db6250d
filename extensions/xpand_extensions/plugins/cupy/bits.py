"""The bits of integers on CuPy: views."""

import cupy as cp

from xpand.extend import DType, LibraryArray as Array


def bitcast(x: Array, /, dtype: DType) -> Array:
    width = cp.dtype(dtype).itemsize
    if width == x.itemsize:
        return x.view(dtype)
    x = cp.ascontiguousarray(x).reshape(x.shape)
    return x[..., None].view(dtype) if width < x.itemsize else x.view(dtype)[..., 0]
