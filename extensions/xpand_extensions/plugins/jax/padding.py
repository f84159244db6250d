"""Padding on JAX: compiled, and by lax.pad for constants."""

from functools import partial
from typing import Any

import jax
import numpy as np

from xpand.extend import Array, DType
from xpand_extensions.generic import padding as generic


def pad(
    x: Array,
    pad_width: Any,
    /,
    *,
    mode: Any = "constant",
    constant_values: Any = 0,
    end_values: Any = 0,
    reflect_type: Any = "even",
    interior: Any = 0,
) -> Array:
    if mode == "constant" and not isinstance(constant_values, tuple):
        return _constant(x, _array(constant_values, x.dtype), pad_width, interior)
    values = constant_values if mode == "constant" else end_values if mode == "linear_ramp" else None
    return _compiled(x, _array(values, x.dtype), pad_width, mode, reflect_type, interior)


def _array(value: Any, dtype: DType) -> Any:
    """Make arrays of numbers: as static arguments 0.0 and -0.0 would be the same, and NaN never."""
    if isinstance(value, tuple):
        return tuple([_array(each, dtype) for each in value])
    return np.asarray(value, dtype=dtype) if isinstance(value, (bool, int, float, complex)) else value


@partial(jax.jit, static_argnums=(2, 3))
def _constant(x: Array, value: Array, pad_width: Any, interior: Any) -> Array:
    widths = [(low, high, between) for (low, high), between in zip(pad_width, interior)]
    return jax.lax.pad(x, value.astype(x.dtype), widths)


@partial(jax.jit, static_argnums=(2, 3, 4, 5))
def _compiled(x: Array, values: Any, pad_width: Any, mode: Any, reflect_type: Any, interior: Any) -> Array:
    return generic.pad(
        x,
        pad_width,
        mode=mode,
        constant_values=values,
        end_values=values,
        reflect_type=reflect_type,
        interior=interior,
    )
