"""Tests for the rows of docs/coverage/phiml.toml about random numbers."""

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
    """Check several permutations of a range, one from each key."""
    keys = random.split(key_of(library), 3)
    for i, key in enumerate(jax.random.split(KEY, 3)):
        library.assert_equal(random.permutation(keys[i, ...], 6), jax.random.permutation(key, 6))


def subsets(library: Library) -> None:
    """Check several subsets of a range, one from each key. Elements with weight 0 are in no subset."""
    keys = random.split(key_of(library), 2)
    weights = np.asarray([0.5, 0.0, 0.25, 0.25], dtype=np.float32)
    for i, key in enumerate(jax.random.split(KEY, 2)):
        found = library.to_numpy(random.choice(keys[i, ...], 6, (3,), replace=False))
        np.testing.assert_array_equal(found, jax.random.choice(key, 6, (3,), replace=False))
        weighted = random.choice(keys[i, ...], 4, (3,), replace=False, p=library.asarray(weights))
        np.testing.assert_array_equal(np.sort(library.to_numpy(weighted)), [0, 2, 3])


CHECKS: Final[dict[str, Row]] = {
    "Backend.seed": seeded,
    "Backend.random_uniform": uniform,
    "Backend.random_normal": normal,
    "Backend.random_permutations": permutations,
    "Backend.random_subsets": subsets,
}
