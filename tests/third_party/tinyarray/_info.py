"""The inspection functions of the standard."""

from typing import Any

import numpy as np

from ._array import DEVICE


class Info:
    """The inspection API of the standard."""

    def capabilities(self) -> dict[str, Any]:
        """Say what is possible."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """Name the device of new arrays."""
        return DEVICE

    def devices(self) -> tuple[str, ...]:
        """Name the devices."""
        return (DEVICE,)

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Name the data types of new arrays."""
        names = {"real floating": "float64", "complex floating": "complex128", "integral": "int64", "indexing": "int64"}
        return {kind: np.dtype(name) for kind, name in names.items()}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, Any]:
        """Name the data types."""
        from . import DTYPES

        found = {name: np.dtype(name) for name in DTYPES}
        return {name: dtype for name, dtype in found.items() if kind is None or np.isdtype(dtype, kind)}
