"""Windows on NumPy: views by strides, and reductions in tiles that stay in the processor's cache."""

import math
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

import xpand.numpy as xp
from xpand.extend import LibraryArray as Array
from xpand_extensions import windows
from xpand_extensions._dispatch import forwards_to
from xpand_extensions._dtypes import widened
from xpand_extensions.scatter._segments import Combination, identity
from xpand_extensions.windows._arguments import Pass, passes, reducers
from xpand_extensions.windows._passes import Tiles, inside, pad_axis, reduce_axis

_SMALL: Final = 8192
_UFUNCS: Final = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}


def sliding_window_view(
    x: Array, /, window_shape: Any, *, axis: Any = None, strides: Any = 1, window_dilation: Any = 1
) -> Array:
    shape, steps = list(x.shape), list(x.strides)
    for k, size, stride, dilation in zip(axis, window_shape, strides, window_dilation):
        shape[k] = Pass(k, size, stride, 0, 0, dilation).count(shape[k])
        shape.append(size)
        steps.append(steps[k] * dilation)
        steps[k] *= stride
    return as_strided(x, shape, steps, writeable=False)


def _reduce(combination: Combination, x: Array, steps: tuple[Pass, ...]) -> Array:
    """Reduce the windows, one pass after the other."""
    ufunc, idempotent = _UFUNCS[combination], combination in ("min", "max")
    if x.size <= _SMALL:
        # Don't use tiles, which cost more than the additions.
        for each in steps:
            count = each.count(x.shape[each.axis])
            if each.low or each.high:
                x = pad_axis(xp, x, each, identity(xp, x.dtype, combination))
            x = reduce_axis(x, ufunc, each, count, idempotent=idempotent)
        return x if x.size and any(each.size > 1 for each in steps) else x.copy()
    empty = partial(np.empty, dtype=x.dtype)
    return Tiles(ufunc, empty, identity(xp, x.dtype, combination), idempotent).reduce(x, steps)


window_sum, window_prod, window_min, window_max = reducers(_reduce)


@forwards_to(windows.window_mean)
@widened
def window_mean(x: Array, /, window_shape: Any, *, padding: Any, count_include_pad: bool, **where: Any) -> Array:
    steps = passes(window_shape, padding=padding, **where)
    total = _reduce("add", x, steps)
    # Divide each part separately, since a complex infinity divided by a number has a NaN part.
    parts = (total.real, total.imag) if total.dtype.kind == "c" else (total,)
    if count_include_pad or not any(map(any, padding)):
        for part in parts:
            part /= math.prod(window_shape)
        return total
    for each in steps:
        number = inside(xp, each, x.shape[each.axis], "cpu")
        number = number.reshape([-1 if k == each.axis else 1 for k in range(x.ndim)])
        with np.errstate(invalid="ignore"):  # 0 / 0 is the required NaN
            for part in parts:
                np.divide(part, number.astype(part.dtype), out=part)
    return total
