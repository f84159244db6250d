"""Derivatives of SciPy's functions in each argument, given the result and the arguments.

Arguments without an entry, and with None, have no known derivative, or none in closed form. Formulas without a comment
are in the chapter on the function of the Digital Library of Mathematical Functions, https://dlmf.nist.gov.
"""

import math
from typing import Any, Final

import numpy as np
import scipy.special as sc

from xpand import array_namespace

from ._host import Derivative

_ROOT_PI: Final = math.sqrt(math.pi)
_DEGREE: Final = math.pi / 180


def _where(mask: Any, x: Any, y: Any) -> Any:
    return array_namespace(mask).where(mask, x, y)


def _zero(out: Any, *args: Any) -> Any:
    return 0 * args[0]


# Bessel functions: of a scaled one, the scale adds a term.


def _difference(name: str) -> tuple[Derivative | None, ...]:
    def derivative(out: Any, v: Any, x: Any) -> Any:
        function = getattr(sc, name)
        return (function(v - 1, x) - function(v + 1, x)) / 2

    return None, derivative


def _real_difference(name: str) -> tuple[Derivative | None, ...]:
    """Return the derivatives of a function that is scaled by the absolute value of an imaginary part."""
    (_, of_real) = _difference(name)
    return None, lambda out, v, x: _real(name, x) and of_real(out, v, x)  # type: ignore[misc]


def _real(name: str, x: Any) -> bool:
    """Check that numbers are real, since the function has no complex derivative."""
    if x.dtype.kind == "c":
        raise TypeError(f"scipy.special.{name}: no complex derivative, since the function is not analytic")
    return True


def _struve_term(v: Any, x: Any) -> Any:
    return (x / 2) ** v * sc.rgamma(v + 1.5) / _ROOT_PI


# Legendre's integrals by Carlson's, which have no cancellation


def _complete_first(m: Any) -> Any:
    return sc.elliprd(0.0, 1.0, 1 - m) / 6


def _complete_second(m: Any) -> Any:
    return -sc.elliprd(0.0, 1 - m, 1.0) / 6


def _reduced_angle(phi: Any) -> tuple[Any, Any]:
    """Return the number of half periods and the sine of the rest, from -π/2 to π/2."""
    periods = np.rint(phi / math.pi)
    return periods, np.sin(phi - math.pi * periods)


def _incomplete_first(out: Any, phi: Any, m: Any) -> Any:
    periods, s = _reduced_angle(phi)
    return 2 * periods * _complete_first(m) + s**3 * sc.elliprd(1 - s * s, 1.0, 1 - m * s * s) / 6


def _incomplete_second(out: Any, phi: Any, m: Any) -> Any:
    periods, s = _reduced_angle(phi)
    return 2 * periods * _complete_second(m) - s**3 * sc.elliprd(1 - s * s, 1 - m * s * s, 1.0) / 6


def _agm(out: Any, x: Any, y: Any) -> Any:
    return 2 / (3 * math.pi) * out * out * x * sc.elliprd(0.0, y * y, x * x)


# Transformations of Box and Cox: log(x) exprel(λ log(x))


def _exprel(x: Any) -> Any:
    """Return the derivative of `exprel`, also near 0."""
    return sc.hyp1f1(2.0, 3.0, x) / 2


def _inverse_box_cox(out: Any, shape: Any, log: Any) -> Any:
    return -log * log * _exprel(shape * log) * np.exp((1 - shape) * log)


# Densities, for distribution functions and their inverses


def _beta_density(a: Any, b: Any, x: Any) -> Any:
    return np.exp(sc.xlogy(a - 1, x) + sc.xlog1py(b - 1, -x) - sc.betaln(a, b))


def _gamma_density(a: Any, x: Any) -> Any:
    return np.exp(sc.xlogy(a - 1, x) - x - sc.gammaln(a))


def _t_density(n: Any, t: Any) -> Any:
    log = sc.gammaln((n + 1) / 2) - sc.gammaln(n / 2) - (n + 1) / 2 * np.log1p(t * t / n)
    return np.exp(log) / np.sqrt(n * math.pi)


