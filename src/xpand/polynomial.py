"""Polynomials as arrays of coefficients, the highest power first: `[a, b, c]` is a x² + b x + c.

The functions are those of NumPy's of the same names, on the last axis: leading axes hold several polynomials, and
broadcast. No coefficient is taken away for being zero but by `trim_zeros`, so that shapes never depend on values.
"""

# Functions of the namespace in place of operators: PyTorch has none for its larger unsigned integers.

import math
from typing import Any, Literal, NamedTuple

from . import _arguments
from ._errors import UnsupportedError
from ._namespace import is_concrete
from ._typing import Array, Namespace

__all__ = [
    "Division",
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "roots",
    "trim_zeros",
    "vander",
]


class Division(NamedTuple):
    """What `polydiv` returns."""

    quotient: Array
    """Shape `(..., max(m - n + 1, 1))` for polynomials of m and n coefficients."""
    remainder: Array
    """Shape `(..., max(n - 1, 1))`, zeros in front where its degree is lower."""


def polyadd(p1: Array, p2: Array, /) -> Array:
    """Add polynomials.

    Args:
        p1: Coefficients, shape `(..., m)`, of a numeric data type.
        p2: Coefficients, shape `(..., n)`.

    Returns:
        Coefficients, shape `(..., max(m, n))`.

    Raises:
        TypeError: An argument is no array, isn't numeric, or belongs to another library.
        ValueError: No axis, or leading axes that don't broadcast.

    >>> import numpy as np
    >>> polyadd(np.asarray([1, 2]), np.asarray([3, 0, 1]))
    array([3, 1, 3])
    """
    xp, p1, p2 = _pair("polyadd", p1, p2)
    return _aligned(xp, p1, p2, xp.add)


def polysub(p1: Array, p2: Array, /) -> Array:
    """Subtract polynomials. Arguments, result and errors are those of `polyadd`.

    >>> import numpy as np
    >>> polysub(np.asarray([1, 2]), np.asarray([3, 0, 1]))
    array([-3,  1,  1])
    """
    xp, p1, p2 = _pair("polysub", p1, p2)
    return _aligned(xp, p1, p2, xp.subtract)


def polymul(p1: Array, p2: Array, /) -> Array:
    """Multiply polynomials.

    Arguments and errors are those of `polyadd`.

    Returns:
        Coefficients, shape `(..., m + n - 1)`; of no coefficients at all if one has none.

    >>> import numpy as np
    >>> polymul(np.asarray([1, 1]), np.asarray([1, -1]))
    array([ 1,  0, -1])
    """
    xp, p1, p2 = _pair("polymul", p1, p2)
    return _product(xp, p1, p2)


def polydiv(u: Array, v: Array, /) -> Division:
    """Divide polynomials, with a remainder: `u` is `quotient * v + remainder`.

    Args:
        u: Coefficients, shape `(..., m)`, of a floating-point data type.
        v: Coefficients, shape `(..., n)`, the first of them not zero: what is divided by it is infinite or NaN.

    Returns:
        The quotient and the remainder, whose shapes don't depend on values: zeros in front are kept.

    Raises:
        TypeError: An argument is no array, isn't floating-point, or belongs to another library.
        ValueError: No coefficients, or leading axes that don't broadcast.

    >>> import numpy as np
    >>> polydiv(np.asarray([3.0, 5.0, 2.0]), np.asarray([2.0, 1.0]))
    Division(quotient=array([1.5 , 1.75]), remainder=array([0.25]))
    """
    xp, u, v = _pair("polydiv", u, v, _arguments.FLOATING)
    _some("polydiv", "u", u)
    _some("polydiv", "v", v)
    batch = _batch("polydiv", u, v)
    rest = xp.broadcast_to(u, (*batch, u.shape[-1]))
    v = xp.broadcast_to(v, (*batch, v.shape[-1]))
    n = v.shape[-1]
    quotient = []
    for _ in range(u.shape[-1] - n + 1):
        factor = rest[..., :1] / v[..., :1]
        quotient.append(factor)
        rest = xp.concat([rest[..., 1:n] - factor * v[..., 1:], rest[..., n:]], axis=-1)
    zero = xp.zeros((*batch, 1), dtype=u.dtype, device=_arguments.device_of(rest))
    found = xp.concat(quotient, axis=-1) if quotient else zero
    size = max(n - 1, 1)
    short = size - rest.shape[-1]
    rest = xp.concat([xp.broadcast_to(zero, (*batch, short)), rest], axis=-1) if short > 0 else rest
    return Division(found, rest)


