"""Creation functions, on the given device or that of the argument, with the data types of the current precision.

CuPy creates arrays on the current device. array-api-compat ignores `device`, except in `asarray`.
"""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar, cast

import cupy as cp
import numpy as np

from .._common.creation import dtype_of, with_default
from .._common.limits import check_fits, checking_ends
from .._precision import PRECISION, dtype_for
from ..typing import Array, Device, DType

F = TypeVar("F", bound=Callable[..., Array])

_XP: Any = sys.modules[__package__]
_SCALARS = (float, complex, np.inexact)


def on(device: Device | None) -> AbstractContextManager[Any]:
    """Return a context in which arrays are created on `device`, or on the current device for None."""
    return nullcontext() if device is None else cast(AbstractContextManager[Any], cp.cuda.Device(device))


def real(dtype: DType | None) -> DType:
    """Return `dtype`; for None, the real data type of the precision, else float64."""
    if dtype is None and PRECISION.active:
        dtype = dtype_for(_XP, "real floating")
    return float if dtype is None else dtype


def asarray(
    obj: Any, /, *, dtype: DType | None = None, device: Device | None = None, copy: bool | None = None, **kwargs: Any
) -> Array:
    """Return `obj` as an array; the other keywords are the same as for `cupy.array`."""
    if isinstance(obj, cp.ndarray):
        with on(obj.device if device is None else device):
            return cp.array(obj, dtype=dtype, copy=copy, **kwargs)
    if PRECISION.active and dtype is None:
        dtype = dtype_of(_XP, obj)
    with on(device):
        if isinstance(obj, np.ndarray) and obj.ndim == 0:
            obj = obj[()]
        if isinstance(obj, _SCALARS) and obj == 0 and copy is not False and not kwargs:
            # For a zero without dimensions, CuPy clears the memory, which turns -0 into +0. With a dimension it copies.
            return cp.array(np.asarray(obj, dtype=dtype).reshape(1)).reshape(())
        return cp.array(obj, dtype=dtype, copy=copy, **kwargs)


def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> Array:
    """Return an array with the data of another library's array. Host memory is copied unless `copy` is False."""
    on_host = x.__dlpack_device__()[0] == 1  # kDLCPU, which `cupy.from_dlpack` does not accept
    if on_host and copy is False:
        raise ValueError("from_dlpack: x is in the memory of the host; with copy=False it can't become a CuPy array")
    source = cp.asarray(np.from_dlpack(x)) if on_host else cp.from_dlpack(x)
    if device is not None and cp.cuda.Device(device) != source.device:
        if copy is False:
            raise ValueError(f"from_dlpack: x is on {source.device!r}; with copy=False it can't move to {device!r}")
        with on(device):
            return cp.array(source, copy=True)
    return source.copy() if copy and not on_host else source


def _takes_device(function: Callable[..., Array]) -> Callable[[F], F]:
    """Decorate a function like `wraps`, with a parameter `device` in its signature."""
    device = Parameter("device", Parameter.KEYWORD_ONLY, default=None)
    parameters = sorted([*signature(function).parameters.values(), device], key=lambda each: each.kind)

    def decorate(create: F) -> F:
        cast(Any, create).__signature__ = Signature(parameters)
        return cast(F, wraps(function)(create))

    return decorate


def _creating(name: str) -> Callable[..., Array]:
    """Add the default data type of the precision, and the option `device`, to a creation function."""
    function: Callable[..., Array] = getattr(cp, name)

    @_takes_device(function)
    def create(*args: Any, device: Device | None = None, **kwargs: Any) -> Array:
        if PRECISION.active:
            kwargs = with_default(_XP, name, args, kwargs)
        with on(device):
            return function(*args, **kwargs)

    return create


def _like(function: Callable[..., Array]) -> Callable[..., Array]:
    """Add the option `device` to a function: "if device is None, the output array device must be inferred from x"."""

    @_takes_device(function)
    def create(x: Array, /, *args: Any, device: Device | None = None, **kwargs: Any) -> Array:
        with on(x.device if device is None else device):
            return function(x, *args, **kwargs)

    return create


def _filling(create: F, *, is_like: bool) -> F:
    """Make a function raise for a Python integer that its data type does not hold, which CuPy wraps around."""

    @wraps(create)
    def function(first: Any, /, fill_value: Any, dtype: DType | None = None, **kwargs: Any) -> Array:
        if type(fill_value) is int:
            wanted = first.dtype if dtype is None and is_like else dtype
            if wanted is not None:
                check_fits(create.__name__, fill_value, np.dtype(wanted), np)
        return create(first, fill_value, dtype=dtype, **kwargs)

    return cast(F, function)


arange = checking_ends(_creating("arange"), np)
empty = _creating("empty")
empty_like = _like(cp.empty_like)
eye = _creating("eye")
full = _filling(_creating("full"), is_like=False)
full_like = _filling(_like(cp.full_like), is_like=True)
linspace = _creating("linspace")
ones = _creating("ones")
ones_like = _like(cp.ones_like)
zeros = _creating("zeros")
zeros_like = _like(cp.zeros_like)
