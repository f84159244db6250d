"""Windows on JAX: compiled. XLA's ReduceWindow takes time in proportion to the size of the windows."""

from functools import partial

import jax

from xpand.extend import Array
from xpand_extensions.generic import windows as generic
from xpand_extensions.scatter._segments import Combination
from xpand_extensions.windows import _passes as pieces
from xpand_extensions.windows._arguments import Pass, reducers

_compiled = partial(jax.jit, static_argnums=(0, 2))(pieces.reduce_by)


def _reduce(combination: Combination, x: Array, steps: tuple[Pass, ...]) -> Array:
    return _compiled(combination, x, steps)


window_sum, window_prod, window_min, window_max = reducers(_reduce)

_VIEW = ("axis", "strides", "window_dilation")
_SCATTER = ("axis", "strides", "padding")

sliding_window_view = jax.jit(generic.sliding_window_view, static_argnums=1, static_argnames=_VIEW)
window_mean = jax.jit(generic.window_mean, static_argnums=1, static_argnames=(*_VIEW, "padding", "count_include_pad"))
window_scatter_max = jax.jit(generic.window_scatter_max, static_argnums=3, static_argnames=_SCATTER)
window_scatter_min = jax.jit(generic.window_scatter_min, static_argnums=3, static_argnames=_SCATTER)
