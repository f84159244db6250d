"""sinc, cbrt, rsqrt and exp2: accuracy in ulps, edges, transformations and gradients on every library."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings, strategies as st

from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from tests.special import check_bad_input, check_lazy, check_narrow_types, check_shapes
from tests.ulps import Accuracy, check_ulps, magnitudes, reals
from xpand_extensions import special

DTYPES = ["float32", "float64"]


def sinc(x: Any) -> Any:
    return mp.mpf(0) if mp.isinf(x) else mp.sincpi(x)


def cbrt(x: Any) -> Any:
    return x if mp.isnan(x) or mp.isinf(x) else mp.sign(x) * mp.cbrt(abs(x))


def rsqrt(x: Any) -> Any:
    if mp.isnan(x) or x < 0:
        return mp.nan
    return 1 / mp.sqrt(x) if x else mp.inf


def exp2(x: Any) -> Any:
    return mp.mpf(0) if x == -mp.inf else mp.mpf(2) ** x


EDGES = np.asarray([0.0, np.inf, -np.inf, np.nan])
MAGNITUDES = magnitudes(-320, 308, 200)
SINC = np.concatenate([EDGES, reals(-8, 8), np.arange(-9.0, 9.0), magnitudes(-320, 6)])
ACCURACY = {
    "sinc": Accuracy(special.sinc, sinc, (SINC,), 3, argument_ulps=2),
    "cbrt": Accuracy(special.cbrt, cbrt, (np.concatenate([EDGES, -MAGNITUDES, MAGNITUDES, reals(-9, 9)]),), 3),
    "rsqrt": Accuracy(special.rsqrt, rsqrt, (np.concatenate([EDGES, MAGNITUDES, reals(-1, 9)]),), 2),
    # Up to where float32 overflows, which NumPy reports: see `test_overflow`.
    "exp2": Accuracy(special.exp2, exp2, (np.concatenate([EDGES, reals(-1100, 127.9, 400), reals(-2, 2)]),), 2),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ACCURACY)
def test_accuracy(library: Library, name: str, dtype: str) -> None:
    check_ulps(library, ACCURACY[name], dtype)


@pytest.mark.parametrize("name", ACCURACY)
def test_accuracy_at_any_points(library: Library, name: str) -> None:
    numbers = st.floats(-20, 20, width=32)
    if name in ("cbrt", "rsqrt"):
        numbers |= st.floats(width=32, allow_subnormal=False)
    if name == "rsqrt":  # XLA takes negative subnormal numbers for -0.0, where this is -inf and not NaN
        numbers = numbers.filter(lambda x: not -np.finfo(np.float32).tiny < x < 0)

    @settings(max_examples=8 if library.id in ("dask", "jax") else 25)
    @given(st.lists(numbers.map(lambda x: x + 0.0), max_size=6))  # -0.0 + 0.0 is 0.0, which mpmath knows
    def check(points: list[float]) -> None:
        for dtype in DTYPES:
            check_ulps(library, ACCURACY[name].at(np.asarray(points)), dtype)

    check()


def test_zeros_of_both_signs(library: Library) -> None:
    zeros = library.asarray([0.0, -0.0])
    assert np.signbit(library.to_numpy(special.cbrt(zeros))).tolist() == [False, True]
    library.assert_equal(special.rsqrt(zeros), [np.inf, -np.inf])
    library.assert_equal(special.sinc(zeros), [1.0, 1.0])


def test_overflow(library: Library) -> None:
    with np.errstate(over="ignore"):
        library.assert_equal(special.exp2(library.asarray([1023.0, 1024.0, 1e300, 1e4])), [2.0**1023, *[np.inf] * 3])
        result = special.exp2(library.asarray([127.0, 128.0, 300.0, -300.0], dtype="float32"))
        library.assert_equal(result, np.asarray([2.0**127, np.inf, np.inf, 0.0], dtype=np.float32), rtol=2.4e-7)


def test_sinc_of_large_numbers_vanishes(library: Library) -> None:
    for dtype, largest in (("float32", 38), ("float64", 308)):
        x = magnitudes(6, largest).astype(dtype)
        result = library.to_numpy(special.sinc(library.asarray(x)))
        assert np.all(np.abs(result) <= 1.001 / np.pi / np.minimum(x, 1e30))


def test_whole_powers_are_exact(library: Library) -> None:
    powers = np.arange(-1022.0, 1024.0)
    library.assert_equal(special.exp2(library.asarray(powers)), np.ldexp(1.0, powers.astype(int)))


CASES = {
    "sinc": Case(special.sinc, (np.asarray([[0.0, 0.1, -0.3], [1.0, 2.5, -4.0]]),), np.sinc, (0,), atol=1e-16),
    "cbrt": Case(special.cbrt, (np.asarray([[0.2, 8.0, -0.3], [1.0, 2.5, -4.0]]),), np.cbrt, (0,)),
    "rsqrt": Case(special.rsqrt, (np.asarray([[0.2, 8.0, 0.3], [1.0, 2.5, 4.0]]),), lambda x: 1 / np.sqrt(x), (0,)),
    "exp2": Case(special.exp2, (np.asarray([[0.0, 8.0, -0.3], [1.0, 2.5, -4.0]]),), scipy.special.exp2, (0,)),
}


@pytest.mark.parametrize("name", CASES)
def test_values(library: Library, name: str) -> None:
    check_values(library, CASES[name])


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("points", [[0.0, 1e-9, -1e-3, 0.2, 0.25, 0.3, 1.0, 7.5, 1e6 + 0.5]])
def test_derivatives_of_sinc(points: list[float]) -> None:
    import jax
    import torch

    with mp.workdps(40):
        expected = [[float(mp.diff(mp.sincpi, mp.mpf(x), n)) for x in points] for n in (1, 2)]
    for order, derivative in enumerate((jax.grad(special.sinc), jax.grad(jax.grad(special.sinc)))):
        found = jax.jit(jax.vmap(derivative))(jax.numpy.asarray(points))
        np.testing.assert_allclose(np.asarray(found), expected[order], rtol=1e-9, atol=1e-14)
    grad = torch.func.grad
    for order, derivative in enumerate((grad(special.sinc), grad(grad(special.sinc)))):
        found = torch.func.vmap(derivative)(torch.asarray(points, dtype=torch.float64))
        np.testing.assert_allclose(found.numpy(), expected[order], rtol=1e-9, atol=1e-14)


def test_derivatives_at_ends() -> None:
    import jax
    import torch

    for points, name, expected in (
        ([0.0, np.inf, -np.inf], "cbrt", [np.inf, 0.0, 0.0]),
        ([np.inf, -np.inf], "sinc", [0.0, 0.0]),
        ([-np.inf], "exp2", [0.0]),
    ):
        function = getattr(special, name)
        assert jax.vmap(jax.grad(function))(jax.numpy.asarray(points)).tolist() == expected
        assert torch.func.vmap(torch.func.grad(function))(torch.asarray(points)).tolist() == expected
        x = torch.asarray(points).requires_grad_()
        function(x).sum().backward()
        assert x.grad.tolist() == expected


@pytest.mark.parametrize("name", ACCURACY)
def test_shapes(library: Library, name: str) -> None:
    check_shapes(library, getattr(special, name), 0.25)


@pytest.mark.parametrize("name", ACCURACY)
def test_narrow_types(name: str) -> None:
    check_narrow_types(getattr(special, name), 0.25)


@pytest.mark.parametrize("name", ACCURACY)
def test_dask_stays_lazy(name: str) -> None:
    check_lazy(getattr(special, name), np.asarray([0.1, 0.2, 0.9]))


@pytest.mark.parametrize("name", ACCURACY)
def test_bad_input(library: Library, name: str) -> None:
    check_bad_input(library, name, getattr(special, name))
