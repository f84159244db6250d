"""Convolutions on JAX: XLA's, compiled, in full precision."""

from functools import partial

import jax
from jax import lax

from xpand.extend import Array
from xpand_extensions.convolution._geometry import Geometry, by_dilation, convolver, transposer
from xpand_extensions.generic import convolution as generic


@partial(jax.jit, static_argnums=(0,))
def _conv(what: Geometry, x: Array, kernel: Array) -> Array:
    return lax.conv_general_dilated(
        x,
        kernel,
        what.strides,
        what.padding,
        lhs_dilation=what.input_dilation,
        rhs_dilation=what.kernel_dilation,
        feature_group_count=what.groups,
        precision=lax.Precision.HIGHEST,
    )


_conv_transpose = partial(jax.jit, static_argnums=(0,))(by_dilation(_conv))

conv = convolver(_conv)
conv_transpose = transposer(_conv_transpose)

convolve = jax.jit(generic.convolve, static_argnames=("mode", "axes", "method"))
correlate = jax.jit(generic.correlate, static_argnames=("mode", "axes", "method"))