def polyder(p: Array, m: int = 1, /) -> Array:
    """Differentiate a polynomial `m` times.

    Args:
        p: Coefficients, shape `(..., n)`, of a numeric data type.
        m: How often, 0 or more.

    Returns:
        Coefficients, shape `(..., max(n - m, 0))`, of the data type of `p`. Integers that it can't hold wrap around.

    Raises:
        TypeError: `p` is no numeric array, or `m` no integer.
        ValueError: No axis, or `m` is negative.

    >>> import numpy as np
    >>> polyder(np.asarray([1, 1, 1, 1]))
    array([3, 2, 1])
    """
    xp = _one("polyder", p)
    m = _arguments.integer("polyder", "m", m, minimum=0)
    n = p.shape[-1]
    factors = [math.perm(n - 1 - i, m) for i in range(max(n - m, 0))]
    return xp.multiply(p[..., : len(factors)], _vector(xp, factors, p))


def polyint(p: Array, m: int = 1, /, *, k: float | complex | Array = 0.0) -> Array:
    """Integrate a polynomial `m` times.

    Args:
        p: Coefficients, shape `(..., n)`, of a floating-point data type.
        m: How often, 0 or more.
        k: The constants of integration, in the order of the integrations: a Python number for all of them, or an array
            of shape `(m,)`.

    Returns:
        Coefficients, shape `(..., n + m)`, of the data type of `p`.

    Raises:
        TypeError: `p` is no floating-point array, `k` doesn't promote to its data type or is of another library, or
            `m` is no integer.
        ValueError: No axis, `m` is negative, or `k` has another shape or lies on another device.

    >>> import numpy as np
    >>> polyint(np.asarray([3.0, 2.0, 1.0]))
    array([1., 1., 1., 0.])
    """
    xp = _one("polyint", p, kinds=_arguments.FLOATING)
    m = _arguments.integer("polyint", "m", m, minimum=0)
    number = isinstance(k, (int, float, complex))
    if not number:
        _arguments.namespace_of("polyint", p=p, k=k)
        _arguments.one_device("polyint", p=p, k=k)
    _arguments.castable("polyint", "k", xp, k, p, "p")
    if number:
        constants = xp.full((m,), k, dtype=p.dtype, device=_arguments.device_of(p))
    else:
        constants = xp.astype(k, p.dtype, copy=False)
    if tuple(constants.shape) != (m,):
        raise ValueError(f"polyint: k must have the shape ({m},), one for each integration, got {constants.shape}")
    n = p.shape[-1]
    parts = [p / _vector(xp, [math.perm(n - 1 - i + m, m) for i in range(n)], p)]
    if m:
        # The i-th constant is integrated m - 1 - i times more.
        own = constants / _vector(xp, [math.factorial(m - 1 - i) for i in range(m)], p)
        parts.append(xp.broadcast_to(own, (*p.shape[:-1], m)))
    return xp.concat(parts, axis=-1)


