"""Code of others that is written against the standard, transformed on libraries that have no transformations.

Functions of array-api-extra and SciPy are differentiated, mapped and compiled on NumPy's arrays: derivatives against
central differences, the rest against the function itself. What of them leaves the standard is listed, and says so.
SciPy reads its switch when it is imported, so its functions run in a process of their own: this file, as a program.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import array_api_extra as xpx
import numpy as np
import pytest

import xpand
from xpand_extensions.autodiff import grad, jvp
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

ROOT: Final = Path(__file__).resolve().parent.parent
TO_DIFFERENCES: Final = 1e-6
"""How near derivatives come to central differences of a step of 1e-6: rounding alone makes 1e-9 of what is about 1, and
`cluster.whiten` divides by a deviation of 1e-2, which makes 4e-7 of it."""

_on = xpand.array_namespace


def _vector() -> Any:
    x = np.asarray([1.3, 0.45, 1.9, 0.8, 1.1, 0.62])
    x.flags.writeable = False
    return x


T: Final = np.linspace(0.1, 1.0, 6)
"""A constant beside the traced array."""


def _times(x: Any, integers: Any) -> Any:
    return x * _on(x).astype(integers, x.dtype)


# Which functions work, and where others stop: by the error's message for each transformation that stops

EXTRA: dict[str, Callable[[Any], Any]] = {
    "angle": lambda x: xpx.angle(x * (1 + 2j) + 1),
    "apply_where": lambda x: xpx.apply_where(x > 1, x, lambda x: x * x, lambda x: -x),
    "argpartition": lambda x: _times(x, xpx.argpartition(x, 2)),
    "at add": lambda x: xpx.at(x * 1.0)[1:3].add(5.0),
    "at multiply": lambda x: xpx.at(x * 1.0)[2].multiply(x[1]),
    "at set": lambda x: xpx.at(x * 1.0)[0].set(x[1]),
    "atleast_nd": lambda x: xpx.atleast_nd(x, ndim=3),
    "cov": lambda x: xpx.cov(_on(x).stack([x, x * x])),
    "create_diagonal": lambda x: xpx.create_diagonal(x, offset=1),
    "deg2rad": xpx.deg2rad,
    "isclose": lambda x: _on(x).where(xpx.isclose(x, x + 1e-12), x, -x),
    "isin": lambda x: _on(x).where(xpx.isin(x, x[:2]), x, -x),
    "kron": lambda x: xpx.kron(x, x),
    "lazy_apply": lambda x: xpx.lazy_apply(lambda y: y * 2.0, x, shape=x.shape, dtype=x.dtype),
    "nan_to_num": xpx.nan_to_num,
    "nanmax": xpx.nanmax,
    "nanmean": xpx.nanmean,
    "nanmin": xpx.nanmin,
    "nansum": xpx.nansum,
    "nunique": lambda x: _times(x, xpx.nunique(x)),
    "one_hot": lambda x: x[:, None] * xpx.one_hot(_on(x).arange(6), 6, dtype=x.dtype),
    "pad": lambda x: xpx.pad(x, (1, 2)),
    "partition": lambda x: xpx.partition(x, 2)[2],
    "rad2deg": xpx.rad2deg,
    "searchsorted": lambda x: _times(x, xpx.searchsorted(_on(x).sort(x), x)),
    "setdiff1d": lambda x: xpx.setdiff1d(x, x[:2]),
    "sinc": xpx.sinc,
    "union1d": lambda x: xpx.union1d(x, x[:2]),
    # Beside constants
    "apply_where of a constant": lambda x: xpx.apply_where(x > T, (x, T), lambda a, b: a * b, lambda a, b: a - b),
    "at add a constant": lambda x: xpx.at(x * 1.0)[1:3].add(T[1:3]),
    "isclose to a constant": lambda x: _on(x).where(xpx.isclose(x, T), x, -x),
    "kron with a constant": lambda x: xpx.kron(x, T),
    "kron of a constant": lambda x: xpx.kron(T, x),
    "searchsorted in a constant": lambda x: _times(x, xpx.searchsorted(T, x)),
    "setdiff1d of a constant": lambda x: xpx.setdiff1d(x, T),
    "unravel_index": lambda x: _times(x, xpx.unravel_index(_on(x).arange(6), (2, 3))[0]),
}

MASK, SIZE, BOOL, NUMPY = "x[mask]", "the size of its result depends", "bool(x)", "conversion to NumPy"


def _stop(by_transform: dict[str, str], *names: str) -> dict[str, dict[str, str]]:
    return {name: dict(by_transform) for name in names}


EXTRA_STOPS: dict[str, dict[str, str]] = {
    **_stop(
        {"jit": MASK, "vmap": MASK}, "apply_where", "isclose", "apply_where of a constant", "isclose to a constant"
    ),  # f(x[mask]), except on JAX's arrays
    **_stop({"jit": BOOL, "vmap": BOOL}, "nanmax", "nanmin"),  # ask whether all of it is NaN
    **_stop(
        {"jit": SIZE, "vmap": SIZE}, "nunique", "setdiff1d", "union1d", "setdiff1d of a constant"
    ),  # as many as there are
}


def _scipy() -> dict[str, Callable[[Any], Any]]:
    """SciPy's functions; imported after its switch is set."""
    import scipy.cluster.vq
    import scipy.fft
    import scipy.integrate
    import scipy.ndimage
    import scipy.optimize
    import scipy.signal
    import scipy.special
    import scipy.stats

    special, stats, integrate, signal = scipy.special, scipy.stats, scipy.integrate, scipy.signal
    alone = ("skew", "kurtosis", "zscore", "gmean", "hmean", "variation", "sem", "circmean", "circvar", "circstd")
    alone += ("tmean", "tvar", "tstd", "tsem", "gstd", "iqr", "gzscore", "kstat", "differential_entropy", "entropy")
    return {
        **{f"special.{n}": getattr(special, n) for n in ("logsumexp", "softmax", "log_softmax", "expit", "gammaln")},
        "special.xlogy": lambda x: special.xlogy(x + 1, x),
        "special.rel_entr": lambda x: special.rel_entr(x + 1, x),
        **{f"stats.{n}": getattr(stats, n) for n in alone},
        "stats.moment": lambda x: stats.moment(x, 3),
        "stats.pmean": lambda x: stats.pmean(x, 3),
        "stats.describe": lambda x: stats.describe(x).variance,
        "stats.zmap": lambda x: stats.zmap(x, x * x),
        "stats.trim_mean": lambda x: stats.trim_mean(x, 0.2),
        "stats.quantile": lambda x: stats.quantile(x, 0.3),
        "stats.pearsonr": lambda x: stats.pearsonr(x, x * x).statistic,
        **{
            f"integrate.{n}": partial(getattr(integrate, n), dx=0.5)
            for n in ("trapezoid", "cumulative_trapezoid", "cumulative_simpson", "simpson")
        },
        "integrate.trapezoid of points": lambda x: integrate.trapezoid(x, _on(x).cumulative_sum(x)),
        "special.logsumexp with constant weights": lambda x: special.logsumexp(x, b=T),
        "special.logsumexp of a constant": lambda x: special.logsumexp(T, b=x),
        "special.xlogy of a constant": lambda x: special.xlogy(T, x),
        "special.xlogy with a constant": lambda x: special.xlogy(x, T),
        "special.rel_entr with a constant": lambda x: special.rel_entr(x, T),
        "stats.zmap of a constant": lambda x: stats.zmap(T, x),
        "stats.gmean with constant weights": lambda x: stats.gmean(x, weights=T),
        "stats.gmean of a constant": lambda x: stats.gmean(T, weights=x),
        "stats.pearsonr with a constant": lambda x: stats.pearsonr(x, T).statistic,
        "stats.ttest_ind with a constant": lambda x: stats.ttest_ind(x, T).statistic,
        "stats.ttest_rel with a constant": lambda x: stats.ttest_rel(T, x).statistic,
        "stats.entropy with a constant": lambda x: stats.entropy(x, T),
        "stats.entropy of a constant": lambda x: stats.entropy(T, x),
        "stats.bartlett with a constant": lambda x: stats.bartlett(x, T).statistic,
        "integrate.trapezoid at constant points": lambda x: integrate.trapezoid(x, T),
        "integrate.trapezoid of a constant": lambda x: integrate.trapezoid(T, _on(x).cumulative_sum(x)),
        "integrate.cumulative_trapezoid at constant points": lambda x: integrate.cumulative_trapezoid(x, T),
        "integrate.cumulative_simpson at constant points": lambda x: integrate.cumulative_simpson(x, x=T),
        "signal.fftconvolve with a constant": lambda x: signal.fftconvolve(x, T),
        "signal.fftconvolve of a constant": lambda x: signal.fftconvolve(T, x),
        "signal.oaconvolve with a constant": lambda x: signal.oaconvolve(x, T),
        "signal.convolve with a constant": lambda x: signal.convolve(x, T),
        "signal.fftconvolve": lambda x: signal.fftconvolve(x, x),
        "signal.oaconvolve": lambda x: signal.oaconvolve(x, x),
        "signal.hilbert": lambda x: _on(x).imag(signal.hilbert(x)),
        "signal.gauss_spline": lambda x: signal.gauss_spline(x, 3),
        "signal.resample": lambda x: signal.resample(x, 4),
        "signal.detrend": signal.detrend,
        "signal.savgol_filter": lambda x: signal.savgol_filter(x, 3, 1),
        "cluster.whiten": lambda x: scipy.cluster.vq.whiten(_on(x).stack([x, x * x])),
        "optimize.rosen": lambda x: scipy.optimize.rosen(x) / 100.0,
        "fft.fft": lambda x: _on(x).real(scipy.fft.fft(x)),
        "fft.dct": scipy.fft.dct,
        "ndimage.gaussian_filter": lambda x: scipy.ndimage.gaussian_filter(x, 1.0),
    }


