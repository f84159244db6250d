"""Padding on JAX, compiled. lax.pad pads with constants."""

from functools import partial
from typing import Any

import jax
import numpy as np

from xpand.extend import DType, LibraryArray as Array
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.generic import padding as generic


@forwards_to(generic.pad)
def pad(
    x: Array, /, pad_width: Any, *, mode: Any = "constant", constant_values: Any = 0, end_values: Any = 0, **rest: Any
) -> Array:
    if mode == "constant" and not isinstance(constant_values, tuple):
        return _constant(x, _array(constant_values, x.dtype), pad_width, rest["interior"])
    values = constant_values if mode == "constant" else end_values if mode == "linear_ramp" else None
    values = _array(values, x.dtype)
    return _compiled(x, pad_width, mode=mode, constant_values=values, end_values=values, **rest)


def _array(value: Any, dtype: DType) -> Any:
    """Convert numbers to arrays: as static arguments, 0.0 would equal -0.0, and NaN would not equal itself."""
    if isinstance(value, tuple):
        return tuple([_array(each, dtype) for each in value])
    return np.asarray(value, dtype=dtype) if isinstance(value, (bool, int, float, complex)) else value


@partial(jax.jit, static_argnums=(2, 3))
def _constant(x: Array, value: Array, pad_width: Any, interior: Any) -> Array:
    widths = [(low, high, between) for (low, high), between in zip(pad_width, interior)]
    return jax.lax.pad(x, value.astype(x.dtype), widths)


_compiled = jax.jit(generic.pad, static_argnums=1, static_argnames=("mode", "reflect_type", "interior"))