def polyval(p: Array, x: Array, /) -> Array:
    """Evaluate a polynomial, by Horner's scheme.

    Args:
        p: Coefficients, shape `(..., n)`, of a numeric data type.
        x: Where, of any shape; where `p` has leading axes, of a shape that broadcasts with them.

    Returns:
        The values: of the shape of `x` broadcast with the leading axes of `p`, of the data type that both promote to.

    Raises:
        TypeError: An argument is no numeric array, or they belong to two libraries.
        ValueError: No axis, or shapes that don't broadcast.

    >>> import numpy as np
    >>> polyval(np.asarray([3, 0, 1]), np.asarray([5, 2]))
    array([76, 13])
    """
    xp = _arguments.namespace_of("polyval", p=p, x=x)
    _arguments.one_device("polyval", p=p, x=x)
    _one("polyval", p)
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
        TypeError: `roots` is no numeric array.
        ValueError: No axis.

    >>> import numpy as np
    >>> poly(np.asarray([1.0, 2.0]))
    array([ 1., -3.,  2.])
    """
    xp = _one("poly", roots, "roots")
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
        TypeError: `p` is no floating-point array.
        ValueError: No coefficients, or a first one that is known to be zero or not finite.

    >>> import numpy as np
    >>> np.sort(roots(np.asarray([1.0, -3.0, 2.0])).real)
    array([1., 2.])
    """
    xp = _one("roots", p, kinds=_arguments.FLOATING)
    n = _some("roots", "p", p)
    first = p[..., :1]
    if is_concrete(p) and not bool(xp.all(xp.isfinite(p[..., 1:]))):
        raise ValueError("roots: coefficients must be finite")
    if is_concrete(p) and not bool(xp.all(xp.isfinite(first) & (first != 0))):
        raise ValueError("roots: the first coefficient must be finite and not zero; `trim_zeros` takes zeros away")
    top = -p[..., 1:] / first
    below = xp.eye(max(n - 2, 0), n - 1, dtype=p.dtype, device=_arguments.device_of(p))
    below = xp.broadcast_to(below, (*p.shape[:-1], max(n - 2, 0), n - 1))
    if n == 1:
        return xp.astype(top, xp.result_type(top, xp.complex64))
    return xp.linalg.eigvals(xp.concat([top[..., None, :], below], axis=-2))


def vander(x: Array, n: int | None = None, /, *, increasing: bool = False) -> Array:
    """Make the Vandermonde matrix of points: their powers, a row a point.

    Args:
        x: Points, shape `(..., m)`, of a numeric data type.
        n: The number of powers; m where left out.
        increasing: Whether powers increase along a row. Otherwise they decrease, as coefficients do.

    Returns:
        Shape `(..., m, n)`, of the data type of `x`.

    Raises:
        TypeError: `x` is no numeric array, or an option of the wrong type.
        ValueError: No axis, or `n` is negative.

    >>> import numpy as np
    >>> vander(np.asarray([2, 3]), 3)
    array([[4, 2, 1],
           [9, 3, 1]])
    """
    xp = _one("vander", x, "x")
    n = x.shape[-1] if n is None else _arguments.integer("vander", "n", n, minimum=0)
    _arguments.boolean("vander", "increasing", increasing)
    if not n:
        return xp.zeros((*x.shape, 0), dtype=x.dtype, device=_arguments.device_of(x))
    powers = [xp.ones_like(x)]
    for _ in range(n - 1):
        powers.append(xp.multiply(powers[-1], x))
    return xp.stack(powers if increasing else powers[::-1], axis=-1)


