"""The gamma distribution, and distributions derived from it. Samples have derivatives in the parameters."""

from typing import Any

from xpand.extend import Array, DType, Key

from .._dispatch import pluggable
from .._elsewhere import arguments_elsewhere
from ._arguments import Real, drawn, not_negative, positive


@arguments_elsewhere()
@pluggable
def gamma(key: Key, /, a: Real, shape: Any = None, dtype: DType | None = None) -> Array:
    r"""Sample from the gamma distribution of scale 1.

    $$p(x) = \frac{x^{a-1} e^{-x}}{\Gamma(a)}$$

    Args:
        key: A key.
        a: The parameter, a number or an array; at least 0.
        shape: The shape of the result, to which the parameters broadcast. None: their broadcast shape.
        dtype: A real floating-point data type. None: the default, or that of the parameters if it is wider.

    Returns:
        An array of that shape and data type, on the key's device. NaN if a parameter is NaN. 0 if a parameter is 0, or
        if a sample underflows, as most do for a parameter of 0.001: `loggamma` can represent these.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, the data type is not supported, or parameters that are
            not real numbers of the key's library.
        ValueError: A key of the wrong shape, a negative size, parameters that don't fit the shape or are on another
            device, or (if concrete) negative parameters.

    The derivative of a sample with respect to its parameter is that at a fixed probability, -(dP/da) / (dP/dx). It
    exists for any order and in both modes; on JAX, for second order in forward mode only.

    A sample needs about 1.05 trials on average. Each element has its own key. Rounding makes about one trial in 1e7
    (float32) or 1e15 differ from JAX.

    Source: `jax.random.gamma`, to a few ulps; Marsaglia and Tsang, "A simple method for generating gamma variables".

    >>> import numpy as np
    >>> from xpand import random
    >>> random.gamma(random.key(0), np.asarray([0.5, 2.0])).round(4)
    array([0.0981, 1.1244])
    """
    draw = drawn("gamma", key, shape, dtype, a=a)
    not_negative("gamma", a=draw.given[0])
    return gamma.native(draw.key)(draw.key, draw.parameters[0], draw.shape, draw.dtype)


@arguments_elsewhere()
@pluggable
def loggamma(key: Key, /, a: Real, shape: Any = None, dtype: DType | None = None) -> Array:
    """Sample the logarithm of gamma variates, which may be too small for `gamma`.

    Arguments, errors and derivatives are those of `gamma`.

    Returns:
        An array of that shape and data type, on the key's device. -infinity if a parameter is 0.

    Source: `jax.random.loggamma`, to a few ulps of the larger of the value and 1.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.loggamma(random.key(0), np.asarray([0.001, 2.0])).round(4)
    array([-1.1130258e+03,  1.1720000e-01])
    """
    draw = drawn("loggamma", key, shape, dtype, a=a)
    not_negative("loggamma", a=draw.given[0])
    return loggamma.native(draw.key)(draw.key, draw.parameters[0], draw.shape, draw.dtype)


@arguments_elsewhere()
@pluggable
def beta(key: Key, /, a: Real, b: Real, shape: Any = None, dtype: DType | None = None) -> Array:
    """Sample from the beta distribution, with a density proportional to x^(a-1) (1-x)^(b-1) between 0 and 1.

    Arguments, errors and derivatives are those of `gamma`.

    Returns:
        An array of that shape and data type, on the key's device. NaN if both parameters are 0, or one is NaN.

    Source: `jax.random.beta`, to a few ulps of the sample and of its logarithm.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.beta(random.key(0), 0.5, np.asarray([0.5, 2.0])).round(4)
    array([0.4573, 0.5598])
    """
    draw = drawn("beta", key, shape, dtype, a=a, b=b)
    not_negative("beta", a=draw.given[0], b=draw.given[1])
    return beta.native(draw.key)(draw.key, draw.parameters[0], draw.parameters[1], draw.shape, draw.dtype)


