"""Random numbers of explicit keys, the same on every library.

A key makes the same numbers on all libraries, and those of `jax.random`. The parts: `_random_keys` (keys and bits),
`_random_uniform` (uniform and normal numbers, integers, truth values), `_random_choice` (orders and choices), and the
distributions made of these, by topic. What they have in common is checked by `_random_arguments`.
"""

from ._random_choice import choice, permutation, shuffle
from ._random_keys import bits, fold_in, key, key_data, split
from ._random_uniform import bernoulli, normal, rademacher, randint, uniform

__all__ = [
    "bernoulli",
    "bits",
    "choice",
    "fold_in",
    "key",
    "key_data",
    "normal",
    "permutation",
    "rademacher",
    "randint",
    "shuffle",
    "split",
    "uniform",
]