SCIPY_NAMES: Final = (
    *(f"special.{n}" for n in ("logsumexp", "softmax", "log_softmax", "expit", "gammaln", "xlogy", "rel_entr")),
    *(f"stats.{n}" for n in ("skew", "kurtosis", "zscore", "gmean", "hmean", "variation", "sem", "circmean")),
    *(f"stats.{n}" for n in ("circvar", "circstd", "tmean", "tvar", "tstd", "tsem", "gstd", "iqr", "gzscore", "kstat")),
    *(f"stats.{n}" for n in ("differential_entropy", "entropy", "moment", "pmean", "describe", "zmap", "trim_mean")),
    *(f"stats.{n}" for n in ("quantile", "pearsonr")),
    *(f"integrate.{n}" for n in ("trapezoid", "cumulative_trapezoid", "cumulative_simpson", "simpson")),
    "integrate.trapezoid of points",
    *(f"signal.{n}" for n in ("fftconvolve", "oaconvolve", "hilbert", "gauss_spline", "resample", "detrend")),
    *("special.logsumexp with constant weights", "special.logsumexp of a constant", "special.xlogy of a constant"),
    *("special.xlogy with a constant", "special.rel_entr with a constant", "stats.zmap of a constant"),
    *("stats.gmean with constant weights", "stats.gmean of a constant", "stats.pearsonr with a constant"),
    *("stats.ttest_ind with a constant", "stats.ttest_rel with a constant", "stats.entropy with a constant"),
    *("stats.entropy of a constant", "stats.bartlett with a constant", "integrate.trapezoid at constant points"),
    *("integrate.trapezoid of a constant", "integrate.cumulative_trapezoid at constant points"),
    *("integrate.cumulative_simpson at constant points", "signal.fftconvolve with a constant"),
    *("signal.fftconvolve of a constant", "signal.oaconvolve with a constant", "signal.convolve with a constant"),
    *("signal.savgol_filter", "cluster.whiten", "optimize.rosen", "fft.fft", "fft.dct", "ndimage.gaussian_filter"),
)

