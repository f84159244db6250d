"""The rules of elementwise functions: derivatives, batches and shapes, at special points as JAX has them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xpand
from tests.cases import Case, library_of_name
from tests.libraries import Library, unless
from tests.operations import Check, checked
from tests.traced import traced_forward, traced_grad, traced_second, traced_stage, traced_vmap
from xpand_extensions import arithmetic, special
from xpand_extensions.autodiff import grad, jvp
from xpand_extensions.tracing._functions import BINARY, UNARY
from xpand_extensions.vmap import vmap

TRACED = [traced_stage, traced_vmap, traced_forward, traced_grad, traced_second]
nan, inf = np.nan, np.inf


def namespace(*args: Any) -> Any:
    return xpand.array_namespace(*(x for x in args if hasattr(x, "shape")))


def with_dtype(x: Any, name: str) -> Any:
    xp = namespace(x)
    return xp.astype(x, getattr(xp, name))


def of(name: str) -> Callable[..., Any]:
    """The function of the standard, of whatever arrays it gets."""

    def function(*args: Any) -> Any:
        return getattr(namespace(*args), name)(*args)

    function.__name__ = name
    return function


def complex_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function of complex numbers, of their real and imaginary parts."""

    def of_parts(*parts: Any) -> Any:
        given = [with_dtype(x, "complex128") for x in parts]
        return function(*(given[i] + 1j * given[i + 1] for i in range(0, len(given), 2)))

    return of_parts


ANY = np.asarray([[0.3, -0.7, 1.2], [-2.1, 0.05, 2.5]])
INSIDE = np.asarray([[0.3, -0.7, 0.9], [-0.2, 0.05, 0.5]])
ABOVE_ONE = np.asarray([[1.3, 2.7, 1.9], [4.2, 1.05, 3.5]])
OTHER = np.asarray([[1.4, 0.6, -1.1], [0.8, -0.35, 2.2]])
ROW = np.asarray([0.45, -1.3, 2.4])
POINTS = {"acos": INSIDE, "asin": INSIDE, "atanh": INSIDE, "acosh": ABOVE_ONE, "log1p": INSIDE}
POINTS |= dict.fromkeys(["log", "log2", "log10", "sqrt"], ABOVE_ONE)
TRUTHS = ("isfinite", "isinf", "isnan", "logical_not", "signbit")
REAL = [name for name in UNARY if name not in ("bitwise_invert", "logical_not", "imag", "conj", "real")]
OF_COMPLEX = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "conj",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "imag",
    "log",
    "log10",
    "log1p",
    "log2",
    "negative",
    "positive",
    "real",
    "reciprocal",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
]
SMOOTH = [
    "add",
    "atan2",
    "copysign",
    "divide",
    "hypot",
    "logaddexp",
    "maximum",
    "minimum",
    "multiply",
    "remainder",
    "subtract",
]

