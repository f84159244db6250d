"""Random numbers for any library: the parts, gathered."""

from ._choice import choice, permutation
from ._continuous import cauchy, exponential, gumbel, laplace, logistic, maxwell
from ._discrete import binomial, binomial_elements, categorical, geometric, multinomial, poisson, poisson_elements
from ._gamma import beta, chisquare, dirichlet, f, gamma, gamma_elements, generalized_normal, loggamma, t
from ._keys import bits, fold_in, key_data, key_of_seed, split, split_each
from ._multivariate import ball, multivariate_normal, orthogonal
from ._shaped import double_sided_maxwell, lognormal, pareto, rayleigh, triangular, truncated_normal, wald, weibull_min
from ._uniform import bernoulli, normal, rademacher, randint, uniform
