"""Modified Bessel functions: accuracy in ulps, edges, transformations and gradients on every library."""

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


def bessel(order: int, *, scaled: bool) -> Any:
    def reference(x: Any) -> Any:
        if mp.isnan(x):
            return x
        sign = -1 if order and x < 0 else 1
        if mp.isinf(x):
            return mp.mpf(0) if scaled else sign * mp.inf
        x = abs(x)
        if x < 2000:
            value = mp.besseli(order, x) * (mp.exp(-x) if scaled else 1)
        elif not scaled:
            value = mp.inf
        else:
            # Hankel's expansion, whose terms fall by more than 1000 each.
            term, total = mp.mpf(1), mp.mpf(1)
            for k in range(1, 25):
                term *= -mp.mpf(4 * order**2 - (2 * k - 1) ** 2) / (8 * k * x)
                total += term
            value = total / mp.sqrt(2 * mp.pi * x)
        return sign * value

    return reference


EDGES = np.asarray([0.0, -0.0, np.inf, -np.inf, np.nan, 8.0, -8.0])
LINE = np.concatenate([reals(-20, 20, 160), -reals(0, 100, 40), magnitudes(-300, 2, 60), EDGES])
FAR = np.concatenate([LINE, reals(85, 93, 20), reals(700, 715, 40), magnitudes(2, 307, 20)])

ACCURACY = {
    "i0": Accuracy(special.i0, bessel(0, scaled=False), (FAR,), 8),
    "i0e": Accuracy(special.i0e, bessel(0, scaled=True), (FAR,), 8),
    "i1": Accuracy(special.i1, bessel(1, scaled=False), (FAR,), 16),
    "i1e": Accuracy(special.i1e, bessel(1, scaled=True), (FAR,), 16),
}
NAMES = list(ACCURACY)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_accuracy(library: Library, name: str, dtype: str) -> None:
    check_ulps(library, ACCURACY[name], dtype)


@pytest.mark.parametrize("name", NAMES)
def test_accuracy_at_any_points(library: Library, name: str) -> None:
    @settings(max_examples=8 if library.id in ("dask", "jax") else 25)
    @given(st.lists(st.floats(-30, 30, width=32) | st.floats(width=32), max_size=6))
    def check(points: list[float]) -> None:
        for dtype in DTYPES:
            check_ulps(library, ACCURACY[name].at(np.asarray(points)), dtype)

    check()


@pytest.mark.parametrize("name", ["i0", "i1"])
def test_overflow_is_where_the_value_is_too_large(library: Library, name: str) -> None:
    for dtype, last in (("float64", 713.98), ("float32", 91.9)):
        result = library.to_numpy(getattr(special, name)(library.asarray([last, last + 0.01, np.inf], dtype=dtype)))
        assert np.isfinite(result).tolist() == [True, False, False]


@pytest.mark.parametrize("name", ["i1", "i1e"])
def test_odd_functions_keep_the_sign_of_zero(library: Library, name: str) -> None:
    result = library.to_numpy(getattr(special, name)(library.asarray([0.0, -0.0])))
    assert np.signbit(result).tolist() == [False, True]


POINTS = np.asarray([[0.5, -0.3, 7.0], [8.5, -0.9, -12.0]])
CASES = {
    name: Case(
        getattr(special, name), (POINTS,), reference=getattr(scipy.special, name), differentiable=(0,), rtol=1e-14
    )
    for name in NAMES
}


@pytest.mark.parametrize("name", NAMES)
def test_values(library: Library, name: str) -> None:
    check_values(library, CASES[name])


@checked({name: CASES[name] for name in NAMES})
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("name", ["i0", "i1"])
def test_derivatives_far_out_and_at_zero(name: str) -> None:
    import jax
    import torch

    points = np.asarray([0.0, 1e-8, 300.0, -700.0, 712.0])
    expected = {
        "i0": scipy.special.i1e(points),
        "i1": 0.5 * (scipy.special.i0e(points) + scipy.special.ive(2, points)),
    }[name] * np.exp(np.abs(points) / 2)
    function = getattr(special, name)
    found = np.asarray(jax.vmap(jax.grad(function))(jax.numpy.asarray(points)))
    np.testing.assert_allclose(found * np.exp(-np.abs(points) / 2), expected, rtol=1e-10, atol=1e-300)
    found = torch.func.vmap(torch.func.grad(function))(torch.asarray(points, dtype=torch.float64)).numpy()
    np.testing.assert_allclose(found * np.exp(-np.abs(points) / 2), expected, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize(("dtype", "last"), [("float32", 91.2), ("float64", 713.2)])
@pytest.mark.parametrize("name", ["i0", "i1"])
def test_derivatives_near_overflow(name: str, dtype: str, last: float) -> None:
    import jax
    import torch

    points = np.concatenate([np.linspace(0.95 * last, last, 50), np.linspace(1.01 * last, 1.1 * last, 50), [np.inf]])
    points = np.concatenate([points, -points]).astype(dtype)
    sign = np.sign(points) if name == "i0" else 1.0
    function = getattr(special, name)
    for found in (
        np.asarray(jax.vmap(jax.grad(function))(jax.numpy.asarray(points))),
        torch.func.vmap(torch.func.grad(function))(torch.asarray(points)).numpy(),
    ):
        assert np.isfinite(found).tolist() == (np.abs(points) <= np.float32(last)).tolist()
        assert np.all(found * sign > 0)


@pytest.mark.parametrize("name", NAMES)
def test_second_derivatives(name: str) -> None:
    import torch

    assert torch.autograd.gradgradcheck(getattr(special, name), (torch.asarray(POINTS).requires_grad_(),))


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_at_zeros_and_nan(name: str) -> None:
    import jax
    import torch

    points, function = np.asarray([0.0, -0.0, np.nan]), getattr(special, name)
    expected = {"i0": 0.0, "i0e": 0.0}.get(name, 0.5)
    for found in (
        np.asarray(jax.vmap(jax.grad(function))(jax.numpy.asarray(points))),
        torch.func.vmap(torch.func.grad(function))(torch.asarray(points)).numpy(),
    ):
        np.testing.assert_array_equal(found, [expected, expected, np.nan])


@pytest.mark.parametrize("name", NAMES)
def test_shapes(library: Library, name: str) -> None:
    check_shapes(library, getattr(special, name), 0.25)


@pytest.mark.parametrize("name", NAMES)
def test_narrow_types(name: str) -> None:
    check_narrow_types(getattr(special, name), 0.25)


@pytest.mark.parametrize("name", NAMES)
def test_dask_stays_lazy(name: str) -> None:
    check_lazy(getattr(special, name), np.asarray([0.1, 0.2, 0.9]))


@pytest.mark.parametrize("name", NAMES)
def test_bad_input(library: Library, name: str) -> None:
    check_bad_input(library, name, getattr(special, name))
