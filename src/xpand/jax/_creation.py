"""Creation functions, of the data types that the precision says where one is set; otherwise they are JAX's own."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp

from .._common.creation import with_default
from .._precision import PRECISION, current
from .._typing import Array

__all__ = ["arange", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros"]

_XP: Any = sys.modules[__package__]


def creating(name: str, function: Callable[..., Array]) -> Callable[..., Array]:
    """Let a function whose arrays have a default data type heed the precision."""

    @wraps(function)
    def create(*args: Any, **kwargs: Any) -> Array:
        if not PRECISION.active:
            return function(*args, **kwargs)
        kwargs = with_default(_XP, name, args, kwargs)
        setting = current()
        if setting is None or not setting.is_wide or jax.config.jax_enable_x64:
            return function(*args, **kwargs)
        # The block was entered by another thread, or another task has turned the switch of this one back.
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return create


arange = creating("arange", jnp.arange)
asarray = creating("asarray", jnp.asarray)
empty = creating("empty", jnp.empty)
eye = creating("eye", jnp.eye)
full = creating("full", jnp.full)
linspace = creating("linspace", jnp.linspace)
ones = creating("ones", jnp.ones)
zeros = creating("zeros", jnp.zeros)
