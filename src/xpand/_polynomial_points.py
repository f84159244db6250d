"""Polynomials and points: values, roots, fits."""

# `xp.add` and the like in place of operators, which PyTorch lacks for uint16 to uint64.

from typing import Literal

from . import _arguments
from ._errors import UnsupportedError
from ._namespace import eager, is_concrete
from ._polynomial_arithmetic import check_nonempty, check_one
from .typing import Array


def polyval(p: Array, x: Array, /) -> Array:
    """Evaluate a polynomial, by Horner's scheme.

    Args:
        p: Coefficients, shape `(..., n)`, of a numeric data type.
        x: Points, of any shape that broadcasts with the leading axes of `p`.

    Returns:
        The values. `x` and the leading axes of `p` broadcast to their shape, and both data types promote to their type.

    Raises:
        TypeError: An argument is not a numeric array, or they belong to two libraries.
        ValueError: `p` has no axis, or the shapes don't broadcast.

    >>> import numpy as np
    >>> polyval(np.asarray([3, 0, 1]), np.asarray([5, 2]))
    array([76, 13])
    """
    xp = _arguments.namespace_of("polyval", p=p, x=x)
    _arguments.one_device("polyval", p=p, x=x)
    check_one("polyval", p)
    _arguments.dtype("polyval", "x", xp, x, _arguments.NUMERIC)
    p, x = _arguments.promote("polyval", xp, p=p, x=x)
    shape = _arguments.broadcast_shapes("polyval", p=p.shape[:-1], x=x.shape)
    value = xp.zeros(shape, dtype=x.dtype, device=_arguments.device_of(x))
    for i in range(p.shape[-1]):
        value = xp.add(xp.multiply(value, x), p[..., i])
    return value


def poly(roots: Array, /) -> Array:
    """Return the coefficients of the polynomial with given roots. The first coefficient is one.

    Args:
        roots: Shape `(..., n)`, of a numeric data type. The eigenvalues of a matrix give its characteristic polynomial.

    Returns:
        Coefficients, shape `(..., n + 1)`, of the data type of `roots`.

    Raises:
        TypeError: `roots` is not a numeric array.
        ValueError: `roots` has no axis.

    >>> import numpy as np
    >>> poly(np.asarray([1.0, 2.0]))
    array([ 1., -3.,  2.])
    """
    xp = check_one("poly", roots, "roots")
    one = xp.ones((*roots.shape[:-1], 1), dtype=roots.dtype, device=_arguments.device_of(roots))
    p = one
    for i in range(roots.shape[-1]):
        zero = xp.zeros_like(one)
        moved = xp.concat([zero, xp.multiply(p, roots[..., i : i + 1])], axis=-1)
        p = xp.subtract(xp.concat([p, zero], axis=-1), moved)
    return p


def roots(p: Array, /) -> Array:
    """Compute the roots of a polynomial, as the eigenvalues of its companion matrix.

    Args:
        p: Coefficients, shape `(..., n)`, of a floating-point data type, all finite. The first must not be zero: use
            `trim_zeros`. Abstract values are not checked; the roots are then NaN, or the library raises an error.

    Returns:
        The roots, complex, shape `(..., n - 1)`, in any order.

    Raises:
        TypeError: `p` is not a floating-point array.
        ValueError: There are no coefficients, one is not finite, or the first is zero.

    >>> import numpy as np
    >>> np.sort(roots(np.asarray([1.0, -3.0, 2.0])).real)
    array([1., 2.])
    """
    xp = check_one("roots", p, kinds=_arguments.FLOATING)
    n = check_nonempty("roots", "p", p)
    if is_concrete(p):
        with eager(xp):
            first = p[..., :1]
            are_finite = bool(xp.all(xp.isfinite(p[..., 1:])))
            is_proper = bool(xp.all(xp.isfinite(first) & (first != 0)))
        if not are_finite:
            raise ValueError("roots: coefficients must be finite")
        if not is_proper:
            raise ValueError(
                "roots: the first coefficient must be finite and not zero; `trim_zeros` removes leading zeros"
            )
    top = -p[..., 1:] / p[..., :1]
    below = xp.eye(max(n - 2, 0), n - 1, dtype=p.dtype, device=_arguments.device_of(p))
    below = xp.broadcast_to(below, (*p.shape[:-1], max(n - 2, 0), n - 1))
    if n == 1:
        return xp.astype(top, xp.result_type(top, xp.complex64))
    return xp.linalg.eigvals(xp.concat([top[..., None, :], below], axis=-2))


