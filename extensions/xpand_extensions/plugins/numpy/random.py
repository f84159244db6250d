"""Random numbers on NumPy: the parts, gathered."""

from ._random_discrete import binomial_elements as binomial_elements
from ._random_discrete import poisson_elements as poisson_elements
from ._random_gamma import gamma_elements as gamma_elements
from ._random_keys import bits as bits
from ._random_keys import fold_in as fold_in
from ._random_keys import split as split
from ._random_native import native_generator as native_generator
from ._random_uniform import normal as normal
from ._random_uniform import uniform as uniform
