"""Values that compiled functions get along with arrays: on the arrays' devices, and on no other."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xpand import is_concrete
from xpand.extend import LibraryArray as Array


def argument(value: Any, dtype: Any) -> Any:
    """Make an array of a value to be passed to a function of JAX's, with arrays that may lie anywhere.

    Python's numbers become NumPy's: JAX puts these where the others are. `jnp.asarray` would put them on the default
    device, from which they had to be copied.
    """
    if isinstance(value, (jax.Array, jax.core.Tracer)):
        return jnp.asarray(value, dtype=dtype)
    if isinstance(value, (list, tuple)) and any(isinstance(each, (jax.Array, jax.core.Tracer)) for each in value):
        return jnp.asarray(value, dtype=dtype)
    return np.asarray(value, dtype=dtype)


def placed_like(x: Array, values: Any) -> Array:
    """Put NumPy's values on the device of an array that is bound to one."""
    if is_concrete(x) and x.committed and len(x.devices()) == 1:
        return jax.device_put(values, x.device)
    return jnp.asarray(values)
