"""Nothing is computed silently on wrong values: functions of many packages get traced arrays over NumPy.

Under `grad`, `jit` and `vmap`, each expression gives the right number or an error of an expected class: never a wrong
number, and never an array of objects. The expressions that must be right are listed by transformation.
"""

import importlib
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from tests import silent_expressions as further
from tests.central import differences_of
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit
from xpand_extensions.tracing import LeakedArrayError
from xpand_extensions.vmap import vmap

X: Final = np.asarray([0.31, 1.22, 0.73, 2.14, 1.45, 0.96])
T: Final = np.linspace(0.1, 1.0, 6)

ERRORS: Final = (TypeError, ValueError, AttributeError, IndexError, NotImplementedError)
"""The classes of errors that say that a function does not accept a traced array. `TracedError` is a TypeError."""

PACKAGES: Final = {
    "sc": "scipy.special",
    "sl": "scipy.linalg",
    "so": "scipy.optimize",
    "si": "scipy.integrate",
    "sp": "scipy.interpolate",
    "ss": "scipy.signal",
    "st": "scipy.stats",
    "sps": "scipy.sparse",
    "nd": "scipy.ndimage",
    "sd": "scipy.spatial",
    "sf": "scipy.fft",
    "pd": "pandas",
    "torch": "torch",
    "pre": "sklearn.preprocessing",
    "lm": "sklearn.linear_model",
    "me": "sklearn.metrics",
}

PYTHON: Final = (
    *("float(v[0])", "complex(v[0]).real", "int(v[3]) * v[0]", "round(v[0], 1) * v[0]", "bool(v[0]) * v[0]"),
    *(f"math.{name}(v[0])" for name in ("sin", "sqrt", "exp", "log", "gamma", "erf", "degrees", "fabs")),
    *("math.floor(v[3]) * v[0]", "math.ceil(v[3]) * v[0]", "math.trunc(v[3]) * v[0]", "math.fsum(v)", "math.prod(v)"),
    *(
        "math.hypot(v[0], v[1])",
        "math.dist(v, t)",
        "math.pow(v[0], 2)",
        "math.copysign(v[0], -1)",
        "math.frexp(v[0])[0]",
    ),
    *("v[0] if math.isclose(v[0], 0.31) else v[1]", "0.0 if math.isnan(v[0]) else v[0]", "math.modf(v[3])[0]"),
    *(
        "sum(v)",
        "max(v)",
        "min(v)",
        "sorted(v)[2]",
        "abs(v[0])",
        "divmod(v[3], 0.4)[1]",
        "pow(v[0], 2)",
        "sum(list(v))",
    ),
    *(
        "float(str(v[0]))",
        "len(f'{v[0]:.2f}') * v[0]",
        "len(repr(v[0])) * 0 + v[0]",
        "float('%.17g' % v[0])",
        "len(v) * v[0]",
    ),
    *("statistics.mean(v)", "statistics.fmean(v)", "statistics.stdev(v)", "float(fractions.Fraction(v[0]))"),
    *("float(decimal.Decimal(v[0]))", "struct.unpack('d', struct.pack('d', v[0]))[0]", "sum(array.array('d', v))"),
    *("bisect.bisect(list(t), v[0]) * v[0]", "json.loads(json.dumps(v[0]))", "np.sum(copy.copy(v) ** 2)"),
    *("np.sum(copy.deepcopy(v) ** 2)", "np.sum(pickle.loads(pickle.dumps(v)))", "random.Random(v[0]).random() * v[0]"),
    *("hash(v[0]) * 0 + v[0]", "np.frombuffer(bytes(v)).sum()", "np.asarray(memoryview(v)).sum()", "sum(v.tolist())"),
    *(
        "v[0].item()",
        "v[0] if (v[0], 1) < (v[1], 0) else v[2]",
        "v[0] if 0.5 in v else v[1]",
        "sum(range(np.argmax(v)))",
    ),
    *("[0.31, 1.22].index(np.max(v[:2])) * v[0]", "v[0] if (v == None) is False else v[1]", "v[0] if v[0] else v[1]"),
    *("v[0] if v[0] > 0.5 else v[1]", "{v[0]: 1}[v[0]] * v[0]", "v[0] if v[0] is v[0] else v[1]", "[*v, 1.0][1]"),
    *("[1.0, 2.0, 3.0][int(v[3])] * v[0]", "reversed_sum(v)", "functools.reduce(lambda a, b: a * b, v)"),
    *("sum(itertools.accumulate(v))", "operator.index(np.argmax(v)) * v[0]", "dict(zip('abcdef', v))['b']"),
)

