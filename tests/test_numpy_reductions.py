"""NumPy's reductions and cumulative functions of traced arrays, against NumPy's own."""

import inspect
import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from tests.numpy_calls import Call, calls, check, check_values
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit

X = np.array([[0.31, 1.2, 0.73], [2.1, 1.5, 0.9]])
B = X > 1
N = np.array([[0.31, np.nan, 0.73], [2.1, 1.5, np.nan]])
C = X + 1j * X[::-1]
CONSTANTS = {"B": B, "X": X, "missing": np.where(np.isnan(N), np.nan, 0.0), "weights": np.array([0.5, -1.0, 2.0])}

REDUCTIONS = ("sum", "prod", "mean", "std", "var", "max", "min")
WITH_DTYPE = ("sum", "prod", "mean", "std", "var", "cumsum", "cumprod")
BOTH_WITH_DTYPE = [prefix + name for name in WITH_DTYPE for prefix in ("", "nan")]


def texts(names: Any, *calls_of: str) -> list[str]:
    """Write the calls of functions: `f` is the name."""
    return [call.replace("F(", f"np.{name}(") for name in names for call in calls_of]


NAN = [f"nan{name}" for name in REDUCTIONS]
CALLS = [
    *texts(
        (*REDUCTIONS, "amax", "amin", "ptp", *NAN),
        *("F(x)", "F(x, axis=0)", "F(x, 1)", "F(x, -1)", "F(x, axis=(0, 1))", "F(x, axis=1, keepdims=True)"),
        *("F(x, keepdims=True)", "F(x, (1,))", "F(x[0])", "F(x[0, 0])", "F(x[0, 0], keepdims=True)"),
        "F(x, axis=0, out=np.zeros(3, like=x))",
    ),
    *texts(
        ("cumsum", "cumprod", "nancumsum", "nancumprod"),
        *("F(x)", "F(x, axis=0)", "F(x, 1)", "F(x[0, 0])"),
        "F(x, out=np.zeros(6, like=x))",
    ),
    *texts(
        ("cumulative_sum", "cumulative_prod"),
        *("F(x, axis=1)", "F(x, axis=0, include_initial=True)", "F(x[0])", "F(x[0], include_initial=True)"),
    ),
    *texts(
        ("sum", "prod", "nansum", "nanprod"),
        *("F(x, axis=0, initial=3.0)", "F(x, where=B)", "F(x, axis=1, where=B)", "F(x, where=B, initial=2.0)"),
        *("F(x, initial=x[0, 0])", "F(x, axis=1, where=x > 1.0)", "F(x, where=False)"),
        *("F(x, axis=1, where=[True, False, True], keepdims=True)", "F(x > 1)", "F(x > 1, axis=0)"),
        *("F(x, dtype=np.complex128)", "F(x, axis=0, out=(np.zeros(3, like=x)))"),
    ),
    *texts(
        ("max", "nanmax"),
        *("F(x, axis=1, initial=1.4)", "F(x, axis=1, where=B, initial=0.0)", "F(x, where=x > 1.0, initial=0.0)"),
        *("F(x > 1, axis=0)", "F(x > 1, initial=True)", "F(x, axis=1, initial=9.0, keepdims=True)"),
    ),
    *texts(
        ("min", "nanmin"),
        *("F(x, axis=1, initial=0.4)", "F(x, axis=1, where=B, initial=9.0)", "F(x > 1, axis=0)"),
        *("F(x, where=x > 1.0, initial=9.0)", "F(x, axis=0, where=[True, True, False], initial=8.0)"),
    ),
    *texts(
        ("mean", "nanmean"),
        *("F(x, where=B)", "F(x, axis=1, where=B)", "F(x, axis=0, where=B | True)", "F(x > 1)"),
        *("F(x, axis=1, where=x > 0.5, keepdims=True)", "F(x > 1, axis=0)"),
    ),
    *texts(
        ("var", "std", "nanvar", "nanstd"),
        *("F(x, ddof=1)", "F(x, axis=1, ddof=1)", "F(x, where=B)", "F(x, correction=1)", "F(x, axis=1, where=x > 0.8)"),
        *("F(x, axis=1, mean=np.mean(x, axis=1, keepdims=True))", "F(x, ddof=0.5)", "F(x > 1)"),
        "F(x, axis=0, mean=np.array([[1.0, 2.0, 1.0]]))",
        "F(x, axis=0, mean=np.mean(x, axis=0, keepdims=True), ddof=1, keepdims=True)",
    ),
    *texts(
        ("argmax", "argmin", "nanargmax", "nanargmin"),
        *("F(x)", "F(x, axis=0)", "F(x, 1)", "F(x, axis=1, keepdims=True)", "F(x, keepdims=True)", "F(x > 1, axis=1)"),
    ),
    *texts(
        ("any", "all"),
        *("F(x > 1)", "F(x > 1, axis=0)", "F(x, axis=1)", "F(x > 1, axis=1, keepdims=True)", "F(x > 1, where=B)"),
        *("F(x - 1.2, axis=1, where=[True, False, True])", "F(x > 1, axis=(0, 1))"),
        "F(x > 1, axis=0, out=(x > 1)[0] & False)",
    ),
    *texts(("count_nonzero",), "F(x > 1)", "F(x > 1, axis=0)", "F(x, axis=1, keepdims=True)", "F(x, axis=(0, 1))"),
    *texts(
        [name for name in NAN if "max" not in name and "min" not in name], "F(x + missing, axis=1)", "F(x + missing)"
    ),
    *texts(("nanmax", "nanmin", "nancumsum", "nancumprod"), "F(x + missing, axis=1)", "F(x + missing)"),
    *texts(("nanargmax", "nanargmin"), "F(x + missing, axis=1)", "F(x + missing)"),
    *texts(("nanmean", "nanvar", "nanstd"), "F(x + missing, where=x > 0.5)", "F(x + missing, axis=1, keepdims=True)"),
    *texts(("nanmax",), "F(x + missing, axis=0, initial=0.5)", "F(x + missing, where=x > 0.5, initial=0.5)"),
    *texts(("nansum",), "F(x + missing, where=x > 0.5, axis=0, initial=0.5)"),
    # The array is not the only argument that may be traced.
    *("np.sum(X, axis=0, out=x[0] * 1.0)", "np.var(X, axis=0, mean=x[:1])", "np.mean(X, axis=0, out=x[0] * 0.0)"),
]