@arguments_elsewhere()
@pluggable
def dirichlet(key: Key, /, alpha: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    """Sample from the Dirichlet distribution: shares that add up to 1, with a density proportional to Π x^(alpha-1).

    Args:
        key: A key.
        alpha: An array whose last axis has the parameters of a distribution; at least 0.
        shape: The shape of the result without its last axis, to which `alpha` (without its last axis) broadcasts. None:
            the shape of `alpha` without its last axis.
        dtype: As in `gamma`.

    Returns:
        An array of shape `(*shape, alpha.shape[-1])` and that data type, on the key's device.

    Raises:
        TypeError: As `gamma`.
        ValueError: As `gamma`, or `alpha` has no axis.

    Derivatives are those of `gamma`.

    Source: `jax.random.dirichlet`, to a few ulps of the sample and of its logarithm.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.dirichlet(random.key(0), np.asarray([0.5, 2.0, 1.0])).round(4)
    array([0.0287, 0.3291, 0.6422])
    """
    draw = drawn("dirichlet", key, shape, dtype, row="alpha", alpha=alpha)
    not_negative("dirichlet", alpha=draw.given[0])
    return dirichlet.native(draw.key)(draw.key, draw.parameters[0], draw.shape, draw.dtype)


@arguments_elsewhere()
@pluggable
def chisquare(key: Key, /, df: Real, shape: Any = None, dtype: DType | None = None) -> Array:
    """Sample from the chi-square distribution: the sum of the squares of `df` normal numbers.

    Arguments, result, errors and derivatives are those of `gamma`; `df` need not be an integer.

    Source: `jax.random.chisquare`, to a few ulps of the sample and of its logarithm.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.chisquare(random.key(0), np.asarray([1.0, 4.0])).round(4)
    array([0.1961, 2.2487])
    """
    draw = drawn("chisquare", key, shape, dtype, df=df)
    not_negative("chisquare", df=draw.given[0])
    return chisquare.native(draw.key)(draw.key, draw.parameters[0], draw.shape, draw.dtype)


@arguments_elsewhere()
@pluggable
def t(key: Key, /, df: Real, shape: Any = None, dtype: DType | None = None) -> Array:
    """Sample from Student's t-distribution, with `df` degrees of freedom.

    Arguments, result, errors and derivatives are those of `gamma`; `df` must be above 0, but need not be an integer.

    Source: `jax.random.t`, to a few ulps of the sample and of its logarithm. For small `df`, JAX's samples may be
    infinite because gamma samples underflow.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.t(random.key(0), np.asarray([1.0, 4.0])).round(4)
    array([ 1.4308, -0.5762])
    """
    draw = drawn("t", key, shape, dtype, df=df)
    positive("t", df=draw.given[0])
    return t.native(draw.key)(draw.key, draw.parameters[0], draw.shape, draw.dtype)


@arguments_elsewhere()
@pluggable
def f(key: Key, /, dfnum: Real, dfden: Real, shape: Any = None, dtype: DType | None = None) -> Array:
    """Sample from the F distribution: the quotient of the means of `dfnum` and `dfden` squares of normal numbers.

    Arguments, result, errors and derivatives are those of `gamma`; parameters must be above 0, but need not be
    integers.

    Source: `jax.random.f`, to a few ulps of the sample and of its logarithm. For small parameters, JAX's samples may be
    infinite or NaN because chi-square samples underflow.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.f(random.key(0), np.asarray([1.0, 4.0]), 5.0).round(4)
    array([1.4844, 0.397 ])
    """
    draw = drawn("f", key, shape, dtype, dfnum=dfnum, dfden=dfden)
    positive("f", dfnum=draw.given[0], dfden=draw.given[1])
    return f.native(draw.key)(draw.key, draw.parameters[0], draw.parameters[1], draw.shape, draw.dtype)


@arguments_elsewhere()
@pluggable
def generalized_normal(key: Key, /, p: Real, shape: Any = (), dtype: DType | None = None) -> Array:
    r"""Sample from the generalized normal distribution, with a density proportional to $e^{-|x|^p}$.

    Args:
        key: A key.
        p: The exponent, a number or an array that broadcasts to `shape`; above 0.
        shape: The shape of the result.
        dtype: As in `gamma`.

    Returns:
        An array of that shape and data type, on the key's device.

    Raises:
        TypeError, ValueError: As `gamma`.

    Source: `jax.random.generalized_normal`, to a few ulps of the sample and of its logarithm. For large `p`, JAX's
    samples may be 0 because gamma samples underflow.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.generalized_normal(random.key(0), 4.0, (2,)).round(4)
    array([ 0.7083, -0.9815])
    """
    draw = drawn("generalized_normal", key, shape, dtype, p=p)
    positive("generalized_normal", p=draw.given[0])
    return generalized_normal.native(draw.key)(draw.key, draw.parameters[0], draw.shape, draw.dtype)


@pluggable
def gamma_elements(keys: Array, a: Array, /, *, log_space: bool) -> Array:
    """Sample from gamma distributions, one for each key, without derivatives. `gamma` calls it after its checks.

    Args:
        keys: Keys, of shape `(*a.shape, 2)`.
        a: The parameters, an array of a real floating-point data type.
        log_space: Whether to return logarithms.

    Returns:
        An array of the shape and data type of `a`.
    """
    return gamma_elements.native(keys, a)(keys, a, log_space=log_space)
