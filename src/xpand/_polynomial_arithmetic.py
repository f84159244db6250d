"""Arithmetic of polynomials, their derivatives and integrals; checks of arguments."""

# `xp.add` and the like in place of operators, which PyTorch lacks for uint16 to uint64.

import math
from typing import Any, NamedTuple

from . import _arguments
from .typing import Array, Namespace


class Division(NamedTuple):
    """The result of `polydiv`."""

    quotient: Array
    """Shape `(..., max(m - n + 1, 1))` for polynomials of m and n coefficients."""
    remainder: Array
    """Shape `(..., max(n - 1, 1))`, with leading zeros if the degree is lower."""


def check_one(
    function: str, p: Array, name: str = "p", kinds: frozenset[_arguments.Kind] = _arguments.NUMERIC
) -> Namespace:
    """Check the data type of coefficients or points, and that they have an axis; return their namespace."""
    xp = _arguments.namespace_of(function, **{name: p})
    _arguments.dtype(function, name, xp, p, kinds)
    if not p.ndim:
        raise ValueError(f"{function}: {name} must have one axis or more, got a single value")
    _arguments.known_shape(function, name, p)
    return xp


def check_nonempty(function: str, name: str, p: Array) -> int:
    """Check that the last axis is not empty; return its size."""
    size: int = p.shape[-1] if p.ndim else 0
    if not size:
        raise ValueError(f"{function}: {name} must have one element or more along its last axis, got shape {p.shape}")
    return size


def check_pair(
    function: str, p1: Array, p2: Array, kinds: frozenset[_arguments.Kind] = _arguments.NUMERIC
) -> tuple[Namespace, Array, Array]:
    """Check two arrays of polynomials; return their namespace, and both arrays in their common data type."""
    arrays = _names(function, p1, p2)
    xp = _arguments.namespace_of(function, **arrays)
    _arguments.one_device(function, **arrays)
    for name, p in arrays.items():
        check_one(function, p, name, kinds)
    batch_of(function, p1, p2)
    return xp, *_arguments.promote(function, xp, **arrays)


def batch_of(function: str, p1: Array, p2: Array) -> tuple[int, ...]:
    """Broadcast the leading axes of two arrays of polynomials."""
    return _arguments.broadcast_shapes(function, **_names(function, p1.shape[:-1], p2.shape[:-1]))


def _names(function: str, first: Any, second: Any) -> dict[str, Any]:
    return dict(zip(("u", "v") if function == "polydiv" else ("p1", "p2"), (first, second)))


def polyadd(p1: Array, p2: Array, /) -> Array:
    """Add polynomials.

    Args:
        p1: Coefficients, shape `(..., m)`, of a numeric data type.
        p2: Coefficients, shape `(..., n)`.

    Returns:
        Coefficients, shape `(..., max(m, n))`.

    Raises:
        TypeError: An argument is not an array, isn't numeric, or belongs to another library.
        ValueError: An argument has no axis, or the leading axes don't broadcast.

    >>> import numpy as np
    >>> polyadd(np.asarray([1, 2]), np.asarray([3, 0, 1]))
    array([3, 1, 3])
    """
    xp, p1, p2 = check_pair("polyadd", p1, p2)
    return _aligned(xp, p1, p2, xp.add)


def polysub(p1: Array, p2: Array, /) -> Array:
    """Subtract polynomials. Arguments, result and errors are the same as for `polyadd`.

    >>> import numpy as np
    >>> polysub(np.asarray([1, 2]), np.asarray([3, 0, 1]))
    array([-3,  1,  1])
    """
    xp, p1, p2 = check_pair("polysub", p1, p2)
    return _aligned(xp, p1, p2, xp.subtract)


def polymul(p1: Array, p2: Array, /) -> Array:
    """Multiply polynomials.

    Arguments and errors are the same as for `polyadd`.

    Returns:
        Coefficients, shape `(..., m + n - 1)`, or `(..., 0)` if an argument has no coefficients.

    >>> import numpy as np
    >>> polymul(np.asarray([1, 1]), np.asarray([1, -1]))
    array([ 1,  0, -1])
    """
    xp, p1, p2 = check_pair("polymul", p1, p2)
    return _product(xp, p1, p2)


