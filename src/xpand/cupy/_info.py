"""What the namespace can do."""

from typing import TYPE_CHECKING

import cupy as cp

from .._typing import Device

if TYPE_CHECKING:
    _Info = object
else:
    from array_api_compat.cupy import __array_namespace_info__ as _Info


class __array_namespace_info__(_Info):
    """The inspection functions of the standard: array-api-compat's, but for the default device."""

    def default_device(self) -> Device:
        """The current device, on which arrays are created that ask for no other; not always the first."""
        return cp.cuda.Device()