@pytest.mark.parametrize("call", calls(CONSTANTS, X, *CALLS))
def test_reductions(call: Call) -> None:
    check(call)


OF_FLOAT32 = [
    *texts(BOTH_WITH_DTYPE, "F(x, dtype=np.float32)", "F(x, 1, np.float32)"),
    *texts(("cumulative_sum", "cumulative_prod"), "F(x, axis=-1, dtype=np.float32)"),
]


@pytest.mark.parametrize("call", calls({}, X, *OF_FLOAT32, tolerance=1e-6))
def test_data_types_of_results(call: Call) -> None:
    check_values(call)


OF_COMPLEX = [
    *texts(
        ("sum", "prod", "mean", "var", "std", "nansum", "nanmean", "nanvar"),
        *("F(x * C)", "F(x * C, axis=1)", "F(C * x, axis=0, keepdims=True)", "F(x * C, axis=1, where=B)"),
    ),
    *texts(("var", "std", "nanvar"), "F(x * C, dtype=np.complex128)"),
    *texts(("cumsum", "cumprod", "nancumsum"), "F(x * C, axis=1)", "F(x * C)"),
    *texts(("max", "min"), "F(x * C)", "F(x * C, axis=1)", "F(x * C, axis=0, keepdims=True)", "F(x * C, axis=(0, 1))"),
    *texts(("max",), "F(x * C, axis=1, initial=1.0)", "F(x * C, axis=1, initial=1.0, where=B)"),
    *texts(("argmax", "argmin"), "F(x * C)", "F(x * C, axis=1)", "F(1.0 * B + 1j * x, axis=1)", "F(x * 0 + 1j * x, 0)"),
    *texts(("any", "all", "count_nonzero"), "F(x * C, axis=1)"),
]


@pytest.mark.parametrize("call", calls({**CONSTANTS, "C": C}, X, *OF_COMPLEX))
def test_reductions_of_complex_numbers(call: Call) -> None:
    check(call)


ALL = (*REDUCTIONS, "ptp", "any", "all", "argmax", "argmin", "cumsum", "cumprod", "count_nonzero", *NAN)
EXTREMES = ("max", "min", "nanmax", "nanmin")
BY_OPTION = {
    option: [name for name in ALL if option in inspect.signature(getattr(np, name)).parameters]
    for option in ("initial", "where", "dtype")
}
OTHERS = {
    "integers": np.array([[3, 0, -2], [5, 5, 1]]),
    "int8": np.array([[3, 0, -2], [5, 5, 1]], dtype=np.int8),
    "uint8": np.array([[3, 0, 2], [5, 5, 1]], dtype=np.uint8),
    "booleans": B,
    "float32": X.astype(np.float32),
    "float16": np.array([[3, 0.5, 2], [5, 5.5, 1]], dtype=np.float16),
    "a NaN": N,
    "infinities": np.array([[1.0, np.inf, 2.0], [-np.inf, np.inf, 0.0]]),
    "complex64": C.astype(np.complex64),
    "complex NaN": np.array([[1 + 2j, np.nan + 1j, 2.0], [3 + 1j, 3 + 4j, 1.0]]),
}
NOT_FOR = {
    "booleans": {"ptp", "nanargmax", "nanargmin"},
    "complex64": {"ptp", "nanargmax", "nanargmin", "nanmax", "nanmin"},
    "complex NaN": {"ptp", "nanargmax", "nanargmin", "nanmax", "nanmin", "max", "min"},
    "infinities": {
        "ptp",
        "std",
        "var",
        "nanstd",
        "nanvar",
        "sum",
        "mean",
        "nansum",
        "nanmean",
        "prod",
        "nanprod",
        "cumsum",
        "cumprod",
    },
}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("kind", OTHERS)
def test_other_data_types(kind: str, name: str) -> None:
    x = OTHERS[kind]
    if name in NOT_FOR.get(kind, ()):
        return
    tolerance = {"float16": 2e-3, "float32": 1e-6, "complex64": 1e-6}.get(kind, 1e-14)
    for options in ({}, {"axis": 0}, {"axis": 1}):
        function = lambda x, options=options: getattr(np, name)(x, **options)
        check_values(Call(name, function, x, {}, tolerance))


