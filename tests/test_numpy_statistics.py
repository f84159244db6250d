"""NumPy's averages, quantiles, covariances and histograms of traced arrays, against NumPy's own."""

import numpy as np
import pytest

from tests.numpy_calls import Call, calls, check, check_values
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit
from xpand_extensions.statistics._order import METHODS

X = np.array([[0.31, 1.2, 0.73], [2.1, 1.5, 0.9]])
V = np.array([0.31, 1.2, 0.73, 2.1, 1.5, 0.9])
W = np.array([0.5, 1.0, 2.0, 1.5, 0.7, 0.3])
CONSTANTS = {
    "X": X,
    "V": V,
    "W": W,
    "missing": np.array([[0.0, np.nan, 0.0], [0.0, 0.0, np.nan]]),
    "counts": np.array([1, 2, 1, 3, 1, 1]),
    "C": np.exp(1j * np.arange(6.0)),
    "Q": np.array([[0.1, 0.6], [0.9, 0.25]]),
    "T": np.arange(24.0).reshape(2, 3, 4) % 7,
}

AVERAGES = (
    *("np.average(x)", "np.average(x, axis=0)", "np.average(x, 1)", "np.average(x, axis=(0, 1))"),
    *("np.average(x, axis=1, keepdims=True)", "np.average(x, weights=[1.0, 2.0, 3.0], axis=1)"),
    *("np.average(x, axis=0, weights=x)", "np.average(x, weights=x, returned=True)", "np.average(x, weights=X)"),
    *("np.average(W[:3], weights=x[0])", "np.average(x, axis=0, returned=True)", "np.average(x, returned=True)"),
    "np.average(x, axis=-1, weights=np.array([1, 2, 3]), returned=True)",
    *("np.average(x > 1, weights=[1, 2], axis=0)", "np.average(T * x[0, 0], axis=(0, 2), weights=T[:, 0] + 1)"),
    "np.average(T + x[0, 0], axis=(2, 0), weights=T[:, 0].T + 1)",
    *("np.average(x, axis=1, weights=[1.0, 2.0, 3.0], keepdims=True)", "np.average(C[:3], weights=x[0])"),
)
QUANTILES = (
    *("np.median(x)", "np.median(x, axis=0)", "np.median(x, 1)", "np.median(x, axis=1, keepdims=True)"),
    *("np.median(x, axis=(0, 1))", "np.median(x, axis=(1,), keepdims=True)", "np.median(x[0])", "np.median(x[0, 0])"),
    *("np.median(x, axis=1, out=np.zeros(2, like=x))", "np.median(x * 1, overwrite_input=True)", "np.nanmedian(x)"),
    *("np.nanmedian(x + missing, axis=1)", "np.nanmedian(x + missing, axis=0, keepdims=True)"),
    *("np.nanmedian(x + missing)", "np.quantile(x, 0.3)", "np.quantile(x, [0.3, 0.6])", "np.quantile(x, 0.5, axis=1)"),
    *("np.quantile(x, np.array([0.0, 1.0, 0.4]), axis=0)", "np.quantile(x, Q)"),
    *("np.quantile(x, Q, axis=1, keepdims=True)", "np.quantile(x, 0)", "np.quantile(x, 1, axis=0)"),
    *("np.quantile(x, np.float64(0.3))", "np.quantile(x, 0.3, (0, 1))", "np.quantile(X, x[0, 0])"),
    *("np.quantile(X, x[0] / 2, axis=1)", "np.quantile(V, x / 3.1)", "np.quantile(x, [])", "np.percentile(x, 30)"),
    *("np.percentile(x, [10, 50])", "np.percentile(x, 75.0, axis=1, keepdims=True)"),
    *("np.percentile(x, np.array([[10, 50], [20, 30]]), axis=0)", "np.percentile(X, x[0] * 30)"),
    *("np.nanquantile(x, 0.3)", "np.nanquantile(x + missing, [0.3, 0.8], axis=1)", "np.nanpercentile(x, 30)"),
    *("np.nanpercentile(x + missing, 30, axis=0)", "np.nanpercentile(x + missing, [30, 60], keepdims=True)"),
    *(f"np.quantile(x, [0.0, 0.3, 0.45, 1.0], axis=1, method={method!r})" for method in METHODS),
    *(f"np.quantile(x, 0.37, method={method!r})" for method in METHODS),
    *(f"np.nanquantile(x + missing, 0.37, axis=0, method={method!r})" for method in METHODS),
    "np.quantile(x, 0.4, method='inverted_cdf', weights=X)",
    "np.quantile(x[0], [0.4, 0.9], method='inverted_cdf', weights=[1, 2, 3])",
    "np.percentile(x, 40, axis=1, method='inverted_cdf', weights=np.array([1.0, 0.0, 2.0]))",
    "np.nanquantile(x + missing, 0.4, axis=1, method='inverted_cdf', weights=X)",
)
COVARIANCES = (
    *("np.cov(x)", "np.cov(x, W)", "np.cov(W, x)", "np.cov(np.stack([x, x**2]))"),
    *("np.cov(np.stack([x, x**2]), bias=True)", "np.cov(np.stack([x, x**2]), rowvar=False, ddof=0)"),
    *("np.cov(np.stack([x, x**2]), aweights=W)", "np.cov(np.stack([x, x**2]), fweights=counts)"),
    *("np.cov(x, fweights=counts, aweights=W, ddof=0)", "np.cov(np.stack([x, x**2]), W)"),
    *("np.cov(np.stack([x, x**2], 1), W[:, None], rowvar=False)", "np.cov(x, x * W, rowvar=False)", "np.cov(x * C)"),
    *("np.cov(np.stack([x * C, C]))", "np.cov(np.stack([x]))", "np.cov(V, aweights=x)"),
    *("np.corrcoef(np.stack([x, x**2]))", "np.corrcoef(x, W)", "np.corrcoef(x)", "np.corrcoef(np.stack([x * C, C]))"),
    "np.corrcoef(np.stack([x, x**2, W], 1), rowvar=False)",
)
HISTOGRAMS = (
    *("np.histogram(x, 4, (0, 3.1), weights=x)", "np.histogram(x, bins=[0.0, 1.0, 2.0, 3.0], density=True)"),
    *("np.histogram(x, bins=np.array([0, 1, 2, 3]), weights=W)", "np.histogram(x, 3)"),
    *("np.histogram(x, range=(0.0, 2.5))", "np.histogram(x, bins=3, density=True, weights=x)"),
    *("np.histogram(V, 3, weights=x)", "np.histogram(np.reshape(V, (2, 3)), 2, weights=np.stack([x[:3], x[3:]]))"),
    *("np.histogram_bin_edges(x, 4)", "np.histogram_bin_edges(x, bins=3, range=(0, 4))"),
    *("np.histogram_bin_edges(x, [1.0, 2.0])", "np.histogram2d(x, W, 2, range=[(0, 3.2), (-2, 3.1)], weights=x)"),
    *("np.histogram2d(x, W)", "np.histogram2d(x, W, bins=[2, 3])", "np.histogram2d(x, W, bins=[0.0, 1.0, 3.0])"),
    "np.histogram2d(x, W, bins=(3, [0.0, 1.1, 3.0]), density=True)",
    "np.histogramdd(np.stack([x, x], -1), 2, range=[(0, 3.2), (0, 3.2)])",
    *("np.histogramdd([x, W], bins=(2, 3), weights=x)", "np.histogramdd(np.stack([x, x * W], -1), bins=3)"),
    "np.histogramdd(x, bins=[[0.0, 1.0, 3.0]], density=True)",
    "np.histogramdd((x, W), bins=[np.array([0.0, 1.0, 3.0]), 2])",
    *("np.bincount(np.array([0, 1, 1, 3, 0, 2]), weights=x)", "np.bincount(counts, weights=x, minlength=6)"),
    *("np.digitize(x, [0.5, 1.0, 2.0])", "np.digitize(x, [0.5, 1.0, 2.0], right=True)", "np.digitize(x, [2.0, 1.0])"),
    *("np.digitize(1.2, np.sort(x))", "np.digitize(x, np.array([1, 2]))", "np.digitize([0.4, 1.0], np.sort(x))"),
)


