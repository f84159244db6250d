"""Rules of special functions: values are the library's own, derivatives are in closed form if this loses no digits.

If cancellation would lose digits, the generic implementation is differentiated in forward mode.
"""

import inspect
import math
from collections.abc import Callable
from typing import Any, Final

from ... import special
from ..._dispatch import for_library
from ...extend._derivatives import contribution, factor
from ...generic.special._bessel import small_i1
from ...generic.special._error import erfcx
from ...generic.special._incomplete import beta_density, gamma_density
from .._forward import jvp
from ._derived import Axes

_DENSITY: Final = math.sqrt(0.5 / math.pi)
"""The density of the normal distribution at 0."""


def _pushed(function: Callable[..., Any] | str, name: str) -> factor:
    """Make the factor of an argument by differentiating a generic implementation, or the given function."""

    def of(xp: Any, out: Any, **given: Any) -> Any:
        from .._namespace import traced_namespace  # imports the rules

        found = for_library(f"special.{function}") if isinstance(function, str) else function
        names = tuple(inspect.signature(found).parameters)
        namespace = traced_namespace(xp)
        wrapped = {each: namespace.wrap(x) if hasattr(x, "dtype") else x for each, x in given.items()}

        def of_one(x: Any) -> Any:
            return (found(*[x if each == name else wrapped[each] for each in names]),), ()

        x = given[name]
        return jvp(namespace, of_one, (x,), (xp.ones_like(x),))[1][0]

    return factor(of)


def _gauss(xp: Any, x: Any, rate: float) -> Any:
    """Compute exp(-rate x²) for a rate of at least 1/2. Clip x to 40, where it is 0, so no square overflows."""
    x = xp.clip(x, -40.0, 40.0)
    return xp.exp(-rate * (x * x))


def _density_over_ndtr(xp: Any, out: Any, x: Any) -> Any:
    """Compute the derivative of log_ndtr. Avoid the usual quotient far below 0, where both parts vanish."""
    below = x <= -0.75
    ordinary = below & (x > -math.inf)
    far = math.sqrt(2.0 / math.pi) / erfcx(xp.where(ordinary, -x, 1.0) * math.sqrt(0.5))
    far = xp.where(ordinary, far, math.inf)
    near = xp.exp(xp.where(below, 0.0, -out))
    return xp.where(below, far, _DENSITY * _gauss(xp, xp.where(below, 0.0, x), 0.5) * near)


def _of_factorial(xp: Any, out: Any, x: Any) -> Any:
    negative = x < 0.0
    return xp.where(negative, 0.0, out * special.digamma(xp.where(negative, 1.0, x + 1.0)))


def _of_i1(xp: Any, out: Any, x: Any) -> Any:
    near = xp.abs(x) <= 8.0
    inner = _SMALL_I1.of(xp, None, x=xp.where(near, x, 0.0))
    ordinary = ~near & xp.isfinite(out)
    share = xp.where(ordinary, out, 0.0) / xp.where(ordinary, x, 1.0)
    return xp.where(near, inner, special.i0(x) - share)


_SMALL_I1: Final = _pushed(small_i1, "x")


def _harmless(xp: Any, condition: Any, *arrays: Any) -> Any:
    """Replace elements by 1/2 where a condition is False."""
    return [xp.where(condition, x, 0.5) for x in arrays]


def _of_gammainc(xp: Any, out: Any, a: Any, x: Any) -> Any:
    ordinary = (a > 0.0) & (x > 0.0) & (a < math.inf) & (x < math.inf)
    edge = xp.where((x == 0.0) & (a > 0.0), _at_zero(xp, a, x, 1.0, -1.0, 1.0), 0.0)
    a, x = _harmless(xp, ordinary, a, x)
    return xp.where(ordinary, gamma_density(xp, a, x) * (a / x), edge)


def _at_zero(xp: Any, order: Any, x: Any, of_one: Any, change: Any, of_two: Any) -> Any:
    """Compute the derivative at x = 0 of a function whose lowest power of x is `order`."""
    smooth = xp.where(order == 1.0, of_one + change * x, xp.where(order == 2.0, of_two * x, 0.0))
    return xp.where(order < 1.0, math.inf, smooth)


