"""Windows with the standard alone."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xpand import _arguments, array_namespace
from xpand._typing import Array, Namespace, Scalar
from xpand_extensions import windows
from xpand_extensions._bounds import index_dtype
from xpand_extensions._segments import Combination, identity
from xpand_extensions._windows_arguments import Pass, passes
from xpand_extensions._windows_passes import pad_axis, reduce_axis
from xpand_extensions.scatter import segment_sum

from ._at import binary


def sliding_window_view(
    x: Array, window_shape: Any, /, *, axis: Any = None, strides: Any = 1, window_dilation: Any = 1
) -> Array:
    xp = array_namespace(x)
    device = _arguments.device_of(x)
    none = ((0, 0),) * len(axis)
    for k, each in zip(axis, sorted(passes(window_shape, range(len(axis)), strides, none, window_dilation))):
        count = each.count(x.shape[k])
        # The windows of an axis, one after the other, then taken apart; the new axis goes to the end.
        dtype = index_dtype(xp, device)
        starts = xp.arange(count, dtype=dtype, device=device) * each.stride
        offsets = xp.arange(each.size, dtype=dtype, device=device) * each.dilation
        index = xp.reshape(starts[:, None] + offsets[None, :], (-1,))
        taken = xp.reshape(xp.take(x, index, axis=k), (*x.shape[:k], count, each.size, *x.shape[k + 1 :]))
        # Not moveaxis, which torch.func.vmap doesn't know.
        x = xp.permute_dims(taken, tuple([n for n in range(taken.ndim) if n != k + 1] + [k + 1]))
    return x


def _reducer(function: str, combination: Combination) -> Callable[..., Array]:
    def reduce(
        x: Array,
        window_shape: Any,
        /,
        *,
        axis: Any = None,
        strides: Any = 1,
        padding: Any = "valid",
        window_dilation: Any = 1,
    ) -> Array:
        return reduce_by(combination, x, passes(window_shape, axis, strides, padding, window_dilation))

    reduce.__name__ = reduce.__qualname__ = function
    return reduce


def reduce_by(combination: Combination, x: Array, steps: Sequence[Pass]) -> Array:
    """Add, multiply, or take the minimum or maximum of, the elements of each window."""
    xp = array_namespace(x)
    combine = binary(xp, combination, x.dtype)
    return _reduce(xp, x, combine, identity(xp, x.dtype, combination), steps, idempotent=combination in ("min", "max"))


def _reduce(
    xp: Namespace,
    x: Array,
    combine: Callable[[Array, Array], Array],
    fill: Array | Scalar,
    steps: Sequence[Pass],
    *,
    idempotent: bool,
) -> Array:
    for each in steps:
        count = each.count(x.shape[each.axis])
        x = reduce_axis(pad_axis(xp, x, each, fill), combine, each, count, idempotent=idempotent)
    # Windows of one element are slices of what was given.
    return x if any(each.size > 1 for each in steps) else xp.asarray(x, copy=True)


window_sum = _reducer("window_sum", "add")
window_prod = _reducer("window_prod", "multiply")
window_min = _reducer("window_min", "min")
window_max = _reducer("window_max", "max")


def window_mean(
    x: Array,
    window_shape: Any,
    /,
    *,
    axis: Any = None,
    strides: Any = 1,
    padding: Any = "valid",
    window_dilation: Any = 1,
    count_include_pad: bool = True,
) -> Array:
    xp = array_namespace(x)
    total = windows.window_sum.native(x)(
        x, window_shape, axis=axis, strides=strides, padding=padding, window_dilation=window_dilation
    )
    if count_include_pad or not any(map(any, padding)):
        return total / math.prod(window_shape)
    nan = xp.full((), math.nan, dtype=x.dtype, device=_arguments.device_of(x))
    for each in passes(window_shape, axis, strides, padding, window_dilation):
        number = inside(xp, each, x.shape[each.axis], _arguments.device_of(x))
        number = xp.reshape(number, tuple([-1 if k == each.axis else 1 for k in range(x.ndim)]))
        # Divided by one where there is nothing: 0 / 0 would warn, and its gradient would be NaN.
        divisor = xp.astype(xp.maximum(number, xp.ones_like(number)), x.dtype)
        total = xp.where(number > 0, total / divisor, nan)
    return total


def inside(xp: Namespace, each: Pass, length: int, device: Any) -> Array:
    """Count the elements of each window along an axis that lie in the array."""
    dtype = index_dtype(xp, device)
    starts = xp.arange(each.count(length), dtype=dtype, device=device) * each.stride - each.low
    # Offsets in [0, size) that lie before the array, and before its end.
    before = xp.clip(-(starts // each.dilation), 0, each.size)
    until_end = xp.clip(-((starts - length) // each.dilation), 0, each.size)
    return until_end - before


def window_reduce(
    x: Array,
    function: Callable[[Array, Array], Array],
    initial: Array | Scalar,
    window_shape: Any,
    /,
    *,
    axis: Any = None,
    strides: Any = 1,
    padding: Any = "valid",
    window_dilation: Any = 1,
) -> Array:
    xp = array_namespace(x)
    if isinstance(initial, (bool, int, float, complex)):
        initial = xp.full((), initial, dtype=x.dtype, device=_arguments.device_of(x))
    else:
        initial = xp.astype(initial, x.dtype)

    def combine(a: Array, b: Array) -> Array:
        return _checked(function(a, b), a)

    steps = passes(window_shape, axis, strides, padding, window_dilation)
    reduced = _reduce(xp, x, combine, initial, steps, idempotent=False)
    return combine(xp.broadcast_to(initial, reduced.shape), reduced)


def _checked(result: Any, like: Array) -> Array:
    """Check what a function of the user's returned."""
    _arguments.namespace_of("window_reduce", x=like, **{"the function's result": result})
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


