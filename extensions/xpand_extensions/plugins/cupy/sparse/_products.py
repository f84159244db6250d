"""Sparse products on CuPy: one kernel for real matrices by rows, otherwise the generic version.

`cupyx.scipy.sparse` is not used: it waits for the device to check whether indices are sorted and unique, which is
unnecessary here. The kernel sums the entries of a row always in the same order. It ignores padding, which comes after
the end of the last row.
"""

from functools import cache
from math import prod
from typing import Any, Final

import cupy as cp

from xpand.extend import LibraryArray as Array
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.generic import sparse as generic
from xpand_extensions.sparse._products import Shape

_C_TYPES: Final = {"float32": "float", "float64": "double", "int32": "int", "int64": "long long"}
_FLOATING: Final = ("float32", "float64")
_BLOCK: Final = 128
_WARP: Final = 32

_CODE: Final = """
extern "C" __global__ void csr_matmul(
    const VALUE* values, const INDEX* indices, const INDEX* indptr, const VALUE* x, VALUE* out,
    long long size, long long width, long long lanes)
{
    const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const long long place = thread / lanes;
    const long long lane = thread % lanes;
    VALUE total = 0;
    if (place < size) {
        const long long row = place / width, column = place % width, end = indptr[row + 1];
        for (long long each = indptr[row] + lane; each < end; each += lanes)
            total += values[each] * x[indices[each] * width + column];
    }
    for (int step = (int)lanes / 2; step > 0; step /= 2)
        total += __shfl_down_sync(0xffffffff, total, step, (int)lanes);
    if (place < size && lane == 0)
        out[place] = total;
}
"""
"""`lanes` neighbouring threads sum one element of the product; `lanes` is a power of two up to a warp."""


@forwards_to(generic.csr_matmul)
def csr_matmul(values: Array, indices: Array, indptr: Array, x: Array, /, *, shape: Shape, **hints: Any) -> Array:
    out_shape = (shape[0], *x.shape[1:])
    is_one = values.ndim == 1 and x.ndim <= 2
    if not is_one or values.dtype.name not in _FLOATING or 0 in (*shape, *values.shape, *out_shape):
        return generic.csr_matmul(values, indices, indptr, x, shape=shape)
    size, width = prod(out_shape), prod(out_shape[1:])
    # With several columns, neighbouring threads read neighbouring elements of x. Then one thread per element is best.
    lanes = _lanes(values.size / shape[0]) if width == 1 else 1
    index = cp.result_type(indices, indptr)
    with cp.cuda.Device(values.device):
        indices, indptr = (each.astype(index, copy=False) for each in (indices, indptr))
        out = cp.empty(out_shape, dtype=values.dtype)
        arrays = [cp.ascontiguousarray(each) for each in (values, indices, indptr, x)]
        # CuPy passes Python integers as `long long`.
        _kernel(values.dtype.name, index.name)(
            (-(-size * lanes // _BLOCK),), (_BLOCK,), (*arrays, out, size, width, lanes)
        )
    return out


def _lanes(mean: float) -> int:
    """Return the number of threads for rows with this number of entries: about half of it."""
    lanes = 1
    while lanes < _WARP and 4 * lanes <= mean:
        lanes *= 2
    return lanes


@cache
def _kernel(value: str, index: str) -> Any:
    return cp.RawKernel(_CODE.replace("VALUE", _C_TYPES[value]).replace("INDEX", _C_TYPES[index]), "csr_matmul")
