"""Random numbers for any library."""

from ._choice import choice, permutation
from ._continuous import (
    ball,
    cauchy,
    double_sided_maxwell,
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    maxwell,
    multivariate_normal,
    orthogonal,
    pareto,
    rayleigh,
    triangular,
    truncated_normal,
    wald,
    weibull_min,
)
from ._discrete import binomial, binomial_elements, categorical, geometric, multinomial, poisson, poisson_elements
from ._gamma import beta, chisquare, dirichlet, f, gamma, gamma_elements, generalized_normal, loggamma, t
from ._keys import bits, fold_in, key_data, key_of_seed, split, split_each
from ._uniform import bernoulli, normal, rademacher, randint, uniform
