"""Random numbers on NumPy: the parts, gathered."""

from ._discrete import binomial_elements as binomial_elements
from ._discrete import poisson_elements as poisson_elements
from ._gamma import gamma_elements as gamma_elements
from ._keys import bits as bits
from ._keys import fold_in as fold_in
from ._keys import split as split
from ._native import native_generator as native_generator
from ._uniform import normal as normal
from ._uniform import uniform as uniform
