"""The complex special values of the standard, clause by clause, on every library that the formulas are written for."""

import cmath
import math
from functools import partial

import numpy as np
import pytest

from xpand._common import complex as special_cases

strict = pytest.importorskip("array_api_strict")

# One row a clause: real and imaginary part of the argument, of the result. `any` is 2.5 and 0.5 in turn; "~" leaves the
# sign open. The standard states clauses for one half-plane; the other follows by `f(conj(x)) == conj(f(x))`.
CLAUSES = {
    "exp": """
        0 0 1 0; -0 0 1 0; any inf nan nan; any nan nan nan; inf 0 inf 0; -inf any 0 0; inf any inf inf; -inf inf ~0 ~0;
        inf inf ~inf nan; -inf nan ~0 ~0; inf nan ~inf nan; nan 0 nan 0; nan any nan nan; nan inf nan nan;
        nan nan nan nan
    """,
    "expm1": """
        0 0 0 0; -0 0 ~0 0; any inf nan nan; any nan nan nan; inf 0 inf 0; -inf any -1 0; inf any inf inf;
        -inf inf -1 ~0; inf inf ~inf nan; -inf nan -1 ~0; inf nan ~inf nan; nan 0 nan 0; nan any nan nan;
        nan inf nan nan; nan nan nan nan
    """,
    "log": """
        -0 0 -inf pi; 0 0 -inf 0; any inf inf pi/2; any nan nan nan; -inf any inf pi; inf any inf 0;
        -inf inf inf 3*pi/4; inf inf inf pi/4; inf nan inf nan; -inf nan inf nan;
        nan any nan nan; nan inf inf nan; nan nan nan nan
    """,
    "log1p": """
        -1 0 -inf 0; any inf inf pi/2; any nan nan nan; -inf any inf pi; inf any inf 0; -inf inf inf 3*pi/4;
        inf inf inf pi/4; inf nan inf nan; -inf nan inf nan; nan any nan nan; nan inf inf nan; nan nan nan nan
    """,
    "sqrt": """
        0 0 0 0; -0 0 0 0; any inf inf inf; nan inf inf inf; inf inf inf inf; -inf inf inf inf; any nan nan nan;
        -inf any 0 inf; inf any inf 0; -inf nan nan ~inf; inf nan inf nan; nan any nan nan; nan nan nan nan
    """,
    "sinh": """
        0 0 0 0; 0 inf ~0 nan; 0 nan ~0 nan; any inf nan nan; any nan nan nan; inf 0 inf 0; inf any inf inf;
        inf inf ~inf nan; inf nan ~inf nan; nan 0 nan 0; nan any nan nan; nan nan nan nan
    """,
    "cosh": """
        0 0 1 0; 0 inf nan ~0; 0 nan nan ~0; any inf nan nan; any nan nan nan; inf 0 inf 0; inf any inf inf;
        inf inf ~inf nan; inf nan inf nan; nan 0 nan ~0; nan -0 nan ~0; nan any nan nan; nan nan nan nan
    """,
    "tanh": """
        0 0 0 0; any inf nan nan; 0 inf 0 nan; any nan nan nan; 0 nan 0 nan; inf any 1 0; inf inf 1 ~0; inf nan 1 ~0;
        nan 0 nan 0; nan any nan nan; nan nan nan nan
    """,
    "asinh": """
        0 0 0 0; any inf inf pi/2; any nan nan nan; inf any inf 0; inf inf inf pi/4; nan 0 nan 0; nan any nan nan;
        nan inf ~inf nan; nan nan nan nan
    """,
    "acosh": """
        0 0 0 pi/2; -0 0 0 pi/2; any inf inf pi/2; any nan nan nan; 0 nan nan ~pi/2; -inf any inf pi; inf any inf 0;
        -inf inf inf 3*pi/4; inf inf inf pi/4; inf nan inf nan; -inf nan inf nan; nan any nan nan; nan inf inf nan;
        nan nan nan nan
    """,
    "acos": """
        0 0 pi/2 -0; -0 0 pi/2 -0; 0 nan pi/2 nan; -0 nan pi/2 nan; any inf pi/2 -inf; any nan nan nan;
        -inf any pi -inf; inf any 0 -inf; -inf inf 3*pi/4 -inf; inf inf pi/4 -inf; inf nan nan ~inf; -inf nan nan ~inf;
        nan any nan nan;
        nan inf nan -inf; nan nan nan nan
    """,
    "atanh": """
        0 0 0 0; 0 nan 0 nan; 1 0 inf 0; any inf 0 pi/2; any nan nan nan; inf any 0 pi/2; inf inf 0 pi/2; inf nan 0 nan;
        nan any nan nan; nan inf ~0 pi/2; nan nan nan nan
    """,
    "sign": "0 0 0 0; -0 0 0 0; nan any nan nan; any nan nan nan; nan nan nan nan",
}
SYMMETRIC = [name for name in CLAUSES if name != "sign"]
ODD = ["sinh", "tanh", "asinh", "atanh"]
CIRCULAR = {"sin": "sinh", "cos": "cosh", "tan": "tanh", "asin": "asinh", "atan": "atanh"}

