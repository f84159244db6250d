"""Statistics: every library against NumPy, transformations, bad input."""

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.laziness import nothing_computed
from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from xpand_extensions import statistics

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REAL = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]


@contextmanager
def quiet() -> Iterator[None]:
    """NumPy's own functions warn of slices of NaN; ours must not."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def tolerance(dtype: Any) -> float:
    return {"f": 1e-5, "c": 1e-5}.get(np.dtype(dtype).char.lower(), 1e-12)


def examples(library: Library) -> int:
    return 8 if library.id in ("dask", "jax") else 20


FINITE = st.floats(-8, 8, width=16)
SPECIAL = st.sampled_from([np.nan, np.nan, np.inf, -np.inf, 0.0, -0.0])


@st.composite
def arrays(draw: st.DrawFn, dtypes: list[str], *, special: bool = True, least: int = 0) -> tuple[np.ndarray, Any]:
    """An array, and axes of it."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    shape = tuple(draw(st.lists(st.integers(least, 5), min_size=1, max_size=3)))
    size = math.prod(shape)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        elements: Any = st.integers(int(info.min), int(info.max))
    elif dtype.kind == "c":
        elements = st.builds(complex, FINITE, FINITE)
        elements = elements | st.just(complex(np.nan, 1)) if special else elements
    else:
        elements = FINITE | SPECIAL if special else FINITE
    values = np.asarray(draw(st.lists(elements, min_size=size, max_size=size)), dtype=dtype).reshape(shape)
    axes: Any = draw(st.none() | st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True).map(tuple))
    if axes is not None and draw(st.booleans()):
        axes = axes[0] - draw(st.sampled_from([0, len(shape)]))
    return values, axes


# --- reductions that pass over NaN ----------------------------------------------------------------------------------


NAN_REDUCTIONS: dict[str, list[str]] = {
    "nansum": INTEGERS + REAL + COMPLEX,
    "nanprod": REAL + COMPLEX,
    "nanmin": INTEGERS + REAL,
    "nanmax": INTEGERS + REAL,
    "nanmean": REAL + COMPLEX,
    "nanvar": REAL,
    "nanstd": REAL,
}


def nan_reference(function: str, x: np.ndarray, axis: Any, keepdims: bool) -> np.ndarray:
    if function in ("nanmin", "nanmax") and x.dtype.kind == "f":
        fill = np.inf if function == "nanmin" else -np.inf
        reduce = np.min if function == "nanmin" else np.max
        result = reduce(np.where(np.isnan(x), fill, x), axis=axis, keepdims=keepdims, initial=fill)
        return np.where(np.isnan(x).all(axis=axis, keepdims=keepdims), np.nan, result).astype(x.dtype)
    with quiet():
        return np.asarray(getattr(np, function)(x, axis=axis, keepdims=keepdims))


@pytest.mark.parametrize("function", NAN_REDUCTIONS)
def test_nan_reductions(library: Library, function: str) -> None:
    # The variance of infinite values is NaN, and NumPy warns of it whoever asks.
    special = function not in ("nanvar", "nanstd")

    @settings(max_examples=examples(library))
    @given(problem=arrays(NAN_REDUCTIONS[function], special=special), holes=st.integers(0, 2**30), keep=st.booleans())
    def run(problem: tuple[np.ndarray, Any], holes: int, keep: bool) -> None:
        values, axis = problem
        if not special:
            missing = np.asarray([holes >> i % 30 & 1 for i in range(values.size)], dtype=bool).reshape(values.shape)
            values = np.where(missing, np.nan, values).astype(values.dtype)
        if values.dtype.kind in "iu" and not values.size:
            return
        if special and values.dtype.kind in "fc" and function in ("nansum", "nanprod", "nanmean"):
            values = np.where(np.isinf(values), 3, values).astype(values.dtype)  # inf - inf: the same warning
        result = getattr(statistics, function)(library.asarray(values), axis=axis, keepdims=keep)
        expected = nan_reference(function, values, axis, keep)
        if function == "nansum":  # of what type the sum of small integers is, the standard leaves to the library
            expected = expected.astype(library.to_numpy(result).dtype)
        rtol = tolerance(values.dtype)
        library.assert_equal(result, expected, rtol=rtol, atol=rtol)

    run()


@pytest.mark.parametrize("function", ["nanargmin", "nanargmax"])
def test_nan_searches(library: Library, function: str) -> None:
    @settings(max_examples=examples(library))
    @given(problem=arrays([*INTEGERS, *REAL]), keep=st.booleans())
    def run(problem: tuple[np.ndarray, Any], keep: bool) -> None:
        values, axis = problem
        axis = axis[0] if isinstance(axis, tuple) else axis
        result = getattr(statistics, function)(library.asarray(values), axis=axis, keepdims=keep)
        pick = {"nanargmin": np.nanargmin, "nanargmax": np.nanargmax}[function]
        rows = values.reshape(values.size) if axis is None else np.moveaxis(values, axis, -1)
        expected = np.full(np.shape(np.count_nonzero(values, axis=axis, keepdims=keep)), -1, dtype=np.int64)
        for place, index in enumerate(np.ndindex(rows.shape[:-1])):
            if (rows[index] == rows[index]).any():
                expected.flat[place] = pick(rows[index])
        library.assert_equal(result, expected)

    run()


@pytest.mark.parametrize("function", [*NAN_REDUCTIONS, "nanargmin", "nanargmax", "nanmedian"])
def test_slices_of_nan_and_of_nothing(library: Library, function: str) -> None:
    x = np.full((2, 3), np.nan)
    empty = {"nansum": 0.0, "nanprod": 1.0, "nanargmin": -1, "nanargmax": -1}.get(function, np.nan)
    for values in (x, x[:, :0]):
        result = getattr(statistics, function)(library.asarray(values), axis=1)
        library.assert_equal(result, np.asarray([empty, empty]))
    library.assert_equal(getattr(statistics, function)(library.asarray(x[:0, :])), np.asarray(empty))
    library.assert_equal(getattr(statistics, function)(library.asarray(x[:0, :]), axis=1), np.asarray([empty])[:0])
    library.assert_equal(getattr(statistics, function)(library.asarray(np.nan)), np.asarray(empty))