def polydiv(u: Array, v: Array, /) -> Division:
    """Divide polynomials, with a remainder: `u` is `quotient * v + remainder`.

    Args:
        u: Coefficients, shape `(..., m)`, of a floating-point data type.
        v: Coefficients, shape `(..., n)`. If the first one is zero, results are infinite or NaN.

    Returns:
        The quotient and the remainder. Leading zeros are not removed, so the shapes do not depend on values.

    Raises:
        TypeError: An argument is not an array, isn't floating-point, or belongs to another library.
        ValueError: An argument has no coefficients, or the leading axes don't broadcast.

    >>> import numpy as np
    >>> polydiv(np.asarray([3.0, 5.0, 2.0]), np.asarray([2.0, 1.0]))
    Division(quotient=array([1.5 , 1.75]), remainder=array([0.25]))
    """
    xp, u, v = check_pair("polydiv", u, v, _arguments.FLOATING)
    check_nonempty("polydiv", "u", u)
    check_nonempty("polydiv", "v", v)
    batch = batch_of("polydiv", u, v)
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


def polyder(p: Array, /, m: int = 1) -> Array:
    """Differentiate a polynomial `m` times.

    Args:
        p: Coefficients, shape `(..., n)`, of a numeric data type.
        m: The number of derivatives, 0 or more.

    Returns:
        Coefficients, shape `(..., max(n - m, 0))`, of the data type of `p`. Integers that overflow wrap around.

    Raises:
        TypeError: `p` is not a numeric array, or `m` is not an integer.
        ValueError: `p` has no axis, or `m` is negative.

    >>> import numpy as np
    >>> polyder(np.asarray([1, 1, 1, 1]))
    array([3, 2, 1])
    """
    xp = check_one("polyder", p)
    m = _arguments.integer("polyder", "m", m, minimum=0)
    n = p.shape[-1]
    factors = [math.perm(n - 1 - i, m) for i in range(max(n - m, 0))]
    return xp.multiply(p[..., : len(factors)], _vector(xp, factors, p))


def polyint(p: Array, /, m: int = 1, *, k: float | complex | Array = 0.0) -> Array:
    """Integrate a polynomial `m` times.

    Args:
        p: Coefficients, shape `(..., n)`, of a floating-point data type.
        m: The number of integrations, 0 or more.
        k: The constants of integration, in order: a Python number for all of them, or an array of shape `(m,)`.

    Returns:
        Coefficients, shape `(..., n + m)`, of the data type of `p`.

    Raises:
        TypeError: `p` is not a floating-point array, `k` doesn't promote to its data type or is of another library, or
            `m` is not an integer.
        ValueError: `p` has no axis, `m` is negative, or `k` has another shape or lies on another device.

    >>> import numpy as np
    >>> polyint(np.asarray([3.0, 2.0, 1.0]))
    array([1., 1., 1., 0.])
    """
    xp = check_one("polyint", p, kinds=_arguments.FLOATING)
    m = _arguments.integer("polyint", "m", m, minimum=0)
    if not isinstance(k, (int, float, complex)):
        _arguments.namespace_of("polyint", p=p, k=k)
        _arguments.one_device("polyint", p=p, k=k)
    _arguments.castable("polyint", "k", xp, k, p, "p")
    if isinstance(k, (int, float, complex)):
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


def _vector(xp: Namespace, values: list[int], like: Array) -> Array:
    """Make an array of factors. Integers that overflow the data type wrap around; other factors become infinite."""
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
    batch = batch_of("polymul", p1, p2)
    device = _arguments.device_of(p1)
    if not m or not n:
        return xp.zeros((*batch, 0), dtype=dtype, device=device)
    if m < n:
        p1, p2, m, n = p2, p1, n, m
    # Shift the longer polynomial once for each coefficient of the shorter one.
    total: Any = None
    for i in range(n):
        term = xp.multiply(p1, p2[..., i : i + 1])
        before = xp.zeros((*batch, i), dtype=dtype, device=device)
        after = xp.zeros((*batch, n - 1 - i), dtype=dtype, device=device)
        term = xp.concat([before, term, after], axis=-1)
        total = term if total is None else xp.add(total, term)
    return total
