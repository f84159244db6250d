"""Distributions of real numbers without parameters: inverse distribution functions of uniform numbers."""

from typing import Any, Final, Literal, TypeAlias

from xpand import array_namespace
from xpand.extend import Array, DType, Key, checks

from .._dispatch import pluggable
from ._arguments import check_key, float_dtype

GumbelMode: TypeAlias = Literal["low", "high", "highest"]
GUMBEL_MODES: Final = ("low", "high", "highest")


@pluggable
def exponential(key: Key, /, shape: Any = (), dtype: DType | None = None) -> Array:
    """Sample from the exponential distribution of rate 1.

    Args:
        key: A key.
        shape: The shape of the result.
        dtype: A real floating-point data type; None: the default.

    Returns:
        An array of that shape and data type, on the key's device: numbers from 0 on, with the density exp(-x).

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, or the data type is not supported.
        ValueError: A key of the wrong shape, or a negative size.

    Source: `jax.random.exponential`, to a few ulps.

    >>> import numpy as np
    >>> from xpand_extensions import random
    >>> random.exponential(random.key(0), (2,)).round(4)
    array([0.5421, 0.2437])
    """
    implementation, shape = exponential.planned(check_key, (key,), shape)
    return implementation(key, shape, float_dtype("exponential", array_namespace(key), dtype, key))


@pluggable
def gumbel(key: Key, /, shape: Any = (), dtype: DType | None = None, mode: GumbelMode | None = None) -> Array:
    """Sample from the standard Gumbel distribution.

    Args:
        key: A key.
        shape: The shape of the result.
        dtype: A real floating-point data type; None: the default.
        mode: The number of random bits of a sample. "low" or None: as many as the data type's mantissa has, so that
            samples in float32 are at most 16. "high": twice as many, for samples up to 32, in about twice the time.
            "highest": the same with integers, which is more exact in float32; the same as "high" in other data types.

    Returns:
        An array of that shape and data type, on the key's device, with the density exp(-x - exp(-x)).

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, the data type is not supported, or a mode that is not a
            string.
        ValueError: A key of the wrong shape, a negative size, or an unknown mode.

    Source: `jax.random.gumbel`, to a few ulps.

    >>> import numpy as np
    >>> from xpand_extensions import random
    >>> random.gumbel(random.key(0), (2,)).round(4)
    array([ 0.1379, -0.426 ])
    """
    checks.choice("gumbel", "mode", mode, (*GUMBEL_MODES, None))
    implementation, shape = gumbel.planned(check_key, (key,), shape)
    return implementation(key, shape, float_dtype("gumbel", array_namespace(key), dtype, key), mode or "low")


@pluggable
def laplace(key: Key, /, shape: Any = (), dtype: DType | None = None) -> Array:
    """Sample from the standard Laplace distribution, with the density exp(-|x|) / 2.

    Arguments, result and errors are those of `exponential`.

    Source: `jax.random.laplace`, to a few ulps.

    >>> import numpy as np
    >>> from xpand_extensions import random
    >>> random.laplace(random.key(0), (2,)).round(4)
    array([0.178, 0.838])
    """
    implementation, shape = laplace.planned(check_key, (key,), shape)
    return implementation(key, shape, float_dtype("laplace", array_namespace(key), dtype, key))


@pluggable
def logistic(key: Key, /, shape: Any = (), dtype: DType | None = None) -> Array:
    """Sample from the standard logistic distribution, whose distribution function is 1 / (1 + exp(-x)).

    Arguments, result and errors are those of `exponential`.

    Source: `jax.random.logistic`, to a few ulps of the larger of the value and 1.

    >>> import numpy as np
    >>> from xpand_extensions import random
    >>> random.logistic(random.key(0), (2,)).round(4)
    array([-0.3291, -1.2874])
    """
    implementation, shape = logistic.planned(check_key, (key,), shape)
    return implementation(key, shape, float_dtype("logistic", array_namespace(key), dtype, key))


@pluggable
def cauchy(key: Key, /, shape: Any = (), dtype: DType | None = None) -> Array:
    """Sample from the standard Cauchy distribution, with the density 1 / (π (1 + x²)).

    Arguments, result and errors are those of `exponential`.

    Source: `jax.random.cauchy`, to a few ulps; for large samples, to a few ulps of the angle of which they are
    tangents.

    >>> import numpy as np
    >>> from xpand_extensions import random
    >>> random.cauchy(random.key(0), (2,)).round(4)
    array([-0.2619, -1.2378])
    """
    implementation, shape = cauchy.planned(check_key, (key,), shape)
    return implementation(key, shape, float_dtype("cauchy", array_namespace(key), dtype, key))


@pluggable
def maxwell(key: Key, /, shape: Any = (), dtype: DType | None = None) -> Array:
    """Sample from the Maxwell distribution: the length of a vector of three normal numbers.

    Arguments, result and errors are those of `exponential`.

    Source: `jax.random.maxwell`, to a few ulps.

    >>> import numpy as np
    >>> from xpand_extensions import random
    >>> random.maxwell(random.key(0), (2,)).round(4)
    array([1.9891, 0.4246])
    """
    implementation, shape = maxwell.planned(check_key, (key,), shape)
    return implementation(key, shape, float_dtype("maxwell", array_namespace(key), dtype, key))
