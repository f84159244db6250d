"""Random numbers on JAX: its own."""

from ._choice import choice, permutation
from ._distributions import (
    ball,
    beta,
    binomial,
    categorical,
    cauchy,
    chisquare,
    dirichlet,
    exponential,
    f,
    gamma,
    generalized_normal,
    geometric,
    gumbel,
    laplace,
    loggamma,
    logistic,
    lognormal,
    maxwell,
    multinomial,
    multivariate_normal,
    orthogonal,
    pareto,
    poisson,
    rayleigh,
    t,
    triangular,
    truncated_normal,
    wald,
    weibull_min,
)
from ._keys import bits, fold_in, key_data, key_of_seed, split
from ._native import native_generator
from ._uniform import bernoulli, normal, rademacher, randint, uniform
