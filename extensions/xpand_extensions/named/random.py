"""Random numbers with named axes.

All functions take a key (`xpand.random.key`), the axes of the result with their sizes, and parameters:
numbers, or arrays that broadcast to these axes by name. `xpand.random` documents each distribution. Source:
`haliax.random`.
"""

from typing import Any, Protocol

from xpand.extend import Array, DType, is_array

from .. import random as positional
from . import _axis
from ._array import NamedArray, created, interned, make
from ._axis import Axis, AxisSelector, AxisSpec
from ._index import take
from ._plans import check_named, documented, position, without_axes
from ._shapes import broadcast_to, reordered

__all__ = [
    "ball",
    "bernoulli",
    "beta",
    "binomial",
    "bits",
    "categorical",
    "cauchy",
    "chisquare",
    "choice",
    "exponential",
    "f",
    "gamma",
    "generalized_normal",
    "geometric",
    "gumbel",
    "laplace",
    "loggamma",
    "logistic",
    "lognormal",
    "maxwell",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "rademacher",
    "randint",
    "rayleigh",
    "t",
    "triangular",
    "truncated_normal",
    "uniform",
    "wald",
    "weibull_min",
]
__dir__ = __all__.copy

Real = NamedArray | Array | float
"""A parameter: a number, or a named array."""


def _drawn(name: str, key: Array, shape: AxisSpec, *parameters: Any, **options: Any) -> NamedArray:
    axes = _axis.specified(name, shape)
    names, sizes = tuple([axis.name for axis in axes]), tuple([axis.size for axis in axes])

    def aligned(x: Any) -> Any:
        if is_array(x):
            without_axes(name, x)
        return broadcast_to(x, axes).array if isinstance(x, NamedArray) else x

    options = {option: aligned(x) for option, x in options.items()}
    return created(getattr(positional, name)(key, *map(aligned, parameters), shape=sizes, **options), names)


class Standard(Protocol):
    """A distribution without parameters."""

    def __call__(self, key: Array, shape: AxisSpec, dtype: DType | None = None) -> NamedArray:
        """Return an array with the given axes."""
        ...


def _standard(name: str, doc: str) -> Standard:
    def draw(key: Array, shape: AxisSpec, dtype: DType | None = None) -> NamedArray:
        return _drawn(name, key, shape, dtype=dtype)

    return documented(name, doc, draw, __name__)


normal = _standard("normal", "Draw from the standard normal distribution.")
exponential = _standard("exponential", "Draw from the exponential distribution.")
cauchy = _standard("cauchy", "Draw from the Cauchy distribution.")
gumbel = _standard("gumbel", "Draw from the Gumbel distribution.")
laplace = _standard("laplace", "Draw from the Laplace distribution.")
logistic = _standard("logistic", "Draw from the logistic distribution.")
maxwell = _standard("maxwell", "Draw from the Maxwell distribution.")
rademacher = _standard("rademacher", "Draw -1 or 1 with equal probability.")
bits = _standard("bits", "Draw unsigned integers with random bits.")


def randint(key: Array, shape: AxisSpec, minval: Any, maxval: Any, dtype: DType | None = None) -> NamedArray:
    """Draw integers from `minval` up to, but not including, `maxval`."""
    return _drawn("randint", key, shape, minval=minval, maxval=maxval, dtype=dtype)


def uniform(
    key: Array, shape: AxisSpec, dtype: DType | None = None, minval: Any = 0.0, maxval: Any = 1.0
) -> NamedArray:
    """Draw from the uniform distribution between two bounds.

    >>> from xpand_extensions.random import key
    >>> uniform(key(0, xp="numpy"), {"a": 2, "b": 3}).shape
    {'a': 2, 'b': 3}
    """
    return _drawn("uniform", key, shape, dtype=dtype, minval=minval, maxval=maxval)


def bernoulli(key: Array, shape: AxisSpec, p: Real = 0.5) -> NamedArray:
    """Draw booleans that are true with probability `p`."""
    return _drawn("bernoulli", key, shape, p)


def ball(key: Array, shape: AxisSpec, D: Axis, p: float = 2.0, dtype: DType | None = None) -> NamedArray:
    """Draw points from the unit ball. Their coordinates lie along the axis `D`, the last of the result."""
    axes = _axis.specified("ball", shape)
    (last,) = _axis.specified("ball", D)
    names = (*(axis.name for axis in axes), last.name)
    _axis.different("ball", names)
    sizes = tuple([axis.size for axis in axes])
    return created(positional.ball(key, last.size, p, sizes, dtype), names)


def categorical(key: Array, logits: NamedArray, axis: AxisSelector, shape: AxisSpec | None = None) -> NamedArray:
    """Draw positions along an axis, with probabilities proportional to the exponential of `logits`.

    The result has the axes of `shape`, by default those of `logits` without `axis`. `shape` must contain these, and not
    `axis`.
    """
    check_named("categorical", "logits", logits)
    name = logits.names[position("categorical", logits, axis)]
    rest = {each: size for each, size in logits.shape.items() if each != name}
    wanted = rest if shape is None else {each.name: each.size for each in _axis.specified("categorical", shape)}
    _axis.different("categorical", (*wanted, name))
    moved = broadcast_to(logits, {**wanted, name: logits.shape[name]}).array
    return make(positional.categorical(key, moved, axis=-1, shape=tuple(wanted.values())), interned(tuple(wanted)))