@pytest.mark.parametrize("correction", [0, 1, 2.5])
def test_correction(library: Library, correction: float) -> None:
    x = np.asarray([[1.0, np.nan, 3.0, 7.0], [np.nan, 2.0, np.nan, 2.0], [5.0, np.nan, np.nan, np.nan]])
    with quiet():
        sums = np.nansum((x - np.nanmean(x, axis=1, keepdims=True)) ** 2, axis=1)
    number = np.asarray([3, 2, 1]) - correction
    expected = np.where(number > 0, sums / np.where(number > 0, number, 1), np.nan)
    library.assert_equal(statistics.nanvar(library.asarray(x), axis=1, correction=correction), expected, rtol=1e-14)
    result = statistics.nanstd(library.asarray(x), axis=1, correction=correction)
    library.assert_equal(result, np.sqrt(expected), rtol=1e-14)


# --- quantiles ------------------------------------------------------------------------------------------------------


METHODS = [
    "linear",
    "lower",
    "higher",
    "midpoint",
    "nearest",
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "median_unbiased",
    "normal_unbiased",
]


@pytest.mark.parametrize("function", ["quantile", "nanquantile"])
def test_quantiles(library: Library, function: str) -> None:
    @settings(max_examples=examples(library) if library.id == "jax" else 2 * examples(library))
    @given(
        problem=arrays(REAL, special=False, least=1),
        q=st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 0.77, 1.0]), min_size=1, max_size=3),
        method=st.sampled_from(METHODS),
        keep=st.booleans(),
        form=st.sampled_from(["number", "list", "array", "0-d"]),
        holes=st.integers(0, 2**30),
    )
    def run(problem: tuple[np.ndarray, Any], q: list[float], method: Any, keep: bool, form: str, holes: int) -> None:
        values, axis = problem
        missing = np.asarray([holes >> i % 30 & holes >> i % 7 & 1 for i in range(values.size)], dtype=bool)
        values = np.where(missing.reshape(values.shape), np.nan, values).astype(values.dtype)
        wanted: Any = q if form in ("list", "array") else q[0]
        given_q = library.asarray(wanted) if form in ("array", "0-d") else wanted
        result = getattr(statistics, function)(
            library.asarray(values), given_q, axis=axis, method=method, keepdims=keep
        )
        with quiet():
            wide = values.astype(np.float64)  # float32 is too coarse to tell an integral position
            expected = np.asarray(
                getattr(np, function)(wide, np.asarray(wanted), axis=axis, method=method, keepdims=keep)
            )
        rtol = tolerance(values.dtype)
        library.assert_equal(result, expected.astype(values.dtype), rtol=rtol, atol=rtol)

    run()


def test_quantiles_beside_infinity(library: Library) -> None:
    inf, nan = np.inf, np.nan
    x = np.asarray([[1.0, 2.0, inf], [inf, inf, inf], [-inf, inf, inf], [-inf, 0.0, inf], [1.0, nan, inf], [-inf] * 3])
    result = statistics.quantile(library.asarray(x), [0.0, 0.25, 0.5, 0.75, 1.0], axis=1)
    expected = [
        [1.0, 1.5, 2.0, inf, inf],
        [inf] * 5,
        [-inf, nan, inf, inf, inf],
        [-inf, -inf, 0.0, inf, inf],
        [nan] * 5,
        [-inf] * 5,
    ]
    library.assert_equal(result, np.asarray(expected).T)
    result = statistics.nanquantile(library.asarray(x[4]), [0.0, 0.5])
    library.assert_equal(result, np.asarray([1.0, inf]))
    large = np.asarray([-1.7e308, 1.7e308])
    library.assert_equal(statistics.median(library.asarray(large)), np.asarray(0.0))


def test_quantiles_of_equal_values_are_just_these(library: Library) -> None:
    x = np.full(7, 0.1)
    q = np.linspace(0, 1, 23)
    library.assert_equal(statistics.quantile(library.asarray(x), q.tolist()), np.full(23, 0.1))


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (2, 0)])
def test_medians(library: Library, axis: Any) -> None:
    x = np.random.default_rng(2).normal(size=(4, 3, 5))
    check_values(
        library, Case(lambda x: statistics.median(x, axis=axis), (x,), lambda x: np.asarray(np.median(x, axis=axis)))
    )
    x[0, 0, :3] = np.nan
    library.assert_equal(
        statistics.nanmedian(library.asarray(x), axis=axis, keepdims=True),
        np.nanmedian(x, axis=axis, keepdims=True),
        rtol=1e-14,
    )
    with quiet():
        library.assert_equal(statistics.median(library.asarray(x), axis=axis), np.median(x, axis=axis), rtol=1e-14)


def test_one_quantile_at_the_edges(library: Library) -> None:
    inf, nan, least = np.inf, np.nan, 1e-300
    x = np.asarray(
        [[inf, inf, 1.0], [-inf, inf, 0.0], [-inf, inf, nan], [0.1, 0.1, 0.1], [least] * 3, [-1.7e308, 1, 2]]
    )
    result = statistics.quantile(library.asarray(x), 0.75, axis=1)
    library.assert_equal(result, np.asarray([inf, inf, nan, 0.1, least, 1.5]))
    library.assert_equal(statistics.median(library.asarray(x[1, :2])), np.asarray(nan))
    result = statistics.median(library.asarray(x.T), axis=0, keepdims=True)
    library.assert_equal(result, np.asarray([[inf, 0.0, nan, 0.1, least, 1.0]]))


def test_quantiles_of_nothing_and_of_one(library: Library) -> None:
    library.assert_equal(statistics.quantile(library.asarray(3.0), [0.2, 0.9]), np.asarray([3.0, 3.0]))
    library.assert_equal(statistics.quantile(library.asarray(np.zeros((2, 0))), 0.5, axis=1), np.full(2, np.nan))
    library.assert_equal(statistics.quantile(library.asarray(np.zeros((2, 0))), [0.5], axis=0), np.zeros((1, 0)))
    library.assert_equal(statistics.quantile(library.asarray(np.ones(3)), []), np.zeros(0))


