"""The distributions, gathered."""

from ._random_continuous import cauchy, exponential, gumbel, laplace, logistic, maxwell
from ._random_discrete import binomial, categorical, geometric, multinomial, poisson
from ._random_gamma import beta, chisquare, dirichlet, f, gamma, generalized_normal, loggamma, t
from ._random_multivariate import ball, multivariate_normal, orthogonal
from ._random_shaped import (
    double_sided_maxwell,
    lognormal,
    pareto,
    rayleigh,
    triangular,
    truncated_normal,
    wald,
    weibull_min,
)

__all__ = [
    "ball",
    "beta",
    "binomial",
    "categorical",
    "cauchy",
    "chisquare",
    "dirichlet",
    "double_sided_maxwell",
    "exponential",
    "f",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "multinomial",
    "multivariate_normal",
    "orthogonal",
    "pareto",
    "poisson",
    "rayleigh",
    "t",
    "triangular",
    "truncated_normal",
    "wald",
    "weibull_min",
]
