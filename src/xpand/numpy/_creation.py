"""Creation functions, with the default data types of the current precision."""

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from .._common.creation import CALLS, dtype_of, refuse_sparse, with_default
from .._common.exchange import exportable
from .._common.limits import checking_ends
from .._namespace import namespace_of_traced
from .._precision import PRECISION
from ..typing import Device, DType, LibraryArray as Array
from ._dtypes import check_device

_XP: Any = sys.modules[__package__]


def asarray(
    obj: Any, /, *, dtype: DType | None = None, device: Device | None = None, copy: bool | None = None, **kwargs: Any
) -> Array:
    """Return `obj` as an array.

    With `copy=True` always copy, with `copy=None` copy if needed, and with `copy=False` raise a `ValueError` if a copy
    is needed. The other keywords are the same as for `np.array`.
    """
    if device is not None:
        check_device("asarray", device)
    if PRECISION.active and dtype is None:
        dtype = dtype_of(_XP, obj)
    try:
        found = np.array(obj, dtype, copy=copy, **kwargs)
    except (TypeError, ValueError):
        traced = namespace_of_traced(obj)
        if traced is None:
            raise
    else:
        traced = None
    if traced is not None:
        return traced.array(obj, dtype, copy=copy, **kwargs)
    # NumPy makes arrays of objects from unknown objects. scikit-learn expects that for SciPy's sparse arrays.
    if found.dtype.kind == "O" and not type(obj).__module__.startswith("scipy.sparse"):
        refuse_sparse(obj)
    return found


def _creating(function: Callable[..., Array]) -> Callable[..., Array]:
    """Add the default data type of the precision to a creation function, and a check of the device that names it.

    NumPy's arrays cannot hold a traced fill value or bound, so the traced namespace makes an array of those.
    """
    name = function.__name__

    @wraps(function)
    def create(*args: Any, device: Device | None = None, **kwargs: Any) -> Array:
        if device is not None:
            check_device(name, device)
        if PRECISION.active and name in CALLS:
            kwargs = with_default(_XP, name, args, kwargs)
        try:
            return function(*args, **kwargs)
        except TypeError:
            traced = namespace_of_traced(*args, *kwargs.values())
            if traced is None:
                raise
        return getattr(traced, name)(*args, **kwargs)

    return create


def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> Array:
    """Return an array that shares the memory of `x`, or a copy of it if `copy`."""
    return np.from_dlpack(exportable(x, copy), device=device, copy=copy)


arange = checking_ends(_creating(np.arange), np)
empty = _creating(np.empty)
empty_like = _creating(np.empty_like)
eye = _creating(np.eye)
full = _creating(np.full)
full_like = _creating(np.full_like)
linspace = _creating(np.linspace)
ones = _creating(np.ones)
ones_like = _creating(np.ones_like)
zeros = _creating(np.zeros)
zeros_like = _creating(np.zeros_like)
