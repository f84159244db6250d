"""What the namespace can do."""

import sys

from array_api_compat.numpy import __array_namespace_info__ as _Info

from .._common.creation import defaults_set
from .._typing import Device, DType


class __array_namespace_info__(_Info):  # type: ignore[misc]
    """The inspection functions of the standard: array-api-compat's, but for the precision that is set."""

    def default_dtypes(self, *, device: Device | None = None) -> dict[str, DType]:
        """The default data type of each kind."""
        return defaults_set(sys.modules[__package__], super().default_dtypes(device=device))