CASES = [(name, clause.strip()) for name, clauses in CLAUSES.items() for clause in clauses.split(";")]


def _value(token, any_value):
    token = token.lstrip("~")
    sign, token = (-1.0, token[1:]) if token.startswith("-") else (1.0, token)
    return sign * (any_value if token == "any" else eval(token, {"inf": math.inf, "nan": math.nan, "pi": math.pi}))


def _libraries():
    torch = pytest.importorskip("torch")
    jax = pytest.importorskip("jax")
    return {
        "numpy": (np, np.asarray, None),
        "strict": (strict, strict.asarray, None),
        "torch": (torch, torch.asarray, torch.complex),
        "jax": (jax.numpy, jax.numpy.asarray, jax.lax.complex),
    }


def _compiled(function):
    return pytest.importorskip("jax").jit(function)  # many small operations one by one take seconds


def _apply(library, name, values, dtype=np.complex128):
    xp, asarray, combine = _libraries()[library]
    x = asarray(np.asarray(values, dtype))
    native = xp.sgn(x) if (library, name) == ("torch", "sign") else None  # torch.sign takes no complex numbers
    corrected = partial(getattr(special_cases, name), xp=xp, combine=combine)
    if library == "jax":
        return np.asarray(_compiled(corrected)(x))
    with np.errstate(all="ignore"):
        return np.asarray(corrected(x, native=native))


def _agrees(got, token, expected):
    if math.isnan(expected):
        return math.isnan(got)
    if token.startswith("~"):
        got, expected = abs(got), abs(expected)
    return math.isclose(got, expected, rel_tol=1e-6) and math.copysign(1, got) == math.copysign(1, expected)


LIBRARIES = ["numpy", "strict", "torch", "jax"]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", CLAUSES)
def test_clauses(library, name, dtype):
    rows = [clause.split() for case, clause in CASES if case == name]
    for any_value in (0.5, 1.25):  # in the first quadrant, where sine and cosine are positive
        arguments = [complex(_value(a, any_value), _value(b, any_value)) for a, b, _, _ in rows]
        results = _apply(library, name, arguments, dtype)
        assert results.dtype == dtype
        for argument, row, result in zip(arguments, rows, results, strict=True):
            for token, got in zip(row[2:], (result.real, result.imag), strict=True):
                assert _agrees(float(got), token, _value(token, any_value)), (name, argument, result, row)


GRID = [
    complex(a, b) for a in (0.0, -0.0, 1.0, -0.5, 2.5, math.inf, -math.inf, math.nan) for b in (0.5, math.inf, math.nan)
]


