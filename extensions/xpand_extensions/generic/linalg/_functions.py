"""Functions of matrices with the standard alone: scaling and squaring, and the inverse of both."""

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from xpand import array_namespace, is_concrete
from xpand.extend import LibraryArray as Array, Namespace, checks

MAX_SQUARINGS: Final = 64  # at norms above 2**64 no digit of the result is right
"""The largest number of times that an exponential is squared."""

# Coefficients of the numerators of Padé approximants to the exponential, and the norm up to which each is exact.
_PADE: Final = {
    degree: tuple(
        float(math.factorial(2 * degree - k) // (math.factorial(k) * math.factorial(degree - k)))
        for k in range(degree + 1)
    )
    for degree in (3, 5, 7, 13)
}
_DOUBLE: Final = {3: 1.495585217958292e-2, 5: 2.539398330063230e-1, 7: 9.504178996162932e-1, 13: 5.371920351148152}
_SINGLE: Final = {3: 4.258730016922831e-1, 5: 1.880152677804762, 7: 3.925724783138660}

# The logarithm near the identity: ten nodes and weights of Gauss and Legendre on (0, 1) are the partial fractions of
# the [10/10] approximant, which is exact up to this norm of x - 1.
_LOG_NORM: Final = 0.5
_LOG_2: Final = math.log(2.0)
_NODES: Final = (
    (0.01304673574141414, 0.0333356721543440688),
    (0.0674683166555077446, 0.0747256745752902966),
    (0.160295215850487797, 0.109543181257991022),
    (0.283302302935376405, 0.134633359654998178),
    (0.425562830509184395, 0.147762112357376435),
    (0.574437169490815605, 0.147762112357376435),
    (0.716697697064623595, 0.134633359654998178),
    (0.839704784149512203, 0.109543181257991022),
    (0.932531683344492255, 0.0747256745752902966),
    (0.98695326425858586, 0.0333356721543440688),
)
_MAX_ROOTS: Final = 40
_MAX_ROOT_STEPS: Final = 60  # each halving of an eigenvalue's distance from the negative axis needs one more

Loop: TypeAlias = Callable[[Callable[[Any], Any], Callable[[Any], Any], Any], Any]
"""`while condition(state): state = body(state)`, as `jax.lax.while_loop` takes it."""


def expm(x: Array, /) -> Array:
    return exponential(array_namespace(x), x, _squared)


def exponential(xp: Namespace, x: Array, squared: Callable[[Array, Array], Array]) -> Array:
    """Compute the exponential. `squared` squares each matrix a given number of times."""
    if 0 in x.shape:
        return xp.zeros_like(x)
    norm = _norm(xp, x)
    finite = xp.isfinite(norm)
    x, norm = xp.where(finite, x, xp.zeros_like(x)), xp.where(finite, norm, xp.zeros_like(norm))
    limits = _SINGLE if xp.finfo(x.dtype).bits < 64 else _DOUBLE
    degree = max(limits)
    if is_concrete(norm):
        largest = xp.max(norm)
        degree = next((each for each, limit in limits.items() if largest <= limit), degree)
    squarings = xp.ceil(xp.log2(xp.maximum(norm / limits[degree], xp.ones_like(norm))))
    squarings = xp.minimum(squarings, xp.full_like(squarings, MAX_SQUARINGS))
    result = squared(_pade(xp, x * xp.astype(2.0**-squarings, x.dtype), degree), squarings)
    return xp.where(finite, result, xp.full_like(result, float("nan")))


def _squared(x: Array, squarings: Array) -> Array:
    xp = array_namespace(x)
    steps = int(xp.max(squarings)) if is_concrete(squarings) else MAX_SQUARINGS
    for step in range(steps):
        if x.ndim == 2 and is_concrete(squarings):
            x = xp.matmul(x, x)
        else:
            more = squarings > step
            base = xp.where(more, x, xp.zeros_like(x))  # squares of unselected matrices may overflow
            x = xp.where(more, xp.matmul(base, base), x)
    return x


def _pade(xp: Namespace, x: Array, degree: int) -> Array:
    """Evaluate the diagonal Padé approximant to the exponential."""
    c = _PADE[degree]
    powers = [identity(xp, x)]
    square = xp.matmul(x, x)
    for _ in range(min(degree // 2, 3)):
        powers.append(xp.matmul(powers[-1], square) if len(powers) > 1 else square)
    odd = _combination(c[1 : 2 * len(powers) : 2], powers)
    even = _combination(c[0 : 2 * len(powers) : 2], powers)
    if degree > 7:
        odd = odd + xp.matmul(powers[3], _combination(c[9::2], powers[1:]))
        even = even + xp.matmul(powers[3], _combination(c[8::2], powers[1:]))
    odd = xp.matmul(x, odd)
    return xp.linalg.solve(even - odd, even + odd)


def _combination(coefficients: tuple[float, ...], matrices: list[Array]) -> Array:
    total = coefficients[0] * matrices[0]
    for coefficient, matrix in zip(coefficients[1:], matrices[1:]):
        total = total + coefficient * matrix
    return total


def identity(xp: Namespace, x: Array) -> Array:
    """Return the identity matrix, as large as the given square matrices."""
    return xp.eye(x.shape[-1], dtype=x.dtype, device=checks.device_of(x))


def logm(x: Array, /) -> Array:
    return principal_logarithm(array_namespace(x), x, _loop)


def logarithm_along(logm: Callable[[Array], Array], x: Array, e: Array) -> Array:
    """Return the derivative at `x` in the direction `e`: the upper right block of the logarithm of `[[x, e], [0, x]]`.

    (R. Mathias, SIAM J. Matrix Anal. Appl. 17 (1996) 610.)
    """
    xp, size = array_namespace(x), x.shape[-1]
    lower = xp.concat([xp.zeros_like(x), x], axis=-1)
    return logm(xp.concat([xp.concat([x, e], axis=-1), lower], axis=-2))[..., :size, size:]


def _loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], state: Any) -> Any:
    while bool(condition(state)):
        state = body(state)
    return state


def principal_logarithm(xp: Namespace, x: Array, loop: Loop) -> Array:
    """Compute the logarithm. `loop` repeats steps until a condition on values fails."""
    if 0 in x.shape:
        return xp.zeros_like(x)
    one = identity(xp, x)
    finite = xp.all(xp.isfinite(x), axis=(-2, -1), keepdims=True)
    values = xp.linalg.eigvals(xp.where(finite, x, one))
    size, real, imaginary = xp.abs(values), xp.real(values), xp.imag(values)
    on_the_cut = (imaginary == 0) & (real < 0)
    is_real = not xp.isdtype(x.dtype, "complex floating")
    defined = finite & ~xp.any((size == 0) | (on_the_cut & is_real), axis=-1)[..., None, None]
    # Scale the matrix, and rotate it away from the negative axis, so that its roots need few steps. Add the logarithm
    # of the factor at the end.
    mean = xp.mean(xp.log2(xp.where(size == 0, xp.ones_like(size), size)), axis=-1)[..., None, None]
    exponent = xp.round(mean)
    factor, shift = 2.0**-exponent, exponent * _LOG_2
    if not is_real:
        angles = xp.where(on_the_cut, xp.full_like(size, math.pi), xp.atan2(imaginary, real))
        turn = ((xp.max(angles, axis=-1) + xp.min(angles, axis=-1)) / 2)[..., None, None]
        factor, shift = factor * xp.exp(-1j * turn), shift + 1j * turn
    result = _logarithm(xp, xp.where(defined, x * xp.astype(factor, x.dtype), one), loop)
    result = result + xp.astype(shift, x.dtype) * one
    return xp.where(defined, result, xp.full_like(result, float("nan")))


def _logarithm(xp: Namespace, x: Array, loop: Loop) -> Array:
    """Take square roots until the matrix is near the identity, evaluate the approximant, and undo the roots."""
    one = identity(xp, x)

    def far(x: Array) -> Array:
        return _norm(xp, x - one) > _LOG_NORM

    def is_running(state: tuple[Array, Array]) -> Array:
        x, roots = state
        return xp.any(far(x) & (roots < _MAX_ROOTS))

    def step(state: tuple[Array, Array]) -> tuple[Array, Array]:
        x, roots = state
        now = far(x)
        root = _square_root(xp, xp.where(now, x, one), loop)
        return xp.where(now, root, x), xp.where(now, roots + 1, roots)

    x, roots = loop(is_running, step, (x, xp.zeros_like(_norm(xp, x))))
    difference = x - one
    fractions = xp.asarray(_NODES, dtype=x.dtype, device=checks.device_of(x))
    node, weight = (xp.reshape(fractions[:, k], (-1, *(1 for _ in x.shape))) for k in range(2))
    parts = xp.linalg.solve(one + node * difference, xp.broadcast_to(difference, (len(_NODES), *x.shape)))
    return xp.sum(weight * parts, axis=0) * xp.astype(2.0**roots, x.dtype)


def _square_root(xp: Namespace, x: Array, loop: Loop) -> Array:
    """Compute the principal square root by the Denman-Beavers iteration, scaled by determinants.

    (Its product form needs fewer inversions, but loses twice as many digits to eigenvalues near the negative axis.)
    """
    # Each step squares the error, so below the root of eps one more step is enough.
    enough = float(xp.finfo(x.dtype).eps) ** 0.5

    def is_running(state: tuple[Array, ...]) -> Array:
        _, distance, number = state
        return xp.any(distance > enough) & (number < _MAX_ROOT_STEPS)

    def step(state: tuple[Array, ...]) -> tuple[Array, ...]:
        # The root and its inverse, in one array.
        pair, distance, number = state
        logarithm = xp.sum(xp.linalg.slogdet(pair)[1], axis=0)[..., None, None]
        scale = xp.where(distance > 1e-2, xp.exp(logarithm / (-2 * x.shape[-1])), xp.ones_like(logarithm))
        scale = xp.astype(scale, x.dtype)
        improved = 0.5 * (scale * pair + xp.flip(xp.linalg.inv(pair), axis=0) / scale)
        change = _norm(xp, improved - pair) / _norm(xp, improved)
        return improved, xp.max(change, axis=0), number + 1

    pair = xp.stack([x, xp.broadcast_to(identity(xp, x), tuple(x.shape))])
    first = xp.ones_like(_norm(xp, x))
    number = xp.zeros((), dtype=first.dtype, device=checks.device_of(x))
    return loop(is_running, step, (pair, first, number))[0][0, ...]


def _norm(xp: Namespace, x: Array) -> Array:
    """Return the largest sum of absolute values of a column, of shape `(..., 1, 1)`."""
    return xp.max(xp.sum(xp.abs(x), axis=-2, keepdims=True), axis=-1, keepdims=True)