ALL_NUMPY: Final = {"grad": NUMPY, "jvp": NUMPY, "jit": NUMPY, "vmap": NUMPY}
SCIPY_STOPS: dict[str, dict[str, str]] = {
    # In compiled code of NumPy's arrays alone
    **_stop(ALL_NUMPY, "integrate.simpson", "fft.dct", "signal.detrend", "signal.savgol_filter"),
    **_stop(ALL_NUMPY, "ndimage.gaussian_filter"),
    # Masks, except on arrays that they know to be lazy
    **_stop({"jit": MASK, "vmap": MASK}, "special.rel_entr", "stats.tvar", "stats.tstd", "stats.tsem"),
    **_stop({"jit": MASK}, "stats.variation", "stats.tmean", "stats.pearsonr"),
    **_stop({"jit": MASK, "vmap": MASK}, "special.rel_entr with a constant", "stats.entropy with a constant"),
    **_stop({"jit": MASK}, "stats.pearsonr with a constant"),
    **_stop(ALL_NUMPY, "integrate.trapezoid of a constant"),
    "signal.convolve with a constant": {**ALL_NUMPY, "jit": "int(x)", "vmap": "int(x)"},
    # Python's `if`
    **_stop({"jit": BOOL, "vmap": BOOL}, "stats.gmean of a constant", "stats.ttest_rel with a constant"),
    **_stop(
        {"jit": BOOL, "vmap": BOOL},
        "stats.entropy of a constant",
        "stats.hmean",
        "stats.iqr",
        "stats.pmean",
        "stats.quantile",
    ),
}


