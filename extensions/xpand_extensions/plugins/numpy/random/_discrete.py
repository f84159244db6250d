"""Counts on NumPy: the array is divided into parts, and only undecided elements are tried again."""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from xpand_extensions.generic.random import _discrete as generic

from ._elements import DTYPES, Words, hashed, uniform

_BLOCK_SIZE: Final = 2**15


def poisson_elements(keys: Any, lam: Any, /) -> Any:
    return _rows(_poisson, keys, lam)


def binomial_elements(keys: Any, n: Any, p: Any, /) -> Any:
    if p.dtype in DTYPES:
        return _rows(_binomial, keys, n, p)
    with np.errstate(all="ignore"):  # narrow numbers overflow in values that are not used
        return generic.binomial_elements(keys, n, p)


def _rows(function: Callable[..., Any], keys: Any, *parameters: Any) -> Any:
    """Call a function with each key and its row of parameters."""
    shape = parameters[0].shape
    count = math.prod(shape[:-1])
    rows = [x.reshape(count, shape[-1]) for x in parameters]
    words = np.broadcast_to(keys, (*shape[:-1], 2)).reshape(count, 2)
    result = np.empty_like(rows[0])
    with np.errstate(all="ignore"):
        for i, key in enumerate(words):
            result[i] = function((key[:1], key[1:]), *[x[i] for x in rows])
    return result.reshape(shape)


def _poisson(key: Words, lam: Any) -> Any:
    few = ~(lam >= 10)
    result = np.where(lam == 0, np.float32(0), np.float32(-1))
    (positions,) = np.nonzero(lam > 0)
    positions = positions[few[positions]]
    _counted(key, lam, positions, result)
    if not few.all():
        lam = np.where(few, np.float32(1e5), lam)
        np.copyto(result, _by_rejection(key, (lam,), generic.PoissonTrial), where=~few)
    return result


class _Chain:
    """The keys of successive trials, computed when they are needed."""

    def __init__(self, key: Words, number: int, following: int) -> None:
        """Begin at a key; `positions` selects among its new keys."""
        self._next, self._number, self._following = key, number, following
        self._made: list[Words] = []

    def __getitem__(self, trial: int) -> Words:
        """Return the key of a trial's numbers."""
        while len(self._made) <= trial:
            self._made.append(hashed(self._next, self._number))
            self._next = hashed(self._next, self._following)
        return self._made[trial]


def _counted(key: Words, lam: Any, positions: Any, result: Any) -> None:
    """Count the uniform numbers whose product stays above exp(-lam)."""
    chain = _Chain(key, 1, 0)
    for start in range(0, positions.size, _BLOCK_SIZE):
        part = positions[start : start + _BLOCK_SIZE]
        least = -lam[part]
        total = np.zeros_like(least)
        count = 0
        while part.size:
            total += np.log(uniform(chain[count], lam.dtype, *_counters(part)))
            result[part] = count
            (left,) = np.nonzero(total > least)
            part, total, least = part[left], total[left], least[left]
            count += 1


def _counters(positions: Any) -> tuple[Any, Any]:
    low = positions.astype(np.uint32)
    return low, ((positions >> 32).astype(np.uint32) if positions.size and positions[-1] >= 2**32 else np.uint32(0))


def _binomial(key: Words, n: Any, p: Any) -> Any:
    is_low = p < 0.5
    q = np.where(is_low, p, 1 - p)
    bad = ~(q >= 0) | ~(n >= 0)
    q = np.where(q >= 0, q, p.dtype.type(0.01))
    few = bad | (n == np.inf) | (n * q <= 10)
    trials = np.where(few & ((n == np.inf) | bad), 0, np.floor(n))
    result = np.zeros_like(p)
    _waited(key, trials, q, np.nonzero(few)[0], result)
    if not few.all():
        usual = np.where(few, p.dtype.type(1e4), trials), np.where(few, p.dtype.type(0.5), q)
        np.copyto(result, _by_rejection(key, usual, generic.BinomialTrial), where=~few)
    result = np.where(is_low, result, trials - result)
    return np.where(bad, np.nan, np.where(n == np.inf, np.inf, result)).astype(p.dtype)


def _waited(key: Words, n: Any, p: Any, positions: Any, result: Any) -> None:
    """Count the geometric numbers (trials from a success to the next) that fit into `n` trials."""
    chain = _Chain(key, 0, 1)
    for start in range(0, positions.size, _BLOCK_SIZE):
        part = positions[start : start + _BLOCK_SIZE]
        most, log_failure = n[part], np.log1p(-p[part])
        total = np.zeros_like(most)
        count = 0
        while part.size:
            total += np.ceil(np.log(uniform(chain[count], p.dtype, *_counters(part))) / log_failure)
            result[part] = count
            (left,) = np.nonzero(total <= most)
            part, total, most, log_failure = part[left], total[left], most[left], log_failure[left]
            count += 1


def _by_rejection(key: Words, parameters: tuple[Any, ...], trial: Callable[..., Any]) -> Any:
    """Try numbers until one is accepted for each element. Each gets the last number accepted before the end."""
    result = np.empty_like(parameters[0])
    pending = np.arange(result.size)
    keys = []
    while pending.size:
        keys.append(key)
        pending = _tried(key, parameters, pending, trial, result)
        key = hashed(key, 0)
    pending = np.arange(result.size)
    while len(keys) > 1 and pending.size:
        pending = _tried(keys.pop(), parameters, pending, trial, result)
    if pending.size:
        _tried(keys.pop(), parameters, pending, trial, result)
    return result


def _tried(key: Words, parameters: tuple[Any, ...], positions: Any, trial: Callable[..., Any], result: Any) -> Any:
    """Write the accepted numbers of a trial to some positions of the result; return the other positions."""
    left = []
    first, second = hashed(key, 1), hashed(key, 2)
    for start in range(0, positions.size, _BLOCK_SIZE):
        part = positions[start : start + _BLOCK_SIZE]
        counters = _counters(part)
        u, v = (uniform(each, result.dtype, *counters) for each in (first, second))
        count, good = trial(np, *[x[part] for x in parameters]).tried(u - result.dtype.type(0.5), v)
        result[part] = count  # others are overwritten later
        left.append(part[~good])
    return np.concatenate(left)
