"""Random numbers of many keys at once on Dask: block by block, by the functions of the blocks' library."""

from functools import partial
from typing import Any

import dask.array as da

from xpand.extend import LibraryArray as Array
from xpand_extensions.random import _discrete as discrete
from xpand_extensions.random import _gamma as gammas


def gamma_elements(keys: Array, a: Array, /, *, log_space: bool) -> Array:
    return _rows(partial(gammas.gamma_elements, log_space=log_space), keys, (a,), a.ndim)


def poisson_elements(keys: Array, lam: Array, /) -> Array:
    return _rows(discrete.poisson_elements, keys, (lam,), lam.ndim - 1)


def binomial_elements(keys: Array, n: Array, p: Array, /) -> Array:
    return _rows(discrete.binomial_elements, keys, (n, p), p.ndim - 1)


def _rows(function: Any, keys: Array, parameters: tuple[Array, ...], shared: int) -> Array:
    """Call a function with keys and their parameters; axes after the shared ones stay whole."""
    last = parameters[-1]
    axes = tuple(range(last.ndim))
    whole = dict.fromkeys(axes[shared:], -1)
    operands: list[Any] = [keys, (*axes[:shared], last.ndim)]
    for x in parameters:
        operands += [x.rechunk(whole) if whole else x, axes]
    return da.blockwise(function, axes, *operands, concatenate=True, dtype=last.dtype, meta=last._meta)
