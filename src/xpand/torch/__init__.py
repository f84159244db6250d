"""The array API standard for PyTorch: all of `array_api_compat.torch`, its gaps closed."""

from array_api_compat.torch import *
from array_api_compat.torch import __all__ as _compat_all

# The submodules by their full names: `from . import linalg` would find the one that the star import brought.
import xpand.torch.fft as fft
import xpand.torch.linalg as linalg
from xpand.torch._binary import (
    add,
    atan2,
    bitwise_and,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    copysign,
    divide,
    equal,
    floor_divide,
    greater,
    greater_equal,
    hypot,
    less,
    less_equal,
    logaddexp,
    logical_and,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    nextafter,
    not_equal,
    pow,
    remainder,
    subtract,
)
from xpand.torch._creation import arange, asarray, empty, eye, full, linspace, meshgrid, ones, tril, triu, zeros
from xpand.torch._dtypes import astype, can_cast, finfo, iinfo, isdtype, result_type
from xpand.torch._info import __array_namespace_info__
from xpand.torch._manipulation import (
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    concat,
    expand_dims,
    flip,
    permute_dims,
    repeat,
    reshape,
    roll,
    squeeze,
    stack,
    take,
    take_along_axis,
    unstack,
)
from xpand.torch._products import matmul, matrix_transpose, tensordot, vecdot
from xpand.torch._reductions import (
    all,
    any,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    diff,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from xpand.torch._searching import (
    argmax,
    argmin,
    argsort,
    nonzero,
    searchsorted,
    sort,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
    where,
)
from xpand.torch._unary import (
    abs,
    acos,
    bitwise_invert,
    clip,
    conj,
    expm1,
    isin,
    log1p,
    logical_not,
    negative,
    round,
    sign,
    square,
)

__array_api_version__ = "2025.12"

__all__ = sorted({*_compat_all, "__array_api_version__", "__array_namespace_info__", "fft", "linalg"})


def __dir__() -> list[str]:
    return __all__