OPERATORS: Final = (
    *("np.float64(2) * v[0]", "np.float64(2) ** v[0]", "v[0] if np.float64(0) < v[0] else v[1]", "v @ t", "t @ v"),
    *("(np.float32(2) * v).sum()", "(np.int64(2) * v).sum()", "np.eye(6)[0] @ v", "(t * v).sum()", "(t - v).sum()"),
    *(
        "(t / v).sum()",
        "(t ** v).sum()",
        "(v ** t).sum()",
        "(t // v).sum() * v[0]",
        "(t % v).sum()",
        "np.sum(t < v) * v[0]",
    ),
    *("np.sum(t == v) * v[0]", "np.sum(t != v) * v[0]", "np.sum((t > 0.5) & (v > 1)) * v[0]", "np.sum(-v)"),
    *(
        "([1.0] * 6 + v).sum()",
        "(v + [1.0] * 6).sum()",
        "(masked * v).sum()",
        "(v * masked).sum()",
        "(v == 'a').sum() * v[0]",
        "np.sum(v == [9.0] * 6) * v[0] + v[1]",
        "np.sum(v != None) * v[0]",
    ),
    *(
        "np.sum(np.matrix(np.eye(6)) * np.reshape(v, (6, 1)))",
        "(objects * v).sum()",
        "(v * objects).sum()",
        "(v + None).sum()",
    ),
    *(
        "(datetimes + v).sum()",
        "np.sum((v > 1).astype(float)) * v[0]",
        "(texts + v).sum()",
        "np.sum(t[None] * v[:, None])",
    ),
)

WRITES: Final = (
    *(
        "written(v, 'b[0] = v[0]')",
        "written(v, 'b[:] = v')",
        "written(v, 'b += v')",
        "written(v, 'a = b; b += v; b = a')",
    ),
    *("written(v, 'b = b + 1; b *= v')", "written(v, 'b[1:3] += v[1:3]')", "written(v, 'b[[0, 1]] = v[:2]')"),
    *("written(v, 'np.multiply(v, 2, out=b)')", "written(v, 'np.add(b, v, b)')", "written(v, 'np.copyto(b, v)')"),
    *("written(v, 'np.sum(v, keepdims=True, out=b[:1])')", "written(v, 'np.add.at(b, [0, 1, 2, 0, 1, 2], v)')"),
    *("written(v, 'b.fill(v[0])')", "written(v, 'np.putmask(b, b == 0, v)')", "written(v, 'np.put(b, [0], v[0])')"),
    *("written(v, 'b.flat[0] = v[0]')", "written(v, 'np.place(b, b == 0, v)')", "written(v, 'b.put([0], v[0])')"),
    *(
        "written(v, 'b.itemset(0, v[0])')",
        "written(v, 'np.fill_diagonal(b.reshape(2, 3), v[0])')",
        "written(v, 'b[b == 0] = v')",
    ),
    *(
        "written(v, 'np.cumsum(v, out=b)')",
        "written(v, 'b = np.zeros_like(v); b[0] = v[0]')",
        "written(v, 'np.clip(v, 0, 1, out=b)')",
    ),
    *(
        "written(v, 'b = v * 1; b.sort(); b = b * t')",
        "written(v, 'b = np.divide(1.0, v - 0.3, out=np.zeros_like(v), where=v > 0.5)')",
    ),
)