def test_fractions_out_of_bounds_unseen() -> None:
    import jax

    x = jax.numpy.arange(5.0)
    q = jax.numpy.asarray([0.5, 1.5, -0.1, np.nan])
    assert np.asarray(jax.jit(statistics.quantile)(x, q)).tolist()[:1] == [2.0]
    assert np.isnan(jax.jit(statistics.quantile)(x, q)[1:]).all()


# --- reduce, average, ptp -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 13, 33])
def test_reduce_keeps_the_order(library: Library, size: int) -> None:
    # An affine map a x + b, packed as 256 a + b modulo 256: composition is associative, and does not commute.
    def compose(f: Any, g: Any) -> Any:
        a, b, c, d = f // 256, f % 256, g // 256, g % 256
        return (a * c % 256) * 256 + (a * d + b) % 256

    values = np.random.default_rng(size).integers(0, 2**16, (3, size))
    expected = []
    for row in values.tolist():
        total = 1000
        for value in row:
            total = compose(total, value)
        expected.append(total)
    result = statistics.reduce(library.asarray(values), compose, 1000, axis=1)
    library.assert_equal(result, np.asarray(expected))
    result = statistics.reduce(library.asarray(values.T), compose, library.asarray(1000), axis=0, keepdims=True)
    library.assert_equal(result, np.asarray([expected]))


def test_reduce_of_several_axes(library: Library) -> None:
    @settings(max_examples=examples(library))
    @given(problem=arrays(["int64", "float64"], special=False))
    def run(problem: tuple[np.ndarray, Any]) -> None:
        values, axis = problem
        values = (values % 5).astype(values.dtype)
        result = statistics.reduce(library.asarray(values), lambda a, b: a + b, 3, axis=axis)
        library.assert_equal(result, np.sum(values, axis=axis) + np.asarray(3, values.dtype), rtol=1e-13, atol=1e-13)

    run()


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool", *REAL, *COMPLEX])
def test_reduce_of_every_type(library: Library, dtype: str) -> None:
    from xpand import array_namespace

    values = np.asarray([[1, 0, 1], [1, 1, 1]]).astype(dtype)
    function = "logical_and" if dtype == "bool" else "multiply"
    initial = np.asarray(1, dtype=dtype)[()].item()
    result = statistics.reduce(
        library.asarray(values), lambda a, b: getattr(array_namespace(a), function)(a, b), initial, axis=-1
    )
    library.assert_equal(result, np.asarray([0, 1]).astype(dtype))


@pytest.mark.parametrize("dtype", INTEGERS + REAL)
def test_ptp(library: Library, dtype: str) -> None:
    values = np.asarray([[3, 9, 4], [100, 7, 20]]).astype(dtype)
    case = Case(lambda x: statistics.ptp(x, axis=-1), (values,), lambda x: np.ptp(x, axis=-1))
    check_values(library, case)
    library.assert_equal(statistics.ptp(library.asarray(values), keepdims=True), np.ptp(values, keepdims=True))
    library.assert_equal(statistics.ptp(library.asarray(values[0, 0])), np.zeros((), dtype=dtype))
    if dtype in REAL:
        values[0, 1] = np.nan
        library.assert_equal(statistics.ptp(library.asarray(values), axis=(1,)), np.ptp(values, axis=1))


@pytest.mark.parametrize("dtype", REAL + COMPLEX)
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
def test_average(library: Library, dtype: str, axis: Any) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(4, 3)).astype(dtype)
    kind = "float32" if dtype in ("float32", "complex64") else "float64"
    w = rng.uniform(0.5, 2, size=(4, 3)).astype(kind)
    every = [None, w] + ([w[:, 0] if axis == 0 else w[0]] if isinstance(axis, int) else [])
    for weights in every:
        given_weights = None if weights is None else library.asarray(weights)
        result = statistics.average(library.asarray(x), axis=axis, weights=given_weights, keepdims=True)
        expected = np.average(x, axis=axis, weights=weights, keepdims=True)
        library.assert_equal(result, expected.astype(dtype), rtol=10 * tolerance(dtype))


def test_average_of_one_number(library: Library) -> None:
    x, weight = library.asarray(2.5), library.asarray(3.0)
    library.assert_equal(statistics.average(x, weights=weight), np.asarray(2.5))
    library.assert_equal(statistics.average(x, weights=weight, keepdims=True), np.asarray(2.5))


def test_average_of_nothing(library: Library) -> None:
    x, zeros = library.asarray(np.ones((2, 3))), library.asarray(np.zeros(3))
    library.assert_equal(statistics.average(x, axis=1, weights=zeros), np.full(2, np.nan))
    library.assert_equal(statistics.average(library.asarray(np.ones((2, 0))), axis=1), np.full(2, np.nan))


# --- covariances ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "rowvar"),
    [("float64", True), ("float32", False), ("complex64", True), ("complex128", False)],
)
def test_cov(library: Library, dtype: str, rowvar: bool) -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(3, 6)).astype(dtype)
    x = x + 1j * rng.normal(size=(3, 6)).astype(x.real.dtype) if dtype in COMPLEX else x
    x = x if rowvar else x.T
    counts, weights = rng.integers(1, 4, 6), rng.uniform(0.5, 2, 6).astype(x.real.dtype)
    rtol = 10 * tolerance(dtype)
    for f in (None, counts):
        for a in (None, weights):
            for correction in (0, 2) if f is None else (1,):
                options: dict[str, Any] = {"fweights": f, "aweights": a}
                expected = np.cov(x, rowvar=rowvar, ddof=correction, **options).astype(dtype)
                options = {k: None if w is None else library.asarray(w) for k, w in options.items()}
                result = statistics.cov(library.asarray(x), rowvar=rowvar, correction=correction, **options)
                library.assert_equal(result, expected, rtol=rtol, atol=rtol)
    expected = np.corrcoef(x, rowvar=rowvar).astype(dtype)
    library.assert_equal(statistics.corrcoef(library.asarray(x), rowvar=rowvar), expected, rtol=rtol, atol=rtol)


