"""The bits of integers on JAX: XLA's operations, and the generic versions, compiled."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from xpand.extend import DType, LibraryArray as Array
from xpand_extensions.generic import bits as generic


@partial(jax.jit, static_argnums=1)
def _bitcast(x: Array, dtype: DType) -> Array:
    if jnp.iscomplexobj(x) or jnp.issubdtype(dtype, jnp.complexfloating):
        # XLA takes no complex numbers.
        if jnp.dtype(dtype).itemsize > x.dtype.itemsize:
            return x.view(dtype)[..., 0]
        return x.view(dtype) if jnp.dtype(dtype).itemsize == x.dtype.itemsize else x[..., None].view(dtype)
    return jax.lax.bitcast_convert_type(x, dtype)


def bitcast(x: Array, /, dtype: DType) -> Array:
    return _bitcast(x, jnp.dtype(dtype))


population_count = jax.lax.population_count
count_leading_zeros = jax.lax.clz
shift_left = jax.jit(generic.shift_left)
shift_right = jax.jit(generic.shift_right)
shift_right_logical = jax.jit(generic.shift_right_logical)

_packbits = jax.jit(lambda x, axis, bitorder: jnp.packbits(x != 0, axis=axis, bitorder=bitorder), static_argnums=(1, 2))
_unpackbits = jax.jit(jnp.unpackbits, static_argnames=("axis", "count", "bitorder"))


def packbits(x: Array, /, *, axis: int | None = None, bitorder: Any = "big") -> Array:
    # JAX divides by the number of elements.
    return _packbits(x, axis, bitorder) if x.size else generic.packbits(x, axis=axis, bitorder=bitorder)


def unpackbits(x: Array, /, *, axis: int | None = None, count: int | None = None, bitorder: Any = "big") -> Array:
    unpack = _unpackbits if x.size else generic.unpackbits
    return unpack(x, axis=axis, count=count, bitorder=bitorder)
