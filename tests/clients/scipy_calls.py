"""Calls of SciPy's functions that support the array API. SciPy reads its switch when it is imported."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import xpand
from tests.clients.verdicts import Call

_on = xpand.array_namespace
CONSTANT = np.linspace(0.1, 1.0, 6)


def calls() -> Mapping[str, Call | Callable[[Any], Any]]:
    """Return all calls: of what is traced alone, and of what is traced beside arrays of NumPy."""
    return of_traced() | beside_constants()


def of_traced() -> dict[str, Callable[[Any], Any]]:
    """Return calls of what is traced alone."""
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


def beside_constants() -> dict[str, Call | Callable[[Any], Any]]:
    """Return calls of what is traced and an array of NumPy, in both orders where that differs."""
    from scipy import integrate, interpolate, signal, special, stats
    from scipy.spatial import distance
    from scipy.spatial.transform import Rotation

    t = CONSTANT
    at = np.asarray([0.2, 0.5])
    return {
        "special.logsumexp with constant factors": lambda x: special.logsumexp(x, b=t),
        "special.logsumexp with traced factors": lambda x: special.logsumexp(t, b=x),
        "special.xlogy with a constant": lambda x: special.xlogy(x, t),
        "special.xlogy of a constant": lambda x: special.xlogy(t, x),
        "special.rel_entr with a constant": lambda x: special.rel_entr(x, t),
        "stats.zmap with a constant": lambda x: stats.zmap(x, t),
        "stats.zmap of a constant": lambda x: stats.zmap(t, x),
        "stats.gmean with constant weights": lambda x: stats.gmean(x, weights=t),
        "stats.gmean with traced weights": lambda x: stats.gmean(t, weights=x),
        "stats.pmean with constant weights": lambda x: stats.pmean(x, 3, weights=t),
        "stats.pearsonr with a constant": lambda x: stats.pearsonr(x, t).statistic,
        "stats.pearsonr of a constant": lambda x: stats.pearsonr(t, x).statistic,
        "stats.ttest_ind with a constant": lambda x: stats.ttest_ind(x, t).statistic,
        "stats.ttest_rel with a constant": lambda x: stats.ttest_rel(x, t).statistic,
        "stats.entropy with a constant": lambda x: stats.entropy(x, t),
        "stats.entropy of a constant": lambda x: stats.entropy(t, x),
        "stats.chisquare with a constant": lambda x: stats.chisquare(x, t, sum_check=False).statistic,
        "stats.power_divergence with a constant": lambda x: (
            stats.power_divergence(x, t * _on(x).sum(x) / np.sum(t), lambda_=0.5).statistic
        ),
        "stats.f_oneway with a constant": lambda x: stats.f_oneway(x, t).statistic,
        "stats.bartlett with a constant": lambda x: stats.bartlett(x, t).statistic,
        "integrate.trapezoid at constants": lambda x: integrate.trapezoid(x, t),
        "integrate.trapezoid of constants": lambda x: integrate.trapezoid(t, x),
        "integrate.cumulative_trapezoid at constants": lambda x: integrate.cumulative_trapezoid(x, t),
        "integrate.simpson at constants": lambda x: integrate.simpson(x, x=t),
        "integrate.cumulative_simpson at constants": lambda x: integrate.cumulative_simpson(x, x=t),
        "signal.fftconvolve with a constant": lambda x: signal.fftconvolve(x, t),
        "signal.fftconvolve of a constant": lambda x: signal.fftconvolve(t, x),
        "signal.oaconvolve with a constant": lambda x: signal.oaconvolve(x, t),
        "signal.convolve with a constant": lambda x: signal.convolve(x, t),
        "signal.correlate with a constant": lambda x: signal.correlate(x, t),
        "signal.lfilter": lambda x: signal.lfilter([1.0], [1.0, 0.5], x),
        "spatial.distance.cdist with a constant": lambda x: distance.cdist(_rows(x), _rows(t)),
        "spatial.transform.Rotation of a constant": Call(
            lambda x: Rotation.from_rotvec(x[:3]).apply(t[:3]), read_only=False
        ),
        "interpolate.BarycentricInterpolator of traced values": lambda x: interpolate.BarycentricInterpolator(t, x)(at),
        "interpolate.make_interp_spline of traced values": lambda x: interpolate.make_interp_spline(t, x)(at),
    }


def _rows(x: Any) -> Any:
    return _on(x).reshape(x, (3, 2))
