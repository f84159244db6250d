"""Creation of arrays, of the data types that the precision says where one is set."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from .._common.creation import dtype_of, refuse_sparse, with_default
from .._precision import PRECISION
from ..typing import Device, DType, LibraryArray as Array
from ._dtypes import check_device

_XP: Any = sys.modules[__package__]


def asarray(
    obj: Any, /, *, dtype: DType | None = None, device: Device | None = None, copy: bool | None = None, **kwargs: Any
) -> Array:
    """Return an array of the values of `obj`.

    `copy`: true always copies, false raises `ValueError` where a copy would be needed, none copies where it is. The
    other keywords are those of `np.array`.
    """
    if device is not None:
        check_device("asarray", device)
    if PRECISION.active and dtype is None:
        dtype = dtype_of(_XP, obj)
    found = np.array(obj, dtype, copy=copy, **kwargs)
    if found.dtype.kind == "O":  # NumPy makes object arrays of unknown objects
        refuse_sparse(obj)
    return found


def _with_device(function: Callable[..., Array]) -> Callable[..., Array]:
    """Let a creation function of NumPy refuse a device in our words; its own don't say which function was called."""
    name = function.__name__

    @wraps(function)
    def create(*args: Any, device: Device | None = None, **kwargs: Any) -> Array:
        if device is not None:
            check_device(name, device)
        return function(*args, **kwargs)

    return create


def _creating(function: Callable[..., Array]) -> Callable[..., Array]:
    """Let a function whose arrays have a default data type heed the precision, and refuse a device in our words."""
    name = function.__name__

    @wraps(function)
    def create(*args: Any, device: Device | None = None, **kwargs: Any) -> Array:
        if device is not None:
            check_device(name, device)
        if PRECISION.active:
            kwargs = with_default(_XP, name, args, kwargs)
        return function(*args, **kwargs)

    return create


arange = _creating(np.arange)
empty = _creating(np.empty)
empty_like = _with_device(np.empty_like)
eye = _creating(np.eye)
full = _creating(np.full)
full_like = _with_device(np.full_like)
linspace = _creating(np.linspace)
ones = _creating(np.ones)
ones_like = _with_device(np.ones_like)
zeros = _creating(np.zeros)
zeros_like = _with_device(np.zeros_like)
