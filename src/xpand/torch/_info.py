"""`__array_namespace_info__`: the capabilities and devices of the namespace."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import torch

from .._common.creation import defaults_set
from ..typing import Device, DType
from ._dtypes import KINDS

_XP: Any = sys.modules[__package__]
_NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
_DTYPES: dict[str, DType] = {name: getattr(torch, name) for name in _NAMES.split()}


class NamespaceInfo:
    """The standard's inspection functions for PyTorch."""

    def capabilities(self) -> dict[str, bool | int | None]:
        """Return the optional capabilities of the standard. PyTorch's elementwise kernels support 64 dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Device:
        """Return the device of new arrays, which `torch.set_default_device` and `with torch.device(...)` choose."""
        return torch.get_default_device()

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, DType]:
        """Return the default data type of each kind, which depends on the current precision, but not on the device."""
        real = torch.get_default_dtype()
        own = {
            "real floating": real,
            "complex floating": torch.promote_types(real, torch.complex32),  # `to_complex` does not compile
            "integral": torch.int64,
            "indexing": torch.int64,
        }
        return defaults_set(_XP, own, device)

    def dtypes(self, *, device: Device | None = None, kind: str | tuple[str, ...] | None = None) -> dict[str, DType]:
        """Return the standard's data types that `device` supports, by name: of one kind, of several, or all."""
        if kind is None:
            kinds: tuple[str, ...] = ("bool", "numeric")
        else:
            kinds = kind if isinstance(kind, tuple) else (kind,)
        for k in kinds:
            if k not in KINDS:
                raise ValueError(f"dtypes: unknown kind {k!r}; expected one of {', '.join(map(repr, KINDS))}")
        found = {name: dtype for name, dtype in _DTYPES.items() if any(dtype in KINDS[k] for k in kinds)}
        if device is not None and torch.device(device).type == "mps":
            # Apple's GPUs have no double precision.
            found = {n: d for n, d in found.items() if d not in (torch.float64, torch.complex128)}
        return found

    def devices(self) -> tuple[Device, ...]:
        """Return the available devices: the CPU, every accelerator, and "meta"."""
        return _devices()


@cache
def _devices() -> tuple[Device, ...]:
    found = [torch.device("cpu")]
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if accelerator is not None:
        found += [torch.device(accelerator.type, i) for i in range(torch.accelerator.device_count())]
    return (*found, torch.device("meta"))


_INFO = NamespaceInfo()


def __array_namespace_info__() -> NamespaceInfo:
    """Return the inspection functions: `capabilities`, `default_device`, `default_dtypes`, `devices`, `dtypes`."""
    return _INFO
