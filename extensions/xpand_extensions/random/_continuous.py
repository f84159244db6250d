"""Distributions of real numbers: functions of uniform and normal numbers."""

from typing import Any, Final, Literal, TypeAlias

from xpand import array_namespace, check
from xpand.extend import Array, DType, Key, checks

from .._dispatch import pluggable
from .._elsewhere import arguments_elsewhere
from ._arguments import Real, check_key, drawn, float_dtype, not_negative, positive, shape_of

GumbelMode: TypeAlias = Literal["low", "high", "highest"]
GUMBEL_MODES: Final = ("low", "high", "highest")


@arguments_elsewhere()
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
    >>> from xpand import random
    >>> random.exponential(random.key(0), (2,)).round(4)
    array([0.5421, 0.2437])
    """
    implementation, shape = exponential.planned(check_key, (key,), shape)
    return implementation(key, shape, float_dtype("exponential", array_namespace(key), dtype, key))


@arguments_elsewhere()
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
    >>> from xpand import random
    >>> random.gumbel(random.key(0), (2,)).round(4)
    array([ 0.1379, -0.426 ])
    """
    checks.choice("gumbel", "mode", mode, (*GUMBEL_MODES, None))
    implementation, shape = gumbel.planned(check_key, (key,), shape)
    return implementation(key, shape, float_dtype("gumbel", array_namespace(key), dtype, key), mode or "low")


@arguments_elsewhere()
@pluggable
def laplace(key: Key, /, shape: Any = (), dtype: DType | None = None) -> Array:
    """Sample from the standard Laplace distribution, with the density exp(-|x|) / 2.

    Arguments, result and errors are those of `exponential`.

    Source: `jax.random.laplace`, to a few ulps.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.laplace(random.key(0), (2,)).round(4)
    array([0.178, 0.838])
    """
    implementation, shape = laplace.planned(check_key, (key,), shape)
    return implementation(key, shape, float_dtype("laplace", array_namespace(key), dtype, key))


@arguments_elsewhere()
@pluggable
def logistic(key: Key, /, shape: Any = (), dtype: DType | None = None) -> Array:
    """Sample from the standard logistic distribution, whose distribution function is 1 / (1 + exp(-x)).

    Arguments, result and errors are those of `exponential`.

    Source: `jax.random.logistic`, to a few ulps of the larger of the value and 1.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.logistic(random.key(0), (2,)).round(4)
    array([-0.3291, -1.2874])
    """
    implementation, shape = logistic.planned(check_key, (key,), shape)
    return implementation(key, shape, float_dtype("logistic", array_namespace(key), dtype, key))


@arguments_elsewhere()
@pluggable
def cauchy(key: Key, /, shape: Any = (), dtype: DType | None = None) -> Array:
    """Sample from the standard Cauchy distribution, with the density 1 / (π (1 + x²)).

    Arguments, result and errors are those of `exponential`.

    Source: `jax.random.cauchy`, to a few ulps; for large samples, to a few ulps of the angle of which they are
    tangents.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.cauchy(random.key(0), (2,)).round(4)
    array([-0.2619, -1.2378])
    """
    implementation, shape = cauchy.planned(check_key, (key,), shape)
    return implementation(key, shape, float_dtype("cauchy", array_namespace(key), dtype, key))


@arguments_elsewhere()
@pluggable
def maxwell(key: Key, /, shape: Any = (), dtype: DType | None = None) -> Array:
    """Sample from the Maxwell distribution: the length of a vector of three normal numbers.

    Arguments, result and errors are those of `exponential`.

    Source: `jax.random.maxwell`, to a few ulps.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.maxwell(random.key(0), (2,)).round(4)
    array([1.9891, 0.4246])
    """
    implementation, shape = maxwell.planned(check_key, (key,), shape)
    return implementation(key, shape, float_dtype("maxwell", array_namespace(key), dtype, key))