CASES: dict[str, Case] = {
    **{name: Case(of(name), (POINTS.get(name, ANY),), differentiable=() if name in TRUTHS else (0,)) for name in REAL},
    **{f"complex {name}": Case(complex_of(of(name)), (INSIDE, OTHER), differentiable=(0, 1)) for name in OF_COMPLEX},
    "complex abs": Case(complex_of(of("abs")), (ANY, OTHER), differentiable=(0, 1)),
    **{name: Case(of(name), (ANY, OTHER), differentiable=(0, 1)) for name in SMOOTH},
    **{
        f"{name} of a row": Case(of(name), (ANY, ROW), differentiable=(0, 1))
        for name in ("atan2", "copysign", "maximum", "multiply", "subtract")
    },
    **{
        f"{name} of a number": Case(of(name), (ROW, np.asarray(0.7)), differentiable=(0, 1))
        for name in ("divide", "maximum", "remainder")
    },
    # It grows along (1, 1) as a line does: there the second derivative is 0 within an ulp.
    "logaddexp": Case(of("logaddexp"), (ANY, OTHER), differentiable=(0, 1), atol=1e-15),
    "pow": Case(of("pow"), (ABOVE_ONE, OTHER), differentiable=(0, 1)),
    "pow of a row": Case(lambda x, y: x**y, (ROW**2, ANY), differentiable=(0, 1)),
    "complex pow": Case(complex_of(of("pow")), (ABOVE_ONE, OTHER, ANY, INSIDE), differentiable=(0, 1, 2, 3)),
    **{
        f"complex {name}": Case(complex_of(of(name)), (ABOVE_ONE, OTHER, ANY, INSIDE), differentiable=(0, 1, 2, 3))
        for name in ("add", "divide", "multiply", "subtract")
    },
    **{f"power {n}": Case(lambda x, n=n: x**n, (ANY,), differentiable=(0,)) for n in (0, 1, 2, 3, -2, 2.0)},
    "power 2.5": Case(lambda x: x**2.5, (ABOVE_ONE,), differentiable=(0,)),
    "power of 2": Case(lambda x: 2**x, (ANY,), differentiable=(0,)),
    "power of 1.5": Case(lambda x: 1.5**x, (ANY,), differentiable=(0,)),
    "numbers on the right": Case(lambda x: ((x + 2) * 3 - 1.5) / 4 % 0.7, (ANY,), differentiable=(0,)),
    "numbers on the left": Case(lambda x: 2 + 3 * (1.5 - 4 / x) + 2.3 % x, (ANY,), differentiable=(0,)),
    "functions of numbers": Case(
        lambda x: [of("maximum")(x, 0.1) * of("hypot")(1.5, x), of("atan2")(x, 2.0) + of("minimum")(0.4, x)],
        (ANY,),
        differentiable=(0,),
    ),
    "clip": Case(of("clip"), (ANY, np.asarray(-0.5), np.asarray([0.9, 1.0, 2.0])), differentiable=(0, 1, 2)),
    "clip to numbers": Case(lambda x: of("clip")(x, -0.5, 1), (ANY,), differentiable=(0,)),
    "clip from below": Case(lambda x, low: of("clip")(x, low), (ANY, ROW), differentiable=(0, 1)),
    "clip from above": Case(lambda x, high: of("clip")(x, None, high), (ANY, ROW), differentiable=(0, 1)),
    "clip to nothing": Case(lambda x: of("clip")(x), (ANY,), differentiable=(0,)),
    "where": Case(lambda x, y: of("where")(x > 0.1, x * y, y**2), (ANY, ROW), differentiable=(0, 1)),
    "where of a number": Case(lambda x: of("where")(x > 0.1, x, 2.0), (ANY,), differentiable=(0,)),
    "narrow and wide": Case(
        lambda x, y: with_dtype(x, "float32") * y,
        (ANY, OTHER),
        differentiable=(0, 1),
        rtol=1e-6,
    ),
    "real and complex": Case(lambda x, y: with_dtype(x, "complex128") * y, (ANY, OTHER), differentiable=(0, 1)),
    "pow with exponents 0": Case(of("pow"), (ABOVE_ONE, OTHER * (OTHER > 0)), differentiable=(0, 1)),
    "complex pow with exponents 0": Case(
        complex_of(of("pow")), (ABOVE_ONE, OTHER, np.zeros((2, 3)), np.zeros((2, 3))), differentiable=(0, 1, 2, 3)
    ),
    "no axes": Case(
        lambda x, y: of("sin")(x) * y / of("exp")(y), (np.asarray(0.3), np.asarray(2.0)), differentiable=(0, 1)
    ),
    "no elements": Case(lambda x, y: of("sin")(x) * of("hypot")(x, y), (np.ones((0, 3)), ROW), differentiable=(0, 1)),
    "what is constant": Case(
        lambda x, y: x * of("floor")(y) + of("round")(x) * y + of("floor_divide")(x, y) + of("ceil")(x) + of("sign")(y),
        (ANY, OTHER),
        differentiable=(0, 1),
    ),
}

