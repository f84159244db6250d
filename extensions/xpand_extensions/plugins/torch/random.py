"""Random numbers on PyTorch: the parts, gathered."""

from ._random_elements import binomial_elements as binomial_elements
from ._random_elements import gamma as gamma
from ._random_elements import gamma_elements as gamma_elements
from ._random_elements import loggamma as loggamma
from ._random_elements import poisson_elements as poisson_elements
from ._random_elements import split_each as split_each
from ._random_integers import randint as randint
from ._random_keys import bits as bits
from ._random_keys import fold_in as fold_in
from ._random_keys import key_of_seed as key_of_seed
from ._random_keys import split as split
from ._random_native import native_generator as native_generator
from ._random_uniform import normal as normal
from ._random_uniform import uniform as uniform
