"""Gradients of functions of NumPy arrays by central differences."""

from collections.abc import Callable
from typing import Any

import numpy as np


def differences_of(function: Callable[[Any], Any], x: Any, step: float = 1e-6) -> Any:
    """Return the gradient of a function with one number as its result."""
    result = np.zeros(x.shape)
    for i in np.ndindex(x.shape):
        offset = np.zeros(x.shape)
        offset[i] = step
        result[i] = (float(function(x + offset)) - float(function(x - offset))) / (2 * step)
    return result