NUMPY: Final = (
    *(
        "np.asarray(v).sum()",
        "np.array(v).sum()",
        "np.array([v[0], v[1]]).sum()",
        "np.exp(np.array([v[0], v[1]])).sum()",
    ),
    *("np.array([v[0], v[1]], dtype=float).sum()", "np.sum(np.array([v[0], 2.0]) ** 2)", "np.asarray([v, v]).sum()"),
    *(
        "np.array([v[0]], dtype=object).sum()",
        "np.ascontiguousarray(v).sum()",
        "np.float64(v[0])",
        "np.require(v, float).sum()",
    ),
    *(
        "np.vectorize(lambda a: a * a)(v).sum()",
        "np.frompyfunc(lambda a: a * a, 1, 1)(v).sum()",
        "np.fromiter(v, float).sum()",
    ),
    *("sum(float(a) for a in np.nditer(v))", "sum(a * a for _, a in np.ndenumerate(v))", "np.from_dlpack(v).sum()"),
    *(
        "np.sum(t[np.argsort(v)] * v)",
        "t[int(np.argmax(v))] * v[0]",
        "t[np.argmax(v)] * v[0]",
        "np.sum(t[v > 1] * v[v > 1])",
    ),
    *(
        "np.sum(v * t[np.round(v).astype(int)])",
        "np.sum(v * t[np.searchsorted(t, v).clip(0, 5)])",
        "np.take(t, np.argmax(v)) * v[0]",
    ),
    *("np.add(v, masked).sum()", "np.ma.concatenate([masked, v]).sum()", "np.ma.sum(v * 1)", "np.ma.exp(v).sum()"),
    *(
        "np.ma.array(v, mask=[0, 1, 0, 0, 0, 0]).sum()",
        "np.ma.masked_where(t > 0.5, v).sum()",
        "np.ma.masked_less(v, 1).sum()",
    ),
    *(
        "np.ma.average(v)",
        "np.ma.median(v)",
        "np.einsum('i,i', v, t)",
        "np.sum(np.r_[v, 1.0] ** 2)",
        "np.sum(np.c_[v, v] ** 2)",
    ),
    *(
        "np.mgrid[0 : v[1] : 3j].sum()",
        "np.arange(v[0], 3, 1).sum()",
        "np.full(3, v[0]).sum()",
        "np.full_like(t, v[0]).sum()",
    ),
    *("(np.eye(6) * v).sum()", "np.sum(np.linspace(v[0], v[1], 5) ** 2)", "np.sum(np.logspace(v[0], v[1], 5))"),
    *(
        "np.sum(np.geomspace(v[0], v[1], 5))",
        "np.isscalar(v[0]) * v[0]",
        "np.sum(np.clip(v, 0.5, t + 1) ** 2)",
        "np.sum(np.clip(t, v, 3) ** 2)",
    ),
    *(
        "np.sum(np.piecewise(v, [v < 1, v >= 1], [lambda a: a**2, lambda a: -a]))",
        "np.sum(np.select([v < 0.5, v < 1.3], [v**2, v**3], v))",
    ),
    *(
        "np.random.default_rng(0).normal(v, 1.0).sum()",
        "np.random.default_rng(0).choice(v)",
        "np.random.default_rng(0).exponential(v).sum()",
    ),
    *(
        "np.sum(np.random.default_rng(0).permutation(v) * t)",
        "np.random.default_rng(0).random(6) @ v",
        "np.poly1d(v)(0.5)",
    ),
    *(
        "np.polynomial.Polynomial(v)(0.5)",
        "np.polynomial.polynomial.polyval(0.5, v)",
        "np.polynomial.chebyshev.chebval(0.5, v)",
    ),
    *(
        "np.sum(np.polynomial.legendre.legfit(t, v, 2))",
        "np.polynomial.hermite.hermval(v, [1.0, 2]).sum()",
        "np.polyval(v, 0.5)",
    ),
    *(
        "np.allclose(v, T31) * 1.0 + v[0]",
        "np.array_equal(v, T31) * 1.0 + v[0]",
        "np.sum(v) * np.isclose(v, t).any()",
    ),
    *(
        "np.histogram(v, bins=3, range=(0, 3), weights=v)[0][1]",
        "np.sum(np.lib.stride_tricks.sliding_window_view(v, 2) ** 2)",
    ),
    *(
        "np.lib.stride_tricks.as_strided(v, (2, 3), (24, 8)).sum()",
        "np.apply_along_axis(lambda a: a @ a, 0, v)",
        "np.abs(np.fft.fft(v))[1]",
    ),
    *(
        "np.size(v) * v[0]",
        "np.ndim(v) * v[0]",
        "np.shape(v)[0] * v[0]",
        "np.asarray(v).size * v[0]",
        "v.nbytes * v[0]",
        "v.itemsize * v[0]",
    ),
    *(
        "np.linalg.norm(v)",
        "np.linalg.solve(np.eye(6) + 1, v).sum()",
        "np.linalg.det(np.diag(v))",
        "np.linalg.inv(np.diag(v)).sum()",
    ),
    *(
        "np.linalg.eigh(np.diag(v))[0][0]",
        "np.linalg.svd(np.outer(v, t))[1][0]",
        "np.linalg.lstsq(np.stack([t, t**2], 1), v)[0][0]",
    ),
    *(
        "np.linalg.cholesky(np.diag(v)).sum()",
        "np.linalg.matrix_power(np.diag(v), 3).sum()",
        "np.sum(np.outer(v, t))",
        "np.kron(v, t)[3]",
    ),
    *(
        "np.sum(np.sin(v))",
        "np.sum(np.exp(v) * t)",
        "np.sum(np.where(v > 1, v, t))",
        "np.maximum(v, t).sum()",
        "np.sum(np.hypot(v, t))",
    ),
    *(
        "np.mean(v)",
        "np.std(v)",
        "np.median(v)",
        "np.percentile(v, 30)",
        "np.quantile(v, 0.7)",
        "np.cumsum(v)[3]",
        "np.prod(v)",
    ),
    *(
        "np.gradient(v)[2]",
        "np.diff(v)[1]",
        "np.interp(0.5, t, v)",
        "np.interp(v, t, t**2).sum()",
        "np.trapezoid(v, t)",
        "np.convolve(v, t)[3]",
    ),
    *(
        "np.concatenate([v, t])[1]",
        "np.stack([v, t])[0, 1]",
        "np.hstack([v, t])[2]",
        "np.vstack([v, t]).sum()",
        "np.split(v, 2)[1][0]",
    ),
    *(
        "np.roll(v, 1)[0]",
        "np.flip(v)[0]",
        "np.tile(v, 2)[7]",
        "np.repeat(v, 2)[3]",
        "np.pad(v, 1)[1]",
        "np.append(v, 1.0)[2]",
        "np.insert(v, 1, 5.0)[2]",
    ),
    *(
        "np.delete(v, 1)[1]",
        "np.sort(v)[2]",
        "np.unique(v)[1]",
        "np.partition(v, 2)[2]",
        "np.nan_to_num(v)[1]",
        "np.nansum(v)",
        "np.ptp(v)",
    ),
    *(
        "np.cov(np.stack([v, t]))[0, 1]",
        "np.corrcoef(v, t)[0, 1]",
        "np.cross(v[:3], t[:3])[1]",
        "np.tensordot(v, t, 1)",
        "np.vdot(v, t)",
    ),
    *(
        "np.minimum.reduce(v)",
        "np.add.accumulate(v)[3]",
        "np.multiply.outer(v, t)[1, 2]",
        "np.add.reduceat(v, [0, 3])[1]",
        "np.logaddexp.reduce(v)",
    ),
    *(
        "np.sum(v, where=t > 0.5)",
        "np.max(v, initial=3.0) * v[0]",
        "np.add(v, t, dtype=np.float64).sum()",
        "np.sum(np.modf(v)[0])",
    ),
    *(
        "np.sum(np.frexp(v)[0])",
        "np.sum(np.divmod(v, 0.4)[1])",
        "np.sum(np.ldexp(v, 2))",
        "np.sum(np.spacing(v)) * v[0]",
        "np.sum(np.heaviside(v, 0.5)) * v[0]",
    ),
    *(
        "np.array2string(v) and v[0]",
        "np.savetxt(io.StringIO(), v) or v[0]",
        "np.may_share_memory(v, t) * v[0]",
        "np.shares_memory(v, v) * v[0]",
    ),
    *(
        "np.testing.assert_allclose(v, T31) or np.sum(v)",
        "np.iterable(v) * v[0]",
        "np.copy(v).sum()",
        "np.block([v, t])[2]",
        "np.i0(v).sum()",
        "np.sinc(v).sum()",
    ),
)