def vander(x: Array, /, n: int | None = None, *, increasing: bool = False) -> Array:
    """Make the Vandermonde matrix of points: each row contains the powers of one point.

    Args:
        x: Points, shape `(..., m)`, of a numeric data type.
        n: The number of powers; m by default.
        increasing: Whether the powers increase along a row. By default they decrease, as in coefficients.

    Returns:
        Shape `(..., m, n)`, of the data type of `x`.

    Raises:
        TypeError: `x` is not a numeric array, or an option has the wrong type.
        ValueError: `x` has no axis, or `n` is negative.

    >>> import numpy as np
    >>> vander(np.asarray([2, 3]), 3)
    array([[4, 2, 1],
           [9, 3, 1]])
    """
    xp = check_one("vander", x, "x")
    n = x.shape[-1] if n is None else _arguments.integer("vander", "n", n, minimum=0)
    _arguments.boolean("vander", "increasing", increasing)
    if not n:
        return xp.zeros((*x.shape, 0), dtype=x.dtype, device=_arguments.device_of(x))
    powers = [xp.ones_like(x)]
    for _ in range(n - 1):
        powers.append(xp.multiply(powers[-1], x))
    return xp.stack(powers if increasing else powers[::-1], axis=-1)


def polyfit(x: Array, y: Array, /, degree: int, *, w: Array | None = None, rtol: float | None = None) -> Array:
    """Fit a polynomial to points by least squares.

    Args:
        x: Points, shape `(m,)`, of a real floating-point data type.
        y: Values, shape `(m,)`, or `(m, k)` for k polynomials; real or complex.
        degree: The degree of the polynomials.
        w: Weights of the residuals (not of their squares), shape `(m,)`.
        rtol: Singular values up to `rtol` times the largest count as zero. The default is m times the precision.

    Returns:
        Coefficients, shape `(degree + 1,)` or `(k, degree + 1)`. If the points do not determine them, those of the
        smallest norm, after the powers are scaled to the same length.

    Raises:
        TypeError: An argument is not a floating-point array, or they belong to two libraries.
        ValueError: Shapes that don't fit, no points, or a negative degree.

    >>> import numpy as np
    >>> x = np.asarray([0.0, 1.0, 2.0, 3.0])
    >>> polyfit(x, 2 * x + 1, 1).round(12)
    array([2., 1.])
    """
    named = {"x": x, "y": y} if w is None else {"x": x, "y": y, "w": w}
    xp = _arguments.namespace_of("polyfit", **named)
    _arguments.one_device("polyfit", **named)
    for name, each in named.items():
        _arguments.dtype("polyfit", name, xp, each, _arguments.FLOATING)
    degree = _arguments.integer("polyfit", "degree", degree, minimum=0)
    m = check_nonempty("polyfit", "x", x)
    if x.ndim != 1 or y.ndim not in (1, 2) or y.shape[0] != m or (w is not None and tuple(w.shape) != (m,)):
        raise ValueError(
            "polyfit: takes x of shape (m,), y of shape (m,) or (m, k), w of shape (m,), got "
            + ", ".join(f"{name} of shape {tuple(each.shape)}" for name, each in named.items())
        )
    dtype = _arguments.common_dtype("polyfit", xp, **named)
    a = vander(xp.astype(x, dtype, copy=False), degree + 1)
    b = xp.astype(y if y.ndim == 2 else y[:, None], dtype, copy=False)
    if w is not None:
        weights = xp.astype(w, dtype, copy=False)[:, None]
        a, b = a * weights, b * weights
    scale = xp.linalg.vector_norm(a, axis=0)
    scale = xp.astype(xp.where(scale == 0, xp.ones_like(scale), scale), dtype, copy=False)
    rtol = m * float(xp.finfo(dtype).eps) if rtol is None else rtol
    coefficients = xp.matrix_transpose(xp.linalg.pinv(a / scale, rtol=rtol) @ b) / scale
    return coefficients if y.ndim == 2 else coefficients[0, :]


def trim_zeros(p: Array, /, *, trim: Literal["f", "b", "fb"] = "fb") -> Array:
    """Remove zeros from the ends of an array.

    Args:
        p: An array with one axis, with concrete values.
        trim: Where to remove zeros: "f" at the front, "b" at the back, "fb" at both ends.

    Raises:
        TypeError: `p` is not an array; or (`UnsupportedError`) its values, on which the shape depends, are abstract.
        ValueError: `p` has no axis or several, or `trim` is not one of the words.

    >>> import numpy as np
    >>> trim_zeros(np.asarray([0, 0, 1, 2, 0]))
    array([1, 2])
    """
    xp = _arguments.namespace_of("trim_zeros", p=p)
    _arguments.choice("trim_zeros", "trim", trim, ("f", "b", "fb"))
    if p.ndim != 1:
        raise ValueError(f"trim_zeros: p must have one axis, got {p.ndim}")
    if not is_concrete(p):
        raise UnsupportedError(
            "trim_zeros: the size of the result depends on values that aren't known here (under jit or vmap, or in a "
            "lazy array); trim outside, or keep the zeros, which the other functions accept"
        )
    nonzero = xp.nonzero(p)[0]
    if not nonzero.shape[0]:
        return p[:0]
    start, stop = int(nonzero[0]), int(nonzero[-1]) + 1
    return p[start if "f" in trim else 0 : stop if "b" in trim else p.shape[0]]
