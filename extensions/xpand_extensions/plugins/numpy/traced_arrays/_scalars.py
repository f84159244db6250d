"""Methods of NumPy's numbers that Python's functions call: `round`, `divmod`, `statistics` and `fractions`."""

from typing import Any, Final

import numpy as np

from xpand_extensions.tracing._array import concrete


def _divmod(self: Any, other: Any) -> Any:
    return np.divmod(self, other)


def _reflected_divmod(self: Any, other: Any) -> Any:
    return np.divmod(other, self)


def _round(self: Any, ndigits: int | None = None) -> Any:
    if self.shape:
        raise TypeError(
            f"round(x): x must be a number, got an array of shape {tuple(self.shape)}; write `np.round(x, decimals)`"
        )
    return round(concrete(self, "round(x)")) if ndigits is None else np.round(self, ndigits)


def _as_integer_ratio(self: Any) -> tuple[int, int]:
    """Return a fraction. Python's modules `statistics` and `fractions` ask for it, and it has no derivative."""
    return float(self).as_integer_ratio()


METHODS: Final = {
    "__divmod__": _divmod,
    "__rdivmod__": _reflected_divmod,
    "__round__": _round,
    "as_integer_ratio": _as_integer_ratio,
}
"""The methods by their names."""