def test_cov_of_batches(library: Library) -> None:
    x = np.random.default_rng(7).normal(size=(2, 4, 3, 5))
    check_values(
        library, Case(statistics.cov, (x,), lambda x: np.asarray([[np.cov(m) for m in r] for r in x]), atol=1e-14)
    )
    check_values(
        library,
        Case(statistics.corrcoef, (x,), lambda x: np.asarray([[np.corrcoef(m) for m in r] for r in x]), atol=1e-14),
    )


def test_cov_at_the_edges(library: Library) -> None:
    one = library.asarray(np.asarray([1.0, 2.0, 4.0]))
    library.assert_equal(statistics.cov(one), np.cov([1.0, 2.0, 4.0]), rtol=1e-14)
    library.assert_equal(statistics.corrcoef(one), np.asarray(1.0), rtol=1e-14)
    single = library.asarray(np.ones((2, 1)))
    library.assert_equal(statistics.cov(single), np.full((2, 2), np.nan))
    library.assert_equal(statistics.cov(single, correction=0), np.zeros((2, 2)))
    library.assert_equal(statistics.cov(library.asarray(np.ones((2, 0)))), np.full((2, 2), np.nan))
    library.assert_equal(statistics.cov(library.asarray(np.ones((0, 3)))), np.zeros((0, 0)))
    zero = library.asarray(np.zeros(3, dtype=np.int64))
    library.assert_equal(statistics.cov(one, fweights=zero), np.asarray(np.nan))
    constant = np.asarray([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]])
    expected = np.asarray([[1.0, np.nan], [np.nan, np.nan]])
    library.assert_equal(statistics.corrcoef(library.asarray(constant)), expected, rtol=1e-14)
    library.assert_equal(statistics.corrcoef(library.asarray(np.ones((2, 0)))), np.full((2, 2), np.nan))
    tiny = np.asarray([[1e-200, 2e-200, 4e-200], [1e200, 2e200, 4e200]])
    library.assert_equal(statistics.corrcoef(library.asarray(tiny)), np.ones((2, 2)), rtol=1e-14)


# --- cumulative operations ------------------------------------------------------------------------------------------


CUMULATIVE: dict[str, tuple[list[str], Callable[..., np.ndarray]]] = {
    "cumulative_max": (INTEGERS + REAL, np.maximum.accumulate),
    "cumulative_min": (INTEGERS + REAL, np.minimum.accumulate),
    "logcumsumexp": (REAL, np.logaddexp.accumulate),
}


@pytest.mark.parametrize("function", CUMULATIVE)
def test_cumulative(library: Library, function: str) -> None:
    dtypes, accumulate = CUMULATIVE[function]

    @settings(max_examples=examples(library))
    @given(problem=arrays(dtypes), initial=st.booleans())
    def run(problem: tuple[np.ndarray, Any], initial: bool) -> None:
        values, axis = problem
        axis = axis[0] if isinstance(axis, tuple) else axis
        axis = axis if axis is not None or values.ndim == 1 else -1
        result = getattr(statistics, function)(library.asarray(values), axis=axis, include_initial=initial)
        with quiet():
            expected = accumulate(values, axis=axis or 0)
        if initial:
            kind = values.dtype.kind
            low, high = (-np.inf, np.inf) if kind == "f" else (np.iinfo(values.dtype).min, np.iinfo(values.dtype).max)
            shape = np.shape(np.count_nonzero(values, axis=axis or 0, keepdims=True))
            first = np.full(shape, high if function.endswith("min") else low, dtype=values.dtype)
            expected = np.concatenate([first, expected], axis=axis or 0)
        library.assert_equal(result, expected, rtol=tolerance(values.dtype), atol=tolerance(values.dtype))

    run()


def test_logcumsumexp_neither_overflows_nor_vanishes(library: Library) -> None:
    x = np.asarray([-np.inf, -np.inf, -800.0, -800.0, 700.0, 700.0, 705.0])
    two = np.log(2.0)
    expected = [-np.inf, -np.inf, -800.0, -800 + two, 700.0, 700 + two, 705.0 + np.log1p(2 * np.exp(-5.0))]
    library.assert_equal(statistics.logcumsumexp(library.asarray(x)), np.asarray(expected), rtol=1e-15)


# --- gradient -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("position", range(6))
def test_gradient_at_coordinates_of_infinite_samples(library: Library, position: int) -> None:
    """As NumPy's; a sample in the middle of equal distances has no weight, as without coordinates."""
    t = np.asarray([0.0, 1.0, 3.0, 4.0, 5.0, 5.5])
    for value in (np.inf, -np.inf, np.nan):
        f = np.asarray([1.0, 2.0, -1.0, 4.0, 5.0, 7.0])
        f[position] = value
        with np.errstate(all="ignore"):
            found = library.to_numpy(statistics.gradient(library.asarray(f), library.asarray(t)))
            expected = np.gradient(f, t)
        if position == 3:
            expected[3] = (f[4] - f[2]) / 2.0
        np.testing.assert_allclose(found, expected, rtol=1e-13, err_msg=str(value))


