"""Windows on JAX: compiled. XLA's ReduceWindow takes time in proportion to the size of the windows."""

from functools import partial
from typing import Any

import jax

from xpand.extend import Array, Scalar
from xpand_extensions.generic import windows as generic
from xpand_extensions.scatter._segments import Combination
from xpand_extensions.windows import _pieces as pieces
from xpand_extensions.windows._arguments import Pass, passes, reducer


@partial(jax.jit, static_argnums=(1,), static_argnames=("axis", "strides", "window_dilation"))
def _view(x: Array, window_shape: Any, /, *, axis: Any, strides: Any, window_dilation: Any) -> Array:
    return generic.sliding_window_view(x, window_shape, axis=axis, strides=strides, window_dilation=window_dilation)


def sliding_window_view(
    x: Array, window_shape: Any, /, *, axis: Any = None, strides: Any = 1, window_dilation: Any = 1
) -> Array:
    return _view(x, window_shape, axis=axis, strides=strides, window_dilation=window_dilation)


_compiled = partial(jax.jit, static_argnums=(0, 2))(pieces.reduce_by)


def _reduce(combination: Combination, x: Array, steps: tuple[Pass, ...]) -> Array:
    return _compiled(combination, x, steps)


window_sum = reducer("window_sum", _reduce)
window_prod = reducer("window_prod", _reduce)
window_min = reducer("window_min", _reduce)
window_max = reducer("window_max", _reduce)

_mean = partial(
    jax.jit,
    static_argnums=(1,),
    static_argnames=("axis", "strides", "padding", "window_dilation", "count_include_pad"),
)(generic.window_mean)


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
    return _mean(
        x,
        window_shape,
        axis=axis,
        strides=strides,
        padding=padding,
        window_dilation=window_dilation,
        count_include_pad=count_include_pad,
    )


_scatter = partial(jax.jit, static_argnames=("steps", "largest"))(pieces.scatter_to_extremes)


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
    steps = passes(window_shape, axis, strides, padding, (1,) * len(axis))
    return _scatter(x, source, initial, steps=steps, largest=True)


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
    steps = passes(window_shape, axis, strides, padding, (1,) * len(axis))
    return _scatter(x, source, initial, steps=steps, largest=False)
