"""The capabilities of the namespace."""

import sys

import cupy as cp
from array_api_compat.cupy import __array_namespace_info__ as _Info

from .._common.creation import defaults_set
from .._typing import Device, DType


class __array_namespace_info__(_Info):  # type: ignore[misc]
    """The inspection functions of the standard: array-api-compat's, but for the defaults."""

    def default_device(self) -> Device:
        """The current device, on which arrays are created that ask for no other; not always the first."""
        return cp.cuda.Device()

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, DType]:
        """The default data type of each kind, of the precision that is set where one is."""
        return defaults_set(sys.modules[__package__], super().default_dtypes(device=device))
