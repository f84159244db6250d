"""Creation functions, on the device that is asked for or that of the argument, of the precision that is set.

CuPy creates on the current device. array-api-compat accepts `device` and ignores it, except in `asarray`.
"""

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any, cast

import cupy as cp
import numpy as np

from .._common.creation import dtype_of
from .._precision import PRECISION, dtype_for
from .._typing import Array, Device, DType

_XP: Any = sys.modules[__package__]
_SCALARS = (float, complex, np.inexact)


def on(device: Device | None) -> AbstractContextManager[Any]:
    """The context in which arrays are created on `device`; the current device for `None`."""
    return nullcontext() if device is None else cast(AbstractContextManager[Any], cp.cuda.Device(device))


def real(dtype: DType | None) -> DType:
    """The data type that is named, else that of the precision, else float64."""
    if dtype is None and PRECISION.active:
        dtype = dtype_for(_XP, "real floating")
    return float if dtype is None else dtype


def _device_context(x: Array, device: Device | None) -> AbstractContextManager[Any]:
    """The context for an array like `x`: "if device is None, the output array device must be inferred from x"."""
    return on(x.device if device is None else device)


def asarray(
    obj: Any,
    /,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    copy: bool | None = None,
    **kwargs: Any,
) -> Array:
    """An array of the values of `obj`; the other keywords are those of `cupy.array`."""
    if isinstance(obj, cp.ndarray):
        with on(obj.device if device is None else device):
            return cp.array(obj, dtype=dtype, copy=copy, **kwargs)
    if PRECISION.active and dtype is None:
        dtype = dtype_of(_XP, obj)
    with on(device):
        if isinstance(obj, np.ndarray) and obj.ndim == 0:
            obj = obj[()]
        if isinstance(obj, _SCALARS) and obj == 0 and copy is not False and not kwargs:
            # CuPy clears the memory for a zero without dimensions, which turns -0 into +0; with a dimension it copies.
            return cp.array(np.asarray(obj, dtype=dtype).reshape(1)).reshape(())
        return cp.array(obj, dtype=dtype, copy=copy, **kwargs)


def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> Array:
    """An array of the data of another library's; arrays in the memory of the host are copied unless `copy` is false."""
    on_host = x.__dlpack_device__()[0] == 1  # kDLCPU, which `cupy.from_dlpack` refuses
    if on_host and copy is False:
        raise ValueError("from_dlpack: x is in the memory of the host; with copy=False it can't become a CuPy array")
    source = cp.asarray(np.from_dlpack(x)) if on_host else cp.from_dlpack(x)
    if device is not None and cp.cuda.Device(device) != source.device:
        if copy is False:
            raise ValueError(f"from_dlpack: x is on {source.device!r}; with copy=False it can't move to {device!r}")
        with on(device):
            return cp.array(source, copy=True)
    return source.copy() if copy and not on_host else source


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    **kwargs: Any,
) -> Array:
    """Evenly spaced numbers from `start` (0 if only one bound is given) up to but not including `stop`."""
    if PRECISION.active and dtype is None:
        dtype = dtype_of(_XP, start, stop, step)
    with on(device):
        return cp.arange(start, stop, step, dtype=dtype, **kwargs)


def empty(shape: Any, *, dtype: DType | None = None, device: Device | None = None, **kwargs: Any) -> Array:
    """An array whose values are not set."""
    with on(device):
        return cp.empty(shape, dtype=real(dtype), **kwargs)


def empty_like(x: Array, /, *, dtype: DType | None = None, device: Device | None = None, **kwargs: Any) -> Array:
    """An array like `x` whose values are not set."""
    with _device_context(x, device):
        return cp.empty_like(x, dtype=dtype, **kwargs)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: Device | None = None,
    **kwargs: Any,
) -> Array:
    """A matrix with ones on the `k`-th diagonal and zeros elsewhere."""
    with on(device):
        return cp.eye(n_rows, n_cols, k=k, dtype=real(dtype), **kwargs)


def full(
    shape: Any, fill_value: Any, *, dtype: DType | None = None, device: Device | None = None, **kwargs: Any
) -> Array:
    """An array of one value."""
    if PRECISION.active and dtype is None:
        dtype = dtype_of(_XP, fill_value)
    with on(device):
        return cp.full(shape, fill_value, dtype=dtype, **kwargs)


def full_like(
    x: Array, /, fill_value: Any, *, dtype: DType | None = None, device: Device | None = None, **kwargs: Any
) -> Array:
    """An array like `x`, of one value."""
    with _device_context(x, device):
        return cp.full_like(x, fill_value, dtype=dtype, **kwargs)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    endpoint: bool = True,
    **kwargs: Any,
) -> Array:
    """`num` evenly spaced numbers from `start` to `stop`, which is omitted if `endpoint` is false."""
    if PRECISION.active and dtype is None:
        dtype = dtype_of(_XP, start, stop, is_floating=True)
    with on(device):
        return cp.linspace(start, stop, num, dtype=dtype, endpoint=endpoint, **kwargs)


def ones(shape: Any, *, dtype: DType | None = None, device: Device | None = None, **kwargs: Any) -> Array:
    """An array of ones."""
    with on(device):
        return cp.ones(shape, dtype=real(dtype), **kwargs)


def ones_like(x: Array, /, *, dtype: DType | None = None, device: Device | None = None, **kwargs: Any) -> Array:
    """An array like `x`, of ones."""
    with _device_context(x, device):
        return cp.ones_like(x, dtype=dtype, **kwargs)


def zeros(shape: Any, *, dtype: DType | None = None, device: Device | None = None, **kwargs: Any) -> Array:
    """An array of zeros."""
    with on(device):
        return cp.zeros(shape, dtype=real(dtype), **kwargs)


def zeros_like(x: Array, /, *, dtype: DType | None = None, device: Device | None = None, **kwargs: Any) -> Array:
    """An array like `x`, of zeros."""
    with _device_context(x, device):
        return cp.zeros_like(x, dtype=dtype, **kwargs)
