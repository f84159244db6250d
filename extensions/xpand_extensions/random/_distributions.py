"""The distributions, gathered."""

from ._continuous import cauchy, exponential, gumbel, laplace, logistic, maxwell
from ._discrete import binomial, categorical, geometric, multinomial, poisson
from ._gamma import beta, chisquare, dirichlet, f, gamma, generalized_normal, loggamma, t
from ._multivariate import ball, multivariate_normal, orthogonal
from ._shaped import double_sided_maxwell, lognormal, pareto, rayleigh, triangular, truncated_normal, wald, weibull_min

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
