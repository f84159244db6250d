"""Creation of arrays."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from .._typing import Array, Device, DType
from ._dtypes import check_device


def asarray(
    obj: Any,
    /,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    copy: bool | None = None,
    **kwargs: Any,
) -> Array:
    """An array of the values of `obj`.

    `copy`: true always copies, false raises `ValueError` where a copy would be needed, none copies where it is. The
    other keywords are those of `np.array`.
    """
    if device is not None:
        check_device("asarray", device)
    return np.array(obj, dtype, copy=copy, **kwargs)


def _with_device(function: Callable[..., Array]) -> Callable[..., Array]:
    """Let a creation function of NumPy refuse a device in our words; its own don't say which function was called."""
    name = function.__name__

    @wraps(function)
    def create(*args: Any, device: Device | None = None, **kwargs: Any) -> Array:
        if device is not None:
            check_device(name, device)
        return function(*args, **kwargs)

    return create


arange = _with_device(np.arange)
empty = _with_device(np.empty)
empty_like = _with_device(np.empty_like)
eye = _with_device(np.eye)
full = _with_device(np.full)
full_like = _with_device(np.full_like)
linspace = _with_device(np.linspace)
ones = _with_device(np.ones)
ones_like = _with_device(np.ones_like)
zeros = _with_device(np.zeros)
zeros_like = _with_device(np.zeros_like)
