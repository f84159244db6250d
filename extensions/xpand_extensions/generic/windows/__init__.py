"""Windows with the standard alone."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, ArrayLike, Scalar, checks
from xpand_extensions import windows
from xpand_extensions._bounds import index_dtype
from xpand_extensions._dispatch import forwards_to
from xpand_extensions._dtypes import widened
from xpand_extensions.windows._arguments import passes, reducers
from xpand_extensions.windows._passes import inside, reduce, reduce_by, scatter_to_extremes


def sliding_window_view(
    x: Array, /, window_shape: Any, *, axis: Any = None, strides: Any = 1, window_dilation: Any = 1
) -> Array:
    xp = array_namespace(x)
    device = checks.device_of(x)
    none = ((0, 0),) * len(axis)
    for k, each in zip(axis, sorted(passes(window_shape, range(len(axis)), strides, none, window_dilation))):
        count = each.count(x.shape[k])
        # Concatenate the windows of an axis, then separate them. The new axis becomes the last one.
        dtype = index_dtype(xp, device)
        starts = xp.arange(count, dtype=dtype, device=device) * each.stride
        offsets = xp.arange(each.size, dtype=dtype, device=device) * each.dilation
        index = xp.reshape(starts[:, None] + offsets[None, :], (-1,))
        taken = xp.reshape(xp.take(x, index, axis=k), (*x.shape[:k], count, each.size, *x.shape[k + 1 :]))
        x = xp.moveaxis(taken, k + 1, -1)
    return x


window_sum, window_prod, window_min, window_max = reducers(reduce_by)


@forwards_to(windows.window_mean)
@widened
def window_mean(x: Array, /, window_shape: Any, *, padding: Any, count_include_pad: bool, **where: Any) -> Array:
    xp = array_namespace(x)
    total = windows.window_sum.native(x)(x, window_shape, padding=padding, **where)
    if count_include_pad or not any(map(any, padding)):
        return total / math.prod(window_shape)
    for each in passes(window_shape, padding=padding, **where):
        number = inside(xp, each, x.shape[each.axis], checks.device_of(x))
        number = xp.reshape(number, tuple([-1 if k == each.axis else 1 for k in range(x.ndim)]))
        # Divide empty windows by one, since 0 / 0 would warn and make the gradient NaN.
        divisor = xp.astype(xp.maximum(number, xp.ones_like(number)), x.dtype)
        total = xp.where(number > 0, total / divisor, math.nan)
    return total


@forwards_to(windows.window_reduce)
def window_reduce(
    x: Array, /, function: Callable[[Array, Array], Array], initial: ArrayLike, window_shape: Any, **where: Any
) -> Array:
    xp = array_namespace(x, initial)
    if isinstance(initial, (bool, int, float, complex)):
        initial = xp.full((), initial, dtype=x.dtype, device=checks.device_of(x))
    else:
        initial = xp.astype(initial, x.dtype)

    def combine(a: Array, b: Array) -> Array:
        return _checked(function(a, b), a)

    reduced = reduce(xp, x, combine, initial, passes(window_shape, **where), idempotent=False)
    return combine(xp.broadcast_to(initial, reduced.shape), reduced)


def _checked(result: Any, like: Array) -> Array:
    """Check the result of a user function."""
    checks.namespace_of("window_reduce", x=like, **{"the function's result": result})
    if result.dtype != like.dtype:
        raise TypeError(
            f"window_reduce: function must return the data type that it is given, {like.dtype}, got {result.dtype}"
        )
    if tuple(result.shape) != tuple(like.shape):
        raise ValueError(
            f"window_reduce: function must return the shape that it is given, {tuple(like.shape)}, got "
            f"{tuple(result.shape)}: it works element by element"
        )
    return result


window_scatter_max = partial(scatter_to_extremes, largest=True)
window_scatter_min = partial(scatter_to_extremes, largest=False)
