"""Windows on JAX: compiled. XLA's ReduceWindow takes time in proportion to the size of the windows."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax

from xpand._typing import Array, Scalar
from xpand_extensions._segments import Combination
from xpand_extensions._windows_arguments import passes
from xpand_extensions.generic import _windows_pieces as pieces
from xpand_extensions.generic import windows as generic


@partial(jax.jit, static_argnums=(1,), static_argnames=("axis", "strides", "window_dilation"))
def _view(x: Array, window_shape: Any, /, *, axis: Any, strides: Any, window_dilation: Any) -> Array:
    return generic.sliding_window_view(x, window_shape, axis=axis, strides=strides, window_dilation=window_dilation)


def sliding_window_view(
    x: Array, window_shape: Any, /, *, axis: Any = None, strides: Any = 1, window_dilation: Any = 1
) -> Array:
    return _view(x, window_shape, axis=axis, strides=strides, window_dilation=window_dilation)


_reduce = partial(jax.jit, static_argnums=(0, 2))(pieces.reduce_by)


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
        return _reduce(combination, x, passes(window_shape, axis, strides, padding, window_dilation))

    reduce.__name__ = reduce.__qualname__ = function
    return reduce


window_sum = _reducer("window_sum", "add")
window_prod = _reducer("window_prod", "multiply")
window_min = _reducer("window_min", "min")
window_max = _reducer("window_max", "max")

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
