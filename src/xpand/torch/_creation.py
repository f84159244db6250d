"""Creation functions, with the default data types of the current precision."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor

from .._common.creation import dtype_of, refuse_sparse
from .._common.exchange import exportable
from .._common.integers import LARGEST, SMALLEST, check_ends
from .._precision import PRECISION, dtype_for
from ..typing import Device, DType, LibraryArray as Array
from ._dtypes import KINDS, LIMITS, SIGNED, fitting, to_signed

__all__ = [
    "arange",
    "asarray",
    "empty",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "meshgrid",
    "ones",
    "tril",
    "triu",
    "zeros",
]

_Shape = int | tuple[int, ...]

_XP: Any = sys.modules[__package__]
_UNSIGNED = KINDS["unsigned integer"]


def asarray(
    obj: Any, /, *, dtype: DType | None = None, device: Device | None = None, copy: bool | None = None, **kwargs: Any
) -> Array:
    """Return `obj` as an array; a tensor stays on its device, while PyTorch moves it to the default device."""
    if isinstance(obj, Tensor):
        if not kwargs:
            # torch.asarray warns about tensors that require a gradient.
            result = obj.to(device=device, dtype=dtype, copy=bool(copy))
            if copy is False and (result.dtype is not obj.dtype or result.device != obj.device):
                raise ValueError(
                    f"asarray: {obj.dtype} on {obj.device} becomes {result.dtype} on {result.device} by a copy alone, "
                    "which copy=False forbids"
                )
            return result
        if device is None:
            device = obj.device
    elif dtype in _UNSIGNED and isinstance(obj, list | tuple):
        obj = _items(obj, dtype)  # PyTorch wraps negative integers around, and raises for those that are too large
    elif (
        dtype is not None
        and (type(obj) is int or (type(obj) is float and dtype.is_floating_point))
        and 0 <= obj < 128
        and copy is not False
        and not kwargs
    ):
        return torch.full((), obj, dtype=dtype, device=device)  # takes half the time; larger numbers may overflow
    elif type(obj) is int and dtype is not None:
        obj = _fitting("asarray", obj, dtype)
    if PRECISION.active and dtype is None:
        dtype = dtype_of(_XP, obj, device=device)
    try:
        return torch.asarray(obj, dtype=dtype, device=device, copy=copy, **kwargs)
    except (TypeError, ValueError, RuntimeError, IndexError):
        refuse_sparse(obj)
        if dtype in LIMITS:
            _items(obj, dtype)
        raise


def _fitting(function: str, number: int, dtype: DType) -> int | float:
    return number if dtype is torch.bool else fitting(function, number, dtype)


def _items(obj: Any, dtype: DType) -> Any:
    """Check Python integers in a nested sequence, and replace 0-d arrays of types that PyTorch does not accept."""
    if isinstance(obj, list | tuple):
        return [_items(o, dtype) for o in obj]
    if type(obj) is int:
        return _fitting("asarray", obj, dtype)
    return obj.item() if dtype in SIGNED and isinstance(obj, Tensor) and obj.ndim == 0 else obj


def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> Array:
    """Return an array that shares the memory of `x`, or a copy of it if PyTorch does not support its memory layout."""
    x = exportable(x, copy)
    found = _with_negative_strides(x)
    if found is None:
        return torch.from_dlpack(x, device=device, copy=copy)
    if copy is False:
        raise BufferError("from_dlpack: x has negative strides, so PyTorch needs a copy, which copy=False forbids")
    return torch.from_numpy(found.copy(order="C")).to(device=device)


def _with_negative_strides(x: Any) -> Any:
    """Return `x` as an array of NumPy if its strides are negative: PyTorch would end the process. Otherwise None."""
    numpy = sys.modules.get("numpy")
    if numpy is None or isinstance(x, Tensor):
        return None
    try:
        if x.__dlpack_device__()[0] != 1:  # not on the CPU: NumPy might copy it to the host
            return None
        found = numpy.from_dlpack(x)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError):  # no type of NumPy
        return None
    return found if any(stride < 0 for stride in found.strides) else None


def _of_shape(native: Callable[..., Array], doc: str) -> Callable[..., Array]:
    def function(shape: _Shape, *, dtype: DType | None = None, device: Device | None = None, **kwargs: Any) -> Array:
        if PRECISION.active and dtype is None:
            dtype = dtype_for(_XP, "real floating", device)
        return native(shape, dtype=dtype, device=device, **kwargs)

    function.__name__ = function.__qualname__ = native.__name__
    function.__doc__ = doc
    return function


empty = _of_shape(torch.empty, "An array of the given shape with arbitrary elements.")
zeros = _of_shape(torch.zeros, "An array of zeros.")
ones = _of_shape(torch.ones, "An array of ones.")


def full(
    shape: _Shape, fill_value: complex, *, dtype: DType | None = None, device: Device | None = None, **kwargs: Any
) -> Array:
    """Return an array of the given shape (an int for one dimension), filled with a value."""
    if PRECISION.active and dtype is None:
        dtype = dtype_of(_XP, fill_value, device=device)
    if type(fill_value) is int and dtype is not None and not SMALLEST <= fill_value <= LARGEST:
        fill_value = _fitting("full", fill_value, dtype)
    return torch.full(
        shape if isinstance(shape, (tuple, list)) else (shape,), fill_value, dtype=dtype, device=device, **kwargs
    )


def full_like(
    x: Array, /, fill_value: complex, *, dtype: DType | None = None, device: Device | None = None, **kwargs: Any
) -> Array:
    """Return an array of the shape of `x`, and by default of its data type and device, filled with a value."""
    if type(fill_value) is int and not SMALLEST <= fill_value <= LARGEST:
        fill_value = _fitting("full_like", fill_value, x.dtype if dtype is None else dtype)
    return torch.full_like(x, fill_value, dtype=dtype, device=device, **kwargs)


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
    """Return evenly spaced values from `start` (default 0) to below `stop`; none if `step` has the wrong sign."""
    if stop is None:
        start, stop = 0, start
    if PRECISION.active and dtype is None:
        dtype = dtype_of(_XP, start, stop, step, device=device)
    if dtype is not None:
        check_ends(start, stop, step, lambda number: _fitting("arange", number, dtype))
    if (stop - start) * step <= 0:
        if step == 0:
            raise ValueError("arange: `step` is 0; expected a nonzero number")
        if dtype is None and not all(isinstance(v, int) for v in (start, stop, step)):
            dtype = torch.get_default_dtype()
        return torch.empty(0, dtype=dtype or torch.int64, device=device, **kwargs)
    if dtype not in SIGNED:
        return torch.arange(start, stop, step, dtype=dtype, device=device, **kwargs)
    # There is no kernel for these types. int64 arithmetic modulo 2**64 is correct for uint64, too.
    if all(isinstance(v, int) for v in (start, stop, step)):
        count = torch.arange(-(-(stop - start) // step), dtype=torch.int64, device=device, **kwargs)
        first = (int(start) + 2**63) % 2**64 - 2**63  # the int64 number with the same bits
        return (count * int(step) + first).to(dtype)
    return torch.arange(start, stop, step, dtype=torch.int64, device=device, **kwargs).to(dtype)


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
    """Return ones on the `k`-th diagonal, zeros elsewhere."""
    if n_cols is None:
        n_cols = n_rows
    if PRECISION.active and dtype is None:
        dtype = dtype_for(_XP, "real floating", device)
    if k == 0 and dtype not in SIGNED:
        return torch.eye(n_rows, n_cols, dtype=dtype, device=device, **kwargs)
    result = torch.zeros(n_rows, n_cols, dtype=dtype, device=device, **kwargs)
    if -n_rows < k < n_cols:
        result.diagonal(k).fill_(1)
    return result


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    endpoint: bool = True,
    **kwargs: Any,
) -> Array:
    """Return `num` evenly spaced values from `start` to `stop`, without `stop` itself if `endpoint` is false."""
    if PRECISION.active and dtype is None:
        dtype = dtype_of(_XP, start, stop, device=device, is_floating=True)
    computed = torch.float64 if dtype in SIGNED else dtype
    if endpoint:
        result = torch.linspace(start, stop, num, dtype=computed, device=device, **kwargs)
    else:
        result = torch.linspace(start, stop, num + 1, dtype=computed, device=device, **kwargs)[:-1]
    return result if computed is dtype else result.to(dtype)


def _triangle(native: Callable[..., Array], doc: str) -> Callable[..., Array]:
    def function(x: Array, /, *, k: int = 0) -> Array:
        return native(to_signed(x), k).view(x.dtype) if x.dtype in SIGNED else native(x, k)

    function.__name__ = function.__qualname__ = native.__name__
    function.__doc__ = doc
    return function


tril = _triangle(torch.tril, "The lower triangles of a stack of matrices, zeros above the `k`-th diagonal.")
triu = _triangle(torch.triu, "The upper triangles of a stack of matrices, zeros below the `k`-th diagonal.")


def meshgrid(*arrays: Array, indexing: Literal["xy", "ij"] = "xy") -> tuple[Array, ...]:
    """Return the coordinate matrices from one-dimensional arrays, in Cartesian ("xy") or matrix ("ij") order."""
    if indexing != "xy" and indexing != "ij":
        raise ValueError(f"meshgrid: `indexing` is {indexing!r}; expected 'xy' or 'ij'")
    return tuple(torch.meshgrid(*arrays, indexing=indexing)) if arrays else ()