def _f_density(n: Any, d: Any, x: Any) -> Any:
    whole = d + n * x
    return _beta_density(n / 2, d / 2, n * x / whole) * n * d / (whole * whole)


# Others


def _spence(out: Any, x: Any) -> Any:
    at_one = x == 1
    u = _where(at_one, 1.0, x - 1)
    return _where(at_one, -1.0, -np.log(1 + u) / u)


def _expn(out: Any, n: Any, x: Any) -> Any:
    is_zero = n == 0
    return _where(is_zero, -np.exp(-x) * (1 + x) / (x * x), -sc.expn(_where(is_zero, 1, n) - 1, x))


def _voigt(x: Any, sigma: Any, gamma: Any) -> tuple[Any, Any]:
    """Return the derivative of the complex profile in x, and the argument of Faddeeva's function."""
    z = (x + 1j * gamma) / (sigma * math.sqrt(2))
    return (-2 * z * sc.wofz(z) + 2j / _ROOT_PI) / (2 * _ROOT_PI * sigma * sigma), z


def _polynomial(name: str, factor: Derivative) -> Derivative:
    """Return the derivative of a polynomial of degree n; that of a constant is zero."""

    def derivative(out: Any, n: Any, *args: Any) -> Any:
        is_constant = n == 0
        return _where(is_constant, 0.0, factor(name, _where(is_constant, 1, n), *args))

    return derivative


def _pseudo_huber(out: Any, delta: Any, r: Any) -> Any:
    u = r / delta
    w = np.sqrt(1 + u * u)
    return delta * u**4 / (w * (w + 1) ** 2)