def _of_betainc(xp: Any, out: Any, a: Any, b: Any, x: Any) -> Any:
    inside = (a > 0.0) & (b > 0.0) & (a < math.inf) & (b < math.inf)
    a, b = _harmless(xp, inside, a, b)
    at_zero = _at_zero(xp, a, x, b, -b * (b - 1.0), b * (b + 1.0))
    at_one = _at_zero(xp, b, 1.0 - x, a, -a * (a - 1.0), a * (a + 1.0))
    edge = xp.where(inside & (x == 0.0), at_zero, xp.where(inside & (x == 1.0), at_one, 0.0))
    ordinary = inside & (x > 0.0) & (x < 1.0)
    (x,) = _harmless(xp, ordinary, x)
    y = 1.0 - x
    excess = xp.where(x < 0.5, a - (a + b) * x, (a + b) * y - b)
    return xp.where(ordinary, beta_density(xp, a, b, x, y, excess) * (a / (x * y)), edge)


def _of_cbrt(xp: Any, out: Any, x: Any) -> Any:
    zero = out == 0.0
    y = xp.where(zero, 1.0, out)
    return xp.where(zero, math.inf, 1.0 / (3.0 * (y * y)))


def _of_logit(xp: Any, out: Any, x: Any) -> Any:
    x = xp.clip(x, -1e9, 1e9)  # the derivative is only used between 0 and 1, and squares overflow
    y = x * (1.0 - x)
    return xp.where(y == 0.0, math.inf, 1.0 / xp.where(y == 0.0, 1.0, y))


def _product_with_log(name: str, least: float) -> tuple[factor, factor]:
    """Make the factors of x and y in x times a logarithm of y >= `least`. They are 0 for x = 0 and y at the end."""
    function = getattr(special, name)

    def of_x(xp: Any, out: Any, x: Any, y: Any) -> Any:
        undefined = (x == 0.0) & ((y <= least) | (y == math.inf))
        return function(xp.where(undefined, xp.zeros_like(x), xp.ones_like(x)), y)

    def of_y(xp: Any, out: Any, x: Any, y: Any) -> Any:
        inside = (y > least) & (y < math.inf)
        slope = x / xp.where(inside, y - least, 1.0)
        steep = xp.where(x < 0.0, -math.inf, xp.where(x > 0.0, math.inf, x))
        return xp.where(inside, slope, xp.where(y == least, steep, 0.0))

    return factor(of_x), factor(of_y)


def _shares(xp: Any, out: Any, x: Any, axis: Any, keepdims: bool, b: Any) -> Any:
    """Compute exp(x) / sum(b exp(x)), or 0 where the sum is 0. Infinities share 1, and other elements get 0."""
    if not keepdims:
        for i in sorted(axis):
            out = xp.expand_dims(out, axis=i)
    finite = xp.isfinite(out)
    infinite = xp.where(x == math.inf, xp.zeros_like(x), -math.inf)
    terms = xp.exp(xp.where(finite, xp.subtract(x, xp.where(finite, out, 0.0)), infinite))
    # The sum is 1, except for infinities and the rounding of a large logarithm.
    total = xp.sum(terms if b is None else xp.multiply(terms, b), axis=axis, keepdims=True)
    return terms / xp.where(total > 0.0, total, 1.0)


def _pushed_logsumexp(
    xp: Any, t: Any, out: Any, x: Any, axis: Any = None, keepdims: bool = False, b: Any = None
) -> Any:
    if b is not None:
        x = xp.where(b == 0.0, -math.inf, x)
    shares = _shares(xp, out, x, axis, keepdims, b)
    return xp.sum(t * (shares if b is None else xp.multiply(shares, b)), axis=axis, keepdims=keepdims)


def _pushed_weights(xp: Any, t: Any, out: Any, x: Any, axis: Any = None, keepdims: bool = False, b: Any = None) -> Any:
    shares = _shares(xp, out, xp.where(b == 0.0, -math.inf, x), axis, keepdims, b)
    return xp.sum(t * shares, axis=axis, keepdims=keepdims)