def window_scatter_max(
    x: Array,
    source: Array,
    initial: Array | Scalar,
    window_shape: Any,
    /,
    *,
    axis: Any = None,
    strides: Any = 1,
    padding: Any = "valid",
) -> Array:
    return scatter_to_extremes(
        x, source, initial, passes(window_shape, axis, strides, padding, (1,) * len(axis)), largest=True
    )


def window_scatter_min(
    x: Array,
    source: Array,
    initial: Array | Scalar,
    window_shape: Any,
    /,
    *,
    axis: Any = None,
    strides: Any = 1,
    padding: Any = "valid",
) -> Array:
    return scatter_to_extremes(
        x, source, initial, passes(window_shape, axis, strides, padding, (1,) * len(axis)), largest=False
    )


def scatter_to_extremes(
    x: Array, source: Array, initial: Array | Scalar, steps: Sequence[Pass], *, largest: bool
) -> Array:
    """Add to the places of the extremes of windows."""
    xp = array_namespace(x, source)
    places = extreme_places(xp, x, steps, largest=largest)
    size = math.prod(x.shape)
    total = segment_sum(xp.reshape(source, (-1,)), xp.reshape(places, (-1,)), num_segments=size, mode="drop")
    if not isinstance(initial, (bool, int, float, complex)):
        initial = xp.astype(initial, source.dtype)
    return xp.reshape(total + initial, x.shape)


def extreme_places(xp: Namespace, x: Array, steps: Sequence[Pass], *, largest: bool) -> Array:
    """Find the place of the extreme of each window, in the array written as one row; -1 where it holds no element.

    The first of equal ones, and NaN before all else.
    """
    device = _arguments.device_of(x)
    if _arguments.kind(xp, x.dtype) == "bool":
        x = xp.astype(x, xp.uint8)
    floating = _arguments.kind(xp, x.dtype) == "real"
    places = xp.reshape(xp.arange(math.prod(x.shape), dtype=index_dtype(xp, device), device=device), x.shape)

    def combine(a: _Placed, b: _Placed) -> _Placed:
        better = b.values > a.values if largest else b.values < a.values
        if floating:
            better = better | (xp.isnan(b.values) & ~xp.isnan(a.values))
        better = (b.places >= 0) & (better | (a.places < 0))
        return _Placed(xp.where(better, b.values, a.values), xp.where(better, b.places, a.places))

    fill = identity(xp, x.dtype, "max" if largest else "min")
    found = _Placed(x, places)
    for each in steps:
        count = each.count(x.shape[each.axis])
        padded = _Placed(pad_axis(xp, found.values, each, fill), pad_axis(xp, found.places, each, -1))
        found = reduce_axis(padded, combine, each, count, idempotent=True)
    return found.places


@dataclass(frozen=True, slots=True)
class _Placed:
    """Values with their places; sliced as an array is."""

    values: Array
    places: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)

    def __getitem__(self, key: Any) -> "_Placed":
        return _Placed(self.values[key], self.places[key])