INTEGERS = np.asarray([[5, -3, 7], [0, 2, -8]])
SHIFTS = np.asarray([[1, 0, 2], [3, 1, 2]])
EXACT: dict[str, Case] = {
    **{
        f"{name} of integers": Case(of(name), (INTEGERS,))
        for name in (
            "abs",
            "bitwise_invert",
            "ceil",
            "floor",
            "negative",
            "positive",
            "round",
            "sign",
            "square",
            "trunc",
        )
    },
    **{
        f"{name} of integers": Case(of(name), (INTEGERS, SHIFTS))
        for name in BINARY
        if name.startswith("bitwise")
        or name
        in (
            "add",
            "equal",
            "greater",
            "greater_equal",
            "less",
            "less_equal",
            "maximum",
            "minimum",
            "multiply",
            "not_equal",
            "subtract",
        )
    },
    **{
        f"{name} of truths": Case(of(name), (INTEGERS > 0, SHIFTS > 1))
        for name in ("logical_and", "logical_or", "logical_xor")
    },
    "logical_not": Case(of("logical_not"), (INTEGERS > 0,)),
    "floor_divide": Case(of("floor_divide"), (INTEGERS, SHIFTS + 1)),
    "integers by a number": Case(lambda x: x * 3 - 2, (INTEGERS,)),
    "operators of integers": Case(
        lambda x, n: (x << n) + (x >> n) + (x & 3) + (5 | x) + (x ^ n) + ~x, (INTEGERS, SHIFTS)
    ),
    "nextafter": Case(of("nextafter"), (ANY, OTHER)),
    "int8 and int16": Case(lambda x, y: x + y, (INTEGERS.astype("int8"), SHIFTS.astype("int16"))),
    "float32 and float64": Case(lambda x, y: x * y, (ANY.astype("float32"), OTHER)),
}


# The rules of complex numbers are those of real ones but for these.
OTHERWISE = [f"complex {name}" for name in ("abs", "conj", "imag", "pow", "pow with exponents 0", "real", "sqrt")]
ALL_OF_COMPLEX = (traced_vmap, traced_grad)


