"""Random numbers on PyTorch."""

from ._elements import binomial_elements as binomial_elements
from ._elements import gamma as gamma
from ._elements import gamma_elements as gamma_elements
from ._elements import loggamma as loggamma
from ._elements import poisson_elements as poisson_elements
from ._elements import split_each as split_each
from ._integers import randint as randint
from ._keys import bits as bits
from ._keys import fold_in as fold_in
from ._keys import key_of_seed as key_of_seed
from ._keys import split as split
from ._native import native_generator as native_generator
from ._uniform import normal as normal
from ._uniform import uniform as uniform
