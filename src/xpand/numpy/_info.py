"""The capabilities of the namespace."""

import sys
from typing import Any

from array_api_compat.numpy import __array_namespace_info__ as _Info

from .._common.creation import defaults_set
from .._typing import Device, DType
from ._dtypes import check_device

_XP: Any = sys.modules[__package__]
_DEFAULTS = _Info().default_dtypes()


class __array_namespace_info__(_Info):  # type: ignore[misc]
    """The inspection functions of the standard: array-api-compat's, but for the precision that is set."""

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, DType]:
        """The default data type of each kind."""
        if device is not None:
            check_device("default_dtypes", device)
        return defaults_set(_XP, dict(_DEFAULTS))
