"""The gamma distribution on NumPy: the array is divided into parts, and only undecided elements are tried again."""

from typing import Any, Final

import numpy as np

from xpand_extensions.generic.random import _gamma as generic

from ._elements import DTYPES, Words, hashed, normal, taken, uniform

_BLOCK_SIZE: Final = 2**15
"""The number of elements in a part."""


def gamma_elements(keys: Any, a: Any, /, *, log_space: bool) -> Any:
    if a.dtype not in DTYPES:
        with np.errstate(all="ignore"):  # narrow numbers overflow in values that are not used
            return generic.gamma_elements(keys, a, log_space=log_space)
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
    """Try cubes of normal numbers about 1 until one is accepted for each element."""
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
        result[positions] = cube  # rejected ones are overwritten later
        (again,) = np.nonzero(rejected)
        positions, c, d, keys = positions[again], c[again], d[again], hashed(taken(keys, again), 0)
    return result


def _above_zero(keys: Words, c: Any) -> tuple[Any, Any]:
    """Draw normal numbers x until 1 + c x is above 0; return both."""
    x = normal(hashed(keys, 1), c.dtype)
    v = 1 + x * c
    (again,) = np.nonzero(v <= 0)
    if again.size:
        x[again], v[again] = _above_zero(hashed(taken(keys, again), 0), c[again])
    return x, v
