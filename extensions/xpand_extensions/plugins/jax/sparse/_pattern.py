"""Work on patterns on JAX: with NumPy, since under jit the operations of known arrays would be put off too."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from xpand.extend import LibraryArray as Array


def eagerly(function: Callable[..., Any], /, *arrays: Array) -> Any:
    found = function(*(np.asarray(x) for x in arrays))
    device = next(iter(arrays[0].devices()))
    with jax.ensure_compile_time_eval():
        return jax.tree.map(
            lambda x: jax.device_put(x, device) if isinstance(x, (np.ndarray, np.generic)) else x, found
        )