DERIVATIVES: Final[dict[str, tuple[Derivative | None, ...]]] = {
    # Elementary
    "boxcox": (
        lambda out, x, s: np.exp((s - 1) * np.log(x)),
        lambda out, x, s: np.log(x) ** 2 * _exprel(s * np.log(x)),
    ),
    "boxcox1p": (
        lambda out, x, s: np.exp((s - 1) * np.log1p(x)),
        lambda out, x, s: np.log1p(x) ** 2 * _exprel(s * np.log1p(x)),
    ),
    "inv_boxcox": (
        lambda out, y, s: np.exp((1 - s) * np.log(out)),
        lambda out, y, s: _inverse_box_cox(out, s, np.log(out)),
    ),
    "inv_boxcox1p": (
        lambda out, y, s: np.exp((1 - s) * np.log1p(out)),
        lambda out, y, s: _inverse_box_cox(out, s, np.log1p(out)),
    ),
    "cosdg": (lambda out, x: -_DEGREE * sc.sindg(x),),
    "cosm1": (lambda out, x: -np.sin(x),),
    "cotdg": (lambda out, x: -_DEGREE * (1 + out * out),),
    "exp10": (lambda out, x: math.log(10) * out,),
    "expm1": (lambda out, x: out + 1,),
    "exprel": (lambda out, x: _exprel(x),),
    "huber": (
        lambda out, d, r: np.maximum(np.abs(r) - d, 0.0),
        lambda out, d, r: np.minimum(np.maximum(r, -d), d),
    ),
    "kl_div": (lambda out, x, y: np.log(x / y), lambda out, x, y: 1 - x / y),
    "log1p": (lambda out, x: 1 / (1 + x),),
    "powm1": (lambda out, x, y: y * x ** (y - 1), lambda out, x, y: x**y * np.log(x)),
    "pseudo_huber": (_pseudo_huber, lambda out, d, r: r / np.sqrt(1 + (r / d) ** 2)),
    "radian": (
        lambda out, d, m, s: _DEGREE + 0 * d,
        lambda out, d, m, s: _DEGREE / 60 + 0 * d,
        lambda out, d, m, s: _DEGREE / 3600 + 0 * d,
    ),
    "rel_entr": (lambda out, x, y: np.log(x / y) + 1, lambda out, x, y: -x / y),
    "round": (_zero,),
    "sindg": (lambda out, x: _DEGREE * sc.cosdg(x),),
    "tandg": (lambda out, x: _DEGREE * (1 + out * out),),
    "xlog1py": (lambda out, x, y: np.log1p(y), lambda out, x, y: x / (1 + y)),
    "xlogy": (lambda out, x, y: np.log(y), lambda out, x, y: x / y),
    # Error functions and exponential integrals
    "dawsn": (lambda out, x: 1 - 2 * x * out,),
    "erf": (lambda out, x: 2 / _ROOT_PI * np.exp(-x * x),),
    "erfc": (lambda out, x: -2 / _ROOT_PI * np.exp(-x * x),),
    "erfcx": (lambda out, x: 2 * x * out - 2 / _ROOT_PI,),
    "erfi": (lambda out, x: 2 / _ROOT_PI * np.exp(x * x),),
    "exp1": (lambda out, x: -np.exp(-x) / x,),
    "expi": (lambda out, x: np.exp(x) / x,),
    "expn": (None, _expn),
    "fresnel": (lambda out, x: (np.sin(math.pi / 2 * x * x), np.cos(math.pi / 2 * x * x)),),
    "ndtri_exp": (lambda out, x: math.sqrt(2 * math.pi) * np.exp(x + out * out / 2),),
    "owens_t": (
        lambda out, h, a: -np.exp(-h * h / 2) * sc.erf(a * h / math.sqrt(2)) / math.sqrt(8 * math.pi),
        lambda out, h, a: np.exp(-h * h * (1 + a * a) / 2) / (2 * math.pi * (1 + a * a)),
    ),
    "shichi": (lambda out, x: (np.sinh(x) / x, np.cosh(x) / x),),
    "sici": (lambda out, x: (np.sin(x) / x, np.cos(x) / x),),
    "spence": (_spence,),
    "voigt_profile": (
        lambda out, x, s, g: _voigt(x, s, g)[0].real,
        lambda out, x, s, g: -out / s - math.sqrt(2) * math.prod(_voigt(x, s, g)).real,
        lambda out, x, s, g: -_voigt(x, s, g)[0].imag,
    ),
    "wofz": (lambda out, x: -2 * x * out + 2j / _ROOT_PI,),
    # Gamma and beta functions
    "beta": (
        lambda out, a, b: out * (sc.psi(a) - sc.psi(a + b)),
        lambda out, a, b: out * (sc.psi(b) - sc.psi(a + b)),
    ),
    "binom": (
        lambda out, n, k: out * (sc.psi(n + 1) - sc.psi(n - k + 1)),
        lambda out, n, k: out * (sc.psi(n - k + 1) - sc.psi(k + 1)),
    ),
    "gamma": (lambda out, x: out * sc.psi(x),),
    "gammasgn": (_zero,),
    "loggamma": (lambda out, x: sc.psi(x),),
    "poch": (
        lambda out, x, m: out * (sc.psi(x + m) - sc.psi(x)),
        lambda out, x, m: out * sc.psi(x + m),
    ),
    "rgamma": (lambda out, x: -out * sc.psi(x),),
    # Distributions
    "bdtr": (None, None, lambda out, k, n, p: -_beta_density(np.floor(k) + 1, n - np.floor(k), p)),
    "bdtrc": (None, None, lambda out, k, n, p: _beta_density(np.floor(k) + 1, n - np.floor(k), p)),
    "betainccinv": (None, None, lambda out, a, b, y: -1 / _beta_density(a, b, out)),
    "betaincinv": (None, None, lambda out, a, b, y: 1 / _beta_density(a, b, out)),
    "chdtri": (None, lambda out, v, p: -2 / _gamma_density(v / 2, out / 2)),
    "fdtri": (None, None, lambda out, n, d, p: 1 / _f_density(n, d, out)),
    "gammainccinv": (None, lambda out, a, y: -1 / _gamma_density(a, out)),
    "gammaincinv": (None, lambda out, a, y: 1 / _gamma_density(a, out)),
    "gdtrix": (None, None, lambda out, a, b, p: 1 / (a * _gamma_density(b, a * out))),
    "nbdtr": (None, None, lambda out, k, n, p: _beta_density(n, np.floor(k) + 1, p)),
    "nbdtrc": (None, None, lambda out, k, n, p: -_beta_density(n, np.floor(k) + 1, p)),
    "stdtr": (None, lambda out, n, t: _t_density(n, t)),
    "stdtrit": (None, lambda out, n, p: 1 / _t_density(n, out)),
    # Bessel, Airy, Kelvin and Struve functions
    "airy": (lambda out, x: (out[1], x * out[0], out[3], x * out[2]),),
    "bei": (lambda out, x: sc.beip(x),),
    "beip": (lambda out, x: sc.ber(x) - out / x,),
    "ber": (lambda out, x: sc.berp(x),),
    "berp": (lambda out, x: -sc.bei(x) - out / x,),
    "hankel1": _difference("hankel1"),
    "hankel1e": (None, lambda out, v, x: (sc.hankel1e(v - 1, x) - sc.hankel1e(v + 1, x)) / 2 - 1j * out),
    "hankel2": _difference("hankel2"),
    "hankel2e": (None, lambda out, v, x: (sc.hankel2e(v - 1, x) - sc.hankel2e(v + 1, x)) / 2 + 1j * out),
    "iti0k0": (lambda out, x: (sc.i0(x), sc.k0(x)),),
    "itj0y0": (lambda out, x: (sc.j0(x), sc.y0(x)),),
    "itmodstruve0": (lambda out, x: sc.modstruve(0.0, x),),
    "itstruve0": (lambda out, x: sc.struve(0.0, x),),
    "iv": (None, lambda out, v, x: (sc.iv(v - 1, x) + sc.iv(v + 1, x)) / 2),
    "ive": (
        None,
        lambda out, v, x: _real("ive", x) and (sc.ive(v - 1, x) + sc.ive(v + 1, x)) / 2 - np.sign(x) * out,
    ),
    "j0": (lambda out, x: -sc.j1(x),),
    "j1": (lambda out, x: (sc.j0(x) - sc.jv(2.0, x)) / 2,),
    "jv": _difference("jv"),
    "jve": _real_difference("jve"),
    "k0": (lambda out, x: -sc.k1(x),),
    "k0e": (lambda out, x: out - sc.k1e(x),),
    "k1": (lambda out, x: -(sc.k0(x) + sc.kv(2.0, x)) / 2,),
    "k1e": (lambda out, x: out - (sc.k0e(x) + sc.kve(2.0, x)) / 2,),
    "kei": (lambda out, x: sc.keip(x),),
    "keip": (lambda out, x: sc.ker(x) - out / x,),
    "ker": (lambda out, x: sc.kerp(x),),
    "kerp": (lambda out, x: -sc.kei(x) - out / x,),
    "kn": (None, lambda out, n, x: -(sc.kv(n - 1, x) + sc.kv(n + 1, x)) / 2),
    "kv": (None, lambda out, v, x: -(sc.kv(v - 1, x) + sc.kv(v + 1, x)) / 2),
    "kve": (None, lambda out, v, x: out - (sc.kve(v - 1, x) + sc.kve(v + 1, x)) / 2),
    "modstruve": (
        None,
        lambda out, v, x: (sc.modstruve(v - 1, x) + sc.modstruve(v + 1, x) + _struve_term(v, x)) / 2,
    ),
    "struve": (None, lambda out, v, x: (sc.struve(v - 1, x) - sc.struve(v + 1, x) + _struve_term(v, x)) / 2),
    "y0": (lambda out, x: -sc.y1(x),),
    "y1": (lambda out, x: (sc.y0(x) - sc.yv(2.0, x)) / 2,),
    "yn": (None, lambda out, n, x: (sc.yv(n - 1, x) - sc.yv(n + 1, x)) / 2),
    "yv": _difference("yv"),
    "yve": _real_difference("yve"),
    # Elliptic integrals
    "agm": (lambda out, a, b: _agm(out, a, b), lambda out, a, b: _agm(out, b, a)),
    "ellipe": (lambda out, m: _complete_second(m),),
    "ellipeinc": (lambda out, phi, m: np.sqrt(1 - m * np.sin(phi) ** 2), _incomplete_second),
    "ellipj": (lambda out, u, m: (out[1] * out[2], -out[0] * out[2], -m * out[0] * out[1], out[2]),),
    "ellipk": (lambda out, m: _complete_first(m),),
    "ellipkinc": (lambda out, phi, m: 1 / np.sqrt(1 - m * np.sin(phi) ** 2), _incomplete_first),
    "ellipkm1": (lambda out, p: -sc.elliprd(0.0, 1.0, p) / 6,),
    "elliprc": (
        lambda out, x, y: -sc.elliprd(y, y, x) / 6,
        lambda out, x, y: -sc.elliprd(x, y, y) / 3,
    ),
    "elliprf": (
        lambda out, x, y, z: -sc.elliprd(y, z, x) / 6,
        lambda out, x, y, z: -sc.elliprd(z, x, y) / 6,
        lambda out, x, y, z: -sc.elliprd(x, y, z) / 6,
    ),
    # Hypergeometric functions and orthogonal polynomials
    "hyp0f1": (None, lambda out, v, x: sc.hyp0f1(v + 1, x) / v),
    "hyp1f1": (None, None, lambda out, a, b, x: a / b * sc.hyp1f1(a + 1, b + 1, x)),
    "hyp2f1": (None, None, None, lambda out, a, b, c, x: a * b / c * sc.hyp2f1(a + 1, b + 1, c + 1, x)),
    "hyperu": (None, None, lambda out, a, b, x: -a * sc.hyperu(a + 1, b + 1, x)),
    "eval_chebyc": (None, _polynomial("chebyc", lambda _, n, x: n * sc.eval_chebyu(n - 1, x / 2))),
    "eval_chebys": (None, _polynomial("chebys", lambda _, n, x: sc.eval_gegenbauer(n - 1, 2.0, x / 2))),
    "eval_chebyt": (None, _polynomial("chebyt", lambda _, n, x: n * sc.eval_chebyu(n - 1, x))),
    "eval_chebyu": (None, _polynomial("chebyu", lambda _, n, x: 2 * sc.eval_gegenbauer(n - 1, 2.0, x))),
    "eval_gegenbauer": (
        None,
        None,
        _polynomial("gegenbauer", lambda _, n, a, x: 2 * a * sc.eval_gegenbauer(n - 1, a + 1, x)),
    ),
    "eval_genlaguerre": (
        None,
        None,
        _polynomial("genlaguerre", lambda _, n, a, x: -sc.eval_genlaguerre(n - 1, a + 1, x)),
    ),
    "eval_hermite": (None, _polynomial("hermite", lambda _, n, x: 2 * n * sc.eval_hermite(n - 1, x))),
    "eval_hermitenorm": (None, _polynomial("hermitenorm", lambda _, n, x: n * sc.eval_hermitenorm(n - 1, x))),
    "eval_jacobi": (
        None,
        None,
        None,
        _polynomial("jacobi", lambda _, n, a, b, x: (n + a + b + 1) / 2 * sc.eval_jacobi(n - 1, a + 1, b + 1, x)),
    ),
    "eval_laguerre": (None, _polynomial("laguerre", lambda _, n, x: -sc.eval_genlaguerre(n - 1, 1.0, x))),
    "eval_legendre": (
        None,
        _polynomial("legendre", lambda _, n, x: (n + 1) / 2 * sc.eval_jacobi(n - 1, 1.0, 1.0, x)),
    ),
    "eval_sh_chebyt": (None, _polynomial("sh_chebyt", lambda _, n, x: 2 * n * sc.eval_chebyu(n - 1, 2 * x - 1))),
    "eval_sh_chebyu": (
        None,
        _polynomial("sh_chebyu", lambda _, n, x: 4 * sc.eval_gegenbauer(n - 1, 2.0, 2 * x - 1)),
    ),
    "eval_sh_legendre": (
        None,
        _polynomial("sh_legendre", lambda _, n, x: (n + 1) * sc.eval_jacobi(n - 1, 1.0, 1.0, 2 * x - 1)),
    ),
    # Wright's functions
    "_lambertw": (lambda out, x, k, tol: np.exp(-out) / (1 + out),),
    "wright_bessel": (None, None, lambda out, a, b, x: sc.wright_bessel(a, a + b, x)),
    "wrightomega": (lambda out, x: out / (1 + out),),
}
"""The derivatives by the name of the function in SciPy."""
