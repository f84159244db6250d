"""Random numbers from explicit keys, the same on every library.

A key gives the same numbers on all libraries: those of `jax.random`. A `Generator` has a key and changes it in each
call, like NumPy's generators.
"""

from typing import TYPE_CHECKING

from .._elsewhere import elsewhere
from ._choice import choice, permutation, shuffle
from ._continuous import (
    cauchy,
    double_sided_maxwell,
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    maxwell,
    pareto,
    rayleigh,
    triangular,
    truncated_normal,
    wald,
    weibull_min,
)
from ._discrete import binomial, categorical, geometric, multinomial, poisson
from ._gamma import beta, chisquare, dirichlet, f, gamma, generalized_normal, loggamma, t
from ._generators import Generator, NativeGenerator, add_methods, default_generator, native_generator, seed
from ._keys import bits, fold_in, key, key_data, split
from ._multivariate import ball, multivariate_normal, orthogonal
from ._uniform import bernoulli, normal, rademacher, randint, uniform

__all__ = [
    "Generator",
    "NativeGenerator",
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "default_generator",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "fold_in",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "key",
    "key_data",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "native_generator",
    "normal",
    "orthogonal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "seed",
    "shuffle",
    "split",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
]
__dir__ = __all__.copy

_NOT_METHODS = {"Generator", "NativeGenerator", "default_generator", "fold_in", "key", "key_data", "native_generator"}
add_methods({name: globals()[name] for name in __all__ if name not in {*_NOT_METHODS, "seed", "split"}})

if not TYPE_CHECKING:  # a type checker would accept any name
    __getattr__ = elsewhere(__name__)
