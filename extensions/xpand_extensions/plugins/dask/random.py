"""Random numbers on Dask: by chunks."""

from ._random_keys import bits as bits
from ._random_keys import normal as normal
from ._random_keys import uniform as uniform
from ._random_native import native_generator as native_generator