SKLEARN: dict[str, Callable[[Any], Any]] = {
    "mean_squared_error": lambda x: _metrics().mean_squared_error(T, x),
    "mean_absolute_error": lambda x: _metrics().mean_absolute_error(T, x),
    "r2_score": lambda x: _metrics().r2_score(T, x),
    "mean_pinball_loss": lambda x: _metrics().mean_pinball_loss(T, x),
    "euclidean_distances": lambda x: _pairwise().euclidean_distances(_table(x), _table(T)),
    "rbf_kernel": lambda x: _pairwise().rbf_kernel(_table(x), _table(T)),
    "polynomial_kernel": lambda x: _pairwise().polynomial_kernel(_table(T), _table(x)),
    "cosine_similarity": lambda x: _pairwise().cosine_similarity(_table(x), _table(T)),
    "Ridge": lambda x: _ridge().fit(_columns(x), x * x * x).coef_,
    "Ridge of a constant target": lambda x: _ridge().fit(_columns(x), T).coef_,
    "Ridge of constant features": lambda x: _ridge().fit(_columns(T), x).coef_,
    "predictions of Ridge": lambda x: _ridge().fit(_columns(x), T).predict(_columns(x)),
}
"""Functions of scikit-learn, with its dispatch switched on."""

NUMBER: Final = "float(x)"
SKLEARN_STOPS: dict[str, dict[str, str]] = {
    # They return Python numbers
    **_stop(
        dict.fromkeys(("grad", "jvp", "jit", "vmap"), NUMBER),
        *("mean_squared_error", "mean_absolute_error", "mean_pinball_loss"),
    ),
    "r2_score": {"grad": NUMBER, "jvp": NUMBER, "jit": MASK, "vmap": MASK},
    # Singular values of zero are masked
    **_stop({"jit": MASK, "vmap": MASK}, "Ridge", "Ridge of a constant target", "predictions of Ridge"),
    # Targets are converted to the library of the features
    "Ridge of constant features": ALL_NUMPY,
}


def _metrics() -> Any:
    import sklearn.metrics

    return sklearn.metrics


def _pairwise() -> Any:
    import sklearn.metrics.pairwise

    return sklearn.metrics.pairwise


def _table(x: Any) -> Any:
    return _on(x).reshape(x, (3, 2))


def _columns(x: Any) -> Any:
    return _on(x).stack([x, x * x], axis=1)


def _ridge() -> Any:
    from sklearn.linear_model import Ridge

    return Ridge(alpha=0.1, solver="svd")