_f = factor
_OF_X: Final[dict[str, factor]] = {
    "cbrt": _f(_of_cbrt),
    "digamma": _f(lambda xp, y, x: special.polygamma(1, x)),
    "entr": _f(lambda xp, y, x: -special.xlogy(xp.ones_like(x), x) - 1.0),  # no warning for 0
    "erf": _f(lambda xp, y, x: 2.0 / math.sqrt(math.pi) * _gauss(xp, x, 1.0)),
    "erfc": _f(lambda xp, y, x: -2.0 / math.sqrt(math.pi) * _gauss(xp, x, 1.0)),
    "erfcinv": _f(lambda xp, y, x: -0.5 * math.sqrt(math.pi) * xp.exp(y * y)),
    "erfinv": _f(lambda xp, y, x: 0.5 * math.sqrt(math.pi) * xp.exp(y * y)),
    "exp2": _f(lambda xp, y, x: math.log(2.0) * y),
    "expit": _f(lambda xp, y, x: y * (1.0 - y)),
    "factorial": _f(_of_factorial),
    "gammaln": _f(lambda xp, y, x: special.digamma(x)),
    "i0": _f(lambda xp, y, x: special.i1(x)),
    "i0e": _pushed("i0e", "x"),
    "i1": _f(_of_i1),
    "i1e": _pushed("i1e", "x"),
    "log_ndtr": _f(_density_over_ndtr),
    "log_sigmoid": _f(lambda xp, y, x: special.sigmoid(-x)),
    "logit": _f(_of_logit),
    "ndtr": _f(lambda xp, y, x: _DENSITY * _gauss(xp, x, 0.5)),
    "ndtri": _f(lambda xp, y, x: 1.0 / _DENSITY * xp.exp(0.5 * (y * y))),
    "rsqrt": _f(lambda xp, y, x: -0.5 * (y / x)),  # at 0 infinity / 0, which does not warn
    "sigmoid": _f(lambda xp, y, x: y * (1.0 - y)),
    "sinc": _pushed("sinc", "x"),
    "softplus": _f(lambda xp, y, x: special.sigmoid(x)),
}

_of_xlogy = _product_with_log("xlogy", 0.0)
_of_xlog1py = _product_with_log("xlog1py", -1.0)

DERIVATIVES: Final[dict[str, Any]] = {
    **{f"special.{name}": {"x": entry} for name, entry in _OF_X.items()},
    "special.betainc": {"a": _pushed("betainc", "a"), "b": _pushed("betainc", "b"), "x": _f(_of_betainc)},
    "special.betaln": {"a": _pushed("betaln", "a"), "b": _pushed("betaln", "b")},
    "special.gammainc": {"a": _pushed("gammainc", "a"), "x": _f(_of_gammainc)},
    "special.gammaincc": {"a": _pushed("gammaincc", "a"), "x": _f(lambda xp, y, a, x: -_of_gammainc(xp, y, a, x))},
    "special.log_softmax": {
        "x": contribution(lambda xp, t, out, x, axis=-1: t - xp.sum(t * xp.exp(out), axis=axis, keepdims=True))
    },
    "special.logsumexp": {"x": contribution(_pushed_logsumexp), "b": contribution(_pushed_weights)},
    # The facade's limit of the order would stop derivatives, so call the implementation.
    "special.polygamma": {"x": _f(lambda xp, y, n, x: for_library("special.polygamma")(n + 1, x))},
    "special.softmax": {
        "x": contribution(lambda xp, t, out, x, axis=-1: (t - xp.sum(t * out, axis=axis, keepdims=True)) * out)
    },
    "special.xlog1py": {"x": _of_xlog1py[0], "y": _of_xlog1py[1]},
    "special.xlogy": {"x": _of_xlogy[0], "y": _of_xlogy[1]},
    "special.zeta": {"s": _pushed("zeta", "s"), "q": _f(lambda xp, y, s, q: -s * special.zeta(s + 1.0, q))},
}


_ELEMENTWISE: Final = (*_OF_X, "betainc", "betaln", "gammainc", "gammaincc", "polygamma", "xlog1py", "xlogy", "zeta")

AXES: Final[dict[str, Axes]] = {
    **{f"special.{name}": Axes("*...->...") for name in _ELEMENTWISE},
    **{f"special.{name}": Axes("...[(axis=-1)]->...[(axis)]") for name in ("log_softmax", "softmax")},
    "special.logsumexp": Axes("x:...(axis),b:...->..."),
}
