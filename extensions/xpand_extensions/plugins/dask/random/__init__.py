"""Random numbers on Dask: by chunks."""

from ._elements import binomial_elements as binomial_elements
from ._elements import gamma_elements as gamma_elements
from ._elements import poisson_elements as poisson_elements
from ._keys import bits as bits
from ._keys import fold_in as fold_in
from ._keys import normal as normal
from ._keys import split as split
from ._keys import uniform as uniform
from ._native import native_generator as native_generator
