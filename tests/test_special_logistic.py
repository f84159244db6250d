"""The logistic function and related functions: ulps, edges, transformations and gradients on every library."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest
import scipy.special
from hypothesis import given, settings, strategies as st

from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from tests.special import check_bad_input, check_bad_operands, check_lazy, check_narrow_types, check_shapes
from tests.ulps import Accuracy, check_ulps, magnitudes, reals
from xpand_extensions import special

DTYPES = ["float32", "float64"]
INF, NAN = np.inf, np.nan


def softplus(x: Any) -> Any:
    if mp.isinf(x):
        return x if x > 0 else mp.mpf(0)
    return mp.log1p(mp.exp(x)) if x < 1000 else x


def logit(x: Any) -> Any:
    if mp.isnan(x) or not 0 <= x <= 1:
        return mp.nan
    return mp.log(x) - mp.log1p(-x) if 0 < x < 1 else mp.inf * (2 * x - 1)


def sigmoid(x: Any) -> Any:
    return mp.nan if mp.isnan(x) else mp.exp(-softplus(-x))


def entr(x: Any) -> Any:
    if mp.isnan(x) or x < 0 or mp.isinf(x):
        return x if mp.isnan(x) else -mp.inf
    return -xlogy(x, x)


def xlogy(x: Any, y: Any) -> Any:
    if mp.isnan(x) or mp.isnan(y) or (y < 0 and x):
        return mp.nan
    return x * mp.log(y) if x else mp.mpf(0)


def xlog1py(x: Any, y: Any) -> Any:
    if mp.isnan(x) or mp.isnan(y) or (y < -1 and x):
        return mp.nan
    if not x:
        return mp.mpf(0)
    return x * (mp.log1p(y) if y != -1 else -mp.inf)


EDGES = np.asarray([0.0, INF, -INF, NAN])
LINE = np.concatenate(
    [reals(-6, 6, 160), reals(-800, 800, 160), magnitudes(-320, 300, 60), -magnitudes(-320, 300, 60), EDGES]
)
PROBABILITIES = np.concatenate(
    [reals(0, 1, 200), 0.5 + magnitudes(-15, -1, 30), magnitudes(-300, -1, 60), 1 - magnitudes(-15, -1, 40), EDGES]
)
PAIRS = np.stack(
    [
        np.concatenate([reals(-5, 5, 300), magnitudes(-200, 36, 60), np.repeat([0.0, 1.0, -2.0, NAN], 6)]),
        np.concatenate([reals(0, 4, 300, seed=1), magnitudes(-100, 99, 60), [0.0, 1.0, -2.0, -1.0, INF, NAN] * 4]),
    ]
)
UNARY = {
    "sigmoid": Accuracy(special.sigmoid, sigmoid, (LINE,), 3),
    "expit": Accuracy(special.expit, sigmoid, (LINE,), 3),
    "log_sigmoid": Accuracy(special.log_sigmoid, lambda x: -softplus(-x), (LINE,), 3),
    "softplus": Accuracy(special.softplus, softplus, (LINE,), 3),
    "logit": Accuracy(special.logit, logit, (np.append(PROBABILITIES, [-1.0, 1.5, 1e300]),), 3, argument_ulps=1),
    "entr": Accuracy(special.entr, entr, (np.concatenate([PROBABILITIES, magnitudes(0, 36), [-1.0, -1e-300]]),), 3),
}
BINARY = {
    "xlogy": Accuracy(special.xlogy, xlogy, tuple(PAIRS), 3),
    "xlog1py": Accuracy(special.xlog1py, xlog1py, tuple(PAIRS), 4),
}
ACCURACY = UNARY | BINARY


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ACCURACY)
def test_accuracy(library: Library, name: str, dtype: str) -> None:
    check_ulps(library, ACCURACY[name], dtype)


@pytest.mark.parametrize("name", ACCURACY)
def test_accuracy_at_any_points(library: Library, name: str) -> None:
    bound = ACCURACY[name]
    numbers = st.floats(0, 1.25, width=32) | st.floats(
        width=32, min_value=-(2.0**99), max_value=2.0**99, allow_subnormal=False
    )

    @settings(max_examples=8 if library.id in ("dask", "jax") else 25)
    @given(st.lists(st.tuples(numbers, numbers), max_size=6))
    def check(points: list[tuple[float, float]]) -> None:
        columns = np.asarray(points).reshape(-1, 2).T[: len(bound.arguments)]
        for dtype in DTYPES:
            check_ulps(library, bound.at(*columns), dtype)

    check()


# --- sums of exponentials -------------------------------------------------------------------------------------------

ROWS = np.asarray(
    [
        [1.0, 2.0, -3.0],
        [1000.0, 1000.5, 1.0],
        [-2000.0, -2001.0, -INF],
        [-INF, -INF, -INF],
        [INF, 1000.0, -INF],
        [NAN, 1.0, 2.0],
        [INF, INF, 0.0],
    ]
)
SUMS = [np.log(np.exp([1.0, 2.0, -3.0]).sum()), 1000.5 + np.log1p(np.exp(-0.5)), -2000.0 + np.log1p(np.exp(-1.0))]
LOGSUMEXP = np.asarray([*SUMS, -INF, INF, NAN, INF])


@pytest.mark.parametrize("dtype", DTYPES)
def test_logsumexp(library: Library, dtype: str) -> None:
    x = library.asarray(ROWS, dtype=dtype)
    expected = LOGSUMEXP.astype(dtype)
    library.assert_equal(special.logsumexp(x, axis=-1), expected, rtol=2e-6)
    library.assert_equal(special.logsumexp(x, axis=1, keepdims=True), expected[:, None], rtol=2e-6)
    library.assert_equal(special.logsumexp(x[:3, :]), np.asarray(SUMS[1], dtype=dtype), rtol=2e-6)
    library.assert_equal(special.logsumexp(x[:3, :], axis=(1, 0)), np.asarray(SUMS[1], dtype=dtype), rtol=2e-6)
    library.assert_equal(special.logsumexp(x, axis=()), ROWS.astype(dtype))
    library.assert_equal(special.logsumexp(x[0, 0]), np.asarray(1.0, dtype=dtype))
    library.assert_equal(special.logsumexp(x[:0, :], axis=0), np.full(3, -INF, dtype=dtype))
    library.assert_equal(special.logsumexp(x[:0, :], axis=1), np.zeros(0, dtype=dtype))
    library.assert_equal(special.logsumexp(x[:0, :]), np.asarray(-INF, dtype=dtype))


def test_logsumexp_with_weights(library: Library) -> None:
    x = library.asarray(ROWS)
    weights = np.asarray([0.0, 2.0, 1.0])
    expected = np.asarray([np.log(2 * np.exp(2.0) + np.exp(-3.0)), 1000.5 + np.log(2.0), -2001 + np.log(2.0), -INF])
    result = special.logsumexp(x, axis=1, b=library.asarray(weights))
    library.assert_equal(result[:4], expected, rtol=1e-14)
    library.assert_equal(result[4:], [1000.0 + np.log(2.0), np.log(2 * np.exp(1.0) + np.exp(2.0)), INF], rtol=1e-14)
    signs = special.logsumexp(x, axis=1, b=library.asarray([[1.0, -1.0, 0.0]]))
    library.assert_equal(signs, [NAN, NAN, -2000 + np.log1p(-np.exp(-1.0)), -INF, INF, NAN, NAN], rtol=1e-14)
    columns = special.logsumexp(x[:2, :], axis=0, b=library.asarray([[1.0], [0.0]]), keepdims=True)
    library.assert_equal(columns, ROWS[:1])
    assert special.logsumexp(x[0, :1], b=library.asarray(np.ones((4, 1)))).shape == ()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(library: Library, name: str, dtype: str) -> None:
    function = getattr(special, name)
    expected = np.full(ROWS.shape, NAN)
    for i in (0, 1, 2):
        e = np.exp(ROWS[i] - ROWS[i].max())
        with np.errstate(divide="ignore"):
            expected[i] = e / e.sum() if name == "softmax" else np.log(e / e.sum())
    if name == "log_softmax":
        expected[1, 2] = 1.0 - SUMS[1]  # of which the exponential is 0
    x = library.asarray(ROWS, dtype=dtype)
    library.assert_equal(function(x), expected.astype(dtype), rtol=2e-6, atol=1e-37)
    library.assert_equal(function(x, axis=0)[:0, :], np.zeros((0, 3), dtype=dtype))
    transposed = library.asarray(ROWS.T, dtype=dtype)
    library.assert_equal(function(transposed, axis=-2), expected.T.astype(dtype), rtol=2e-6, atol=1e-37)
    for shape in ((0,), (2, 0), (0, 2)):
        library.assert_equal(function(library.asarray(np.zeros(shape, dtype=dtype))), np.zeros(shape, dtype=dtype))


def test_large_sums(library: Library) -> None:
    x = np.random.default_rng(0).normal(scale=30.0, size=(4, 1000))
    for function in ("logsumexp", "softmax", "log_softmax"):
        result = getattr(special, function)(library.asarray(x), axis=1)
        # Near 0 a logarithm is a difference: of the exponents, which are as large as 100.
        library.assert_equal(
            result, getattr(scipy.special, function)(x, axis=1), rtol=1e-12, atol=2e-14 * (function != "softmax")
        )


# --- operands -------------------------------------------------------------------------------------------------------


def test_operands(library: Library) -> None:
    x, y = library.asarray([[1.0], [2.0]]), library.asarray([1.0, np.e, 0.0])
    library.assert_equal(special.xlogy(x, y), [[0.0, 1.0, -INF], [0.0, 2.0, -INF]])
    library.assert_equal(special.xlogy(x, 1), np.zeros((2, 1)))
    library.assert_equal(special.xlog1py(0.0, y), np.zeros(3))
    single = library.asarray([1.0], dtype="float32")
    library.assert_equal(special.xlogy(single, 2.0), np.log(np.asarray([2.0], dtype=np.float32)), rtol=2e-7)
    library.assert_equal(special.xlogy(single, y), [0.0, 1.0, -INF])
    double = library.asarray([2.0], dtype="float64")
    three = library.asarray([3.0], dtype="float32")
    library.assert_equal(special.xlogy(double, three), 2.0 * np.log([3.0]), rtol=1e-15)
    library.assert_equal(special.xlog1py(double, three), 2.0 * np.log([4.0]), rtol=1e-15)


def test_zero_times_anything(library: Library) -> None:
    zeros, y = library.asarray(np.zeros(6)), library.asarray([0.0, -0.0, -1.0, INF, -INF, NAN])
    library.assert_equal(special.xlogy(zeros, y), [0.0, 0.0, 0.0, 0.0, 0.0, NAN])
    library.assert_equal(special.xlog1py(zeros, y), [0.0, 0.0, 0.0, 0.0, 0.0, NAN])


# --- transformations ------------------------------------------------------------------------------------------------

LINE_CASE = np.asarray([[0.0, -0.3, 1.0], [2.5, -9.0, 30.0]])
PROBABILITY_CASE = np.asarray([[0.5, 0.3, 0.26], [0.97, 0.9, 0.1]])
WEIGHTS = np.asarray([[0.5, 2.0, 1.0], [1.0, 0.3, 4.0]])
CASES = {
    "sigmoid": Case(special.sigmoid, (LINE_CASE,), scipy.special.expit, (0,)),
    "log_sigmoid": Case(special.log_sigmoid, (LINE_CASE,), scipy.special.log_expit, (0,)),
    "softplus": Case(special.softplus, (LINE_CASE,), lambda x: np.logaddexp(x, 0.0), (0,)),
    "logit": Case(special.logit, (PROBABILITY_CASE,), scipy.special.logit, (0,), atol=1e-16),
    "entr": Case(special.entr, (PROBABILITY_CASE,), scipy.special.entr, (0,)),
    "xlogy": Case(special.xlogy, (LINE_CASE, 1.0 + PROBABILITY_CASE), scipy.special.xlogy, (0, 1)),
    "xlogy, a number": Case(lambda x: special.xlogy(2.0, x), (PROBABILITY_CASE,), lambda x: 2 * np.log(x), (0,)),
    "xlog1py": Case(special.xlog1py, (LINE_CASE, PROBABILITY_CASE), scipy.special.xlog1py, (0, 1)),
    # One of the shares is 1 but for 1e-13: the second derivatives, of 1e-13 themselves, are exact to ulps of 1.
    "logsumexp": Case(special.logsumexp, (LINE_CASE,), scipy.special.logsumexp, (0,), atol=1e-15),
    "logsumexp of columns": Case(
        lambda x: special.logsumexp(x, axis=0, keepdims=True),
        (LINE_CASE,),
        lambda x: scipy.special.logsumexp(x, axis=0, keepdims=True),
        (0,),
    ),
    "logsumexp with weights": Case(
        lambda x, b: special.logsumexp(x, axis=-1, b=b),
        (LINE_CASE, WEIGHTS),
        lambda x, b: scipy.special.logsumexp(x, axis=-1, b=b),
        (0, 1),
    ),
    "softmax": Case(special.softmax, (LINE_CASE,), lambda x: scipy.special.softmax(x, axis=-1), (0,)),
    "log_softmax": Case(special.log_softmax, (LINE_CASE,), lambda x: scipy.special.log_softmax(x, axis=-1), (0,)),
}


@pytest.mark.parametrize("name", CASES)
def test_values(library: Library, name: str) -> None:
    check_values(library, CASES[name])


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


# For each function: points, and the derivative there.
DERIVATIVES = {
    "sigmoid": ([-INF, -1000.0, 0.0, 1000.0, INF], [0.0, 0.0, 0.25, 0.0, 0.0]),
    "log_sigmoid": ([-1000.0, 0.0, 1000.0, INF], [1.0, 0.5, 0.0, 0.0]),
    "softplus": ([-INF, -1000.0, 0.0, 1000.0], [0.0, 0.0, 0.5, 1.0]),
    "logit": ([1e-300, 0.5, 0.25], [1e300, 4.0, 16 / 3]),
    "entr": ([0.5, 1.0, 1e-300], [np.log(2.0) - 1.0, -1.0, 300 * np.log(10.0) - 1.0]),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_far_out(name: str) -> None:
    import jax
    import torch

    points, expected = DERIVATIVES[name]
    function = getattr(special, name)
    found = np.asarray(jax.vmap(jax.grad(function))(jax.numpy.asarray(points)))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)
    found = torch.func.vmap(torch.func.grad(function))(torch.asarray(points, dtype=torch.float64)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("name", ["xlogy", "xlog1py"])
def test_derivatives_at_zero(name: str) -> None:
    import jax
    import torch

    x, y = [0.0, 0.0, 2.0, 0.0, -0.0, 0.0, 0.0, 2.0, -2.0], [0.5, 3.0, 1.0, 0.0, 0.0, INF, -2.0, 0.0, 0.0]
    in_x = [*np.log(y[:3]), 0.0, 0.0, 0.0, 0.0, -INF, -INF]
    expected = in_x, [0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, INF, -INF]
    if name == "xlog1py":
        y = [each - 1.0 for each in y]
    function = getattr(special, name)
    found = jax.vmap(jax.grad(function, (0, 1)))(jax.numpy.asarray(x), jax.numpy.asarray(y))
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)
    arrays = torch.asarray(x, dtype=torch.float64), torch.asarray(y, dtype=torch.float64)
    found = torch.func.vmap(torch.func.grad(function, (0, 1)))(*arrays)
    np.testing.assert_allclose(torch.stack(found).numpy(), expected, rtol=1e-12)
    function(*(each.requires_grad_() for each in arrays)).sum().backward()
    np.testing.assert_allclose([each.grad.numpy() for each in arrays], expected, rtol=1e-12)


# --- layouts, types, bad input --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ACCURACY)
def test_shapes(library: Library, name: str) -> None:
    check_shapes(library, getattr(special, name), 0.25, 1 + (name in BINARY))


@pytest.mark.parametrize("name", [*ACCURACY, "softmax", "log_softmax"])
def test_narrow_types(name: str) -> None:
    check_narrow_types(getattr(special, name), 0.25, 1 + (name in BINARY))


def test_logsumexp_of_narrow_types() -> None:
    check_narrow_types(lambda x: special.logsumexp(x, keepdims=True), 0.25)
    check_narrow_types(lambda x: special.logsumexp(x, keepdims=True, b=x), 0.25)


@pytest.mark.parametrize("name", [*ACCURACY, "softmax", "log_softmax", "logsumexp"])
def test_dask_stays_lazy(name: str) -> None:
    check_lazy(getattr(special, name), np.asarray([0.1, 0.2, 0.9]), 1 + (name in BINARY))


@pytest.mark.parametrize("name", [*UNARY, "softmax", "log_softmax", "logsumexp"])
def test_bad_input(library: Library, name: str) -> None:
    check_bad_input(library, name, getattr(special, name))


@pytest.mark.parametrize("name", BINARY)
def test_bad_operands(library: Library, name: str) -> None:
    check_bad_operands(library, name, getattr(special, name))


def test_bad_options(library: Library) -> None:
    x = library.asarray(np.ones((2, 3)))
    for name in ("softmax", "log_softmax", "logsumexp"):
        function = getattr(special, name)
        with pytest.raises(ValueError, match=rf"^{name}: axis=2 is out of range for 2 axes"):
            function(x, axis=2)
        with pytest.raises(TypeError, match=rf"^{name}: axis must be an integer, got 0.5"):
            function(x, axis=0.5)
    with pytest.raises(ValueError, match="^softmax: axis=-1 is out of range for 0 axes"):
        special.softmax(x[0, 0])
    with pytest.raises(ValueError, match="^logsumexp: .* names an axis twice"):
        special.logsumexp(x, axis=(0, -2))
    with pytest.raises(TypeError, match="^logsumexp: keepdims must be True or False, got 1"):
        special.logsumexp(x, keepdims=1)
    with pytest.raises(TypeError, match="^logsumexp: b must have a real floating-point data type"):
        special.logsumexp(x, b=library.asarray(np.ones(3, dtype=int)))
    with pytest.raises(TypeError, match="^logsumexp: b must be an array, got float"):
        special.logsumexp(x, b=2.0)
    with pytest.raises(ValueError, match="^logsumexp: takes arrays that broadcast together"):
        special.logsumexp(x, b=library.asarray(np.ones(2)))


@pytest.mark.parametrize("name", BINARY)
def test_two_devices(name: str) -> None:
    import array_api_strict as strict

    other = strict.ones(2, device=strict.Device("device1"))
    with pytest.raises(ValueError, match=f"^{name}: takes arrays on one device"):
        getattr(special, name)(strict.ones(2), other)