@pytest.mark.parametrize("name", [*REDUCTIONS, "any", "all", *NAN, "count_nonzero", "ptp", "argmax", "argmin"])
@pytest.mark.parametrize("seed", range(12))
def test_random_options(seed: int, name: str) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 4, size=rng.integers(0, 4)))
    x = rng.integers(-3, 4, size=shape).astype(rng.choice(["float64", "int16", "float32", "bool"]))
    if x.dtype == bool and name == "ptp":
        return
    takes_one_axis = name in ("argmax", "argmin")
    axes = [None, *range(-len(shape), len(shape))]
    if not takes_one_axis:
        axes += [(), *itertools.permutations(range(len(shape)), 2)]
    options: dict[str, Any] = {"axis": axes[rng.integers(len(axes))], "keepdims": bool(rng.integers(2))}
    if name in BY_OPTION["initial"] and rng.integers(2):
        options["initial"] = 2
    if name in BY_OPTION["where"] and rng.integers(2) and ("initial" in options or name not in EXTREMES):
        options["where"] = rng.integers(2, size=shape[rng.integers(len(shape) + 1) :]).astype(bool)
    if name in BY_OPTION["dtype"] and rng.integers(2):
        options["dtype"] = str(rng.choice(["float64", "complex128"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of means of no elements
        check_values(Call(name, lambda x: getattr(np, name)(x, **options), x, {}, 1e-6))


EMPTY = [
    *texts(("sum", "prod", "any", "all", "nansum", "nanprod", "count_nonzero"), "F(x)", "F(x, axis=0)", "F(x, axis=1)"),
    *texts(("max", "min"), "F(x, axis=1, initial=2.0)", "F(x, initial=2.0)", "F(x, axis=0)"),
    *texts(("cumsum", "cumprod", "nancumsum"), "F(x)", "F(x, axis=1)"),
    *texts(("argmax", "mean", "std", "nanmax", "ptp"), "F(x, axis=0)"),
]


@pytest.mark.parametrize("call", calls({}, np.zeros((2, 0)), *EMPTY))
def test_empty_arrays(call: Call) -> None:
    check_values(call)


@pytest.mark.parametrize("name", ["std", "nanstd"])
def test_the_derivative_of_a_deviation_that_is_zero(name: str) -> None:
    x = np.array([[1.0, 1.0], [2.0, 2.0]])
    for options in ({}, {"mean": np.array([[1.0], [2.0]])}, {"where": np.array([True, True])}):
        gradient = grad(lambda x, options=options: np.sum(getattr(np, name)(x, axis=1, keepdims=True, **options)))(x)
        np.testing.assert_array_equal(gradient, np.zeros_like(x))


def test_elements_that_are_not_selected_have_no_derivative() -> None:
    for name in ("nansum", "nanmean", "nanvar", "nanstd", "nanmax", "nanprod"):
        gradient = grad(lambda x, name=name: getattr(np, name)(x))(N)
        np.testing.assert_array_equal(gradient[np.isnan(N)], 0.0)
        assert np.all(np.isfinite(gradient))


@pytest.mark.parametrize("name", ["mean", "var", "std", "nanmean", "nanvar"])
def test_many_narrow_numbers(name: str) -> None:
    # Some of NumPy's functions overflow here.
    x = np.tile(np.array([1.0, 2.0, 4.0], dtype=np.float16), 30_000)
    function = getattr(np, name)
    result = jit(lambda x: function(x, where=x > 1.0))(x)
    assert result.dtype == np.float16
    np.testing.assert_allclose(result, function(x.astype(np.float64), where=x > 1.0), rtol=1e-3)


def test_errors() -> None:
    def raises(function: Any, error: type[Exception], match: str) -> None:
        with pytest.raises(error, match=match):
            jit(function)(X)

    raises(lambda x: np.max(x, where=x > 1.0), ValueError, "max: where= needs initial=")
    raises(lambda x: np.nanmin(x, where=x > 1.0), ValueError, "min: where= needs initial=")
    raises(lambda x: np.var(x, ddof=1, correction=1), ValueError, "var: takes ddof or correction")
    raises(lambda x: np.cumulative_sum(x), ValueError, r"np.cumulative_sum: x has 2 axes")
    raises(lambda x: np.sum(x, axis=5), (ValueError, IndexError), "axis")
    raises(lambda x: np.sum(x, axis=0, out=np.zeros(3)), TypeError, r"NumPy's own array can't hold values")
    raises(lambda x: np.sum(x, axis=0, out=x), ValueError, r"np.sum: out must have the shape of the result, \(3,\)")
    with pytest.raises(ValueError, match="np.nanargmax: a slice has no element that is not NaN"):
        grad(lambda x: np.sum(x) + np.nanargmax(x * np.nan))(X)
