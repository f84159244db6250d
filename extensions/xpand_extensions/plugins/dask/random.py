"""Random numbers on Dask: by chunks."""

from ._random_elements import binomial_elements as binomial_elements
from ._random_elements import gamma_elements as gamma_elements
from ._random_elements import poisson_elements as poisson_elements
from ._random_keys import bits as bits
from ._random_keys import fold_in as fold_in
from ._random_keys import normal as normal
from ._random_keys import split as split
from ._random_keys import uniform as uniform
from ._random_native import native_generator as native_generator
