"""Values that are passed to compiled functions together with arrays, on the same device."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xpand import is_concrete
from xpand.extend import LibraryArray as Array


def argument(value: Any, dtype: Any) -> Any:
    """Convert a value to an array that JAX accepts together with arrays on any device.

    Python numbers become NumPy arrays: JAX puts these on the device of the other arrays. `jnp.asarray` would put them
    on the default device, and they would have to be copied.
    """
    if isinstance(value, (jax.Array, jax.core.Tracer)):
        return jnp.asarray(value, dtype=dtype)
    if isinstance(value, (list, tuple)) and any(isinstance(each, (jax.Array, jax.core.Tracer)) for each in value):
        return jnp.asarray(value, dtype=dtype)
    return np.asarray(value, dtype=dtype)


def placed_like(x: Array, values: Any) -> Array:
    """Put NumPy's values on the device of `x` if `x` is committed to one."""
    if is_concrete(x) and x.committed and len(x.devices()) == 1:
        return jax.device_put(values, x.device)
    return jnp.asarray(values)
