"""JAX's random numbers are those of keys: a generator that counts."""

from typing import Any

from xpand.extend import Device, Namespace
from xpand_extensions.random._generators import Generator


def native_generator(seed: int, /, *, xp: Namespace | str | None = None, device: Device | None = None) -> Any:
    return Generator(seed, xp="jax", device=device)
