"""Random numbers on Dask: by chunks."""

from ._elements import binomial_elements, gamma_elements, poisson_elements
from ._keys import bits, fold_in, normal, split, uniform
from ._native import native_generator