SCIPY: Final = (
    *(f"sc.{name}(v).sum()" for name in ("gamma", "gammaln", "erf", "expit", "ndtr", "digamma", "j0", "i0", "exp10")),
    *(
        f"sc.{name}(v).sum()"
        for name in ("expm1", "log1p", "cbrt", "spence", "dawsn", "exprel", "entr", "k0", "expi", "loggamma")
    ),
    *(
        "sc.logit(v / 3).sum()",
        "sc.erfinv(v / 3).sum()",
        "sc.ellipk(v / 3).sum()",
        "sc.jv(2, v).sum()",
        "sc.jv(v, 1.0).sum()",
        "sc.logsumexp(v)",
    ),
    *(
        "sc.softmax(v)[0]",
        "sc.polygamma(1, v).sum()",
        "sc.comb(v, 2).sum()",
        "sc.factorial(v).sum()",
        "sc.betainc(2.0, 3.0, v / 3).sum()",
    ),
    *(
        "sc.betainc(v, 3.0, 0.3).sum()",
        "sc.gammainc(2.0, v).sum()",
        "sc.stdtr(3.0, v).sum()",
        "sc.xlogy(v, t).sum()",
        "sc.eval_legendre(2, v).sum()",
    ),
    *(
        "sl.solve(np.eye(6) + 1, v).sum()",
        "sl.det(np.diag(v))",
        "sl.inv(np.diag(v)).sum()",
        "sl.expm(np.diag(v)).sum()",
        "sl.norm(v)",
    ),
    *(
        "sl.cholesky(np.diag(v)).sum()",
        "np.sum(sl.toeplitz(v) ** 2)",
        "np.sum(sl.block_diag(v, v))",
        "sl.lu(np.diag(v))[2].sum()",
        "sl.eigh(np.diag(v))[0][0]",
    ),
    *(
        "sl.circulant(v).sum()",
        "so.minimize(lambda p: float(np.sum((p - 1) ** 2)), v).x.sum()",
    ),
    *(
        "so.least_squares(lambda p: p - v, np.zeros(6)).x.sum()",
        "so.root(lambda p: p - v, np.zeros(6)).x.sum()",
        "so.linprog(v, bounds=(1, 2)).fun",
    ),
    *(
        "so.approx_fprime(v, lambda p: np.sum(p**2)).sum()",
        "si.quad(lambda s: s * v[0], 0, 1)[0]",
        "si.solve_ivp(lambda s, y: -y * v[0], (0, 1), [1.0]).y[0, -1]",
    ),
    *(
        "si.solve_ivp(lambda s, y: -y, (0, 1), v).y[0, -1]",
        "si.simpson(v, x=t)",
        "si.trapezoid(v, x=t)",
        "float(sp.CubicSpline(t, v)(0.5))",
    ),
    *(
        "sp.interp1d(t, v)(0.5) * 1.0",
        "sp.PchipInterpolator(t, v)(0.5)",
        "ss.convolve(v, t).sum()",
        "ss.fftconvolve(v, t)[2]",
        "ss.lfilter([1.0], [1.0, 0.5], v).sum()",
    ),
    *(
        "ss.butter(2, v[0])[0].sum()",
        "st.norm.pdf(v).sum()",
        "st.norm.logpdf(t, loc=v).sum()",
        "st.gamma.cdf(v, 2.0).sum()",
        "st.zscore(v)[0]",
        "st.pearsonr(v, t)[0]",
    ),
    *(
        "st.skew(v)",
        "st.multivariate_normal.logpdf(v, np.zeros(6))",
        "np.sum(st.rankdata(v) * v)",
        "(sps.eye_array(6).tocsr() @ v).sum()",
        "sps.csr_array(np.diag(v)).sum()",
    ),
    *(
        "sps.diags_array(v).sum()",
        "(sps.eye_array(6).tocsr() * v).sum()",
        "nd.gaussian_filter(v, 1.0)[0]",
        "sd.cKDTree(v[:, None]).query([[0.5]])[0][0]",
    ),
    *(
        "sd.distance.euclidean(v, t)",
        "sf.dct(v)[1]",
        "abs(sf.fft(v))[1]",
        "so.rosen(v)",
        "sd.distance.cdist(v[:, None], t[:, None]).sum()",
    ),
)

