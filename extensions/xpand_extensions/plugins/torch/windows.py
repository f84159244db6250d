"""Windows on PyTorch: views, and reductions in tiles if no derivative is needed.

PyTorch's pooling takes time in proportion to the size of the windows, and is slower even for windows of 2 elements. It
has no minima and no products, and does not support integers.
"""

from functools import partial
from typing import Any, Final

import torch

import xpand.torch as xp
from xpand import is_concrete
from xpand.extend import LibraryArray as Array
from xpand.torch._concrete import is_traced
from xpand.torch._dtypes import SIGNED, from_ordered
from xpand_extensions.generic import windows as generic
from xpand_extensions.scatter._segments import Combination, identity
from xpand_extensions.windows import _passes as pieces
from xpand_extensions.windows._arguments import Pass, reducers
from xpand_extensions.windows._passes import Tiles

from ..numpy import windows as host
from ._plain import is_on_host, is_plain, on_host
from ._unsigned import on_ordered, ordered

_FUNCTIONS: Final = {"add": torch.add, "multiply": torch.mul, "min": torch.minimum, "max": torch.maximum}

_SMALL: Final = 4096
"""The number of elements up to which NumPy is faster, because a call of PyTorch takes twice as long."""

_LARGE: Final = 2**17
"""The number of elements from which the result of a pass no longer stays in the processor's cache."""


def sliding_window_view(
    x: Array, /, window_shape: Any, *, axis: Any = None, strides: Any = 1, window_dilation: Any = 1
) -> Array:
    if not is_traced() and not is_concrete(x):
        # torch.func has no batching rule for the gradient of unfold.
        return generic.sliding_window_view(x, window_shape, axis=axis, strides=strides, window_dilation=window_dilation)
    for k, size, stride, dilation in zip(axis, window_shape, strides, window_dilation):
        span = (size - 1) * dilation + 1
        if x.shape[k] < span:
            x = x.narrow(k, 0, 0).unsqueeze(-1).expand(*x.shape[:k], 0, *x.shape[k + 1 :], size)
        else:
            x = x.unfold(k, span, stride)[..., ::dilation]
    return x


def _reduce(combination: Combination, x: Array, steps: tuple[Pass, ...]) -> Array:
    if x.dtype in SIGNED and combination in ("min", "max"):
        return from_ordered(_reduce(combination, ordered(x), steps), x.dtype)
    if x.dtype in SIGNED:  # the same bits, whether signed or not
        return _reduce(combination, x.view(SIGNED[x.dtype]), steps).view(x.dtype)
    if x.numel() <= _SMALL and is_on_host(x):
        return on_host(partial(host._reduce, combination), x, steps=steps)
    if x.numel() < _LARGE or not steps or not (x.is_cpu and is_plain(x)):
        return pieces.reduce_by(combination, x, steps)
    function = _FUNCTIONS[combination]
    if x.dtype == torch.bool:
        function = torch.logical_and if combination == "min" else torch.logical_or
    empty = partial(torch.empty, dtype=x.dtype)
    fill = identity(xp, x.dtype, combination)
    return Tiles(function, empty, fill, combination in ("min", "max")).reduce(x, steps)


window_sum, window_prod, window_min, window_max = reducers(_reduce)
window_scatter_max = on_ordered(generic.window_scatter_max)
window_scatter_min = on_ordered(generic.window_scatter_min)