def _same_but_for_signs(left, right, *, signs=True):
    for part in ("real", "imag"):
        one, two = getattr(left, part), getattr(right, part)
        np.testing.assert_allclose(one if signs else np.abs(one), two if signs else np.abs(two), rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("name", SYMMETRIC)
def test_conjugate_symmetry(name):
    values = np.asarray([z for z in GRID if not math.isnan(z.imag)])
    below = np.conj(_apply("numpy", name, np.conj(values)))
    above = _apply("numpy", name, values)
    signs = ~(np.isinf(values.imag) & ~np.isfinite(values.real))
    _same_but_for_signs(below[signs], above[signs])
    _same_but_for_signs(below, above, signs=False)


@pytest.mark.parametrize("name", ODD)
def test_odd_symmetry(name):
    values = np.asarray(GRID)
    _same_but_for_signs(-_apply("numpy", name, -values), _apply("numpy", name, values), signs=False)


def _rotate(z):
    return np.asarray([complex(-w.imag, w.real) for w in z])


@pytest.mark.parametrize("name", CIRCULAR)
def test_circular_functions_follow_the_hyperbolic_ones(name):
    values = np.asarray([z for z in GRID if not np.isfinite(z)])
    expected = _apply("numpy", CIRCULAR[name], _rotate(values))
    if name != "cos":  # `-1j * z`
        expected = np.asarray([complex(w.imag, -w.real) for w in expected])
    _same_but_for_signs(_apply("numpy", name, values), expected)


@pytest.mark.parametrize("library", ["numpy", "strict", "jax"])
@pytest.mark.parametrize("name", [*CLAUSES, *CIRCULAR])
def test_ordinary_values_are_the_native_ones(library, name):
    rng = np.random.default_rng(0)
    values = rng.normal(size=200) * 10.0 ** rng.integers(-8, 3, 200) + 1j * rng.normal(size=200)
    xp, asarray, _ = _libraries()[library]
    native = np.asarray(getattr(xp, name)(asarray(values)))
    np.testing.assert_array_equal(_apply(library, name, values), native)


@pytest.mark.parametrize("name", [name for name in [*CLAUSES, *CIRCULAR] if hasattr(cmath, name)])
def test_infinities_agree_with_the_c_library(name):
    values = [z for z in GRID if math.isinf(z.real) and math.isfinite(z.imag)]
    expected = []
    for z in values:
        try:
            expected.append(getattr(cmath, name)(z))
        except ValueError:  # Python's way of saying that the result is invalid
            expected.append(complex(math.nan, math.nan))
    _same_but_for_signs(_apply("numpy", name, values), np.asarray(expected))


def test_combine_parts_keeps_every_bit():
    for xp in (np, strict):
        parts = [0.0, -0.0, 1.5, -2.5, math.inf, -math.inf, math.nan, 1e-320]
        a, b = (np.asarray(values) for values in zip(*[(p, q) for p in parts for q in parts], strict=True))
        like = xp.asarray([1j])
        z = np.asarray(special_cases.combine_parts(xp.asarray(a), xp.asarray(b), like, xp))
        np.testing.assert_array_equal(z.real, a)
        np.testing.assert_array_equal(z.imag, b)
        np.testing.assert_array_equal(np.signbit(z.real), np.signbit(a))
        finite = ~np.isnan(b)  # the sign of a NaN means nothing
        np.testing.assert_array_equal(np.signbit(z.imag)[finite], np.signbit(b)[finite])


def test_native_result_is_used():
    x = np.asarray([1 + 1j, complex(math.inf, math.nan)])
    out = special_cases.tanh(x, np, native=np.asarray([5j, 5j]))
    assert out[0] == 5j
    assert out[1].real == 1


@pytest.mark.parametrize("name", [*SYMMETRIC, *CIRCULAR])
def test_gradients_ignore_the_branch_not_taken(name):
    jax = pytest.importorskip("jax")
    corrected = partial(getattr(special_cases, name), xp=jax.numpy, combine=jax.lax.complex)
    points = jax.numpy.asarray([0.3 + 0.4j, 0.5 + 0j, -0.25 + 0.75j])
    gradient = _compiled(jax.vmap(jax.grad(corrected, holomorphic=True)))(points)
    native = _compiled(jax.vmap(jax.grad(getattr(jax.numpy, name), holomorphic=True)))(points)
    np.testing.assert_allclose(gradient, native, rtol=1e-12)
