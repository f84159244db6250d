"""Products and sums of real numbers that are rounded once, computed by NumPy's own operations."""

from typing import Any

import numpy as np


def fused(x: Any, y: Any, z: Any) -> Any:
    """Return x * y + z, rounded once, of numbers that are not near the largest or the smallest."""
    if x.dtype.char == "f":
        return (x.astype(np.longdouble) * y + z).astype(np.float32)
    exact, error = _exact_product(x, y)
    total = exact + z
    part = total - exact
    return total + (((exact - (total - part)) + (z - part)) + error)


def _exact_product(x: Any, y: Any) -> tuple[Any, Any]:
    """Return a product and its rounding error (T. J. Dekker, A floating-point technique, 1971)."""
    (x1, x2), (y1, y2) = (_halves(each) for each in (x, y))
    rounded = x * y
    return rounded, ((x1 * y1 - rounded) + x1 * y2 + x2 * y1) + x2 * y2


def _halves(x: Any) -> tuple[Any, Any]:
    scaled = x * (2.0**27 + 1)
    high = scaled - (scaled - x)
    return high, x - high