@pytest.mark.parametrize("call", calls(CONSTANTS, X, *AVERAGES, *QUANTILES))
def test_averages_and_quantiles(call: Call) -> None:
    check(call)


@pytest.mark.parametrize("call", calls(CONSTANTS, V, *COVARIANCES, *HISTOGRAMS))
def test_covariances_and_histograms(call: Call) -> None:
    check(call)


NUMBER_OF_BINS = {"jit": "the size of its result depends on values", "vmap": "the size of its result depends on values"}


@pytest.mark.parametrize(
    "call",
    calls(
        CONSTANTS,
        V,
        *(
            "np.histogram(x, 'auto')",
            "np.histogram(x, bins='sturges', density=True)",
            "np.histogram_bin_edges(x, 'fd')",
        ),
        *("np.bincount((x * 2.1).astype(np.int64))", "np.bincount((x * 2.1).astype(np.int64), weights=x, minlength=9)"),
        stops=NUMBER_OF_BINS,
    ),
)
def test_sizes_that_depend_on_values(call: Call) -> None:
    check(call)


INTEGERS = np.array([3, 0, 2, 5, 5, 1])
OF_OTHERS = (
    *("np.average(x)", "np.average(x, weights=W)", "np.average(x, weights=x + 1)", "np.median(x)", "np.nanmedian(x)"),
    *("np.quantile(x, 0.3)", "np.quantile(x, [0.3])", "np.percentile(x, 30)", "np.cov(x)", "np.cov(x, x * x)"),
    *("np.histogram(x, 3)", "np.histogram(x, 3, weights=x)", "np.histogram2d(x, W, 2)"),
    *("np.histogramdd(np.stack([x, x], -1), 2)", "np.histogram(x, [1, 2, 4])", "np.digitize(x, [1, 2, 4])"),
    *("np.histogram(x, 2, (0, 4))", "np.corrcoef(x, W)"),
)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, np.float32])
@pytest.mark.parametrize("call", calls(CONSTANTS, INTEGERS, *OF_OTHERS))
def test_other_data_types(call: Call, dtype: type) -> None:
    check_values(call._replace(x=INTEGERS.astype(dtype), tolerance=1e-6 if dtype is np.float32 else 1e-12))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_data_types_of_quantiles(dtype: type, method: str) -> None:
    for q in (0.3, [0.3, 0.5], np.float32(0.3), np.array([0.3], dtype=np.float32)):
        function = lambda x, q=q: np.quantile(x, q, method=method)
        check_values(Call(method, function, INTEGERS.astype(dtype), {}, 1e-6))


def test_errors() -> None:
    with pytest.raises(ZeroDivisionError, match="np.average: the weights add up to zero"):
        grad(lambda x: np.average(x, weights=x * 0.0))(V)
    with pytest.raises(TypeError, match="need axis="):
        jit(lambda x: np.average(x, weights=[1.0, 2.0, 3.0]))(X)
    with pytest.raises(
        ValueError, match=r"weights must have the shape of the axes \(0,\) of the array, \(2,\), got \(3,\)"
    ):
        jit(lambda x: np.average(x, axis=0, weights=[1.0, 2.0, 3.0]))(X)
    with pytest.raises(ValueError, match="at most two axes"):
        jit(lambda x: np.cov(np.stack([x, x])))(X)
    with pytest.raises(ValueError, match="method must be"):
        jit(lambda x: np.quantile(x, 0.3, weights=X))(X)
