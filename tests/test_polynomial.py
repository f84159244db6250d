"""Polynomials: every library against NumPy, transformations, bad input."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.libraries import LIBRARIES, Library
from tests.operations import Case, Check, check_values, checked
from xpand import UnsupportedError, polynomial

P = np.asarray([1.5, -2.0, 0.0, 3.0])
Q = np.asarray([0.5, 1.0, -1.0])
X = np.asarray([[0.0, 1.0, -2.0], [0.5, 3.0, -1.5]])
POINTS = np.asarray([-1.0, -0.3, 0.2, 0.8, 1.5])
VALUES = np.asarray([2.0, -1.0, 0.5, 0.3, 4.0])
WEIGHTS = np.asarray([1.0, 2.0, 0.5, 1.0, 3.0])


def division(u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    quotient, remainder = np.polydiv(u, v)
    size = max(len(v) - 1, 1)
    return quotient, np.concatenate([np.zeros(size - len(remainder)), remainder])


CASES = {
    "polyadd": Case(polynomial.polyadd, (P, Q), np.polyadd, (0, 1)),
    "polysub": Case(polynomial.polysub, (Q, P), np.polysub, (0, 1)),
    "polymul": Case(polynomial.polymul, (P, Q), np.polymul, (0, 1)),
    "polymul, complex": Case(polynomial.polymul, (P + 1j, Q), np.polymul),
    "polydiv": Case(polynomial.polydiv, (P, Q), division, (0, 1)),
    "polyder": Case(lambda p: polynomial.polyder(p, 2), (P,), lambda p: np.polyder(p, 2), (0,)),
    "polyint": Case(lambda p: polynomial.polyint(p, 2, k=1.0), (P,), lambda p: np.polyint(p, 2, [1.0, 1.0]), (0,)),
    "polyval": Case(polynomial.polyval, (P, X), np.polyval, (0, 1)),
    "polyval, integers": Case(polynomial.polyval, (np.asarray([2, 0, -1]), np.asarray([[3, -4]])), np.polyval),
    "poly": Case(polynomial.poly, (P,), np.poly, (0,)),
    "vander": Case(lambda x: polynomial.vander(x, 3), (P,), lambda x: np.vander(x, 3), (0,)),
    "vander, increasing": Case(
        lambda x: polynomial.vander(x, increasing=True), (P,), lambda x: np.vander(x, increasing=True)
    ),
    "polyfit": Case(lambda x, y: polynomial.polyfit(x, y, 2), (POINTS, VALUES), lambda x, y: np.polyfit(x, y, 2), (1,)),
    "polyfit, weights": Case(
        lambda x, y, w: polynomial.polyfit(x, y, 1, w=w),
        (POINTS, np.stack([VALUES, VALUES**2], axis=1), WEIGHTS),
        lambda x, y, w: np.polyfit(x, y, 1, w=w).T,
        (0, 1, 2),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


numbers = st.lists(st.integers(-9, 9), min_size=1, max_size=5)


@pytest.mark.parametrize("name", ["polyadd", "polysub", "polymul"])
@pytest.mark.parametrize("dtype", ["int8", "uint64", "int64", "float32", "complex128"])
def test_ring_of_polynomials(library: Library, name: str, dtype: str) -> None:
    @settings(max_examples=5)
    @given(numbers, numbers, st.integers(-3, 3))
    def run(p: list[int], q: list[int], x: int) -> None:
        if dtype == "uint64":
            p, q, x = [abs(c) for c in p], [abs(c) for c in q], abs(x)
        # Arrays wrap around in silence, where NumPy's single values warn.
        a, b, at = (library.asarray(np.asarray(c), dtype) for c in (p, q, [x]))
        together = polynomial.polyval(getattr(polynomial, name)(a, b), at)
        parts = [polynomial.polyval(c, at) for c in (a, b)]
        one_by_one = {"polyadd": "add", "polysub": "subtract", "polymul": "multiply"}[name]
        expected = getattr(library.xp, one_by_one)(*parts)
        library.assert_equal(together, library.to_numpy(expected))

    run()


def test_leading_axes_hold_polynomials(library: Library) -> None:
    rng = np.random.default_rng(0)
    p, q, x = rng.normal(size=(2, 1, 4)), rng.normal(size=(3, 3)), rng.normal(size=(2, 3))
    a, b, at = library.asarray(p), library.asarray(q), library.asarray(x)
    both = [(i, j) for i in range(2) for j in range(3)]
    for name in ("polyadd", "polysub", "polymul"):
        expected = np.asarray([getattr(np, name)(p[i, 0], q[j]) for i, j in both]).reshape(2, 3, -1)
        library.assert_equal(getattr(polynomial, name)(a, b), expected, rtol=1e-12, atol=1e-14)
    quotient, remainder = polynomial.polydiv(a, b)
    expected = [division(p[i, 0], q[j]) for i, j in both]
    library.assert_equal(quotient, np.asarray([e[0] for e in expected]).reshape(2, 3, -1), rtol=1e-10)
    library.assert_equal(remainder, np.asarray([e[1] for e in expected]).reshape(2, 3, -1), rtol=1e-10)
    expected = np.asarray([np.polyval(p[i, 0], x[i, j]) for i, j in both]).reshape(2, 3)
    library.assert_equal(polynomial.polyval(a, at), expected, rtol=1e-12)
    library.assert_equal(polynomial.poly(b), np.asarray([np.poly(each) for each in q]), rtol=1e-12)


@pytest.mark.parametrize("coefficients", [[2.0], [1.0, -6.0, 11.0, -6.0], [1.0, 0.0, 1.0], [0.5, 0.0, 0.0]])
def test_roots(library: Library, coefficients: list[float]) -> None:
    result = polynomial.roots(library.asarray(coefficients))
    found = np.sort_complex(np.asarray(library.to_numpy(result)))
    np.testing.assert_allclose(found, np.sort_complex(np.roots(coefficients)), rtol=1e-10, atol=1e-10)
    assert found.dtype == np.complex128
    assert found.shape == (len(coefficients) - 1,)


def test_roots_of_several_polynomials() -> None:
    p = np.asarray([[1.0, -3.0, 2.0], [2.0, -2.0, -4.0]])
    np.testing.assert_allclose(np.sort(polynomial.roots(p).real), [[1, 2], [-1, 2]], rtol=1e-12)


def test_points_that_do_not_determine_the_fit(library: Library) -> None:
    x, y = library.asarray([1.0, 1.0]), library.asarray([2.0, 4.0])
    # Of all lines through (1, 3), the one whose coefficients are equal.
    library.assert_equal(polynomial.polyfit(x, y, 1), np.asarray([1.5, 1.5]), rtol=1e-12)


@pytest.mark.parametrize("trim", ["f", "b", "fb"])
@pytest.mark.parametrize("values", [[0, 0, 1, 0, 2, 0], [0, 0], [], [1]])
def test_trim_zeros(eager_library: Library, values: list[int], trim: Any) -> None:
    x = np.asarray(values, dtype="int32")
    eager_library.assert_equal(polynomial.trim_zeros(eager_library.asarray(x), trim=trim), np.trim_zeros(x, trim))


def test_empty(library: Library) -> None:
    none, some = library.asarray(np.zeros((2, 0))), library.asarray(P)
    library.assert_equal(polynomial.polymul(none, some), np.zeros((2, 0)))
    library.assert_equal(polynomial.polyadd(none, some), np.stack([P, P]))
    library.assert_equal(polynomial.polyval(none, library.asarray([1.0, 2.0])), np.zeros(2))
    library.assert_equal(polynomial.polyder(some, 9), np.zeros(0))
    library.assert_equal(polynomial.poly(none), np.ones((2, 1)))
    library.assert_equal(polynomial.vander(some, 0), np.zeros((4, 0)))
    library.assert_equal(polynomial.polydiv(library.asarray(Q), some).remainder, Q)


def test_factors_beyond_the_data_type(library: Library) -> None:
    found = polynomial.polyder(library.asarray(np.ones(200, "int8")))
    library.assert_equal(found, np.arange(199, 0, -1).astype("int8"))
    found = polynomial.polyint(library.asarray(np.ones(2, "float32")), 40)
    library.assert_equal(found, np.zeros(42, "float32"))


def test_bad_input(library: Library) -> None:
    p, i = library.asarray(P), library.asarray([1, 2])
    for function in (polynomial.polyadd, polynomial.polysub, polynomial.polymul, polynomial.polydiv):
        name = function.__name__
        with pytest.raises(TypeError, match=f"{name}: .* must be an array, got list"):
            function(p, [1.0])
        with pytest.raises(
            ValueError,
            match=f"{name}: takes arrays that broadcast together, got (p1|u) of shape",
        ):
            function(library.asarray(np.zeros((2, 1))), library.asarray(np.zeros((3, 1))))
        with pytest.raises(ValueError, match=f"{name}: .* must have one axis or more"):
            function(p, library.asarray(1.0))
    with pytest.raises(TypeError, match="polydiv: v must have a floating-point data type"):
        polynomial.polydiv(p, i)
    with pytest.raises(ValueError, match="polydiv: v must have one element or more"):
        polynomial.polydiv(p, library.asarray(np.zeros(0)))
    with pytest.raises(TypeError, match="polyadd: p1 must have a numeric data type"):
        polynomial.polyadd(library.asarray([True]), p)
    with pytest.raises(TypeError, match="polyint: p must have a floating-point"):
        polynomial.polyint(i)
    with pytest.raises(ValueError, match=r"polyint: k must have the shape \(2,\)"):
        polynomial.polyint(p, 2, k=library.asarray([1.0]))
    with pytest.raises(TypeError, match="polyint: k is the complex"):
        polynomial.polyint(p, k=1j)
    with pytest.raises(TypeError, match="polyint: k must be an array, got list"):
        polynomial.polyint(p, k=[1.0])
    with pytest.raises(ValueError, match="polyder: m must be at least 0, got -1"):
        polynomial.polyder(p, -1)
    with pytest.raises(ValueError, match="vander: n must be at least 0"):
        polynomial.vander(p, -1)
    with pytest.raises(TypeError, match="vander: increasing must be True or False"):
        polynomial.vander(p, increasing=1)
    with pytest.raises(TypeError, match="polyval: x must have a numeric"):
        polynomial.polyval(p, library.asarray([True]))
    with pytest.raises(ValueError, match="polyfit: takes x of shape"):
        polynomial.polyfit(p, library.asarray(Q), 1)
    with pytest.raises(ValueError, match="polyfit: x must have one element or more"):
        polynomial.polyfit(p[:0], p[:0], 1)
    with pytest.raises(ValueError, match="polyfit: degree must be at least 0"):
        polynomial.polyfit(p, p, -1)
    with pytest.raises(ValueError, match="trim_zeros: trim must be one of"):
        polynomial.trim_zeros(p, trim="x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="trim_zeros: p must have one axis, got 2"):
        polynomial.trim_zeros(library.asarray(X))
    if library.id in ("numpy", "torch", "jax"):
        for bad in ([0.0, 1.0], [np.nan, 1.0]):
            with pytest.raises(ValueError, match="roots: the first coefficient"):
                polynomial.roots(library.asarray(bad))
        with pytest.raises(ValueError, match="roots: coefficients must be finite"):
            polynomial.roots(library.asarray([1.0, np.inf]))
    if library.lazy:
        with pytest.raises(UnsupportedError, match="trim_zeros: the size of the result"):
            polynomial.trim_zeros(p)


def test_two_libraries_are_refused() -> None:
    torch, jax = (next(x for x in LIBRARIES if x.id == name) for name in ("torch", "jax"))
    with pytest.raises(TypeError, match="polyadd: takes arrays of one library"):
        polynomial.polyadd(torch.asarray(P), jax.asarray(P))
    with pytest.raises(TypeError, match="polyint: takes arrays of one library"):
        polynomial.polyint(torch.asarray(P), k=jax.asarray([1.0]))
