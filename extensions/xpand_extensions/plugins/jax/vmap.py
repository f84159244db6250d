"""Mapping on JAX."""

from collections.abc import Callable
from typing import Any

import jax


def vmap(function: Callable[..., Any], /, in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    mapped: Callable[..., Any] = jax.vmap(function, in_axes, out_axes)
    return mapped