@pytest.mark.parametrize(
    ("dtype", "edge_order"),
    [("float64", 1), ("float64", 2), ("float32", 2), ("complex64", 1), ("complex128", 2)],
)
def test_gradient(library: Library, dtype: str, edge_order: Any) -> None:
    rng = np.random.default_rng(8)
    f = rng.normal(size=(5, 4)).astype(dtype)
    f = f * (1 + 2j) if dtype in COMPLEX else f
    f = f.astype(dtype)
    real = f.real.dtype
    rows, columns = np.sort(rng.uniform(0, 4, 5)).astype(real), np.asarray([3.0, 2.0, 1.5, -1.0]).astype(real)
    every: list[tuple[tuple[Any, ...], Any]] = [((), None), ((0.5,), None), ((2, 0.5), None), ((rows, columns), None)]
    every += [((rows, 2.0), None), ((columns,), 1), ((columns,), -1), ((), 0), ((rows,), (0,)), ((0.1, 2.0), (1, 0))]
    every += [((np.asarray(0.25, dtype=real),), 0)]
    for spacing, axis in every:
        given_spacing = [library.asarray(s) if isinstance(s, np.ndarray) else s for s in spacing]
        result = statistics.gradient(library.asarray(f), *given_spacing, axis=axis, edge_order=edge_order)
        expected = np.gradient(f, *spacing, axis=axis, edge_order=edge_order)
        assert isinstance(result, tuple) == (axis is None or isinstance(axis, tuple))
        results, wanted = (
            (result, expected if isinstance(expected, (tuple, list)) else [expected])
            if isinstance(result, tuple)
            else ([result], [expected])
        )
        for one, other in zip(results, wanted, strict=True):
            rtol = 1e-12 if dtype in ("float64", "complex128") else 1e-4  # differences of neighbours, divided
            library.assert_equal(one, other.astype(dtype), rtol=rtol, atol=rtol)
    library.assert_equal(
        statistics.gradient(library.asarray(f[0]), edge_order=edge_order),
        np.gradient(f[0], edge_order=edge_order).astype(dtype),
        rtol=tolerance(dtype),
        atol=tolerance(dtype),
    )


# --- laziness -------------------------------------------------------------------------------------------------------


LAZY: dict[str, Callable[[Any], Any]] = {
    "nanmean": lambda x: statistics.nanmean(x, axis=0),
    "nanvar": lambda x: statistics.nanvar(x),
    "nanargmax": lambda x: statistics.nanargmax(x, axis=1),
    "quantile": lambda x: statistics.quantile(x, [0.2, 0.5], axis=1),
    "nanquantile": lambda x: statistics.nanquantile(x, 0.2),
    "reduce": lambda x: statistics.reduce(x, lambda a, b: a + b, 0.0),
    "average": lambda x: statistics.average(x, weights=x),
    "cov": lambda x: statistics.cov(x, aweights=x[0]),
    "corrcoef": statistics.corrcoef,
    "cumulative_max": lambda x: statistics.cumulative_max(x, axis=1),
    "logcumsumexp": lambda x: statistics.logcumsumexp(x, axis=0, include_initial=True),
    "gradient": lambda x: statistics.gradient(x, x[:, 0], axis=0),
    "ptp": lambda x: statistics.ptp(x, axis=0),
}


@pytest.mark.parametrize("name", LAZY)
def test_dask_stays_lazy(name: str) -> None:
    import dask.array as da

    values = np.random.default_rng(9).normal(size=(5, 7))
    x = da.from_array(values, chunks=(2, 3))
    with nothing_computed():
        result = LAZY[name](x)
    np.testing.assert_allclose(np.asarray(result), np.asarray(LAZY[name](values)), rtol=1e-12)


# --- transformations ------------------------------------------------------------------------------------------------


X = np.asarray([[1.5, -2.0, 0.25, 4.0, 3.0], [0.5, 7.0, -1.0, 2.5, -3.5]])
HOLES = np.asarray([[1.5, np.nan, 0.25, 4.0, 3.0], [0.5, 7.0, np.nan, np.nan, -3.5]])
W = np.asarray([[0.5, 1.0, 2.0, 0.7, 1.1], [0.3, 1.2, 0.4, 1.0, 0.9]])
Q = np.asarray([0.1, 0.35, 0.8])


