"""Discrete distributions."""

import math
from typing import Any

from xpand import check
from xpand.extend import Array, DType, Key, checks

from .._dispatch import pluggable
from .._elsewhere import arguments_elsewhere
from ._arguments import Real, batch_shape, drawn, integer_dtype, key_of, not_negative, probabilities
from ._continuous import GUMBEL_MODES, GumbelMode


@arguments_elsewhere()
@pluggable
def categorical(
    key: Key, /, logits: Array, axis: int = -1, shape: Any = None, replace: bool = True, mode: GumbelMode | None = None
) -> Array:
    """Sample categories, given the logarithms of their probabilities.

    Args:
        key: A key.
        logits: An array of a real floating-point data type: logarithms of the probabilities, up to a constant, of the
            categories along `axis`. A category with -infinity is never chosen.
        axis: The axis of the categories.
        shape: The shape of the result. It ends in the shape of `logits` without `axis`, or in a shape to which that
            broadcasts; the axes before are further samples. None: one sample of each distribution.
        replace: Whether a category may be chosen more than once. If not, `shape` must end in the shape of `logits`
            without `axis`.
        mode: The number of random bits of a choice, as in `gumbel`.

    Returns:
        An array of that shape, on the key's device, of the default integer data type: indices along the axis.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, `logits` is not a real floating-point array, or an axis
            that is not an integer.
        ValueError: A key of the wrong shape, a negative size, no such axis, no categories, a shape that doesn't fit, or
            more samples without replacement than categories.

    Draws a Gumbel number for each sample and category; without replacement, sorts the categories.

    Source: `jax.random.categorical`, bit for bit, unless rounding decides between two categories.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.categorical(random.key(0), np.log(np.asarray([0.1, 0.2, 0.7])), shape=(8,))
    array([2, 2, 2, 1, 1, 2, 1, 2])
    >>> random.categorical(random.key(0), np.zeros(5), shape=(5,), replace=False)
    array([2, 3, 4, 0, 1])
    """
    xp, key = key_of("categorical", key)
    checks.together("categorical", key=key, logits=logits)
    checks.dtype("categorical", "logits", xp, logits, checks.REAL)
    checks.boolean("categorical", "replace", replace)
    checks.choice("categorical", "mode", mode, (*GUMBEL_MODES, None))
    sizes = list(checks.known_shape("categorical", "logits", logits))
    axis = checks.axis("categorical", axis, len(sizes))
    categories = sizes.pop(axis)
    if not categories:
        raise ValueError(f"categorical: logits must have a category along axis {axis}, got the shape {logits.shape}")
    batch = tuple(sizes)
    shape = batch_shape("categorical", shape, logits=batch)
    if not replace:
        count = math.prod(shape[: len(shape) - len(batch)])
        if shape[len(shape) - len(batch) :] != batch:
            raise ValueError(f"categorical: without replacement shape must end in {batch}, got {shape}")
        if count > categories:
            raise ValueError(
                f"categorical: without replacement there are at most {categories} samples, one a category, got {count}"
            )
    return categorical.native(key, logits)(key, logits, axis, shape, replace, mode or "low")


@arguments_elsewhere()
@pluggable
def poisson(key: Key, /, lam: Real, shape: Any = None, dtype: DType | None = None) -> Array:
    """Sample from the Poisson distribution: the number of events if `lam` are expected.

    Args:
        key: A key.
        lam: The mean, a number or an array; finite, and at least 0. It is rounded to float32.
        shape: The shape of the result, to which `lam` broadcasts. None: the shape of `lam`.
        dtype: An integer data type. None: the default.

    Returns:
        An array of that shape and data type, on the key's device. -1 if `lam` is NaN.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, the data type is not supported, or a mean that is not a
            real number of the key's library.
        ValueError: A key of the wrong shape, a negative size, a mean that doesn't fit the shape or is on another
            device, or (if concrete) is negative or infinite.

    Derivatives treat samples as constants.

    For means below 10, a sample needs one uniform number per event; for others, two for each of about 1.1 trials.

    Source: `jax.random.poisson`, bit for bit, unless rounding decides (in about 1 of 1e6); Knuth, and Hörmann, "The
    transformed rejection method for generating Poisson random variables".

    >>> import numpy as np
    >>> from xpand import random
    >>> random.poisson(random.key(0), np.asarray([2.0, 100.0]))
    array([ 0, 95])
    """
    xp, key = key_of("poisson", key)
    dtype = integer_dtype("poisson", xp, dtype, key)
    draw = drawn("poisson", key, shape, xp.float32, lam=lam)
    (rate,) = draw.parameters
    check(~((rate < 0.0) | (rate == math.inf)), "poisson: lam must not be negative or infinite")
    return poisson.native(key)(key, rate, draw.shape, dtype)


