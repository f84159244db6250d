"""Random numbers on PyTorch."""

from ._keys import (
    binomial_elements,
    bits,
    fold_in,
    gamma,
    gamma_elements,
    key_of_seed,
    loggamma,
    native_generator,
    normal,
    poisson_elements,
    randint,
    split,
    split_each,
    uniform,
)