def permutation(key: Array, x: NamedArray, axis: AxisSelector, independent: bool = False) -> NamedArray:
    """Shuffle an array along an axis. If `independent`, each one-dimensional slice gets its own order."""
    check_named("permutation", "x", x)
    i = position("permutation", x, axis)
    return make(positional.permutation(key, x.array, axis=i, independent=independent), x.names)


def choice(
    key: Array, shape: AxisSpec, a: NamedArray, axis: AxisSelector, replace: bool = True, p: Any = None
) -> NamedArray:
    """Draw slices of an array along an axis. The axes of `shape` replace this axis.

    Args:
        key: A key.
        shape: The axes of the draws.
        a: A named array.
        axis: The axis to draw from.
        replace: Whether a slice may be drawn more than once.
        p: The probability of each position: a named array with only this axis. None: all are equal.
    """
    check_named("choice", "a", a)
    axes = _axis.specified("choice", shape)
    i = position("choice", a, axis)
    sizes = tuple([each.size for each in axes])
    if isinstance(p, NamedArray):
        p = reordered("choice", p, (a.names[i],), "p must have").array
    drawn = positional.choice(key, a.array.shape[i], sizes, replace=replace, p=p)
    found: NamedArray = take(a, a.names[i], make(drawn, interned(tuple([each.name for each in axes]))))
    return found


def beta(key: Array, shape: AxisSpec, a: Real, b: Real, dtype: DType | None = None) -> NamedArray:
    """Draw from the beta distribution."""
    return _drawn("beta", key, shape, a, b, dtype=dtype)


def chisquare(key: Array, shape: AxisSpec, df: Real, dtype: DType | None = None) -> NamedArray:
    """Draw from the chi-squared distribution."""
    return _drawn("chisquare", key, shape, df, dtype=dtype)


def gamma(key: Array, shape: AxisSpec, a: Real, dtype: DType | None = None) -> NamedArray:
    """Draw from the gamma distribution."""
    return _drawn("gamma", key, shape, a, dtype=dtype)


def loggamma(key: Array, shape: AxisSpec, a: Real, dtype: DType | None = None) -> NamedArray:
    """Draw logarithms of numbers from the gamma distribution."""
    return _drawn("loggamma", key, shape, a, dtype=dtype)


def generalized_normal(key: Array, shape: AxisSpec, p: Real, dtype: DType | None = None) -> NamedArray:
    """Draw from the generalized normal distribution."""
    return _drawn("generalized_normal", key, shape, p, dtype=dtype)


def geometric(key: Array, shape: AxisSpec, p: Real, dtype: DType | None = None) -> NamedArray:
    """Draw from the geometric distribution."""
    return _drawn("geometric", key, shape, p, dtype=dtype)


def pareto(key: Array, shape: AxisSpec, b: Real, dtype: DType | None = None) -> NamedArray:
    """Draw from the Pareto distribution."""
    return _drawn("pareto", key, shape, b, dtype=dtype)


def poisson(key: Array, shape: AxisSpec, lam: Real, dtype: DType | None = None) -> NamedArray:
    """Draw from the Poisson distribution."""
    return _drawn("poisson", key, shape, lam, dtype=dtype)


def rayleigh(key: Array, shape: AxisSpec, scale: Real, dtype: DType | None = None) -> NamedArray:
    """Draw from the Rayleigh distribution."""
    return _drawn("rayleigh", key, shape, scale, dtype=dtype)


def t(key: Array, shape: AxisSpec, df: Real, dtype: DType | None = None) -> NamedArray:
    """Draw from the Student's t distribution."""
    return _drawn("t", key, shape, df, dtype=dtype)


def triangular(
    key: Array, shape: AxisSpec, left: Real, mode: Real, right: Real, dtype: DType | None = None
) -> NamedArray:
    """Draw from the triangular distribution."""
    return _drawn("triangular", key, shape, left, mode, right, dtype=dtype)


def truncated_normal(key: Array, shape: AxisSpec, lower: Real, upper: Real, dtype: DType | None = None) -> NamedArray:
    """Draw from the standard normal distribution between two bounds."""
    return _drawn("truncated_normal", key, shape, lower, upper, dtype=dtype)


def wald(key: Array, shape: AxisSpec, mean: Real, dtype: DType | None = None) -> NamedArray:
    """Draw from the Wald distribution."""
    return _drawn("wald", key, shape, mean, dtype=dtype)


def weibull_min(
    key: Array, shape: AxisSpec, scale: Real, concentration: Real, dtype: DType | None = None
) -> NamedArray:
    """Draw from the Weibull distribution."""
    return _drawn("weibull_min", key, shape, scale, concentration, dtype=dtype)


def binomial(key: Array, shape: AxisSpec, n: Real, p: Real, dtype: DType | None = None) -> NamedArray:
    """Draw from the binomial distribution."""
    return _drawn("binomial", key, shape, n, p, dtype=dtype)


def f(key: Array, shape: AxisSpec, dfnum: Real, dfden: Real, dtype: DType | None = None) -> NamedArray:
    """Draw from the F distribution."""
    return _drawn("f", key, shape, dfnum, dfden, dtype=dtype)


def lognormal(key: Array, shape: AxisSpec, sigma: Real = 1.0, dtype: DType | None = None) -> NamedArray:
    """Draw from the log-normal distribution."""
    return _drawn("lognormal", key, shape, sigma, dtype=dtype)
