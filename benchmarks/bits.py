"""Bits and division of integers compared with each library's fastest recipe."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from xpand_extensions import arithmetic, bits

from ._measure import Budget, Call, Row
from .namespaces import libraries

BUDGET: Final = Budget(ratio=1.1, extra=1e-5)
"""A call of a library's own function, and 10 µs for the checks of arguments."""

_ZEROS: Final = "a pass looks for zero divisors, which the recipe leaves undefined"
_NUMBER: Final = "each call puts a number on the device, and handles cases that the recipe leaves undefined"

REASONS: Final[dict[str, str]] = {
    "quotient, torch": _ZEROS,
    "truncated_remainder, numpy": _ZEROS,
    "truncated_remainder, torch": _ZEROS,
    "quotient, jax": _NUMBER,
    "truncated_remainder, jax": _NUMBER,
    "shift_left, jax": _NUMBER,
}
"""Why a row is over the budget."""

SMALL: Final[dict[str, Any]] = {"sizes": (40,)}
"""The sizes with which the tests run every row."""


def rows(sizes: tuple[int, ...] = (1_000, 100_000, 10_000_000)) -> Iterator[Row]:
    for size in sizes:
        topic = f"bits of {size:,} integers"
        for library in libraries():
            x = library.xp.asarray(np.random.default_rng(0).integers(0, 2**31, size))
            recipes = RECIPES[library.name]()
            for name, recipe in recipes.items():
                label = f"{name}, {library.name}"
                references = {key: Call(function, x) for key, function in recipe.items()}
                yield Row(topic, label, Call(OURS[name], x), references, BUDGET, REASONS.get(label, ""))


OURS: Final[dict[str, Callable[[Any], Any]]] = {
    "population_count": bits.population_count,
    "shift_left": lambda x: bits.shift_left(x, 3),
    "packbits": bits.packbits,
    "quotient": lambda x: arithmetic.quotient(x, 7),
    "truncated_remainder": lambda x: arithmetic.truncated_remainder(x, 7),
}


def _numpy() -> Mapping[str, Mapping[str, Callable[[Any], Any]]]:
    return {
        "population_count": {"np.bitwise_count": lambda x: np.bitwise_count(x).astype(x.dtype)},
        "shift_left": {"np.left_shift": lambda x: np.left_shift(x, 3)},
        "packbits": {"np.packbits": lambda x: np.packbits(x != 0)},
        "truncated_remainder": {"np.fmod": lambda x: np.fmod(x, 7)},
    }


def _torch() -> Mapping[str, Mapping[str, Callable[[Any], Any]]]:
    import torch

    return {
        "shift_left": {"torch.bitwise_left_shift": lambda x: torch.bitwise_left_shift(x, 3)},
        "quotient": {"torch.div": lambda x: torch.div(x, 7, rounding_mode="trunc")},
        "truncated_remainder": {"torch.fmod": lambda x: torch.fmod(x, 7)},
    }


def _jax() -> Mapping[str, Mapping[str, Callable[[Any], Any]]]:
    import jax
    import jax.numpy as jnp

    return {
        "population_count": {"jax.lax.population_count": jax.lax.population_count},
        "shift_left": {"jnp.left_shift, jitted": jax.jit(lambda x: jnp.left_shift(x, 3))},
        "packbits": {"jnp.packbits, jitted": jax.jit(lambda x: jnp.packbits(x != 0))},
        "quotient": {"jax.lax.div, jitted": jax.jit(lambda x: jax.lax.div(x, jnp.asarray(7, x.dtype)))},
        "truncated_remainder": {"jax.lax.rem, jitted": jax.jit(lambda x: jax.lax.rem(x, jnp.asarray(7, x.dtype)))},
    }


RECIPES: Final = {"numpy": _numpy, "torch": _torch, "jax": _jax}
