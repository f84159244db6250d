"""Random numbers on NumPy: the parts, gathered."""

from ._blocks import bits, fold_in, normal, split, uniform
from ._discrete import binomial_elements, poisson_elements
from ._gamma import gamma_elements
from ._native import native_generator
