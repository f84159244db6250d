"""Random numbers on CuPy, by its own generators."""

from typing import Any

import cupy

from xpand.extend import Device, Namespace, namespace_or_default

from ..numpy.random._native import Source


def native_generator(seed: int, /, *, xp: Namespace | str | None = None, device: Device | None = None) -> Any:
    with cupy.cuda.Device(device) if device is not None else cupy.cuda.Device():
        return Source(cupy.random.default_rng(seed), namespace_or_default(xp, "native_generator"))
