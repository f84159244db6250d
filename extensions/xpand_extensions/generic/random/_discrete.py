"""Counts and choices for any library. Trials run for all elements until no element needs another trial.

The implementations of `poisson_elements` and `binomial_elements` take keys of shape (…, 2). Each key makes the numbers
along the last axis of the parameters.
"""

import math
from collections.abc import Callable
from typing import Any, Final

from xpand import array_namespace, is_concrete
from xpand.extend import Array, DType, Namespace, checks

from ... import autodiff, control_flow
from ...random._continuous import gumbel
from ...random._discrete import (
    binomial as binomial_,
    binomial_elements as binomial_elements_,
    poisson_elements as poisson_elements_,
)
from ...random._keys import split, split_each
from ...random._uniform import uniform
from . import _keys as elements

# The coefficients of Lanczos for g = 7
_LANCZOS: Final = (
    0.9999999999998099,
    676.5203681218851,
    -1259.1392167224028,
    771.3234287776531,
    -176.6150291621406,
    12.507343278686905,
    -0.13857109526572012,
    9.984369578019572e-06,
    1.5056327351493116e-07,
)
# log(k!) minus Stirling's formula, for k from 0 to 9
_TAILS: Final = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def categorical(
    key: Array, /, logits: Array, axis: int = -1, shape: Any = None, replace: bool = True, mode: Any = None
) -> Array:
    xp = array_namespace(key, logits)
    batch = tuple(n for i, n in enumerate(logits.shape) if i != axis)
    before = shape[: len(shape) - len(batch)]
    if replace:
        sizes = [*shape[len(before) :]]
        sizes.insert(axis, logits.shape[axis])
        keyed = gumbel(key, (*before, *sizes), logits.dtype, mode)
        return xp.argmax(keyed + logits, axis=axis + len(before))
    keyed = logits + gumbel(key, tuple(logits.shape), logits.dtype, mode)
    order = xp.argsort(keyed, axis=axis, descending=True, stable=True)
    order = xp.moveaxis(order, axis, 0)[: math.prod(before), ...]
    return xp.reshape(order, shape)