OTHERS: Final = (
    *(
        "float(torch.asarray(v).sum())",
        "float(torch.tensor(v).sum())",
        "float(torch.from_numpy(v).sum())",
        "float((torch.ones(6) * v).sum())",
    ),
    *(
        "float((v * torch.ones(6)).sum())",
        "float(torch.tensor([v[0], v[1]]).sum())",
        "float(torch.ones(6)[v[0]])",
        "float(torch.as_tensor(v).sum())",
    ),
    *("float(torch.sin(v).sum())", "float(torch.full((2,), v[0]).sum())"),
    *(
        "pd.Series(v).sum()",
        "(pd.Series(t) * v).sum()",
        "(v * pd.Series(t)).sum()",
        "np.exp(pd.Series(t) * v).sum()",
        "pd.DataFrame({'a': v}).a.mean()",
    ),
    *(
        "pd.DataFrame({'a': t}).assign(b=v).b.sum()",
        "pd.Series(list(v)).sum()",
        "pd.cut(v, 3).codes.sum() * v[0]",
        "pd.Series(v).rolling(2).mean().sum()",
    ),
    *(
        "v[0] if not pd.isna(v).any() else v[1]",
        "pd.Series(t).map(lambda a: a * v[0]).sum()",
        "pd.Series(t).add(v[0]).sum()",
        "pd.to_numeric(v).sum()",
    ),
    *(
        "np.sum(pre.StandardScaler().fit_transform(np.reshape(v, (6, 1)))[0])",
        "lm.LinearRegression().fit(t[:, None], v).coef_[0]",
        "me.mean_squared_error(t, v)",
        "me.r2_score(t, v)",
    ),
)