def polyfit(x: Array, y: Array, degree: int, /, *, w: Array | None = None, rtol: float | None = None) -> Array:
    """Fit a polynomial to points, by least squares.

    Args:
        x: Points, shape `(m,)`, of a real floating-point data type.
        y: Values, shape `(m,)`, or `(m, k)` for k polynomials; real or complex.
        degree: The degree of the polynomials.
        w: Weights of the residuals (not of their squares), shape `(m,)`.
        rtol: Singular values below `rtol` times the largest count as zero; m times the precision where left out.

    Returns:
        Coefficients, shape `(degree + 1,)`, or `(k, degree + 1)`. Where the points don't determine them, those of the
        smallest norm, after the powers are scaled to one length.

    Raises:
        TypeError: An argument is no floating-point array, or they belong to two libraries.
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
    m = _some("polyfit", "x", x)
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
        TypeError: `p` is no array; or (`UnsupportedError`) its values aren't known, on which the shape depends.
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
            "lazy array); trim outside, or keep the zeros, which no other function here minds"
        )
    kept = xp.nonzero(p)[0]
    if not kept.shape[0]:
        return p[:0]
    start, stop = int(kept[0]), int(kept[-1]) + 1
    return p[start if "f" in trim else 0 : stop if "b" in trim else p.shape[0]]


def _one(function: str, p: Array, name: str = "p", kinds: frozenset[_arguments.Kind] = _arguments.NUMERIC) -> Namespace:
    xp = _arguments.namespace_of(function, **{name: p})
    _arguments.dtype(function, name, xp, p, kinds)
    if not p.ndim:
        raise ValueError(f"{function}: {name} must have one axis or more, got a single value")
    _arguments.known_shape(function, name, p)
    return xp


def _some(function: str, name: str, p: Array) -> int:
    size: int = p.shape[-1] if p.ndim else 0
    if not size:
        raise ValueError(f"{function}: {name} must have one element or more along its last axis, got shape {p.shape}")
    return size


def _pair(
    function: str, p1: Array, p2: Array, kinds: frozenset[_arguments.Kind] = _arguments.NUMERIC
) -> tuple[Namespace, Array, Array]:
    arrays = _names(function, p1, p2)
    xp = _arguments.namespace_of(function, **arrays)
    _arguments.one_device(function, **arrays)
    for name, p in arrays.items():
        _one(function, p, name, kinds)
    _batch(function, p1, p2)
    return xp, *_arguments.promote(function, xp, **arrays)


def _batch(function: str, p1: Array, p2: Array) -> tuple[int, ...]:
    return _arguments.broadcast_shapes(function, **_names(function, p1.shape[:-1], p2.shape[:-1]))


def _names(function: str, first: Any, second: Any) -> dict[str, Any]:
    return dict(zip(("u", "v") if function == "polydiv" else ("p1", "p2"), (first, second)))


def _vector(xp: Namespace, values: list[int], like: Array) -> Array:
    """Make an array of factors, which grow fast: beyond the data type, integers wrap around and others are infinite."""
    within: list[int] | list[float]
    if _arguments.kind(xp, like.dtype) in _arguments.INTEGERS:
        low, high = _arguments.integer_range(xp, like.dtype)
        within = [(value - low) % (high - low + 1) + low for value in values]
    else:
        largest = int(xp.finfo(like.dtype).max)
        within = [float(value) if value <= largest else math.inf for value in values]
    return xp.asarray(within, dtype=like.dtype, device=_arguments.device_of(like))


def _aligned(xp: Namespace, p1: Array, p2: Array, combine: Any) -> Array:
    """Combine coefficients of the same powers."""
    size = max(p1.shape[-1], p2.shape[-1])

    def in_front(p: Array) -> Array:
        zeros = xp.zeros((*p.shape[:-1], size - p.shape[-1]), dtype=p.dtype, device=_arguments.device_of(p))
        return xp.concat([zeros, p], axis=-1) if zeros.shape[-1] else p

    return combine(in_front(p1), in_front(p2))


def _product(xp: Namespace, p1: Array, p2: Array) -> Array:
    dtype = p1.dtype
    m, n = p1.shape[-1], p2.shape[-1]
    batch = _batch("polymul", p1, p2)
    place = _arguments.device_of(p1)
    if not m or not n:
        return xp.zeros((*batch, 0), dtype=dtype, device=place)
    if m < n:
        p1, p2, m, n = p2, p1, n, m
    # The longer, moved by each power of the shorter: as many passes as that has coefficients.
    total = None
    for i in range(n):
        term = xp.multiply(p1, p2[..., i : i + 1])
        before = xp.zeros((*batch, i), dtype=dtype, device=place)
        after = xp.zeros((*batch, n - 1 - i), dtype=dtype, device=place)
        term = xp.concat([before, term, after], axis=-1)
        total = term if total is None else xp.add(total, term)
    return total


def _is_complex(xp: Namespace, dtype: Any) -> bool:
    return bool(xp.isdtype(dtype, "complex floating"))


def _least_squares(xp: Namespace, a: Array, b: Array, rtol: float | None) -> Array:
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    cutoff = (a.shape[0] * float(xp.finfo(a.dtype).eps) if rtol is None else rtol) * s[0]
    used = s > cutoff
    inverse = xp.where(used, 1.0 / xp.where(used, s, xp.ones_like(s)), xp.zeros_like(s))
    adjoint = (lambda x: xp.conj(xp.matrix_transpose(x))) if _is_complex(xp, a.dtype) else xp.matrix_transpose
    return adjoint(vh) @ (xp.astype(inverse, a.dtype, copy=False)[:, None] * (adjoint(u) @ b))