def poisson(key: Array, /, lam: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return _of_elements(poisson_elements_, key, (lam,), shape, dtype)


def binomial(key: Array, /, n: Array, p: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return _of_elements(binomial_elements_, key, (n, p), shape, dtype)


def _of_elements(
    function: Callable[..., Array], key: Array, parameters: tuple[Array, ...], shape: tuple[int, ...], dtype: DType
) -> Array:
    xp = array_namespace(key, *parameters)
    constants = [autodiff.stop_gradient(x) for x in parameters]
    flat = [xp.reshape(xp.broadcast_to(x, shape), (math.prod(shape),)) for x in constants]
    return xp.astype(xp.reshape(function(key, *flat), shape), dtype)


def poisson_elements(keys: Array, lam: Array, /) -> Array:
    xp = array_namespace(keys, lam)
    few = ~(lam >= 10.0)
    nothing = xp.zeros_like(lam)
    result = nothing
    if not _is_all_false(xp, few):
        result = _counted(xp, keys, xp.where(few, lam, nothing))
    if not _is_all_false(xp, ~few):
        many = _by_rejection(keys, PoissonTrial(xp, xp.where(few, nothing + 1e5, lam)))
        result = xp.where(few, result, many)
    return xp.where(lam == 0.0, nothing, result)


def _is_all_false(xp: Namespace, condition: Array) -> bool:
    return is_concrete(condition) and not bool(xp.any(condition))


def _counted(xp: Namespace, keys: Array, lam: Array) -> Array:
    """Count the uniform numbers whose product stays above exp(-lam)."""
    nothing = xp.zeros_like(lam)

    def step(state: Any) -> Any:
        both = split_each(state["keys"], num=2)
        u = elements.uniforms(both[..., 1, :], lam.dtype, lam.shape[-1])
        above = state["log"] > -lam
        count = xp.where(above, state["count"] + 1.0, state["count"])
        # The logarithm of the smallest number is below -10, so it can replace the logarithm of 0.
        return {"keys": both[..., 0, :], "count": count, "log": state["log"] + log_or_least(xp, u)}

    start = {"keys": keys, "count": nothing, "log": nothing}
    end = control_flow.while_loop(lambda state: xp.any(state["log"] > -lam), step, start)
    return end["count"] - 1.0


def binomial_elements(keys: Array, n: Array, p: Array, /) -> Array:
    xp = array_namespace(keys, n, p)
    nothing = xp.zeros_like(p)
    is_low = p < 0.5
    q = xp.where(is_low, p, 1.0 - p)
    bad_q = ~(q >= 0.0)
    q = xp.where(bad_q, nothing + 0.01, q)
    bad_n, infinite = ~(n >= 0.0), n == math.inf
    trials = xp.floor(xp.where(bad_n | infinite, nothing, n))
    few = bad_n | infinite | (n * q <= 10.0)
    result = nothing
    if not _is_all_false(xp, few):
        result = _waited(xp, keys, xp.where(few, trials, nothing), q)
    if not _is_all_false(xp, ~few):
        trials_, q_ = xp.where(few, nothing + 1e4, trials), xp.where(few, nothing + 0.5, q)
        result = xp.where(few, result, _by_rejection(keys, BinomialTrial(xp, trials_, q_)))
    result = xp.where(is_low, result, trials - result)
    return xp.where(bad_q | bad_n, math.nan + nothing, xp.where(infinite, math.inf + nothing, result))


def _waited(xp: Namespace, keys: Array, n: Array, p: Array) -> Array:
    """Count the geometric numbers (trials from a success to the next) that fit into `n` trials."""
    nothing = xp.zeros_like(p)
    never = p == 0.0
    log_failure = xp.log1p(-xp.where(never, 0.5 + nothing, p))

    def step(state: Any) -> Any:
        both = split_each(state["keys"], num=2)
        u = elements.uniforms(both[..., 0, :], p.dtype, p.shape[-1])
        within = state["trials"] <= n
        count = xp.where(within, state["count"] + 1.0, state["count"])
        # If p is 0, the first trial is already beyond the last one.
        trials = xp.where(never, n + 1.0, xp.ceil(log_or_least(xp, u) / log_failure))
        return {"keys": both[..., 1, :], "count": count, "trials": state["trials"] + trials}

    start = {"keys": keys, "count": nothing, "trials": nothing}
    end = control_flow.while_loop(lambda state: xp.any(state["trials"] <= n), step, start)
    return end["count"] - 1.0


def _by_rejection(keys: Array, target: "PoissonTrial | BinomialTrial") -> Array:
    """Try numbers until each element has accepted one.

    While any element of a key needs another trial, the other elements of the key also replace their numbers by new
    accepted ones.
    """
    xp, like = target.xp, target.like
    size = like.shape[-1]

    def step(state: Any) -> Any:
        three = split_each(state["keys"], num=3)
        u = elements.uniforms(three[..., 1, :], like.dtype, size) - 0.5
        v = elements.uniforms(three[..., 2, :], like.dtype, size)
        count, good = target.tried(u, v)
        still = xp.any(~state["taken"], axis=-1, keepdims=True)
        return {
            "keys": three[..., 0, :],
            "count": xp.where(good & still, count, state["count"]),
            "taken": state["taken"] | good,
        }

    start = {"keys": keys, "count": xp.zeros_like(like) - 1.0, "taken": xp.isnan(like)}
    return control_flow.while_loop(lambda state: xp.any(~state["taken"]), step, start)["count"]


class PoissonTrial:
    """Trials for Poisson numbers with a mean of at least 10."""

    def __init__(self, xp: Namespace, lam: Array) -> None:
        """Compute the constants of all trials."""
        self.xp, self.like, self.log = xp, lam, xp.log(lam)
        self.b = 0.931 + 2.53 * xp.sqrt(lam)
        self.a = -0.059 + 0.02483 * self.b
        self.scale = 1.1239 + 1.1328 / (self.b - 3.4)
        self.quick = 0.9277 - 3.6224 / (self.b - 2.0)

    def tried(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Return the number that a pair of uniform numbers makes, and whether to take it."""
        xp = self.xp
        rest = 0.5 - xp.abs(u)
        rest_ = xp.where(rest == 0.0, xp.ones_like(rest), rest)
        k = xp.floor((2.0 * self.a / rest_ + self.b) * u + self.like + 0.43)
        inside = (k >= 0.0) & (rest != 0.0)
        k_ = xp.where(inside, k, xp.zeros_like(k))
        s = log_or_least(xp, v * self.scale / (self.a / (rest_ * rest_) + self.b))
        t = -self.like + k_ * self.log - log_factorial(xp, k_)
        squeezed = (rest >= 0.07) & (v <= self.quick)
        return k, squeezed | (inside & ~((rest < 0.013) & (v > rest)) & (s <= t))


class BinomialTrial:
    """Trials for binomial numbers with a mean of at least 10."""

    def __init__(self, xp: Namespace, n: Array, p: Array) -> None:
        """Compute the constants of all trials."""
        self.xp, self.like, self.n = xp, p, n
        deviation = xp.sqrt(n * p * (1.0 - p))
        self.b = 1.15 + 2.53 * deviation
        self.a = -0.0873 + 0.0248 * self.b + 0.01 * p
        self.c = n * p + 0.5
        self.quick = 0.92 - 4.2 / self.b
        self.odds = p / (1.0 - p)
        self.alpha = (2.83 + 5.1 / self.b) * deviation
        self.m = xp.floor((n + 1.0) * p)

    def tried(self, u: Array, v: Array) -> tuple[Array, Array]:
        """Return the number that a pair of uniform numbers makes, and whether to take it."""
        xp, n, m = self.xp, self.n, self.m
        rest = 0.5 - xp.abs(u)
        rest_ = xp.where(rest == 0.0, xp.ones_like(rest), rest)
        k = xp.floor((2.0 * self.a / rest_ + self.b) * u + self.c)
        inside = (k >= 0.0) & (k <= n) & (rest != 0.0)
        k_ = xp.where(inside, k, xp.zeros_like(k))
        s = log_or_least(xp, v * self.alpha / (self.a / (rest_ * rest_) + self.b))
        t = (
            (m + 0.5) * xp.log((m + 1.0) / (self.odds * (n - m + 1.0)))
            + (n + 1.0) * xp.log((n - m + 1.0) / (n - k_ + 1.0))
            + (k_ + 0.5) * xp.log(self.odds * (n - k_ + 1.0) / (k_ + 1.0))
            + stirling_tail(xp, m)
            + stirling_tail(xp, n - m)
            - stirling_tail(xp, k_)
            - stirling_tail(xp, n - k_)
        )
        squeezed = (rest >= 0.07) & (v <= self.quick)
        return k, squeezed | (inside & (s <= t))


def log_or_least(xp: Namespace, x: Array) -> Array:
    """Compute logarithms; replace 0 by the smallest number."""
    return xp.log(xp.maximum(x, xp.full_like(x, float(xp.finfo(x.dtype).smallest_normal))))


def log_factorial(xp: Namespace, k: Array) -> Array:
    """Compute log(k!) for k >= 0 by Lanczos' approximation.

    JAX uses the same one. In float32, its rounding decides whether large numbers are accepted.
    """
    series = xp.full_like(k, _LANCZOS[0])
    for i, coefficient in enumerate(_LANCZOS[1:]):
        series = series + coefficient / (k + float(i) + 1.0)
    t = 7.5 + k
    log_t = math.log(7.5) + xp.log1p(k / 7.5)
    return 0.5 * math.log(2.0 * math.pi) + (k + 0.5 - t / log_t) * log_t + xp.log(series)


def stirling_tail(xp: Namespace, k: Array) -> Array:
    """Compute the error of Stirling's formula for log(k!), for integers."""
    near = k <= 9.0
    table = xp.asarray(_TAILS, dtype=k.dtype, device=checks.device_of(k))
    positions = xp.astype(xp.where(near, k, xp.zeros_like(k)), xp.int64)
    known = xp.reshape(xp.take(table, xp.reshape(positions, (-1,))), k.shape)
    square = (k + 1.0) * (k + 1.0)
    return xp.where(near, known, (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1.0))


def geometric(key: Array, /, p: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    xp = array_namespace(key, p)
    u = uniform(key, shape, p.dtype)
    log = xp.log(xp.where(u == 0.0, xp.ones_like(u), u))
    certain = p >= 1.0
    trials = xp.floor(log / xp.log1p(-xp.where(certain, 0.5 * xp.ones_like(p), p))) + 1.0
    trials = xp.where(certain, xp.ones_like(trials), trials)
    largest = checks.integer_range(xp, dtype)[1]
    beyond = trials >= min(float(largest), float(xp.finfo(p.dtype).max))
    found = xp.astype(xp.where(beyond, xp.ones_like(trials), trials), dtype)
    return xp.where(beyond, xp.full_like(found, largest), found)


def multinomial(key: Array, /, n: Array, p: Array, *, shape: Any = None, dtype: DType | None = None) -> Array:
    xp = array_namespace(key, n, p)
    outcomes = p.shape[-1]
    keys = split(key, outcomes)
    left = xp.broadcast_to(n, shape)
    rest = xp.flip(xp.cumulative_sum(xp.flip(p, axis=-1), axis=-1), axis=-1)
    shares = xp.clip(p / xp.where(rest == 0.0, xp.ones_like(rest), rest), 0.0, 1.0)
    counts = []
    for i in range(outcomes):
        counts.append(binomial_(keys[i, ...], left, shares[..., i], shape, left.dtype))
        left = left - counts[-1]
    return xp.stack(counts, axis=-1) if counts else xp.zeros((*shape, 0), dtype=dtype, device=checks.device_of(key))
