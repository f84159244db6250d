"""Random orders and choices for any library, by sorting random bits."""

import math
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, checks, default_dtype

from ... import sorting
from ...random._arguments import arrays_of
from ...random._choice import permutation as _permutation
from ...random._continuous import gumbel
from ...random._keys import bits, split
from ...random._uniform import randint, uniform


def permutation(key: Array, /, x: Array | int, axis: int = 0, independent: bool = False) -> Array:
    xp = array_namespace(key, *arrays_of(x))
    if isinstance(x, int):
        dtype = default_dtype(xp, "integral", checks.device_of(key))
        return _shuffled(key, xp.arange(x, dtype=dtype, device=checks.device_of(key)), 0)
    if independent:
        return _shuffled(key, x, axis)
    positions = _shuffled(key, xp.arange(x.shape[axis], dtype=xp.int64, device=checks.device_of(key)), 0)
    return xp.take(x, positions, axis=axis)


def _shuffled(key: Array, x: Array, axis: int) -> Array:
    xp = array_namespace(key, x)
    # With this number of rounds, hardly any two elements get equal bits in all rounds.
    rounds = math.ceil(3 * math.log(max(1, math.prod(x.shape))) / math.log(2**32 - 1))
    for _ in range(rounds):
        keys = split(key)
        key = keys[0, ...]
        order = xp.argsort(bits(keys[1, ...], tuple(x.shape), xp.uint32), axis=axis, stable=True)
        x = xp.take_along_axis(x, order, axis=axis)
    return x


def choice(
    key: Array, /, a: Any, shape: Any = (), replace: bool = True, p: Any = None, axis: int = 0, mode: Any = None
) -> Array:
    xp = array_namespace(key, *arrays_of(a, p))
    device = checks.device_of(key)
    integers = default_dtype(xp, "integral", device)
    before, number, after = ((), a, ()) if isinstance(a, int) else (a.shape[:axis], a.shape[axis], a.shape[axis + 1 :])
    full = (*before, *shape, *after)
    drawn = math.prod(shape)
    if not drawn:
        positions = xp.zeros(shape, dtype=integers, device=device)
    elif p is None and replace:
        positions = randint(key, shape, 0, number, integers)
    elif p is None:
        positions = _permutation(key, a, axis)
        positions = positions[(*[slice(None)] * axis, slice(0, drawn), ...)]
        return xp.reshape(positions, full)
    elif replace:
        sums = xp.cumulative_sum(p)
        r = sums[-1] * (1 - uniform(key, shape, p.dtype))
        positions = xp.astype(xp.searchsorted(sums, xp.reshape(r, (-1,))), integers)
    else:
        # Avoid NumPy's warning for the logarithm of zero.
        logarithm = xp.where(p == 0.0, -math.inf, xp.log(xp.where(p == 0.0, 1.0, p)))
        g = gumbel(key, (number,), p.dtype, mode) + logarithm
        positions = xp.astype(sorting.top_k(g, drawn)[1], integers)
    positions = xp.reshape(positions, shape)
    if isinstance(a, int):
        return positions
    taken = xp.take(a, xp.reshape(positions, (drawn,)), axis=axis)
    return xp.reshape(taken, full)
