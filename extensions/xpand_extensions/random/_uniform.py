"""Uniform and normal numbers, integers and booleans."""

from typing import Any, Final, Literal

from xpand import array_namespace, check
from xpand.extend import Array, DType, Key, checks

from .._dispatch import pluggable
from ._arguments import (
    arrays_of,
    as_array,
    check_key,
    float_dtype,
    inexact_dtype,
    integer_dtype,
    key_of,
    number_dtype,
    probability_dtype,
    shape_of,
)


@pluggable
def uniform(
    key: Key, /, shape: Any = (), dtype: DType | None = None, minval: Array | float = 0.0, maxval: Array | float = 1.0
) -> Array:
    """Generate random numbers between two bounds, each part of the interval equally likely.

    Args:
        key: A key.
        shape: The shape of the result.
        dtype: A real floating-point data type; None: the default one.
        minval: The lower bound, a number or an array that broadcasts to `shape`. It may occur.
        maxval: The upper bound, likewise. It does not occur, unless the result is rounded to it.

    Returns:
        An array of that shape and data type, on the key's device. Between 0 and 1: multiples of the distance of 1 to
        the next larger number. Where `maxval` is not above `minval`: between `maxval` and `minval`, at least `minval`.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, the data type is not supported, or bounds that are not
            real numbers of the key's library.
        ValueError: A key of the wrong shape, a negative size, or bounds that do not fit the shape, or on another
            device.

    Samples have derivatives in the bounds.

    Source: `jax.random.uniform`, bit by bit as its compiler for processors evaluates it: with one rounding.

    >>> import numpy as np
    >>> from xpand_extensions import random
    >>> random.uniform(random.key(0), (2,)).round(4)
    array([0.4185, 0.2163])
    """
    if type(minval) is float and type(maxval) is float and shape is not None:  # which need no checks
        implementation, shape = uniform.planned(check_key, (key,), shape)
        dtype = float_dtype("uniform", array_namespace(key), dtype, key)
        return implementation(key, shape, dtype, minval, maxval)
    xp, key = key_of("uniform", key)
    dtype = float_dtype("uniform", xp, dtype, key)
    minval, maxval = as_array("uniform", xp, key, dtype, {"minval": minval, "maxval": maxval}, checks.REAL_VALUED)
    shape = shape_of("uniform", shape, minval, maxval)
    return uniform.native(key, *arrays_of(minval, maxval))(key, shape, dtype, minval, maxval)


@pluggable
def normal(key: Key, /, shape: Any = (), dtype: DType | None = None) -> Array:
    """Generate random numbers from the standard normal distribution.

    Args:
        key: A key.
        shape: The shape of the result.
        dtype: A floating-point data type; None: the default real one. Of a complex one: both parts are independent, of
            variance 1/2 each.

    Returns:
        An array of that shape and data type, on the key's device.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, or the data type is not supported.
        ValueError: A key of the wrong shape, or a negative size.

    Source: `jax.random.normal`, to a few ulps.

    >>> import numpy as np
    >>> from xpand_extensions import random
    >>> random.normal(random.key(0), (2,)).round(4)
    array([-0.2058, -0.7848])
    """
    implementation, shape = normal.planned(check_key, (key,), shape)
    return implementation(key, shape, inexact_dtype("normal", array_namespace(key), dtype, key))


@pluggable
def randint(key: Key, /, shape: Any, minval: Array | int, maxval: Array | int, dtype: DType | None = None) -> Array:
    """Generate random integers between two bounds.

    Args:
        key: A key.
        shape: The shape of the result.
        minval: The lower bound, an integer or an array of such that broadcasts to `shape`. It may occur.
        maxval: The upper bound, likewise. It does not occur.
        dtype: An integer data type; None: the default one. Bounds outside of it are taken as its smallest number, and
            as one above its largest.

    Returns:
        An array of that shape and data type, on the key's device: each integer nearly equally likely, to one part in
        2³² at least for small ranges. Where `maxval` is not above `minval`: `minval`.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, the data type is not supported, or bounds that are not
            integers of the key's library.
        ValueError: A key of the wrong shape, a negative size, or bounds that do not fit the shape, or on another
            device.

    Source: `jax.random.randint`, bit by bit.

    >>> import numpy as np
    >>> from xpand_extensions import random
    >>> random.randint(random.key(0), (5,), 0, 10)
    array([5, 1, 5, 7, 3])
    """
    xp, key = key_of("randint", key)
    dtype = integer_dtype("randint", xp, dtype, key)
    bounds = {"minval": minval, "maxval": maxval}
    for name, value in bounds.items():
        if not checks.is_array(value):
            bounds[name] = checks.integer("randint", name, value)
    minval, maxval = as_array("randint", xp, key, None, bounds, checks.INTEGERS)
    shape = shape_of("randint", shape, minval, maxval)
    return randint.native(key, *arrays_of(minval, maxval))(key, shape, minval, maxval, dtype)


@pluggable
def bernoulli(key: Key, /, p: Array | float = 0.5, shape: Any = None, mode: Literal["low", "high"] = "low") -> Array:
    """Generate random booleans.

    Args:
        key: A key.
        p: The probability of True, a number or an array of a real floating-point data type. NaN makes False.
        shape: The shape of the result, to which `p` broadcasts. None: that of `p`.
        mode: "low": probabilities are rounded to 2⁻²³ in float32, 2⁻⁵² in float64. "high": to the square of that, in
            twice the time.

    Returns:
        An array of bool of that shape, on the key's device.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, or `p` is neither a real number nor an array of real
            numbers of the key's library.
        ValueError: A key of the wrong shape, a negative size, an unknown mode, `p` that doesn't fit the shape or lies
            on another device, or is (if concrete) below 0 or above 1.

    Source: `jax.random.bernoulli`, bit by bit. A number is compared in float64, or in the precision that is set.

    >>> import numpy as np
    >>> from xpand_extensions import random
    >>> random.bernoulli(random.key(0), 0.3, (5,))
    array([False,  True, False, False, False])
    """
    xp, key = key_of("bernoulli", key)
    dtype = probability_dtype(xp, p)
    (p,) = as_array("bernoulli", xp, key, dtype, {"p": p}, checks.REAL)
    checks.choice("bernoulli", "mode", mode, ("low", "high"))
    check(~((p < 0.0) | (p > 1.0)) if checks.is_array(p) else not (p < 0.0 or p > 1.0), _PROBABILITY)
    shape = shape_of("bernoulli", shape, p)
    return bernoulli.native(key, *arrays_of(p))(key, p, shape, mode)


_PROBABILITY: Final = "bernoulli: p must hold probabilities, from 0 to 1"


@pluggable
def rademacher(key: Key, /, shape: Any = (), dtype: DType | None = None) -> Array:
    """Generate random signs, 1 and -1.

    Args:
        key: A key.
        shape: The shape of the result.
        dtype: A numeric data type other than an unsigned one; None: the default integers.

    Returns:
        An array of that shape and data type, on the key's device.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, or the data type is not supported.
        ValueError: A key of the wrong shape, or a negative size.

    Source: `jax.random.rademacher`, bit by bit with the default data type of JAX with 64 bits.

    >>> import numpy as np
    >>> from xpand_extensions import random
    >>> random.rademacher(random.key(0), (5,))
    array([ 1,  1, -1, -1, -1])
    """
    implementation, shape = rademacher.planned(check_key, (key,), shape)
    return implementation(key, shape, number_dtype("rademacher", array_namespace(key), dtype, key))
