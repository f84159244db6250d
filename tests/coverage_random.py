"""The rows of docs/coverage/phiml.toml that are about random numbers, each with its test."""

from typing import Any, Final

import jax
import numpy as np

from tests.coverage import Row
from tests.libraries import Library
from xpand_extensions import random

KEY = jax.random.PRNGKey(5)


def key_of(library: Library) -> Any:
    return random.key(5, xp=library.xp, device=library.device)


def seeded(library: Library) -> None:
    random.seed(5, xp=library.xp)
    found = random.default_generator(library.xp).randint((3,), 0, 10)
    expected = jax.random.randint(jax.random.fold_in(KEY, 0), (3,), 0, 10)
    np.testing.assert_array_equal(library.to_numpy(found), expected)


def uniform(library: Library) -> None:
    found = random.uniform(key_of(library), (3, 2), library.xp.float32, -1.5, 2.0)
    library.assert_equal(found, jax.random.uniform(KEY, (3, 2), np.float32, -1.5, 2.0))


def normal(library: Library) -> None:
    found = random.normal(key_of(library), (3, 2), library.xp.float32)
    library.assert_equal(found, jax.random.normal(KEY, (3, 2), np.float32), rtol=5e-7)


def permutations(library: Library) -> None:
    """Several permutations of a range: one of each of several keys."""
    keys = random.split(key_of(library), 3)
    for i, key in enumerate(jax.random.split(KEY, 3)):
        library.assert_equal(random.permutation(keys[i, ...], 6), jax.random.permutation(key, 6))


CHECKS: Final[dict[str, Row]] = {
    "Backend.seed": seeded,
    "Backend.random_uniform": uniform,
    "Backend.random_normal": normal,
    "Backend.random_permutations": permutations,
}
