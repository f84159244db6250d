"""Dask's own random numbers, chunk by chunk."""

from typing import Any

import dask.array as da

from xpand.extend import Device, Namespace, namespace_or_default

from ...numpy.random._native import Source


def native_generator(seed: int, /, *, xp: Namespace | str | None = None, device: Device | None = None) -> Any:
    return Source(da.random.default_rng(seed), namespace_or_default(xp, "native_generator"))
