"""Uniform and normal numbers, integers and booleans."""

from typing import Any, Literal

from xpand import array_namespace
from xpand.extend import Array, DType, Key, checks

from .._dispatch import pluggable
from .._elsewhere import arguments_elsewhere
from ._arguments import (
    arrays_of,
    as_array,
    check_key,
    float_dtype,
    inexact_dtype,
    integer_dtype,
    key_of,
    number_dtype,
    probabilities,
    probability_dtype,
    shape_of,
)


@arguments_elsewhere()
@pluggable
def uniform(
    key: Key, /, shape: Any = (), dtype: DType | None = None, minval: Array | float = 0.0, maxval: Array | float = 1.0
) -> Array:
    """Generate uniformly distributed random numbers between two bounds.

    Args:
        key: A key.
        shape: The shape of the result.
        dtype: A real floating-point data type; None: the default.
        minval: The lower bound, included: a number or an array that broadcasts to `shape`.
        maxval: The upper bound, excluded: as `minval`.

    Returns:
        An array of that shape and data type, on the key's device. Between 0 and 1, samples are multiples of the data
        type's `eps`. If `maxval` is not above `minval`, samples are equal to `minval`.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, the data type is not supported, or bounds that are not
            real numbers of the key's library.
        ValueError: A key of the wrong shape, a negative size, or bounds that do not fit the shape or are on another
            device.

    Samples have derivatives in the bounds.

    Source: `jax.random.uniform`, bit for bit as compiled for CPUs, with one rounding. JAX's samples may be rounded to
    `maxval`; these are the next smaller number here.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.uniform(random.key(0), (2,)).round(4)
    array([0.4185, 0.2163])
    """
    if type(minval) is float and type(maxval) is float and shape is not None:  # these need no checks
        implementation, shape = uniform.planned(check_key, (key,), shape)
        dtype = float_dtype("uniform", array_namespace(key), dtype, key)
        return implementation(key, shape, dtype, minval, maxval)
    xp, key = key_of("uniform", key)
    dtype = float_dtype("uniform", xp, dtype, key)
    minval, maxval = as_array("uniform", xp, key, dtype, {"minval": minval, "maxval": maxval}, checks.REAL_VALUED)
    shape = shape_of("uniform", shape, minval, maxval)
    return uniform.native(key, *arrays_of(minval, maxval))(key, shape, dtype, minval, maxval)


@arguments_elsewhere()
@pluggable
def normal(key: Key, /, shape: Any = (), dtype: DType | None = None) -> Array:
    """Generate random numbers from the standard normal distribution.

    Args:
        key: A key.
        shape: The shape of the result.
        dtype: A floating-point data type; None: the default for real numbers. Complex samples have independent parts of
            variance 1/2.

    Returns:
        An array of that shape and data type, on the key's device.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, or the data type is not supported.
        ValueError: A key of the wrong shape, or a negative size.

    Source: `jax.random.normal`, to a few ulps.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.normal(random.key(0), (2,)).round(4)
    array([-0.2058, -0.7848])
    """
    implementation, shape = normal.planned(check_key, (key,), shape)
    return implementation(key, shape, inexact_dtype("normal", array_namespace(key), dtype, key))


@arguments_elsewhere()
@pluggable
def randint(key: Key, /, shape: Any, minval: Array | int, maxval: Array | int, dtype: DType | None = None) -> Array:
    """Generate random integers between two bounds.

    Args:
        key: A key.
        shape: The shape of the result.
        minval: The lower bound, included: an integer, or an integer array that broadcasts to `shape`.
        maxval: The upper bound, excluded: as `minval`.
        dtype: An integer data type; None: the default. Bounds outside of its range are clipped to the smallest number,
            and to one above the largest number.

    Returns:
        An array of that shape and data type, on the key's device. All integers are nearly equally likely: for small
        ranges, to at least one part in 2³². If `maxval` is not above `minval`, samples are equal to `minval`.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, the data type is not supported, or bounds that are not
            integers of the key's library.
        ValueError: A key of the wrong shape, a negative size, or bounds that do not fit the shape or are on another
            device.

    Source: `jax.random.randint`, bit for bit.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.randint(random.key(0), (5,), 0, 10)
    array([5, 1, 5, 7, 3])
    """
    xp, key = key_of("randint", key)
    dtype = integer_dtype("randint", xp, dtype, key)
    bounds = {"minval": minval, "maxval": maxval}
    for name, value in bounds.items():
        value = checks.plain_integer(value)
        bounds[name] = value if checks.is_array(value) else checks.integer("randint", name, value)
    minval, maxval = as_array("randint", xp, key, None, bounds, checks.INTEGERS)
    shape = shape_of("randint", shape, minval, maxval)
    return randint.native(key, *arrays_of(minval, maxval))(key, shape, minval, maxval, dtype)


@arguments_elsewhere()
@pluggable
def bernoulli(key: Key, /, p: Array | float = 0.5, shape: Any = None, mode: Literal["low", "high"] = "low") -> Array:
    """Generate random booleans.

    Args:
        key: A key.
        p: The probability of True, a number or an array of a real floating-point data type. NaN gives False.
        shape: The shape of the result, to which `p` broadcasts. None: the shape of `p`.
        mode: The precision of probabilities. "low": 2⁻²³ in float32, 2⁻⁵² in float64. "high": the square of that, in
            twice the time.

    Returns:
        An array of bool of that shape, on the key's device.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, or `p` is neither a real number nor an array of real
            numbers of the key's library.
        ValueError: A key of the wrong shape, a negative size, an unknown mode, or `p` that doesn't fit the shape, is on
            another device, or (if concrete) is below 0 or above 1.

    Source: `jax.random.bernoulli`, bit for bit. A number `p` is compared in the data type of the precision, by default
    float64.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.bernoulli(random.key(0), 0.3, (5,))
    array([False,  True, False, False, False])
    """
    xp, key = key_of("bernoulli", key)
    dtype = probability_dtype(xp, p)
    (p,) = as_array("bernoulli", xp, key, dtype, {"p": p}, checks.REAL)
    checks.choice("bernoulli", "mode", mode, ("low", "high"))
    probabilities("bernoulli", p=p)
    shape = shape_of("bernoulli", shape, p)
    return bernoulli.native(key, *arrays_of(p))(key, p, shape, mode)


@arguments_elsewhere()
@pluggable
def rademacher(key: Key, /, shape: Any = (), dtype: DType | None = None) -> Array:
    """Generate random signs, 1 and -1.

    Args:
        key: A key.
        shape: The shape of the result.
        dtype: A numeric data type that is not unsigned; None: the default for integers.

    Returns:
        An array of that shape and data type, on the key's device.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, or the data type is not supported.
        ValueError: A key of the wrong shape, or a negative size.

    Source: `jax.random.rademacher`, bit for bit with JAX's default data type of 64 bits.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.rademacher(random.key(0), (5,))
    array([ 1,  1, -1, -1, -1])
    """
    implementation, shape = rademacher.planned(check_key, (key,), shape)
    return implementation(key, shape, number_dtype("rademacher", array_namespace(key), dtype, key))
