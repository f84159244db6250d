"""Random numbers on NumPy."""

from ._blocks import bits, fold_in, normal, split, uniform
from ._elements import binomial_elements, gamma_elements, poisson_elements
from ._native import native_generator
