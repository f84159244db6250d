"""SciPy's universal functions on traced arrays: values, types, derivatives."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
import scipy.special as sc

from tests.numpy_calls import Call, assert_same, check, leaves
from xpand_extensions.autodiff import grad, hessian, jvp
from xpand_extensions.jit import jit
from xpand_extensions.plugins.numpy.traced_arrays.known import special
from xpand_extensions.plugins.numpy.traced_arrays.known._special_derivatives import DERIVATIVES
from xpand_extensions.vmap import vmap

PUBLIC: Final = {special._names()[f]: f for f in vars(sc).values() if isinstance(f, np.ufunc)}
"""The public functions; for aliases, under the name in the tables."""
X: Final = np.asarray([0.23, 0.37, 0.61])
MASK: Final = np.asarray([True, False, True])

ARGUMENTS: Final[dict[str, tuple[Any, ...]]] = {
    "bdtr": (2.0, 5, 0.4),
    "bdtrc": (2.0, 5, 0.4),
    "bdtri": (2, 5, 0.4),
    "nbdtri": (2, 5, 0.4),
    "pdtri": (2, 0.4),
    "smirnov": (2, 0.4),
    "smirnovi": (2, 0.4),
    "betainc": (2.0, 1.5, 0.4),
    "ellipeinc": (2.5, 0.4),
    "ellipj": (1.5, 0.4),
    "ellipkinc": (2.5, 0.4),
    "expn": (2, 1.5),
    "kn": (2, 1.5),
    "nbdtr": (2, 5, 0.4),
    "nbdtrc": (2, 5, 0.4),
    "yn": (2, 1.5),
}
"""Arguments where the defaults are not in the domain of a function."""

SHIFTS: Final = {("ndtri_exp", 0): -1.0, ("zetac", 0): 1.2}
"""Added to the numbers where they are not in the domain."""


def arguments(name: str) -> tuple[Any, ...]:
    if name.startswith("eval_"):
        return (*(3, 1.5, 0.4, 0.3)[: PUBLIC[name].nin - 1], 0.3)
    return ARGUMENTS.get(name, (2.0, 1.5, 0.4, 0.3, 0.2)[: PUBLIC[name].nin])


def call_of(name: str, position: int) -> Callable[[Any], Any]:
    others = arguments(name)

    def call(x: Any) -> Any:
        return PUBLIC[name](*others[:position], x, *others[position + 1 :])

    return call


def points(name: str, position: int) -> Any:
    """Return numbers in the domain of a function."""
    call, shift = call_of(name, position), SHIFTS.get((name, position), 0.0)
    with np.errstate(all="ignore"):
        for x in (X + shift, X + 1.2):
            if all(np.isfinite(y).all() for y in leaves(call(x))):
                return x
    raise AssertionError(name)


def has_derivative(name: str, position: int) -> bool:
    if name in ("pdtr", "pdtrc", "round", "gammasgn") and position == 0:
        return False  # constant between integers
    entries = DERIVATIVES.get(name, ())
    return name in special._OWN or (position < len(entries) and entries[position] is not None)


PAIRS: Final = [(name, i) for name in sorted(PUBLIC) for i in range(PUBLIC[name].nin)]


@pytest.mark.parametrize(("name", "position"), [pair for pair in PAIRS if has_derivative(*pair)])
def test_derivatives(name: str, position: int) -> None:
    check(Call(name, call_of(name, position), points(name, position), {}, 1e-11))


def test_many_have_derivatives() -> None:
    names = {name for name, _ in (pair for pair in PAIRS if has_derivative(*pair))}
    assert len(names) > 130
    known = {*PUBLIC, "_lambertw", "_zeta", "_riemann_zeta", "btdtr"}  # SciPy 1.17 has no `btdtr`
    assert DERIVATIVES.keys() | special._OWN.keys() <= known


# These need integers, or are of distributions that are defined for few arguments, or take long.
OTHERS: Final = [name for name in PUBLIC if not any(has_derivative(name, i) for i in range(PUBLIC[name].nin))]


@pytest.mark.parametrize("name", OTHERS)
def test_values_without_derivatives(name: str) -> None:
    """Values are right in programs, and a derivative is an error that says what to write."""
    ufunc = PUBLIC[name]
    others = arguments(name)

    def call(x: Any) -> Any:
        return ufunc(*others[:-1], x)

    with np.errstate(all="ignore"):
        assert_same(jit(call)(X), call(X), 1e-12)
        if name in ("round", "gammasgn"):
            return
        with pytest.raises(TypeError, match=rf"scipy\.special\.{name}.*extend\.register_ufunc"):
            grad(lambda x: sum(np.sum(y) for y in [*leaves(call(x))] if y.dtype.kind == "f") + 0 * np.sum(x))(X)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "int8", "bool", "complex128"])
@pytest.mark.parametrize("name", PUBLIC)
def test_data_types(name: str, dtype: str) -> None:
    ufunc = PUBLIC[name]
    if ufunc.nin > 2:
        return
    x = np.asarray([1, 1, 1] if dtype == "bool" else [1, 2, 3], dtype=dtype)

    def call(x: Any) -> Any:
        return ufunc(*[arguments(name)[0], x][2 - ufunc.nin :])

    with np.errstate(all="ignore"):
        try:
            reference = call(x)
        except TypeError:
            with pytest.raises(TypeError):
                jit(call)(x)
            return
        tolerance = 1e-10 if np.asarray(next(leaves(reference))).dtype.itemsize >= 8 else 2e-5
        assert_same(jit(call)(x), reference, tolerance)


Z: Final = np.asarray([0.3 + 0.4j, 1.2 - 0.5j])

ANALYTIC: Final[dict[str, Callable[[Any], Any]]] = {
    **{
        name: PUBLIC[name]
        for name in (
            *("erf", "erfc", "erfcx", "erfi", "dawsn", "wofz", "exp1", "expi", "spence", "wrightomega", "log1p"),
            "expm1",
        )
    },
    **{
        name: lambda x, name=name: PUBLIC[name](1.5, x)
        for name in (
            *("jv", "yv", "iv", "kv", "kve", "hankel1", "hankel1e", "hankel2", "hankel2e", "hyp0f1", "eval_legendre"),
            *("xlogy", "xlog1py"),
        )
    },
    "lambertw": sc.lambertw,
}


@pytest.mark.parametrize("name", ANALYTIC)
def test_complex_derivatives(name: str) -> None:
    function = ANALYTIC[name]
    out, derivative = jvp(function, (Z,), (np.ones(2, dtype=np.complex128),))
    np.testing.assert_allclose(out, function(Z), rtol=1e-13)
    for direction in (1e-6, 1e-6j):
        expected = (function(Z + direction) - function(Z - direction)) / (2 * direction)
        np.testing.assert_allclose(derivative, expected, rtol=1e-7)
    assert_same(jit(function)(Z), function(Z), 1e-13)


@pytest.mark.parametrize("name", ["jve", "yve", "ive"])
def test_functions_that_are_not_analytic(name: str) -> None:
    with pytest.raises(TypeError, match="not analytic"):
        grad(lambda x: np.sum(PUBLIC[name](1.5, x).real))(Z)


@pytest.mark.parametrize(
    ("function", "second"),
    [
        (lambda x: sc.jv(1.0, x), lambda x: sc.jvp(1.0, x, 2)),
        (lambda x: sc.iv(1.0, x), lambda x: sc.ivp(1.0, x, 2)),
        (lambda x: sc.kv(1.0, x), lambda x: sc.kvp(1.0, x, 2)),
        (sc.gamma, lambda x: sc.gamma(x) * (sc.psi(x) ** 2 + sc.polygamma(1, x))),
        (sc.dawsn, lambda x: -2 * sc.dawsn(x) - 2 * x * (1 - 2 * x * sc.dawsn(x))),
        (sc.exprel, lambda x: sc.hyp1f1(3, 4, x) / 3),
    ],
)
def test_second_derivatives(function: Callable[[Any], Any], second: Callable[[Any], Any]) -> None:
    x = np.asarray([0.4, 1.3])
    result = np.diagonal(hessian(lambda x: np.sum(function(x)))(x))
    np.testing.assert_allclose(result, second(x), rtol=1e-11)


@pytest.mark.parametrize(
    ("function", "x", "expected"),
    [
        (sc.spence, [1.0], [-1.0]),
        (sc.exprel, [0.0], [0.5]),
        (lambda x: sc.boxcox(2.0, x), [0.0], [np.log(2.0) ** 2 / 2]),
        (sc.ellipk, [0.0], [np.pi / 8]),
        (sc.ellipe, [0.0], [-np.pi / 8]),
        (lambda x: sc.agm(x, 2.0), [2.0], [0.5]),
        (sc.j1, [0.0], [0.5]),
        (lambda x: sc.stdtr(3.0, x), [0.0], [2 / (np.pi * 3**0.5)]),
        (lambda x: sc.eval_legendre(0, x), [0.4], [0.0]),
        (lambda x: sc.eval_legendre(3, x), [1.0], [6.0]),
        (lambda x: sc.expn(0, x), [0.5], [-np.exp(-0.5) * 1.5 / 0.25]),
        (lambda x: sc.pseudo_huber(x, 1e-8), [1.0], [1e-32 / 4]),
    ],
)
def test_special_points(function: Callable[[Any], Any], x: list[float], expected: list[float]) -> None:
    """Derivatives are exact where their formulas are 0 / 0."""
    np.testing.assert_allclose(grad(lambda x: np.sum(function(x)))(np.asarray(x)), expected, rtol=1e-13)


def test_functions_of_scipy_that_call_universal_functions() -> None:
    np.testing.assert_allclose(grad(lambda q: np.sum(sc.zeta(2.5, q)))(X), -2.5 * sc.zeta(3.5, X), rtol=1e-12)
    assert_same(jit(lambda x: sc.zeta(x))(X + 1.5), sc.zeta(X + 1.5), 1e-13)


def test_options_and_methods() -> None:
    def function(x: Any) -> Any:
        out = x * 0
        sc.gamma(x, out=out)
        return np.stack([out, sc.ndtr(x, dtype=np.float64), sc.beta.outer(x, X)[0]])

    check(Call("options", function, X, {}, 1e-12))


@pytest.mark.parametrize(
    "name", ["gamma", "digamma", "logit", "erfinv", "ndtri", "ellipk", "expi", "y0", "entr", "exprel", "boxcox", "jv"]
)
def test_masks(name: str) -> None:
    """The reference is computed without a mask: with one, SciPy 1.17 writes to other elements."""
    others = [] if PUBLIC[name].nin == 1 else [0.5]
    call = lambda x: PUBLIC[name](x, *others) if name != "jv" else sc.jv(0.5, x)

    def masked(x: Any) -> Any:
        if name == "jv":
            return sc.jv(0.5, x, out=x * 2, where=MASK)
        return PUBLIC[name](x, *others, out=x * 2, where=MASK)

    assert_same(jit(masked)(X), np.where(MASK, call(X), 2 * X), 1e-13)
    reference = grad(lambda x: np.sum(call(x)))(X)
    for special_point in (-1.0, 0.0, np.nan, np.inf):
        x = X.copy()
        x[1] = special_point
        np.testing.assert_allclose(grad(lambda x: np.sum(masked(x)))(x), np.where(MASK, reference, 2.0), rtol=1e-12)


def test_traced_orders() -> None:
    """An order may be traced by `jit` and `vmap`; `grad` has no derivative in it."""
    orders = np.asarray([0.5, 1.0, 2.0])
    assert_same(vmap(lambda v: sc.jv(v, X))(orders), sc.jv(orders[:, None], X), 1e-14)
    assert_same(jit(sc.jv)(orders, X), sc.jv(orders, X), 1e-14)
    with pytest.raises(TypeError, match=r"scipy\.special\.jv: no derivative is known in argument 1.*register_ufunc"):
        grad(lambda v: np.sum(sc.jv(v, X)))(orders)


def test_scipy_is_imported_by_users_only() -> None:
    """NumPy's functions on traced arrays don't import the derivatives of SciPy's."""
    code = (
        "import sys, numpy as np\n"
        "from xpand_extensions.autodiff import grad\n"
        "grad(lambda x: np.sum(np.sin(x) * np.ones(3)))(np.ones(3))\n"
        "assert not any(name.endswith('known.special') for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