def on_holes(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Apply a function of an array with NaN, made of one without: central differences need it."""

    def made(x: Any) -> Any:
        from xpand import array_namespace

        xp = array_namespace(x)
        return function(xp.where((x > 2.2) & (x < 3.5), xp.full_like(x, np.nan), x))

    return made


WEIGHTED = ("inverted_cdf", "averaged_inverted_cdf")
FRACTIONS = [0.0, 0.1, 0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize("method", WEIGHTED)
@pytest.mark.parametrize("skips", [False, True])
def test_weights_are_numbers_of_occurrences(library: Library, method: Any, skips: bool) -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 9, (4, 10)).astype(float)
    weights = rng.integers(0, 3, (4, 10)).astype(float)
    weights[0, :4] = weights[1, -4:] = weights[2] = 0.0
    function = statistics.quantile
    if skips:
        function = statistics.nanquantile
        x[3, :2], x[0, 4] = np.nan, np.nan
    for axis in (None, 1):
        rows = zip(x.reshape(1, -1), weights.reshape(1, -1)) if axis is None else zip(x, weights)
        repeated = [np.repeat(row, each.astype(int)) for row, each in rows]
        with quiet():
            quantile = np.nanquantile if skips else np.quantile
            expected = [quantile(r, FRACTIONS, method=method) if r.size else np.full(6, np.nan) for r in repeated]
        wanted = np.stack(expected, axis=-1)[..., 0] if axis is None else np.stack(expected, axis=-1)
        for scale in (1.0, 0.125):
            found = function(
                library.asarray(x), FRACTIONS, axis=axis, method=method, weights=library.asarray(weights * scale)
            )
            library.assert_equal(found, wanted)


def test_weights_of_an_axis(library: Library) -> None:
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(3, 10, 2)), rng.random(10)
    options: Any = {"axis": 1, "method": "inverted_cdf", "keepdims": True}
    expected = np.quantile(x, FRACTIONS, weights=weights, **options)
    for q in (FRACTIONS, library.asarray(np.asarray(FRACTIONS))):
        found = statistics.quantile(library.asarray(x), q, weights=library.asarray(weights), **options)
        library.assert_equal(found, expected)


def test_weights_that_have_no_quantile(library: Library) -> None:
    """NaN counts with the weight 0 too; negative weights raise if they are concrete, and are NaN otherwise."""
    x = library.asarray(np.asarray([[1.0, np.nan], [1.0, 2.0]]))
    weights = library.asarray(np.asarray([1.0, 0.0]))
    found = statistics.quantile(x, 0.5, axis=1, method="inverted_cdf", weights=weights)
    library.assert_equal(found, np.asarray([np.nan, 1.0]))
    found = statistics.quantile(x[:, :0], 0.5, axis=1, method="inverted_cdf", weights=weights[:0])
    library.assert_equal(found, np.full(2, np.nan))
    negative = library.asarray(np.asarray([2.0, -1.0]))
    if library.lazy:
        found = statistics.quantile(x, 0.5, axis=1, method="inverted_cdf", weights=negative)
        library.assert_equal(found, np.full(2, np.nan))
    else:
        with pytest.raises(ValueError, match="quantile: weights must be finite and not negative"):
            statistics.quantile(x, 0.5, axis=1, method="inverted_cdf", weights=negative)


def test_mistakes_with_weights() -> None:
    x = np.ones((2, 3))
    with pytest.raises(ValueError, match="quantile: method must be 'inverted_cdf' or 'averaged_inverted_cdf' if"):
        statistics.quantile(x, 0.5, weights=x)
    with pytest.raises(ValueError, match=r"nanquantile: weights must have the shape \(2, 3\), got \(3,\)"):
        statistics.nanquantile(x, 0.5, method="inverted_cdf", weights=x[0])
    with pytest.raises(TypeError, match="quantile: weights must have a real floating-point"):
        statistics.quantile(x, 0.5, method="inverted_cdf", weights=x > 0)


CASES: dict[str, Case] = {
    **{
        name: Case(on_holes(lambda x, name=name: getattr(statistics, name)(x, axis=-1)), (X,), differentiable=(0,))
        for name in [*NAN_REDUCTIONS, "nanmedian"]
    },
    "nanargmin": Case(lambda x: statistics.nanargmin(x, axis=-1), (HOLES,)),
    "nanargmax": Case(statistics.nanargmax, (HOLES,)),
    "nansum of nothing but NaN": Case(statistics.nanmax, (HOLES * np.nan,)),
    "quantile": Case(lambda x: statistics.quantile(x, [0.1, 0.35, 0.5], axis=-1), (X,), differentiable=(0,)),
    "quantile at an array": Case(statistics.quantile, (X, Q), differentiable=(0, 1), maps=True),
    "quantile, nearest": Case(
        lambda x: statistics.quantile(x, 0.4, method="nearest", keepdims=True), (X,), differentiable=(0,)
    ),
    "nanquantile": Case(on_holes(lambda x: statistics.nanquantile(x, [0.1, 0.8], axis=0)), (X,), differentiable=(0,)),
    "quantile, averaged": Case(
        lambda x: statistics.quantile(x, [0.2, 0.5, 0.9], axis=0, method="averaged_inverted_cdf"),
        (X,),
        lambda x: np.quantile(x, [0.2, 0.5, 0.9], axis=0, method="averaged_inverted_cdf"),
        differentiable=(0,),
    ),
    "quantile with weights": Case(
        lambda x, w: statistics.quantile(x, [0.2, 0.7], axis=-1, method="averaged_inverted_cdf", weights=w),
        (X, W),
        differentiable=(0,),
    ),
    "median": Case(lambda x: statistics.median(x, axis=0), (X,), differentiable=(0,)),
    "reduce": Case(lambda x: statistics.reduce(x, lambda a, b: a * b, 2.0, axis=-1), (X,), differentiable=(0,)),
    "reduce from an array": Case(
        lambda x, y: statistics.reduce(x, lambda a, b: a + b, y), (X, np.asarray(0.5)), differentiable=(0, 1)
    ),
    "ptp": Case(lambda x: statistics.ptp(x, axis=0), (X,), differentiable=(0,)),
    "average": Case(lambda x, w: statistics.average(x, axis=-1, weights=w), (X, W), differentiable=(0, 1)),
    "cov": Case(statistics.cov, (X,), differentiable=(0,)),
    "cov with weights": Case(lambda x, w: statistics.cov(x, aweights=w), (X, W[0]), differentiable=(0, 1)),
    "corrcoef": Case(statistics.corrcoef, (X,), differentiable=(0,), atol=1e-7),
    "cumulative_max": Case(lambda x: statistics.cumulative_max(x, axis=-1), (X,), differentiable=(0,)),
    "cumulative_min": Case(
        lambda x: statistics.cumulative_min(x, axis=0, include_initial=True)[1:, ...], (X,), differentiable=(0,)
    ),
    "cumulative_max of integers": Case(lambda x: statistics.cumulative_max(x, axis=-1), (X.astype(np.uint16),)),
    "logcumsumexp": Case(lambda x: statistics.logcumsumexp(x, axis=-1), (X,), differentiable=(0,)),
    "gradient": Case(lambda x: statistics.gradient(x, 0.5, axis=-1, edge_order=2), (X,), differentiable=(0,)),
    "gradient at coordinates": Case(
        lambda x, t: statistics.gradient(x, t, axis=-1, edge_order=2),
        (X, np.asarray([0.0, 1.0, 1.5, 3.0, 3.2])),
        differentiable=(0, 1),
    ),
}


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


SECOND = ["nanvar", "quantile at an array", "cov with weights", "logcumsumexp", "corrcoef", "gradient at coordinates"]


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives(name: str) -> None:
    import jax
    import torch

    case = CASES[name]

    def weighted(numpy: Any) -> Callable[..., Any]:
        def total(*arrays: Any) -> Any:
            result = case.function(*arrays)
            return (result * result).sum()

        return total

    arrays = [np.array(x) for x in case.arrays]
    by_jax = jax.grad(lambda *x: (jax.grad(weighted(jax.numpy))(*x) ** 2).sum())(*map(jax.numpy.asarray, arrays))
    by_torch = torch.func.grad(lambda *x: (torch.func.grad(weighted(torch))(*x) ** 2).sum())(
        *map(torch.asarray, arrays)
    )
    assert np.isfinite(by_jax).all()
    np.testing.assert_allclose(by_torch.numpy(), by_jax, rtol=1e-9, atol=1e-9 * float(np.abs(by_jax).max()))


EDGES: dict[str, tuple[Callable[[Any], Any], list[float], list[float]]] = {
    "std of equal values": (statistics.nanstd, [2.0, 2.0, np.nan], [0.0, 0.0, 0.0]),
    "mean of NaN": (lambda x: statistics.nanmean(x), [np.nan, np.nan], [0.0, 0.0]),
    "quantile between infinities": (lambda x: statistics.quantile(x, 0.25), [1.0, 3.0, np.inf], [0.5, 0.5, 0.0]),
    "quantile of equal values": (lambda x: statistics.quantile(x, 0.25), [3.0, 3.0], [0.75, 0.25]),
    "largest so far beside NaN": (lambda x: statistics.cumulative_max(x)[1], [1.0, 3.0, np.nan], [0.0, 1.0, 0.0]),
    "exponentials of -infinity": (lambda x: statistics.logcumsumexp(x)[-1], [-np.inf, 0.0, 0.0], [0.0, 0.5, 0.5]),
}


@pytest.mark.parametrize("name", EDGES)
def test_derivatives_at_the_edges(name: str) -> None:
    import jax
    import torch

    function, values, expected = EDGES[name]
    assert jax.grad(function)(jax.numpy.asarray(values)).tolist() == expected
    assert torch.func.grad(function)(torch.asarray(values)).tolist() == expected


def test_derivatives_of_running_extremes_after_nan() -> None:
    """JAX has none; PyTorch's own stands, which follows the NaN."""
    import jax
    import torch

    function = lambda x: statistics.cumulative_min(x)[0] + statistics.cumulative_min(x)[2]
    values = [1.0, np.nan, 0.0]
    assert jax.grad(function)(jax.numpy.asarray(values)).tolist() == [1.0, 0.0, 0.0]
    own = torch.func.grad(lambda x: torch.cummin(x, 0)[0][0] + torch.cummin(x, 0)[0][2])(torch.asarray(values))
    assert torch.equal(torch.func.grad(function)(torch.asarray(values)), own)


# --- bad input ------------------------------------------------------------------------------------------------------


def raises(error: type[Exception], match: str, function: Any, *args: Any, **options: Any) -> None:
    with pytest.raises(error, match=match) as caught:
        function(*args, **options)
    assert str(caught.value).startswith(f"{function.__name__}: ")


REDUCTIONS = [*NAN_REDUCTIONS, "median", "nanmedian", "ptp", "average"]


@pytest.mark.parametrize("function", REDUCTIONS)
def test_bad_reductions(library: Library, function: str) -> None:
    call, x = getattr(statistics, function), library.asarray(np.ones((2, 3)))
    raises(TypeError, "x must be an array, got list", call, [1.0])
    raises(TypeError, "x must have .* data type, got .*bool", call, library.asarray([True]))
    raises(ValueError, "axis=2 is out of range", call, x, axis=2)
    raises(ValueError, "axis=\\(0, -2\\) names an axis twice", call, x, axis=(0, -2))
    raises(ValueError, "axis is empty", call, x, axis=())
    raises(TypeError, "axis must be an integer", call, x, axis=0.5)
    raises(TypeError, "axis must be an integer", call, x, axis="x")
    raises(TypeError, "keepdims must be True or False", call, x, keepdims=1)


def test_bad_data_types(library: Library) -> None:
    whole = library.asarray([1, 2])
    complex_x = library.asarray(np.ones(2, dtype=complex))
    for function in ("nanmean", "nanvar", "nanstd", "median", "nanmedian", "average", "cov", "corrcoef", "gradient"):
        raises(TypeError, "floating-point data type, got .*int64", getattr(statistics, function), whole)
    for function in ("nanmin", "nanmax", "nanvar", "nanargmin", "nanargmax", "ptp", "median", "cumulative_max"):
        raises(TypeError, "data type, got .*complex128", getattr(statistics, function), complex_x)
    raises(TypeError, "real floating-point data type", statistics.logcumsumexp, whole)
    empty = library.asarray(np.ones((2, 0), dtype=np.int64))
    for function in ("nanmin", "nanmax", "ptp"):
        raises(ValueError, "no elements along the axes \\(1,\\)", getattr(statistics, function), empty, axis=1)


@pytest.mark.parametrize("function", ["nanvar", "nanstd", "cov"])
def test_bad_corrections(library: Library, function: str) -> None:
    call, x = getattr(statistics, function), library.asarray(np.ones((2, 3)))
    raises(TypeError, "correction must be a number, got '1'", call, x, correction="1")
    raises(TypeError, "correction must be a number, got True", call, x, correction=True)
    raises(ValueError, "correction must be finite, got nan", call, x, correction=math.nan)


@pytest.mark.parametrize("function", ["nanargmin", "nanargmax"])
def test_bad_searches(library: Library, function: str) -> None:
    call, x = getattr(statistics, function), library.asarray(np.ones((2, 3)))
    raises(TypeError, "x must be an array", call, 1.0)
    raises(TypeError, "axis must be an integer", call, x, axis=(0, 1))
    raises(ValueError, "axis=-3 is out of range", call, x, axis=-3)
    raises(TypeError, "keepdims must be True or False", call, x, keepdims=None)


@pytest.mark.parametrize("function", ["quantile", "nanquantile"])
def test_bad_quantiles(library: Library, function: str) -> None:
    call, x = getattr(statistics, function), library.asarray(np.ones((2, 3)))
    raises(TypeError, "x must be an array", call, [1.0], 0.5)
    raises(TypeError, "x must have a real floating-point data type", call, library.asarray([1, 2]), 0.5)
    raises(ValueError, "q must lie between 0 and 1, got 1.5", call, x, 1.5)
    raises(ValueError, "q must lie between 0 and 1, got nan", call, x, [0.5, math.nan])
    raises(TypeError, "q must hold numbers, got 'a'", call, x, ["a"])
    raises(TypeError, "q must hold numbers, got True", call, x, True)
    raises(TypeError, "q must be an array", call, x, "a")
    raises(TypeError, "q must have a real floating-point data type", call, x, library.asarray([0, 1]))
    raises(ValueError, "q must have at most one axis", call, x, library.asarray([[0.5]]))
    raises(ValueError, "did you mean 'linear'", call, x, 0.5, method="liner")
    raises(TypeError, "method must be one of", call, x, 0.5, method=None)
    import torch

    other = np.ones(1) if library.id != "numpy" else torch.ones(1)
    raises(TypeError, "takes arrays of one library", call, x, other)
    if not library.lazy:
        raises(ValueError, "q must lie between 0 and 1", call, x, library.asarray([0.5, 1.5]))


def test_bad_reduce(library: Library) -> None:
    x, reduce = library.asarray(np.ones((2, 4))), statistics.reduce
    add = lambda a, b: a + b
    raises(TypeError, "x must be an array", reduce, [1.0], add, 0.0)
    raises(TypeError, "function must be a function, got str", reduce, x, "add", 0.0)
    raises(ValueError, "initial must be a scalar, got the shape \\(1,\\)", reduce, x, add, library.asarray([1.0]))
    raises(TypeError, "initial must be an array, got list", reduce, x, add, [1.0])
    raises(TypeError, "initial is the complex 1j", reduce, x, add, 1j)
    raises(TypeError, "initial has .*complex128", reduce, x, add, library.asarray(1j))
    raises(ValueError, "function must return an array of the shape", reduce, x, lambda a, b: a[..., :1], 0.0)
    raises(ValueError, "function must return an array of the shape .* got float", reduce, x, lambda a, b: 1.0, 0.0)
    raises(TypeError, "function must return the data type of x", reduce, x, lambda a, b: a > b, 0.0)
    raises(ValueError, "axis=2 is out of range", reduce, x, add, 0.0, axis=2)
    raises(TypeError, "keepdims must be True or False", reduce, x, add, 0.0, keepdims=1)


def test_bad_weights(library: Library) -> None:
    x, average, cov = library.asarray(np.ones((2, 3))), statistics.average, statistics.cov
    raises(ValueError, "weights must have the shape \\(2, 3\\) or \\(3,\\), got", average, x, axis=1, weights=x[0, :2])
    raises(ValueError, "weights must have the shape \\(2, 3\\), got", average, x, weights=x[0, :])
    raises(TypeError, "weights must be an array", average, x, weights=[1.0])
    raises(TypeError, "weights must have a real floating", average, x, weights=library.asarray(np.ones((2, 3), int)))
    raises(ValueError, "aweights must have the shape \\(3,\\)", cov, x, aweights=x[0, :2])
    raises(
        ValueError, "fweights must have the shape \\(2,\\)", cov, x, rowvar=False, fweights=library.asarray([1, 2, 3])
    )
    raises(TypeError, "fweights must have an integer data type", cov, x, fweights=x[0, :])
    raises(TypeError, "aweights must have a real floating-point", cov, x, aweights=library.asarray([1, 2, 3]))
    raises(TypeError, "aweights must be an array", cov, x, aweights=[1.0, 2.0, 3.0])
    for function in (cov, statistics.corrcoef):
        raises(TypeError, "x must be an array", function, [1.0])
        raises(TypeError, "rowvar must be True or False", function, x, rowvar=1)
        raises(ValueError, "x must have an axis of observations", function, library.asarray(1.0))


@pytest.mark.parametrize("function", CUMULATIVE)
def test_bad_cumulative(library: Library, function: str) -> None:
    call, x = getattr(statistics, function), library.asarray(np.ones((2, 3)))
    raises(TypeError, "x must be an array", call, 1.0)
    raises(ValueError, "axis must be given for an array of 2 axes", call, x)
    raises(ValueError, "axis=5 is out of range", call, x, axis=5)
    raises(TypeError, "axis must be an integer", call, x, axis=(0,))
    raises(TypeError, "include_initial must be True or False", call, x, axis=0, include_initial=0)
    raises(ValueError, "x must have at least one axis", call, library.asarray(1.0))


def test_gradient_of_two_samples(library: Library) -> None:
    f, t = np.asarray([[1.0, 4.0], [2.0, 0.0]]), np.asarray([0.5, 2.0])
    for axis in (0, 1):
        result = statistics.gradient(library.asarray(f), library.asarray(t), axis=axis)
        library.assert_equal(result, np.gradient(f, t, axis=axis), rtol=1e-14)


def test_bad_gradient(library: Library) -> None:
    f, gradient = library.asarray(np.ones((2, 3))), statistics.gradient
    raises(TypeError, "f must be an array", gradient, [1.0])
    raises(ValueError, "axis=2 is out of range", gradient, f, axis=2)
    raises(ValueError, "names an axis twice", gradient, f, axis=(0, 0))
    raises(ValueError, "edge_order must be 1 or 2, got 3", gradient, f, edge_order=3)
    raises(ValueError, "takes at least 3 samples along an axis, got 2 along axis 0", gradient, f, edge_order=2)
    raises(ValueError, "must have an axis", gradient, library.asarray(1.0))
    raises(ValueError, "spacing must be none or one or 2 for 2 axes, got 3", gradient, f, 1.0, 1.0, 1.0)
    raises(TypeError, "spacing 0 must be a number or an array, got \\[", gradient, f, [0.0, 1.0], axis=0)
    raises(TypeError, "spacing 1 must be an array, got str", gradient, f, 1.0, "x")
    raises(ValueError, "spacing 0 must be a number or have the shape \\(2,\\)", gradient, f, f[0, :], axis=0)
    raises(TypeError, "spacing 0 must have a real floating", gradient, f, library.asarray([0, 1]), axis=0)


def test_two_devices() -> None:
    import array_api_strict as strict

    x = strict.ones(3)
    other = strict.ones(3, device=strict.Device("device1"))
    calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
        (statistics.quantile, (x, other), {}),
        (statistics.average, (x,), {"weights": other}),
        (statistics.cov, (x,), {"aweights": other}),
        (statistics.gradient, (x, other), {}),
        (statistics.reduce, (x, lambda a, b: a + b, other[0]), {}),
    ]
    for function, args, options in calls:
        raises(ValueError, "takes arrays on one device", function, *args, **options)


def test_unknown_sizes() -> None:
    import dask.array as da

    x = da.arange(6, chunks=3).astype("float64")
    x = x[x > 2]
    for function in (statistics.median, statistics.cov, statistics.cumulative_max, statistics.gradient):
        raises(ValueError, "has a shape not known yet", function, x)
