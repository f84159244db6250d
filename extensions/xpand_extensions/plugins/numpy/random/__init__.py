"""Random numbers on NumPy: the parts, gathered."""

from ._discrete import binomial_elements, poisson_elements
from ._gamma import gamma_elements
from ._keys import bits, fold_in, split
from ._native import native_generator
from ._uniform import normal, uniform