@arguments_elsewhere()
@pluggable
def binomial(key: Key, /, n: Real, p: Real, shape: Any = None, dtype: DType | None = None) -> Array:
    """Sample from the binomial distribution: the number of successes in `n` trials with probability `p`.

    Args:
        key: A key.
        n: The number of trials, a number or an array; at least 0. It is rounded down to an integer.
        p: The probability of success, from 0 to 1. It broadcasts with `n`.
        shape: The shape of the result, to which the parameters broadcast. None: their broadcast shape.
        dtype: A real floating-point data type. None: the default, or that of the parameters if it is wider. The
            computation has the data type of `p`; if `p` is a number, that of the precision, by default float64.

    Returns:
        An array of that shape and data type, on the key's device: integers as floating-point numbers. NaN if a
        parameter is NaN, infinite if `n` is infinite.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, the data type is not supported, or parameters that are
            not real numbers of the key's library.
        ValueError: A key of the wrong shape, a negative size, parameters that don't fit the shape or are on another
            device, or (if concrete) negative parameters, or a `p` above 1.

    Derivatives treat samples as constants.

    If `n * min(p, 1 - p)` is at most 10, a sample needs one uniform number per success; otherwise two for each of about
    1.2 trials.

    Source: `jax.random.binomial`, bit for bit, unless rounding decides; Hörmann, "The generation of binomial random
    variates".

    >>> import numpy as np
    >>> from xpand import random
    >>> random.binomial(random.key(0), 100, np.asarray([0.05, 0.5]))
    array([ 6., 46.])
    """
    draw = drawn("binomial", key, shape, dtype, computed_in=p, n=n, p=p)
    not_negative("binomial", n=draw.given[0])
    probabilities("binomial", p=draw.parameters[1])
    return binomial.native(draw.key)(draw.key, draw.parameters[0], draw.parameters[1], draw.shape, draw.dtype)


@arguments_elsewhere()
@pluggable
def geometric(key: Key, /, p: Real, shape: Any = None, dtype: DType | None = None) -> Array:
    """Sample from the geometric distribution: the number of trials up to the first success, of probability `p` each.

    Args:
        key: A key.
        p: The probability, a number or an array; above 0, and at most 1.
        shape: The shape of the result, to which `p` broadcasts. None: the shape of `p`.
        dtype: An integer data type. None: the default. The computation has the data type of `p`; if `p` is a number,
            that of the precision, by default float64.

    Returns:
        An array of that shape and data type, on the key's device: integers from 1 on. Numbers beyond the data type
        become its largest number.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, the data type is not supported, or a probability that is
            not a real number of the key's library.
        ValueError: A key of the wrong shape, a negative size, a probability that doesn't fit the shape or is on another
            device, or (if concrete) is NaN or out of range.

    Source: `jax.random.geometric`, bit for bit, unless rounding decides.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.geometric(random.key(0), np.asarray([0.1, 0.9]))
    array([9, 1])
    """
    xp, key = key_of("geometric", key)
    dtype = integer_dtype("geometric", xp, dtype, key)
    draw = drawn("geometric", key, shape, None, computed_in=p, p=p)
    (p,) = draw.parameters
    check((p > 0.0) & (p <= 1.0), "geometric: p must be above 0 and at most 1")
    return geometric.native(key)(key, p, draw.shape, dtype)


@arguments_elsewhere()
@pluggable
def multinomial(key: Key, /, n: Real, p: Array, *, shape: Any = None, dtype: DType | None = None) -> Array:
    """Sample from the multinomial distribution: the number of trials, of `n`, with each of several outcomes.

    Args:
        key: A key.
        n: The number of trials, a number or an array; at least 0.
        p: An array whose last axis has the relative probabilities of the outcomes; at least 0.
        shape: The shape of the result without its last axis, to which `n` and `p` (without its last axis) broadcast.
            None: their broadcast shape. (JAX, against its documentation, takes the shape with the last axis.)
        dtype: A real floating-point data type. None: the default, or that of the parameters if it is wider.

    Returns:
        An array of shape `(*shape, outcomes)` and that data type, on the key's device: integers as floating-point
        numbers, which add up to `n`.

    Raises:
        TypeError: As `binomial`.
        ValueError: As `binomial`, or `p` has no axis.

    Draws from the binomial distribution for one outcome after the other. Derivatives treat samples as constants.

    Source: `jax.random.multinomial`, bit for bit, unless rounding decides.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.multinomial(random.key(0), 100, np.asarray([0.2, 0.3, 0.5]))
    array([22., 31., 47.])
    """
    draw = drawn("multinomial", key, shape, dtype, row="p", n=n, p=p)
    not_negative("multinomial", n=draw.given[0], p=draw.given[1])
    native = multinomial.native(draw.key)
    return native(draw.key, draw.parameters[0], draw.parameters[1], shape=draw.shape, dtype=draw.dtype)


@pluggable
def poisson_elements(keys: Array, lam: Array, /) -> Array:
    """Sample from Poisson distributions, many for each of many keys. `poisson` calls it after its checks.

    Args:
        keys: Keys, of shape (…, 2).
        lam: The means, an array of float32 of shape (…, n).

    Returns:
        An array of the shape and data type of `lam`: integers, or -1.
    """
    return poisson_elements.native(keys, lam)(keys, lam)


@pluggable
def binomial_elements(keys: Array, n: Array, p: Array, /) -> Array:
    """Sample from binomial distributions, many for each of many keys. `binomial` calls it after its checks.

    Args:
        keys: Keys, of shape (…, 2).
        n: The numbers of trials, of shape (…, n).
        p: The probabilities, an array of the same shape and data type.

    Returns:
        An array of this shape and data type.
    """
    return binomial_elements.native(keys, n, p)(keys, n, p)
