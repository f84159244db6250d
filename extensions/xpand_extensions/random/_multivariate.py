"""Distributions of vectors and matrices."""

from typing import Any, Final, Literal

from xpand import array_namespace, check, is_concrete
from xpand.extend import Array, DType, Key, checks, import_module

from .._dispatch import pluggable
from .._elsewhere import arguments_elsewhere
from .._solver_status import Status
from ._arguments import Real, batch_shape, check_key, drawn, float_dtype, inexact_dtype, key_of

METHODS: Final = ("cholesky", "eigh", "svd")
_ROUNDING: Final = 100.0
"""The number of rounding errors by which mirrored elements of a symmetric matrix may differ."""


@arguments_elsewhere()
@pluggable
def multivariate_normal(
    key: Key,
    /,
    mean: Array,
    cov: Array,
    shape: Any = None,
    dtype: DType | None = None,
    method: Literal["cholesky", "eigh", "svd"] = "cholesky",
) -> Array:
    """Sample vectors from the normal distribution with a given mean and covariance matrix.

    Args:
        key: A key.
        mean: A vector or a stack of vectors, of a real floating-point data type.
        cov: A symmetric positive definite matrix or a stack of matrices, of a real floating-point data type.
        shape: The shape of the result without its last axis, to which the stacks broadcast. None: their broadcast
            shape.
        dtype: The data type of the result, a real floating-point one. None: the promoted data type of `mean` and `cov`.
        method: The factorization of `cov`. "eigh" and "svd" are slower, but take singular matrices too.

    Returns:
        An array of shape `(*shape, mean.shape[-1])` and that data type, on the key's device.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, or arrays of other data types or of another library than
            the key.
        ValueError: A key of the wrong shape, a negative size, matrices that are not square or of another size than the
            vectors, a shape that doesn't fit, arrays on another device, an unknown method, or (if concrete) a matrix
            that is not symmetric, or for "cholesky" not positive definite.

    Samples have derivatives in both parameters.

    Source: `jax.random.multivariate_normal`; equal up to rounding for "cholesky", whose factor is unique.

    >>> import numpy as np
    >>> from xpand import random
    >>> cov = np.asarray([[2.0, 1.0], [1.0, 1.0]])
    >>> random.multivariate_normal(random.key(0), np.zeros(2), cov).round(4)
    array([-0.2911, -0.7005])
    """
    _, key = key_of("multivariate_normal", key)
    arrays = {"mean": mean, "cov": cov}
    checks.together("multivariate_normal", key=key, mean=mean)
    xp = checks.together("multivariate_normal", checks.REAL, **arrays)
    checks.choice("multivariate_normal", "method", method, METHODS)
    if mean.ndim < 1:
        raise ValueError("multivariate_normal: mean must be a vector or a stack of them, got a number")
    size = mean.shape[-1]
    if cov.ndim < 2 or tuple(cov.shape[-2:]) != (size, size):
        raise ValueError(
            f"multivariate_normal: cov must have the shape (..., {size}, {size}) for vectors of {size}, got "
            f"{tuple(cov.shape)}"
        )
    mean, cov = checks.promote("multivariate_normal", xp, **arrays)
    dtype = mean.dtype if dtype is None else float_dtype("multivariate_normal", xp, dtype, key)
    batch = batch_shape("multivariate_normal", shape, mean=tuple(mean.shape[:-1]), cov=tuple(cov.shape[:-2]))
    transposed = xp.matrix_transpose(cov)
    bound = _ROUNDING * float(xp.finfo(cov.dtype).eps) * xp.abs(cov)
    check(~(xp.abs(xp.subtract(cov, transposed)) > bound), "multivariate_normal: cov must be symmetric")
    if method == "cholesky" and is_concrete(cov):
        # Imported late: factorizations use transformations, and those import random numbers.
        factors = import_module("xpand_extensions.linear_solve._factors")
        whole = factors.factor_cholesky(cov)[-1] == int(Status.CONVERGED)
        check(whole, "multivariate_normal: cov must be positive definite; use method='eigh' for a singular one")
    return multivariate_normal.native(key, mean, cov)(key, mean, cov, batch, dtype, method)


@arguments_elsewhere()
@pluggable
def orthogonal(key: Key, /, n: int, shape: Any = (), dtype: DType | None = None, m: int | None = None) -> Array:
    """Sample orthogonal matrices from the uniform distribution, which rotations and reflections do not change.

    Args:
        key: A key.
        n: The number of rows.
        shape: The shape of a stack of matrices.
        dtype: A floating-point data type; None: the default for real numbers. Complex samples are unitary.
        m: The number of columns; None: the number of rows. With fewer columns than rows, the columns are orthonormal;
            with more columns, the rows.

    Returns:
        An array of shape (*shape, n, m) and that data type, on the key's device.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, a size is not an integer, or the data type is not
            supported.
        ValueError: A key of the wrong shape, or a negative size.

    Computes a QR factorization.

    Source: `jax.random.orthogonal`, up to rounding; Mezzadri, "How to generate random matrices from the classical
    compact groups".

    >>> import numpy as np
    >>> from xpand import random
    >>> random.orthogonal(random.key(0), 2).round(4)
    array([[-0.1126, -0.9936],
           [ 0.9936, -0.1126]])
    """
    rows = checks.integer("orthogonal", "n", n, minimum=0)
    columns = rows if m is None else checks.integer("orthogonal", "m", m, minimum=0)
    implementation, shape = orthogonal.planned(check_key, (key,), shape)
    return implementation(key, rows, shape, inexact_dtype("orthogonal", array_namespace(key), dtype, key), columns)


@arguments_elsewhere()
@pluggable
def ball(key: Key, /, d: int, p: Real = 2.0, shape: Any = (), dtype: DType | None = None) -> Array:
    """Sample points uniformly from the unit ball of the p-norm.

    Args:
        key: A key.
        d: The number of dimensions.
        p: The exponent of the norm, a number or an array of shape (); above 0.
        shape: The shape of the result without its last axis.
        dtype: A real floating-point data type; None: the default, or that of `p` if it is wider.

    Returns:
        An array of shape (*shape, d) and that data type, on the key's device.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, `d` is not an integer, the data type is not supported, or
            `p` is not a real number of the key's library.
        ValueError: A key of the wrong shape, a negative size, or `p` with axes, on another device, or (if concrete) not
            above 0.

    Source: `jax.random.ball`, to a few ulps (for large `p`, JAX's samples may be 0 or NaN); Barthe, Guédon, Mendelson
    and Naor, "A probabilistic approach to the geometry of the l_p^n-ball".

    >>> import numpy as np
    >>> from xpand import random
    >>> random.ball(random.key(0), 2, shape=(2,)).round(4)
    array([[-0.8702, -0.4547],
           [ 0.0791, -0.1801]])
    """
    size = checks.integer("ball", "d", d, minimum=0)
    draw = drawn("ball", key, shape, dtype, p=p)
    (exponent,) = draw.parameters
    if exponent.ndim:
        raise ValueError(f"ball: p must be a number or an array of no axes, got the shape {tuple(exponent.shape)}")
    check(~(exponent <= 0.0), "ball: p must be above 0")
    return ball.native(draw.key)(draw.key, size, exponent, draw.shape, draw.dtype)
