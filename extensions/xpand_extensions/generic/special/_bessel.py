"""Modified Bessel functions of the first kind with the standard alone."""

import math
from typing import Final

from xpand import array_namespace
from xpand.extend import Array, Namespace
from xpand_extensions._dtypes import widened

from ._pieces import polynomial

# Fitted with mpmath at Chebyshev points, within 1e-16: I0(x) and 2 I1(x)/x for |x| <= 8, in (x/8)².
_I0_SMALL: Final = (
    1.0,
    16.000000000000014,
    63.99999999999867,
    113.77777777782228,
    113.77777777699367,
    72.81777778612518,
    32.363456731842795,
    10.567659640889005,
    2.641913875304918,
    0.5218621289405408,
    0.0834931540734142,
    0.011046882721390832,
    0.0012211058493542604,
    0.00011996764518878011,
    7.786232848155008e-06,
    1.1073655018443918e-06,
)
_I1_SMALL: Final = (
    1.0,
    8.000000000000002,
    21.333333333333258,
    28.444444444447,
    22.755555555510522,
    12.136296296775754,
    4.623350966669668,
    1.3209574361413927,
    0.2935460378940829,
    0.052186110542733,
    0.007590433743280434,
    0.0009204217946128133,
    9.40409155301621e-05,
    8.516436617395397e-06,
    5.341781516777647e-07,
    6.725742072411059e-08,
)
# √x exp(-x) I(x) for x >= 8, in 16/x - 1.
_I0_LARGE: Final = (
    0.4021765094450081,
    0.0033605519836677235,
    0.00013621607439187193,
    1.1143033802583682e-05,
    1.4838475863096976e-06,
    2.9735956581528157e-07,
    8.872154618944625e-08,
    3.932926571091252e-08,
    2.155681110989874e-08,
    7.532386417555123e-09,
    -6.805980075129678e-09,
    -1.331979859201994e-08,
    -5.162517880939013e-09,
    7.323310735122893e-09,
    6.789790403895736e-09,
    -3.11851456121224e-09,
    -4.8482509221176966e-09,
    1.0924527246468664e-09,
    2.3981927228949238e-09,
    -2.748111637276033e-10,
    -7.473844621887592e-10,
    3.525321019700796e-11,
    1.0881994785468934e-10,
)
_I1_LARGE: Final = (
    0.38939845902587233,
    -0.009749577193235609,
    -0.000219235763833829,
    -1.503854721127423e-05,
    -1.8349101539664522e-06,
    -3.483853071371078e-07,
    -1.0001220638799958e-07,
    -4.31323156237458e-08,
    -2.3382691353601083e-08,
    -8.407326839577817e-09,
    6.795073490187386e-09,
    1.3952625102162603e-08,
    5.722677527454156e-09,
    -7.432535335623792e-09,
    -7.222524178953976e-09,
    3.0717395650769477e-09,
    5.094016301574338e-09,
    -1.0476127785270019e-09,
    -2.5062162405593894e-09,
    2.582169443152386e-10,
    7.79067217908059e-10,
    -3.2677656089803323e-11,
    -1.13288885034257e-10,
)

_SMALL: Final = (_I0_SMALL, _I1_SMALL)
# Four times these values are above 1. This keeps derivatives finite wherever the functions are finite.
_LARGE: Final = tuple(tuple(4.0 * c for c in coefficients) for coefficients in (_I0_LARGE, _I1_LARGE))
# The functions overflow beyond these arguments, in float64 and float32.
_LIMITS: Final = ((713.9869085439682, 91.90076461166422), (713.9876098185423, 91.90626484024901))


@widened
def i0(x: Array, /) -> Array:
    return _unscaled(array_namespace(x), x, 0)


@widened
def i0e(x: Array, /) -> Array:
    return _scaled(array_namespace(x), x, 0)


@widened
def i1(x: Array, /) -> Array:
    return _unscaled(array_namespace(x), x, 1)


@widened
def i1e(x: Array, /) -> Array:
    return _scaled(array_namespace(x), x, 1)


def _unscaled(xp: Namespace, x: Array, order: int) -> Array:
    near, inner, outer, factor, divisor = _parts(xp, x, order)
    limit = _LIMITS[order][0 if x.dtype == xp.float64 else 1]
    over = xp.abs(x) > limit
    # Multiply in two steps, since exp(x) overflows before the function does.
    root = xp.exp(0.5 * xp.where(over, xp.ones_like(outer), outer))
    # Not a constant, since the derivative is infinite, too.
    infinite = math.inf * xp.where(over, xp.abs(x), xp.ones_like(x))
    far = xp.where(over, infinite, (root * factor) * (root / divisor))
    return xp.where(near, _small(inner, order), _signed(xp, x, far, order))


def _scaled(xp: Namespace, x: Array, order: int) -> Array:
    near, inner, _, factor, divisor = _parts(xp, x, order)
    far = _signed(xp, x, factor / divisor, order)
    # Use a constant sign, so that the derivative of |x| at 0 is 0 on every library.
    return xp.where(near, xp.exp(-inner * xp.sign(inner)) * _small(inner, order), far)


def _parts(xp: Namespace, x: Array, order: int) -> tuple[Array, Array, Array, Array, Array]:
    """Return where x is near 0, x there, |x| elsewhere, and the factor and divisor of exp(|x|) in the function."""
    size = xp.abs(x)
    near = size <= 8.0
    inner = xp.where(near, x, xp.zeros_like(x))
    outer = xp.where(near, xp.full_like(x, 8.0), size)
    return near, inner, outer, polynomial(16.0 / outer - 1.0, _LARGE[order]), 4.0 * xp.sqrt(outer)


def small_i1(x: Array) -> Array:
    """Compute i1(x) for |x| <= 8."""
    return _small(x, 1)


def _small(x: Array, order: int) -> Array:
    value = polynomial(x * x * (1 / 64), _SMALL[order])
    return 0.5 * x * value if order else value


def _signed(xp: Namespace, x: Array, value: Array, order: int) -> Array:
    return xp.where(x < 0.0, -value, value) if order else value
