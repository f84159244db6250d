"""Random numbers on PyTorch."""

from ._elements import binomial_elements, gamma, gamma_elements, loggamma, poisson_elements, split_each
from ._integers import randint
from ._keys import bits, fold_in, key_of_seed, split
from ._native import native_generator
from ._uniform import normal, uniform
