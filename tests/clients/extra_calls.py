"""Calls of array-api-extra."""

from collections.abc import Callable, Mapping
from typing import Any

import array_api_extra as xpx
import numpy as np

import xpand

_on = xpand.array_namespace
CONSTANT = np.asarray([0.7, 1.2, 0.4, 0.9, 1.6, 0.3])


def _times(x: Any, integers: Any) -> Any:
    return x * _on(x).astype(integers, x.dtype)


def calls() -> Mapping[str, Callable[[Any], Any]]:
    """Return all calls: of what is traced alone, and of what is traced beside arrays of NumPy."""
    return OF_TRACED | BESIDE_CONSTANTS


OF_TRACED: dict[str, Callable[[Any], Any]] = {
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
    "unravel_index": lambda x: _times(x, xpx.unravel_index(_on(x).arange(6), (2, 3))[0]),
}

BESIDE_CONSTANTS: dict[str, Callable[[Any], Any]] = {
    "apply_where of two arrays": lambda x: xpx.apply_where(
        x > CONSTANT, (x, CONSTANT), lambda a, b: a * b, lambda a, b: a - b
    ),
    "apply_where on constants": lambda x: xpx.apply_where(
        CONSTANT > 0.5, (CONSTANT, x), lambda a, b: a * b, fill_value=0.0
    ),
    "at add of a constant": lambda x: xpx.at(x * 1.0)[1:3].add(CONSTANT[1:3]),
    "isclose to a constant": lambda x: _on(x).where(xpx.isclose(x, CONSTANT), x, -x),
    "kron with a constant": lambda x: xpx.kron(x, CONSTANT),
    "kron of a constant": lambda x: xpx.kron(CONSTANT, x),
    "searchsorted in a constant": lambda x: _times(x, xpx.searchsorted(np.sort(CONSTANT), x)),
    "setdiff1d with a constant": lambda x: xpx.setdiff1d(x, CONSTANT),
}