# The checks


def _weighted(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def weighted(x: Any) -> Any:
        return _on(x).sum(_on(x).sin(_on(x).asarray(function(x))))

    return weighted


def _differences(function: Callable[[Any], Any], x: Any, step: float = 1e-6) -> Any:
    return np.asarray([(function(x + step * e) - function(x - step * e)) / (2 * step) for e in np.eye(x.size)])


def findings(function: Callable[[Any], Any]) -> dict[str, Any]:
    """For each transformation, how far what it gives is from what it should give; or the error."""
    x = _vector()
    weighted = _weighted(function)
    value, slope = np.asarray(function(x)), _differences(weighted, x)
    calls: dict[str, tuple[Callable[[], Any], Any]] = {
        "grad": (lambda: grad(weighted)(x), slope),
        "jvp": (lambda: jvp(weighted, (x,), (x,))[1], slope @ x),
        "jit": (lambda: jit(function)(x), value),
        "vmap": (lambda: vmap(function)(np.stack([x, x])), np.stack([value, value])),
    }
    found: dict[str, Any] = {}
    for name, (call, expected) in calls.items():
        try:
            result = np.asarray(call())
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
        else:
            found[name] = (
                float(np.max(np.abs(result - expected))) if result.shape == expected.shape else "another shape"
            )
    return found


def _judge(name: str, found: dict[str, Any], stops: dict[str, str]) -> None:
    for transform in ("grad", "jvp", "jit", "vmap"):
        result = found[transform]
        if transform in stops:
            assert stops[transform] in str(result), f"{transform} of {name} should stop at {stops[transform]}: {result}"
        else:
            tolerance = TO_DIFFERENCES if transform in ("grad", "jvp") else 1e-12
            assert isinstance(result, float), f"{transform} of {name}: {result}"
            assert result <= tolerance, f"{transform} of {name} is {result} off"


@pytest.mark.parametrize("name", EXTRA)
def test_array_api_extra(name: str) -> None:
    _judge(name, findings(EXTRA[name]), EXTRA_STOPS.get(name, {}))


@pytest.mark.parametrize("name", [name for name in EXTRA if "constant" not in name])
def test_array_api_extra_on_the_strict_library(name: str) -> None:
    import array_api_strict as strict

    x = _vector()
    derivative = grad(_weighted(EXTRA[name]))
    found = derivative(strict.asarray(np.array(x)))
    np.testing.assert_allclose(np.asarray(found), derivative(x), rtol=1e-13)


@pytest.fixture(scope="module")
def of_scipy() -> dict[str, dict[str, Any]]:
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "SCIPY_ARRAY_API": "1", "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, __file__], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", SCIPY_NAMES)
def test_scipy(of_scipy: dict[str, dict[str, Any]], name: str) -> None:
    _judge(name, of_scipy[name], SCIPY_STOPS.get(name, {}))


def test_all_of_scipy_is_judged(of_scipy: dict[str, dict[str, Any]]) -> None:
    assert {name for name in of_scipy if not name.startswith("sklearn ")} == set(SCIPY_NAMES)
    assert SCIPY_STOPS.keys() <= of_scipy.keys()
    assert SKLEARN_STOPS.keys() <= SKLEARN.keys()
    assert EXTRA_STOPS.keys() <= EXTRA.keys()


@pytest.mark.parametrize("name", SKLEARN)
def test_scikit_learn(name: str, of_scipy: dict[str, dict[str, Any]]) -> None:
    _judge(name, of_scipy[f"sklearn {name}"], SKLEARN_STOPS.get(name, {}))


def _of_scikit_learn() -> dict[str, dict[str, Any]]:
    import sklearn

    with sklearn.config_context(array_api_dispatch=True, assume_finite=True):
        return {f"sklearn {name}": findings(function) for name, function in SKLEARN.items()}


if __name__ == "__main__":
    results = {name: findings(function) for name, function in _scipy().items()}
    sys.stdout.write(json.dumps(results | _of_scikit_learn()))
