"""Polynomials and points: values, roots, fits."""

# Functions of the namespace in place of operators: PyTorch has none for its larger unsigned integers.

from typing import Any, Literal

from . import _arguments, _polynomial_checks as checks
from ._errors import UnsupportedError
from ._namespace import eager, is_concrete
from .typing import Array, Namespace


def polyval(p: Array, x: Array, /) -> Array:
    """Evaluate a polynomial, by Horner's scheme.

    Args:
        p: Coefficients, shape `(..., n)`, of a numeric data type.
        x: Where, of any shape; where `p` has leading axes, of a shape that broadcasts with them.

    Returns:
        The values: of the shape of `x` broadcast with the leading axes of `p`, of the data type that both promote to.

    Raises:
        TypeError: An argument is not a numeric array, or they belong to two libraries.
        ValueError: No axis, or shapes that don't broadcast.

    >>> import numpy as np
    >>> polyval(np.asarray([3, 0, 1]), np.asarray([5, 2]))
    array([76, 13])
    """
    xp = _arguments.namespace_of("polyval", p=p, x=x)
    _arguments.one_device("polyval", p=p, x=x)
    checks.one("polyval", p)
    _arguments.dtype("polyval", "x", xp, x, _arguments.NUMERIC)
    p, x = _arguments.promote("polyval", xp, p=p, x=x)
    shape = _arguments.broadcast_shapes("polyval", p=p.shape[:-1], x=x.shape)
    value = xp.zeros(shape, dtype=x.dtype, device=_arguments.device_of(x))
    for i in range(p.shape[-1]):
        value = xp.add(xp.multiply(value, x), p[..., i])
    return value


def poly(roots: Array, /) -> Array:
    """Return the coefficients of the polynomial with given roots, whose first coefficient is one.

    Args:
        roots: Shape `(..., n)`, of a numeric data type.

    Returns:
        Coefficients, shape `(..., n + 1)`, of the data type of `roots`. (For the characteristic polynomial of a matrix
        give its eigenvalues.)

    Raises:
        TypeError: `roots` is not a numeric array.
        ValueError: No axis.

    >>> import numpy as np
    >>> poly(np.asarray([1.0, 2.0]))
    array([ 1., -3.,  2.])
    """
    xp = checks.one("poly", roots, "roots")
    one = xp.ones((*roots.shape[:-1], 1), dtype=roots.dtype, device=_arguments.device_of(roots))
    p = one
    for i in range(roots.shape[-1]):
        zero = xp.zeros_like(one)
        moved = xp.concat([zero, xp.multiply(p, roots[..., i : i + 1])], axis=-1)
        p = xp.subtract(xp.concat([p, zero], axis=-1), moved)
    return p


def roots(p: Array, /) -> Array:
    """Find the roots of a polynomial: the eigenvalues of its companion matrix.

    Args:
        p: Coefficients, shape `(..., n)`, of a floating-point data type, the first not zero: else roots are NaN, or an
            error of the library's (use `trim_zeros`).

    Returns:
        The roots, complex, shape `(..., n - 1)`, in no order.

    Raises:
        TypeError: `p` is not a floating-point array.
        ValueError: No coefficients, or a first one that is known to be zero or not finite.

    >>> import numpy as np
    >>> np.sort(roots(np.asarray([1.0, -3.0, 2.0])).real)
    array([1., 2.])
    """
    xp = checks.one("roots", p, kinds=_arguments.FLOATING)
    n = checks.some("roots", "p", p)
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
    """Make the Vandermonde matrix of points: their powers, a row a point.

    Args:
        x: Points, shape `(..., m)`, of a numeric data type.
        n: The number of powers; m if omitted.
        increasing: Whether powers increase along a row. Otherwise they decrease, as coefficients do.

    Returns:
        Shape `(..., m, n)`, of the data type of `x`.

    Raises:
        TypeError: `x` is not a numeric array, or an option of the wrong type.
        ValueError: No axis, or `n` is negative.

    >>> import numpy as np
    >>> vander(np.asarray([2, 3]), 3)
    array([[4, 2, 1],
           [9, 3, 1]])
    """
    xp = checks.one("vander", x, "x")
    n = x.shape[-1] if n is None else _arguments.integer("vander", "n", n, minimum=0)
    _arguments.boolean("vander", "increasing", increasing)
    if not n:
        return xp.zeros((*x.shape, 0), dtype=x.dtype, device=_arguments.device_of(x))
    powers = [xp.ones_like(x)]
    for _ in range(n - 1):
        powers.append(xp.multiply(powers[-1], x))
    return xp.stack(powers if increasing else powers[::-1], axis=-1)


def polyfit(x: Array, y: Array, /, degree: int, *, w: Array | None = None, rtol: float | None = None) -> Array:
    """Fit a polynomial to points, by least squares.

    Args:
        x: Points, shape `(m,)`, of a real floating-point data type.
        y: Values, shape `(m,)`, or `(m, k)` for k polynomials; real or complex.
        degree: The degree of the polynomials.
        w: Weights of the residuals (not of their squares), shape `(m,)`.
        rtol: Singular values below `rtol` times the largest count as zero; m times the precision if omitted.

    Returns:
        Coefficients, shape `(degree + 1,)`, or `(k, degree + 1)`. Where the points don't determine them, those of the
        smallest norm, after the powers are scaled to one length.

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
    m = checks.some("polyfit", "x", x)
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
    scale = xp.sqrt(xp.sum(xp.real(a * xp.conj(a)) if _is_complex(xp, dtype) else a * a, axis=0))
    scale = xp.where(scale == 0, xp.ones_like(scale), scale)
    coefficients = _least_squares(xp, a / xp.astype(scale, dtype, copy=False), b, rtol)
    coefficients = xp.matrix_transpose(coefficients) / xp.astype(scale, dtype, copy=False)
    return coefficients if y.ndim == 2 else coefficients[0, :]


def trim_zeros(p: Array, /, *, trim: Literal["f", "b", "fb"] = "fb") -> Array:
    """Take zeros away from the ends of an array.

    Args:
        p: An array of one axis.
        trim: From which ends: "f" the front, "b" the back, "fb" both.

    Raises:
        TypeError: `p` is not an array; or (`UnsupportedError`) its values aren't known, on which the shape depends.
        ValueError: Another number of axes than one, or an unknown word.

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


def _is_complex(xp: Namespace, dtype: Any) -> bool:
    return bool(xp.isdtype(dtype, "complex floating"))


def _least_squares(xp: Namespace, a: Array, b: Array, rtol: float | None) -> Array:
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    cutoff = (a.shape[0] * float(xp.finfo(a.dtype).eps) if rtol is None else rtol) * s[0]
    used = s > cutoff
    inverse = xp.where(used, 1.0 / xp.where(used, s, xp.ones_like(s)), xp.zeros_like(s))
    adjoint = (lambda x: xp.conj(xp.matrix_transpose(x))) if _is_complex(xp, a.dtype) else xp.matrix_transpose
    return adjoint(vh) @ (xp.astype(inverse, a.dtype, copy=False)[:, None] * (adjoint(u) @ b))