EXPRESSIONS: Final = (
    *(*PYTHON, *OPERATORS, *WRITES, *NUMPY, *SCIPY, *OTHERS),
    *(*further.PYTHON, *further.METHODS, *further.NUMPY),
)

RESULTS: Final = Path(__file__).with_name("numpy_silent.json")
RIGHT: Final[dict[str, list[str]]] = json.loads(RESULTS.read_text())
"""The expressions that must be right, for each transformation. `python -m tests.test_numpy_silent` writes the lists."""

WRONG: Final = {"np.isscalar(v[0]) * v[0]": "a traced number is an array, and NumPy does not dispatch this function"}
"""Expressions with another result than NumPy's, and why this cannot be changed."""


def _written(v: Any, statements: str) -> Any:
    scope = {"np": np, "v": v, "t": T, "b": np.zeros(6)}
    exec(statements, scope)
    return np.sum(scope["b"] * T)  # different weights


def _unpacked(v: Any) -> Any:
    first, second, *others = v
    return first * second + others[0]


def _shuffled(v: Any) -> Any:
    w = v * 1
    np.random.default_rng(0).shuffle(w)
    return w[0]


def _scope() -> dict[str, Any]:
    names = (
        "array",
        "bisect",
        "cmath",
        "collections",
        "copy",
        "decimal",
        "fractions",
        "functools",
        "heapq",
        "io",
        "itertools",
        "json",
        "math",
        "operator",
    )
    scope: dict[str, Any] = {
        name: importlib.import_module(name) for name in (*names, "pickle", "random", "statistics", "struct")
    }
    for name, package in PACKAGES.items():
        try:
            scope[name] = importlib.import_module(package)
        except ModuleNotFoundError:
            scope[name] = None
    scope |= {"np": np, "t": T, "T31": X, "masked": np.ma.masked_array(T, [0, 1, 0, 0, 0, 1]), "written": _written}
    scope |= {
        "objects": np.array([1.0] * 6, dtype=object),
        "texts": np.array(["a"] * 6),
        "unpacked": _unpacked,
        "shuffled": _shuffled,
        "reversed_sum": lambda v: sum(reversed(v)),
    }
    scope["datetimes"] = np.array(["2000-01-01"] * 6, dtype="datetime64[D]")
    return scope


