"""Values for host functions on JAX."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import jax

from xpand.extend import Array


def callback(function: Callable[..., Any], /, *args: Array, ordered: bool = False, **kwargs: Any) -> None:
    jax.debug.callback(lambda *values: function(*map(jax.device_get, values)), *args, ordered=ordered)


def leaks_checked(*, xp: Any = None) -> AbstractContextManager[None]:
    found: AbstractContextManager[None] = jax.checking_leaks()
    return found
