"""The capabilities and the devices of the namespace."""

import sys
from typing import TypeAlias

import jax.numpy as jnp

from .._common.creation import defaults_set
from .._typing import Device, DType

__all__ = ["__array_namespace_info__"]

Kinds: TypeAlias = str | tuple[str, ...] | None


class NamespaceInfo:
    """The inspection object of the standard: JAX's own, except for the type and contents of `devices`."""

    def __init__(self) -> None:
        self._native = jnp.__array_namespace_info__()

    def capabilities(self) -> dict[str, bool | int | None]:
        """Return the optional capabilities. Boolean indexing and data-dependent shapes work eagerly, not under jit."""
        return dict(self._native.capabilities())

    def default_device(self) -> Device:
        """None: JAX leaves the choice open until an array meets one that is committed to a device."""
        return self._native.default_device()

    def devices(self) -> tuple[Device, ...]:
        """Every device of every backend, as `x.device` returns them and `device=` takes them.

        The standard asks for a tuple; JAX returns a list that starts with None.
        """
        return tuple(device for device in self._native.devices() if device is not None)

    def default_dtypes(self, *, device: Device = None) -> dict[str, DType]:
        """The data type of each kind that a creation function gives when none is named.

        It is that of the precision that is set, else depends on `jax_enable_x64`.
        """
        return defaults_set(sys.modules[__package__], dict(self._native.default_dtypes(device=device)), device)

    def dtypes(self, *, device: Device = None, kind: Kinds = None) -> dict[str, DType]:
        """The data types of the standard by name, all or those of the given kinds; depends on `jax_enable_x64`."""
        return dict(self._native.dtypes(device=device, kind=kind))


def __array_namespace_info__() -> NamespaceInfo:
    """Return the standard's inspection object for JAX."""
    return NamespaceInfo()
