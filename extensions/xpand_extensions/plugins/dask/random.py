"""Random numbers on Dask: the parts, gathered."""

from ._random_elements import binomial_elements as binomial_elements
from ._random_elements import gamma_elements as gamma_elements
from ._random_elements import poisson_elements as poisson_elements