@arguments_elsewhere()
@pluggable
def truncated_normal(key: Key, /, lower: Real, upper: Real, shape: Any = None, dtype: DType | None = None) -> Array:
    """Sample from the standard normal distribution between two bounds.

    Args:
        key: A key.
        lower: The lower bound, a number or an array; -infinity for no bound.
        upper: The upper bound, above the lower bound; infinity for no bound.
        shape: The shape of the result, to which the bounds broadcast. None: their broadcast shape.
        dtype: A real floating-point data type. None: the default, or that of the bounds if it is wider.

    Returns:
        An array of that shape and data type, on the key's device: numbers between the bounds, never equal to a bound.
        NaN if a bound is NaN.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, the data type is not supported, or bounds that are not
            real numbers of the key's library.
        ValueError: A key of the wrong shape, a negative size, bounds that don't fit the shape or are on another device,
            or (if concrete) a lower bound that is not below the upper bound.

    If both bounds are in one tail, beyond 1 or below -1, samples are computed from the probability of the tail, which
    may be any distance away. Samples have derivatives in the bounds.

    Source: `jax.random.truncated_normal`, to a few ulps of the larger of the value and 1. In a tail, JAX's samples are
    less exact; beyond 5 in float32 and 8 in float64, all of them are next to a bound.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.truncated_normal(random.key(0), -1.0, np.asarray([0.0, 1.0])).round(4)
    array([-0.5201, -0.5063])
    """
    draw = drawn("truncated_normal", key, shape, dtype, lower=lower, upper=upper)
    low, high = draw.parameters
    xp = array_namespace(low, high)
    check(~xp.greater_equal(low, high), "truncated_normal: lower must be below upper")
    return truncated_normal.native(draw.key)(draw.key, low, high, draw.shape, draw.dtype)


@arguments_elsewhere()
@pluggable
def pareto(key: Key, /, b: Real, shape: Any = None, dtype: DType | None = None) -> Array:
    """Sample from the Pareto distribution, with the density b / x^(b+1) from 1 on.

    Args:
        key: A key.
        b: The exponent, a number or an array; above 0.
        shape: The shape of the result, to which the parameters broadcast. None: their broadcast shape.
        dtype: A real floating-point data type. None: the default, or that of the parameters if it is wider.

    Returns:
        An array of that shape and data type, on the key's device. NaN if a parameter is NaN.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, the data type is not supported, or parameters that are
            not real numbers of the key's library.
        ValueError: A key of the wrong shape, a negative size, parameters that don't fit the shape or are on another
            device, or (if concrete) parameters that are not above 0.

    Samples have derivatives in the parameters.

    Source: `jax.random.pareto`, to a few ulps of the sample and of its logarithm.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.pareto(random.key(0), np.asarray([1.0, 3.0])).round(4)
    array([1.7196, 1.0846])
    """
    draw = drawn("pareto", key, shape, dtype, b=b)
    positive("pareto", b=draw.given[0])
    return pareto.native(draw.key)(draw.key, draw.parameters[0], draw.shape, draw.dtype)


@arguments_elsewhere()
@pluggable
def rayleigh(key: Key, /, scale: Real, shape: Any = None, dtype: DType | None = None) -> Array:
    """Sample from the Rayleigh distribution: the length of a vector of two normal numbers, times `scale`.

    Arguments, result and errors are those of `pareto`; the scale may be 0.

    Source: `jax.random.rayleigh`, to a few ulps. JAX returns infinity for one of 2²³ samples in float32.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.rayleigh(random.key(0), np.asarray([1.0, 3.0])).round(4)
    array([1.32  , 5.2498])
    """
    draw = drawn("rayleigh", key, shape, dtype, scale=scale)
    not_negative("rayleigh", scale=draw.given[0])
    return rayleigh.native(draw.key)(draw.key, draw.parameters[0], draw.shape, draw.dtype)


@arguments_elsewhere()
@pluggable
def weibull_min(key: Key, /, scale: Real, concentration: Real, shape: Any = None, dtype: DType | None = None) -> Array:
    r"""Sample from the Weibull distribution with scale $\lambda$ and concentration $k$.

    $$P(X \le x) = 1 - e^{-(x/\lambda)^k}$$

    Arguments, result and errors are those of `pareto`; the scale may be 0.

    Source: `jax.random.weibull_min`, with a given shape, to a few ulps of the sample and of its logarithm.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.weibull_min(random.key(0), 2.0, np.asarray([1.0, 3.0])).round(4)
    array([1.0841, 1.2493])
    """
    draw = drawn("weibull_min", key, shape, dtype, scale=scale, concentration=concentration)
    not_negative("weibull_min", scale=draw.given[0])
    positive("weibull_min", concentration=draw.given[1])
    return weibull_min.native(draw.key)(draw.key, draw.parameters[0], draw.parameters[1], draw.shape, draw.dtype)


