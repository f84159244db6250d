"""Random numbers on NumPy for trials: one number for each of many keys, or numbers at some positions of an array.

The functions work on parts of an array that stay in the processor's cache. Words are uint32 arrays with one axis.
"""

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from xpand_extensions.generic.random import _discrete, _gamma
from xpand_extensions.generic.random._keys import PARITY, ROTATIONS

from ._blocks import NORMAL, UNIFORM

Words: TypeAlias = tuple[Any, Any]
"""The two words of a key for each element, or of one key for all, as arrays of one element."""

DTYPES: Final = tuple(UNIFORM)
"""The supported data types of numbers."""


def hashed(key: Words, low: Any = 0, high: Any = 0) -> Words:
    """Apply Threefry with keys to counters, given by their words."""
    schedule = key[0], key[1], key[0] ^ key[1] ^ np.uint32(PARITY)
    x, y = np.broadcast_arrays(schedule[0] + high, schedule[1] + low)
    # Either word may be a view of a single number.
    x, y = np.array(x), np.array(y)
    rest = np.empty_like(x)
    for i in range(5):
        for positions in ROTATIONS[i % 2]:
            np.add(x, y, out=x)
            np.right_shift(y, 32 - positions, out=rest)
            np.left_shift(y, positions, out=y)
            np.bitwise_or(y, rest, out=y)
            np.bitwise_xor(y, x, out=y)
        x += schedule[(i + 1) % 3]
        y += schedule[(i + 2) % 3]
        y += np.uint32(i + 1)
    return x, y


def uniform(key: Words, dtype: Any, low: Any = 0, high: Any = 0) -> Any:
    """Make numbers from 0 to below 1."""
    first, second = hashed(key, low, high)
    result = np.empty(first.shape, dtype)
    UNIFORM[dtype](first, second, result)
    return result


def normal(key: Words, dtype: Any) -> Any:
    """Make normal numbers."""
    first, second = hashed(key)
    result = np.empty(first.shape, dtype)
    NORMAL[dtype](first, second, result)
    return result


def taken(words: Words, positions: Any) -> Words:
    """Return the words at some positions."""
    return words[0][positions], words[1][positions]


_BLOCK_SIZE: Final = 2**15
"""The number of elements in a part."""


def gamma_elements(keys: Any, a: Any, /, *, log_space: bool) -> Any:
    if a.dtype not in DTYPES:
        with np.errstate(all="ignore"):  # narrow types overflow in unused values
            return _gamma.gamma_elements(keys, a, log_space=log_space)
    words = np.ascontiguousarray(np.moveaxis(keys, -1, 0)).reshape(2, -1)
    parameters = np.ascontiguousarray(a).reshape(-1)
    result = np.empty_like(parameters)
    with np.errstate(all="ignore"):
        for start in range(0, result.size, _BLOCK_SIZE):
            part = slice(start, start + _BLOCK_SIZE)
            result[part] = _part((words[0, part], words[1, part]), parameters[part], log_space)
    return result.reshape(a.shape)


def _part(keys: Words, a: Any, log_space: bool) -> Any:
    small = ~(a >= 1)
    d = np.where(small, a + 1, a) - a.dtype.type(1 / 3)
    volume = _volume(hashed(keys, 0), d)
    (positions,) = np.nonzero(small)
    parameters = a[positions]
    u = uniform(hashed(taken(keys, positions), 1), a.dtype)
    if not log_space:
        result = d * volume
        result[positions] *= (1 - u) ** (1 / parameters)
        return result
    result = np.log(d) + np.log(volume)
    logarithm = np.log1p(-u)
    result[positions] += np.where(logarithm == 0, logarithm, logarithm * (1 / parameters))
    return result


def _volume(keys: Words, d: Any) -> Any:
    """Try cubes of normal numbers about 1 until each element has accepted one."""
    c = d.dtype.type(1 / 3) / np.sqrt(d)
    result = np.empty_like(d)
    positions = np.arange(d.size)
    while positions.size:
        x, v = _above_zero(hashed(keys, 1), c)
        square = x * x
        cube = v * v * v
        u = uniform(hashed(keys, 2), d.dtype)
        rejected = u >= 1 - d.dtype.type(0.0331) * (square * square)
        (doubtful,) = np.nonzero(rejected)
        cubes = cube[doubtful]
        bound = square[doubtful] * d.dtype.type(0.5) + d[doubtful] * ((1 - cubes) + np.log(cubes))
        rejected[doubtful] = np.log(u[doubtful]) >= bound
        result[positions] = cube  # rejected numbers are overwritten later
        (again,) = np.nonzero(rejected)
        positions, c, d, keys = positions[again], c[again], d[again], hashed(taken(keys, again), 0)
    return result


def _above_zero(keys: Words, c: Any) -> tuple[Any, Any]:
    """Draw normal numbers x until 1 + c x is positive; return both."""
    x = normal(hashed(keys, 1), c.dtype)
    v = 1 + x * c
    (again,) = np.nonzero(v <= 0)
    if again.size:
        x[again], v[again] = _above_zero(hashed(taken(keys, again), 0), c[again])
    return x, v


def poisson_elements(keys: Any, lam: Any, /) -> Any:
    return _rows(_poisson, keys, lam)


def binomial_elements(keys: Any, n: Any, p: Any, /) -> Any:
    if p.dtype in DTYPES:
        return _rows(_binomial, keys, n, p)
    with np.errstate(all="ignore"):  # narrow types overflow in unused values
        return _discrete.binomial_elements(keys, n, p)


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
        np.copyto(result, _by_rejection(key, (lam,), _discrete.PoissonTrial), where=~few)
    return result


class _Chain:
    """The keys of successive trials, computed on demand."""

    def __init__(self, key: Words, number: int, following: int) -> None:
        """Start at a key. `positions` selects among its new keys."""
        self._next, self._number, self._following = key, number, following
        self._made: list[Words] = []

    def __getitem__(self, trial: int) -> Words:
        """Return the key for the numbers of a trial."""
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
        np.copyto(result, _by_rejection(key, usual, _discrete.BinomialTrial), where=~few)
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
    """Try numbers until each element has accepted one. Each element gets its last accepted number."""
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
    """Write the accepted numbers of a trial to their positions in the result; return the remaining positions."""
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
