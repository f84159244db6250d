"""Checks of values that may not be known yet."""

from ._namespace import array_namespace, describe, eager, is_concrete
from .typing import Array


def check(condition: Array | bool, message: str, /, *, error: type[Exception] = ValueError) -> None:
    """Raise an error if a condition on concrete values fails; do nothing if the values are abstract.

    A function with such checks can still be traced. Under `jax.jit`, `jax.vmap`, `torch.func` and `torch.compile`, and
    for lazy arrays (Dask), nothing is raised and nothing is computed. Under `jax.grad` alone, comparisons are concrete,
    so they are checked.

    Args:
        condition: A bool, or a boolean array of any shape, whose elements must all be True. An empty array passes.
        message: The text of the error.
        error: The exception type, `ValueError` by default.

    Raises:
        error: The condition is concrete and false.
        TypeError: `condition` is neither a bool nor a boolean array.

    >>> import numpy as np
    >>> check(np.asarray([1, 2]) > 0, "all counts must be positive")
    >>> check(2 < 1, "2 must be below 1")
    Traceback (most recent call last):
    ...
    ValueError: 2 must be below 1
    """
    if isinstance(condition, bool):
        if not condition:
            raise error(message)
        return
    given: object = condition
    if isinstance(given, (int, float, complex, str)) or given is None:
        raise TypeError(f"check: condition must be a bool or a boolean array, got {describe(condition)}")
    xp = array_namespace(condition)
    if not xp.isdtype(condition.dtype, "bool"):
        raise TypeError(f"check: condition must be a bool or a boolean array, got an array of {condition.dtype}")
    if is_concrete(condition):
        with eager(xp):
            holds = bool(xp.all(condition))
        if not holds:
            raise error(message)