SCOPE: Final = _scope()


def _number(result: Any) -> float:
    return float(np.asarray(result))


def _reference(function: Callable[[Any], Any]) -> tuple[Any, Any] | None:
    """Return the values at two points, and the gradient; None if NumPy itself raises."""
    try:
        return np.asarray([_number(function(X)), _number(function(X * 1.1))]), differences_of(function, X)
    except Exception:  # any error of any package
        return None


def _same(result: Any, expected: Any) -> bool:
    return (
        np.asarray(result).dtype != object
        and np.shape(result) == np.shape(expected)
        and np.allclose(result, expected, rtol=1e-4, atol=1e-5, equal_nan=True)
    )


def _outcome(call: Callable[[], Any], expected: Any) -> str:
    try:
        result = np.asarray(call())
    except LeakedArrayError:
        raise
    except Exception as error:
        # Modules in C name their only class of errors `error`.
        is_expected = isinstance(error, ERRORS) or type(error).__name__ == "error"
        return f"{'' if is_expected else 'an unexpected '}{type(error).__name__}: {error}"
    return "right" if _same(result, expected) else f"wrong: {result}, expected {expected}"


def outcomes(expression: str) -> dict[str, str]:
    """Return, for each transformation, "right", or what came instead."""
    function: Callable[[Any], Any] = eval(f"lambda v: {expression}", SCOPE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = _reference(function)
        if reference is None:
            return {}
        values, slope = reference
        compiled = jit(function)
        return {
            "grad": _outcome(lambda: grad(function)(X), slope),
            "jit": _outcome(lambda: [compiled(X), compiled(X * 1.1)], values),
            "vmap": _outcome(lambda: vmap(function)(np.stack([X, X * 1.1])), values),
        }


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_right_or_an_error(expression: str) -> None:
    for transform, outcome in outcomes(expression).items():
        if expression in RIGHT[transform]:
            assert outcome == "right", f"{transform}: {outcome}"
        is_wrong = outcome.startswith(("wrong", "an unexpected"))
        assert is_wrong == (expression in WRONG), f"{transform}: {outcome}"


def test_the_lists_name_expressions() -> None:
    assert RIGHT.keys() == {"grad", "jit", "vmap"}
    for names in (*RIGHT.values(), WRONG):
        assert set(names) <= set(EXPRESSIONS)
    assert len(set(EXPRESSIONS)) == len(EXPRESSIONS) >= 600


if __name__ == "__main__":
    right: dict[str, list[str]] = {"grad": [], "jit": [], "vmap": []}
    for name in EXPRESSIONS:
        for which, found in outcomes(name).items():
            if found == "right":
                right[which].append(name)
    RESULTS.write_text(json.dumps(right, indent=2) + "\n")
