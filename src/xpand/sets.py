"""Arrays as sets of values."""

from . import _arguments
from ._arguments import device_of
from .typing import Array

__all__ = ["nunique", "setdiff1d", "union1d"]
__dir__ = __all__.copy


def nunique(x: Array, /) -> Array:
    """Count the different elements of an array, as an integer array of shape (). Each NaN counts as different.

    The function works under `jit`, except for complex numbers, which cannot be sorted.

    Raises:
        TypeError: `x` is not an array.

    Source: `array_api_extra.nunique`.

    >>> import numpy as np
    >>> int(nunique(np.asarray([3, 1, 3, 2])))
    3
    """
    xp = _arguments.namespace_of("nunique", x=x)
    dtype = xp.__array_namespace_info__().default_dtypes(device=device_of(x))["indexing"]
    flat = xp.reshape(x, (-1,))
    kind = _arguments.kind(xp, x.dtype)
    if not flat.shape[0]:
        return xp.zeros((), dtype=dtype, device=device_of(x))
    if kind == "complex":
        return xp.asarray(xp.unique_values(flat).shape[0], dtype=dtype, device=device_of(x))
    if kind == "bool":
        return xp.astype(xp.any(flat), dtype) + xp.astype(~xp.all(flat), dtype)
    ordered = xp.sort(flat)
    return xp.sum(xp.astype(ordered[1:] != ordered[:-1], dtype), dtype=dtype) + 1


def union1d(a: Array, b: Array, /) -> Array:
    """Return the values that are in at least one of two arrays, each once, in ascending order.

    The shape of the result depends on values, which must be concrete.

    Raises:
        TypeError: An argument is not an array, or the arrays belong to two libraries.

    Source: `numpy.union1d`, `array_api_extra.union1d`.

    >>> import numpy as np
    >>> union1d(np.asarray([3, 1]), np.asarray([[1, 2]]))
    array([1, 2, 3])
    """
    xp = _arguments.namespace_of("union1d", a=a, b=b)
    _arguments.one_device("union1d", a=a, b=b)
    dtype = xp.result_type(a, b)
    return xp.unique_values(xp.concat([xp.astype(xp.reshape(x, (-1,)), dtype) for x in (a, b)]))


def setdiff1d(x1: Array, x2: Array, /, *, assume_unique: bool = False) -> Array:
    """Return the values of one array that are not in another.

    Args:
        x1: The values to select from, of any shape.
        x2: The values to exclude, of any shape.
        assume_unique: A promise that no value of `x1` occurs twice. The result then has the order of `x1`; by default,
            it has ascending order.

    The shape of the result depends on values, which must be concrete.

    Raises:
        TypeError: An argument is not an array, or the arrays belong to two libraries.

    Source: `numpy.setdiff1d`, `array_api_extra.setdiff1d`.

    >>> import numpy as np
    >>> setdiff1d(np.asarray([3, 1, 3, 2]), np.asarray([1, 5]))
    array([2, 3])
    """
    xp = _arguments.namespace_of("setdiff1d", x1=x1, x2=x2)
    _arguments.one_device("setdiff1d", x1=x1, x2=x2)
    _arguments.boolean("setdiff1d", "assume_unique", assume_unique)
    dtype = xp.result_type(x1, x2)
    values, others = (xp.astype(xp.reshape(x, (-1,)), dtype) for x in (x1, x2))
    values = values if assume_unique else xp.unique_values(values)
    number = values.shape[0]
    if _arguments.kind(xp, dtype) in _arguments.INTEGERS or not isinstance(number, int):  # Dask may not know the size
        return values[~xp.isin(values, others)]
    # The standard's `isin` takes only integers, so equal values get the same number.
    same = xp.unique_inverse(xp.concat([values, others])).inverse_indices
    return values[~xp.isin(same[:number], same[number:])]