@arguments_elsewhere()
@pluggable
def double_sided_maxwell(key: Key, /, loc: Real, scale: Real, shape: Any = (), dtype: DType | None = None) -> Array:
    r"""Sample from the Maxwell distribution on both sides of a centre $m$ (`loc`), with scale $s$.

    $$p(x) = \frac{z^2 e^{-z^2/2}}{\sqrt{2\pi} \, s}, \quad z = \frac{x - m}{s}$$

    Args:
        key: A key.
        loc: The centre, a number or an array.
        scale: The scale, which broadcasts with `loc`; at least 0.
        shape: The shape of the samples for each element of the parameters. (): see below.
        dtype: A real floating-point data type. None: the default, or that of the parameters if it is wider.

    Returns:
        An array of that data type, on the key's device. Its shape is `shape`, followed by the broadcast shape of the
        parameters; for `shape=()`, it is the broadcast shape twice, as in JAX.

    Raises:
        TypeError, ValueError: As `pareto`.

    Source: `jax.random.double_sided_maxwell`, to a few ulps.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.double_sided_maxwell(random.key(0), 10.0, 1.0, (2,)).round(4)
    array([11.9846,  7.5218])
    """
    draw = drawn("double_sided_maxwell", key, None, dtype, loc=loc, scale=scale)
    not_negative("double_sided_maxwell", scale=draw.given[1])
    count = shape_of("double_sided_maxwell", shape) or draw.shape
    native = double_sided_maxwell.native(draw.key)
    return native(draw.key, draw.parameters[0], draw.parameters[1], (*count, *draw.shape), draw.dtype)


@arguments_elsewhere()
@pluggable
def wald(key: Key, /, mean: Real, shape: Any = None, dtype: DType | None = None) -> Array:
    """Sample from the Wald (inverse Gaussian) distribution of scale 1.

    A sample is the time when Brownian motion with drift 1 first reaches `mean`. Arguments, result and errors are those
    of `pareto`.

    Source: `jax.random.wald`, to a few ulps. For a large mean, JAX's samples cancel or overflow.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.wald(random.key(0), np.asarray([1.0, 3.0])).round(4)
    array([0.187, 6.751])
    """
    draw = drawn("wald", key, shape, dtype, mean=mean)
    positive("wald", mean=draw.given[0])
    return wald.native(draw.key)(draw.key, draw.parameters[0], draw.shape, draw.dtype)


@arguments_elsewhere()
@pluggable
def triangular(
    key: Key, /, left: Real, mode: Real, right: Real, shape: Any = None, dtype: DType | None = None
) -> Array:
    """Sample from the triangular distribution between `left` and `right`, whose density is largest at `mode`.

    Arguments, result and errors are those of `pareto`, but `left <= mode <= right` is required. NaN if all three are
    equal.

    Source: `jax.random.triangular`, to a few ulps of the bounds. JAX's products of bounds may underflow or overflow.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.triangular(random.key(0), 0.0, np.asarray([0.0, 1.0]), 2.0).round(4)
    array([0.4748, 0.6577])
    """
    draw = drawn("triangular", key, shape, dtype, left=left, mode=mode, right=right)
    low, peak, high = draw.parameters
    xp = array_namespace(low, peak, high)
    check(
        ~xp.logical_or(xp.greater(low, peak), xp.greater(peak, high)),
        "triangular: mode must lie between left and right",
    )
    return triangular.native(draw.key)(draw.key, low, peak, high, draw.shape, draw.dtype)


@arguments_elsewhere()
@pluggable
def lognormal(key: Key, /, sigma: Real = 1.0, shape: Any = None, dtype: DType | None = None) -> Array:
    """Sample from the log-normal distribution: the logarithm is normal, with mean 0 and standard deviation `sigma`.

    Arguments, result and errors are those of `pareto`; `sigma` may be 0.

    Source: `jax.random.lognormal`, to a few ulps of the sample and of its logarithm; JAX takes complex data types too.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.lognormal(random.key(0), np.asarray([0.5, 1.0])).round(4)
    array([0.9022, 0.4562])
    """
    draw = drawn("lognormal", key, shape, dtype, sigma=sigma)
    not_negative("lognormal", sigma=draw.given[0])
    return lognormal.native(draw.key)(draw.key, draw.parameters[0], draw.shape, draw.dtype)