@checked(CASES, TRACED, lambda name, check: name[:7] != "complex" or name in OTHERWISE or check in ALL_OF_COMPLEX)
def test_derivatives(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("name", EXACT)
def test_integers_and_truths(name: str) -> None:
    traced_stage(EXACT[name])
    traced_vmap(EXACT[name])


# Where two pieces of a function meet, at zeros and at infinities: the derivatives are JAX's.
SOME = (-inf, -2.0, -0.0, 0.0, 1.0, 2.5, inf)
SPECIAL: dict[str, tuple[Callable[..., Any], tuple[tuple[float, ...], ...]]] = {
    **{
        name: (of(name), tuple((x,) for x in (*SOME, nan)))
        for name in ("abs", "atan", "cosh", "exp", "expm1", "floor", "sign", "square", "tanh")
    },
    **{name: (of(name), tuple((x, y) for x in (*SOME, nan) for y in (*SOME, nan))) for name in ("maximum", "minimum")},
    "sqrt": (of("sqrt"), ((0.0,), (4.0,), (inf,))),
    "hypot": (of("hypot"), ((0.0, 0.0), (0.0, -2.0), (3.0, 0.0), (3.0, 4.0))),
    "atan2": (of("atan2"), ((0.0, 1.0), (-0.0, -1.0), (2.0, 0.0))),
    "copysign": (of("copysign"), tuple((x, y) for x in SOME for y in SOME)),
    "logaddexp": (of("logaddexp"), ((-inf, 0.0), (0.0, -inf), (inf, inf), (1000.0, 0.0), (1.0, 1.0))),
    "pow": (of("pow"), ((0.0, 1.0), (0.0, 2.0), (0.0, 3.5), (2.0, 0.0), (1.0, 0.0))),
    "remainder": (of("remainder"), ((5.5, 2.0), (-5.5, 2.0), (5.5, -2.0), (4.0, 2.0), (1.0, inf))),
    "clip": (
        of("clip"),
        ((1.0, 1.0, 2.0), (2.0, 1.0, 2.0), (1.0, 1.0, 1.0), (0.0, 1.0, 1.0), (1.5, 2.0, 1.0), (nan, 0.0, 1.0)),
    ),
    **{f"power {n}": (lambda x, n=n: x**n, tuple((x,) for x in SOME)) for n in (0, 1, 2, 3)},
    "power of 0": (lambda x: 0.0**x, ((0.0,), (1.0,), (2.5,))),
    "the square root that isn't taken": (lambda x: of("where")(x > 0, x, 0.0) ** 2, ((-1.0,), (0.0,), (2.0,))),
    "xlogy": (special.xlogy, tuple((x, y) for x in (-1.0, 0.0, 2.0) for y in (0.0, 0.5, inf))),
    "xlog1py": (special.xlog1py, tuple((x, y) for x in (-1.0, 0.0, 2.0) for y in (-1.0, 0.5, inf))),
    **{
        name: (getattr(special, name), tuple((x,) for x in (-inf, -1e200, 0.0, 1e200, inf, nan)))
        for name in (
            "erf",
            "erfc",
            "ndtr",
            "log_ndtr",
            "sigmoid",
            "softplus",
            "sinc",
            "cbrt",
            "log_sigmoid",
            "i0e",
            "i1e",
            "i0",
        )
    },
    **{
        name: (getattr(special, name), tuple((x,) for x in (0.0, 0.5, 1.0)))
        for name in ("logit", "erfinv", "erfcinv", "ndtri", "entr")
    },
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_points(name: str) -> None:
    function, points = SPECIAL[name]
    arrays = np.asarray(points).T
    # NumPy tells of infinite quotients, as the square root's derivative at 0, and of their products with zeros.
    with np.errstate(divide="ignore", invalid="ignore"):
        for i in range(len(arrays)):
            check_derivative(function, arrays, i)


def check_derivative(function: Callable[..., Any], arrays: np.ndarray, i: int) -> None:
    import jax

    expected = np.asarray(jax.vmap(jax.grad(function, i))(*map(jax.numpy.asarray, arrays)))
    one_by_one = [grad(function, i)(*map(np.asarray, point)) for point in arrays.T]
    together = vmap(grad(function, i))(*arrays)
    of_one = lambda x: function(*arrays[:i], x, *arrays[i + 1 :])
    forward = jvp(of_one, (arrays[i],), (np.ones(arrays.shape[1]),))[1]
    for found in (one_by_one, together, forward):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)


def test_where_jax_has_no_derivative() -> None:
    # JAX has NaN at the first, the exponential of an argument at the second, 0 at the third, where squares overflow,
    # and for directions of complex numbers.
    pow_, logaddexp = of("pow"), of("logaddexp")
    assert grad(pow_)(np.asarray(0.0), np.asarray(0.0)) == 0.0
    assert grad(logaddexp)(np.asarray(2.5), np.asarray(inf)) == 0.0
    assert grad(of("atan2"))(np.asarray(1e200), np.asarray(1e200)) == pytest.approx(5e-201)
    # Nearer to the true quotient, which is below 10, than x / y rounded is.
    assert grad(of("remainder"), 1)(np.asarray(1.0), np.asarray(0.1)) == -9.0
    z, t = np.asarray([1.0 + 2.0j, -0.5j]), np.asarray([0.3 - 0.1j, 1.0 + 1.0j])
    found = jvp(of("sign"), (z,), (t,))[1]
    step = 1e-6
    np.testing.assert_allclose(found, (np.sign(z + step * t) - np.sign(z - step * t)) / (2 * step), rtol=1e-8)


@pytest.mark.parametrize(("name", "count"), [("erf", 1), ("digamma", 1), ("gammainc", 2)])
def test_values_are_the_librarys_own(name: str, count: int) -> None:
    import scipy.special

    function = getattr(special, name)
    arrays = (np.asarray([0.5, 2.0]), np.asarray([1.5, 3.0]))[:count]
    expected = getattr(scipy.special, name)(*arrays)
    assert np.array_equal(vmap(function)(*arrays), expected)
    assert np.array_equal(jvp(function, arrays, arrays)[0], expected)


ORDINARY = np.asarray([-2.5, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0])
"""Zeros, ones and integers, at which a rule may take a branch; ties too, where all pairs are taken."""
KINKS = ("abs", "ceil", "clip", "copysign", "floor", "floor_divide", "hypot", "maximum", "minimum", "round", "sign")


def test_second_derivatives_at_ordinary_points() -> None:
    """Branches of rules are no constants: second derivatives at zeros, integers and ties are JAX's."""
    import jax

    names = sorted(name for name in (*UNARY, *BINARY) if name in CASES and name not in TRUTHS and name not in KINKS)
    points = {
        name: np.asarray(np.meshgrid(ORDINARY, ORDINARY)).reshape(2, -1)[: 1 if name in UNARY else 2] for name in names
    }

    base, exponent = points["pow"]
    points["pow"] = points["pow"][:, (base != 0) | (exponent != 1)]  # there the mixed derivative is infinite

    def second(gradient: Any, arrays: Any) -> list[Any]:
        """Make derivatives of gradients, of all elements at once."""
        found = []
        for name, given in arrays.items():
            numbers = tuple(range(len(given)))
            total = lambda *xs, name=name: namespace(*xs).sum(of(name)(*xs))
            for i in numbers:
                slope = lambda *xs, i=i, total=total, numbers=numbers: namespace(*xs).sum(
                    gradient(total, numbers)(*xs)[i]
                )
                found += gradient(slope, numbers)(*given)
        return found

    expected = jax.jit(lambda arrays: second(jax.grad, arrays))(
        {name: tuple(map(jax.numpy.asarray, given)) for name, given in points.items()}
    )
    with np.errstate(all="ignore"):
        found = [
            second(grad, {name: tuple(map(library.asarray, given)) for name, given in points.items()})
            for library in map(library_of_name, ("numpy", "torch"))
        ]
        defined = [np.isfinite(of(name)(*given)) for name, given in points.items() for _ in range(len(given) ** 2)]
    labels = [name for name, given in points.items() for _ in range(len(given) ** 2)]
    for name, inside, theirs, *mine in zip(labels, defined, map(np.asarray, expected), *found, strict=True):
        known = np.isfinite(theirs) & inside
        for x in map(np.asarray, mine):
            np.testing.assert_allclose(x[known], theirs[known], rtol=1e-10, atol=1e-13, err_msg=name)


TWO_ARRAYS = ["xlogy", "xlog1py", "betaln", "divide_no_nan", "truncated_remainder"]


@pytest.mark.parametrize("name", TWO_ARRAYS)
@unless(lambda library: library.id not in ("numpy", "strict"))
def test_arrays_of_the_library_beside_traced_ones(library: Library, name: str) -> None:
    function = getattr(special, name, None) or getattr(arithmetic, name)

    def total(*given: Any) -> Any:
        return namespace(*given).sum(function(*given))

    x, y = library.asarray([0.5, 2.0]), library.asarray([1.5, 3.0])
    alone = grad(lambda z: total(z, y))(x), grad(lambda z: total(x, z))(y)
    for found, expected in zip(grad(total, (0, 1))(x, y), alone, strict=True):
        library.assert_equal(found, library.to_numpy(expected))


BROAD = {
    "gammainc": ((0.3, 1.5, 40.0), (0.2, 4.0, 35.0)),
    "betaln": ((0.3, 2.5, 1e4), (2.0, 0.1, 3.0)),
    "zeta": ((1.5, 3.0, 9.0), (0.4, 2.0, 20.0)),
    "xlogy": ((0.0, 0.0, 2.0), (0.5, 3.0, 0.1)),
}


@pytest.mark.parametrize("name", BROAD)
def test_broadcast_arguments(name: str) -> None:
    function = getattr(special, name)
    x, y = map(np.asarray, BROAD[name])
    case = Case(
        lambda x, y: function(namespace(x).expand_dims(x, axis=-1), y), (x, y), differentiable=(0, 1), maps=False
    )
    traced_forward(case)
    traced_grad(case)


INTEGERS = ("bool", "int8", "uint8", "uint16", "int32", "int64", "uint64")
OF_TWO = (
    "add",
    "atan2",
    "copysign",
    "divide",
    "hypot",
    "logaddexp",
    "maximum",
    "multiply",
    "pow",
    "remainder",
    "subtract",
)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", OF_TWO)
def test_integers_beside_arrays_that_are_differentiated(name: str, dtype: str) -> None:
    """Derivatives are those beside the same numbers in floating point: squares of integers would wrap around."""
    x, k = np.asarray([0.5, 1.25, 2.0, 0.75]), np.asarray([100, 3, 0, 120]).astype(dtype)

    def slopes(f: Callable[..., Any], k: np.ndarray) -> list[Any]:
        slope = grad(lambda x: namespace(x).sum(f(x, k)))
        return [slope(x), jvp(lambda x: f(x, k), (x,), (x,))[1], jvp(slope, (x,), (x,))[1]]

    for f in (of(name), lambda x, k: of(name)(k, x)):
        for found, expected in zip(slopes(f, k), slopes(f, k.astype(np.float64))):
            np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_derivatives_of_complex_powers_of_real_numbers() -> None:
    """The logarithm of a negative base is complex."""
    z = np.asarray([0.5 + 1.0j, 2.0 - 0.5j])
    f = lambda base: jvp(lambda z: namespace(z).pow(base, z), (z,), (z,))[1]
    np.testing.assert_allclose(f(np.asarray([-1.5, 2.5])), f(np.asarray([-1.5 + 0.0j, 2.5])), rtol=1e-13)
