"""Creation functions, with the default data types of the current precision."""

import math
import sys
from collections.abc import Callable
from functools import partial
from itertools import accumulate, product
from numbers import Integral
from typing import Any

import dask.array as da
import numpy as np
from dask._task_spec import Task
from dask.array.backends import array_creation_dispatch
from dask.array.core import normalize_chunks
from dask.base import tokenize

from ..._common.creation import dtype_of
from ..._common.exchange import exportable
from ..._common.integers import check_ends
from ..._common.limits import check_fits
from ..._precision import PRECISION, dtype_for
from ...typing import Device, DType, LibraryArray as Array
from ._info import check_device, result_type

Shape = int | tuple[int, ...]

_XP: Any = sys.modules[__package__]


def real(dtype: DType | None) -> DType:
    """Return `dtype`; for None, the real data type of the precision, else float64."""
    if dtype is None and PRECISION.active:
        dtype = dtype_for(_XP, "real floating")
    return np.dtype(np.float64 if dtype is None else dtype)


def _chunks(shape: Shape, chunks: Any, dtype: DType) -> tuple[tuple[int, ...], ...]:
    """Choose chunks. An array without elements gets one chunk, because Dask would divide by zero."""
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if chunks == "auto" and 0 in shape:
        return tuple((int(size),) for size in shape)
    return normalize_chunks(chunks, shape, dtype=dtype)


def _has_lazy(obj: Any) -> bool:
    return isinstance(obj, da.Array) or (isinstance(obj, (list, tuple)) and any(map(_has_lazy, obj)))


def asarray(
    obj: Any, /, *, dtype: DType | None = None, device: Device | None = None, copy: bool | None = None, **kwargs: Any
) -> Array:
    """Make a Dask array from a scalar, nested sequences, an array of another library, or a Dask array.

    Sequences may contain Dask arrays, which are stacked lazily. Arrays of other libraries are copied, because a graph
    must not change when its source does. Arrays with `__array_function__`, such as CuPy's, become blocks of their type.

    Raises:
        ValueError: `copy=False`, but a copy is needed.
    """
    check_device("asarray", device)
    if PRECISION.active and dtype is None:
        dtype = dtype_of(_XP, obj)
    if isinstance(obj, da.Array):
        if dtype is not None and dtype != obj.dtype:
            if copy is False:
                raise ValueError(f"asarray: copy=False, but {obj.dtype} needs a copy to become {dtype}")
            return obj.astype(dtype)
        return obj.copy() if copy else obj
    if copy is False:
        raise ValueError(f"asarray: copy=False, but a {type(obj).__name__} is always copied into a Dask array")
    if isinstance(obj, (list, tuple)) and _has_lazy(obj):
        items = [asarray(item) for item in obj]
        common = result_type(*items) if dtype is None else dtype
        return da.stack([item.astype(common) for item in items])
    if not hasattr(obj, "__array_function__"):
        obj = np.asarray(obj, dtype=dtype)
    if 0 in obj.shape:
        kwargs.setdefault("chunks", obj.shape)  # see _chunks
    array = da.from_array(obj, **kwargs)
    return array if dtype is None or dtype == array.dtype else array.astype(dtype)


def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> Array:
    """Make a Dask array from an array of any library that supports DLPack; return a Dask array unchanged."""
    check_device("from_dlpack", device)
    if not isinstance(x, da.Array):
        if copy is False:
            raise ValueError(f"from_dlpack: copy=False, but a {type(x).__name__} is always copied into a Dask array")
        return asarray(np.from_dlpack(exportable(x, copy), copy=copy))
    return x.copy() if copy else x


def _name(function: str, *made_of: Any) -> str:
    """Make an array's name from the values that determine it. Dask pickles a function, which takes longer."""
    return f"{function}-{tokenize(function, array_creation_dispatch.backend, *made_of)}"


def _made(make: Callable[..., Array], shape: Shape, chunks: Any, dtype: DType, *value: complex, **kwargs: Any) -> Array:
    """Make an array of equal elements with a function of Dask."""
    chunks = _chunks(shape, chunks, dtype)
    if kwargs.get("name") is None:
        kwargs["name"] = _name(make.__name__, chunks, dtype, value, kwargs)
    return make(shape, *value, dtype=dtype, chunks=chunks, **kwargs)


def _like(make: Callable[..., Array], x: Array, dtype: DType | None, *value: complex, **kwargs: Any) -> Array:
    """Make an array of equal elements with a function of Dask, with the shape and chunks of another array."""
    # Keywords, unknown sizes and blocks other than NumPy's may affect the result. Then Dask makes the name.
    if not kwargs and isinstance(x, da.Array) and type(x._meta) is np.ndarray and not any(map(math.isnan, x.shape)):
        kwargs["name"] = _name(make.__name__, x.chunks, np.dtype(x.dtype if dtype is None else dtype), value)
    return make(x, *value, dtype=dtype, **kwargs)


def _creator(make: Callable[..., Array], values: str) -> Callable[..., Array]:
    name = make.__name__

    def create(
        shape: Shape, *, dtype: DType | None = None, device: Device | None = None, chunks: Any = "auto", **kwargs: Any
    ) -> Array:
        check_device(name, device)
        return _made(make, shape, chunks, real(dtype), **kwargs)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"Make an array of {values}."
    return create


def _like_creator(make: Callable[..., Array], values: str) -> Callable[..., Array]:
    name = make.__name__

    def create(x: Array, /, *, dtype: DType | None = None, device: Device | None = None, **kwargs: Any) -> Array:
        check_device(name, device)
        return _like(make, x, dtype, **kwargs)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"Make an array of {values}, with the shape and chunks of `x`."
    return create


empty, empty_like = _creator(da.empty, "undefined values"), _like_creator(da.empty_like, "undefined values")
zeros, zeros_like = _creator(da.zeros, "zeros"), _like_creator(da.zeros_like, "zeros")
ones, ones_like = _creator(da.ones, "ones"), _like_creator(da.ones_like, "ones")


def full(
    shape: Shape,
    fill_value: complex,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    chunks: Any = "auto",
    **kwargs: Any,
) -> Array:
    """Make an array filled with one value."""
    check_device("full", device)
    if PRECISION.active and dtype is None:
        dtype = dtype_of(_XP, fill_value)
    dtype = np.dtype(getattr(fill_value, "dtype", type(fill_value)) if dtype is None else dtype)
    if type(fill_value) is int:
        check_fits("full", fill_value, dtype, np)
    return _made(da.full, shape, chunks, dtype, fill_value, **kwargs)


def full_like(
    x: Array, /, fill_value: complex, *, dtype: DType | None = None, device: Device | None = None, **kwargs: Any
) -> Array:
    """Make an array filled with one value, with the shape and chunks of `x`."""
    check_device("full_like", device)
    if type(fill_value) is int:
        check_fits("full_like", fill_value, np.dtype(x.dtype if dtype is None else dtype), np)
    return _like(da.full_like, x, dtype, fill_value, **kwargs)


def _by_position(name: str, block: Callable[..., Any], chunks: tuple[tuple[int, ...], ...], dtype: DType) -> Array:
    """Make an array from its positions: `block` takes the range of positions along each axis, and returns a block."""
    ends = [list(accumulate(sizes)) for sizes in chunks]
    ranges = [[(end - size, end) for end, size in zip(axis, sizes)] for axis, sizes in zip(ends, chunks)]
    name = f"{name}-{tokenize(block, chunks)}"
    tasks = {
        (name, *index): Task((name, *index), block, *(axis[i] for axis, i in zip(ranges, index)))
        for index in product(*(range(len(axis)) for axis in ranges))
    }
    return da.Array(tasks, name, chunks, dtype=dtype)


def _arange_block(positions: tuple[int, int], *, start: Any, step: Any, dtype: DType) -> Any:
    low, high = positions
    if isinstance(start, int) and isinstance(step, int) and dtype.kind in "iu":
        first, end = start + low * step, start + high * step
        if max(abs(first), abs(end)) < 2**63:
            return np.arange(first, end, step, dtype=np.int64).astype(dtype, copy=False)
        # Computed modulo 2**64: the result is exact, even if a product overflows.
        values = np.arange(low, high, dtype=np.uint64) * np.uint64(step % 2**64) + np.uint64(start % 2**64)
        return values.view(np.int64).astype(dtype)
    scaled: Any = np.arange(low, high, dtype=np.float64)
    scaled *= step
    scaled += start
    return scaled.astype(dtype, copy=False)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    chunks: Any = "auto",
    like: Any = None,
) -> Array:
    """Make evenly spaced values in the half-open interval `[start, stop)`; large integers are exact."""
    check_device("arange", device)
    if PRECISION.active and dtype is None:
        dtype = dtype_of(_XP, start, stop, step)
    if like is not None:
        return da.arange(*((0, start) if stop is None else (start, stop)), step, dtype=dtype, chunks=chunks, like=like)
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: step must not be zero")
    integral = all(isinstance(number, Integral) for number in (start, stop, step))
    if integral:  # unlike NumPy's integers, Python's do not overflow
        start, stop, step = int(start), int(stop), int(step)
    length = max(-((start - stop) // step) if integral else math.ceil((stop - start) / step), 0)
    if dtype is None:
        dtype = np.int64 if integral else np.result_type(np.float64, start, stop, step)
    dtype = np.dtype(dtype)
    check_ends(start, stop, step, lambda number: check_fits("arange", number, dtype, np))
    block = partial(_arange_block, start=start, step=step, dtype=dtype)
    return _by_position("arange", block, _chunks((int(length),), chunks, dtype), dtype)


def _linspace_block(bounds: tuple[int, int], *, start: complex, stop: complex, gaps: int, dtype: DType) -> Any:
    low, high = bounds
    positions: Any = np.arange(low, high, dtype=np.float64)
    delta = stop - start
    step = delta / gaps if gaps else delta
    # If the step underflows, divide each position first.
    values = positions * step if step != 0 or gaps == 0 else positions / gaps * delta
    values += start
    if low <= gaps < high and gaps:
        values[gaps - low] = stop
    if dtype.kind in "iu":  # round down like NumPy; `astype` rounds towards zero
        np.floor(values, out=values)
    return values.astype(dtype, copy=False)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    endpoint: bool = True,
    chunks: Any = "auto",
    **kwargs: Any,
) -> Array:
    """Make `num` evenly spaced values from `start` to `stop`; the last is exactly `stop` if `endpoint` is True."""
    check_device("linspace", device)
    if PRECISION.active and dtype is None:
        dtype = dtype_of(_XP, start, stop, is_floating=True)
    if kwargs:  # Dask's `retstep`
        return da.linspace(start, stop, num, endpoint=endpoint, dtype=dtype, chunks=chunks, **kwargs)
    if dtype is None:
        dtype = np.result_type(np.float64, start, stop)
    gaps = num - 1 if endpoint else num
    dtype = np.dtype(dtype)
    block = partial(_linspace_block, start=start, stop=stop, gaps=gaps, dtype=dtype)
    return _by_position("linspace", block, _chunks((num,), chunks, dtype), dtype)


def _eye_block(rows: tuple[int, int], columns: tuple[int, int], *, k: int, dtype: DType) -> Any:
    (top, bottom), (left, right) = rows, columns
    return np.eye(bottom - top, right - left, k=k + top - left, dtype=dtype)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: Device | None = None,
    chunks: Any = "auto",
) -> Array:
    """Make a matrix with ones on the k-th diagonal, for any number of rows, columns and `k`."""
    check_device("eye", device)
    dtype = real(dtype)
    shape = (n_rows, n_rows if n_cols is None else n_cols)
    return _by_position("eye", partial(_eye_block, k=k, dtype=dtype), _chunks(shape, chunks, dtype), dtype)


def meshgrid(*arrays: Array, indexing: str = "xy", **kwargs: Any) -> tuple[Array, ...]:
    """Make coordinate matrices from one-dimensional coordinates."""
    return tuple(da.meshgrid(*arrays, indexing=indexing, **kwargs))


def _is_below(x: Array, k: int) -> Array:
    """Return the mask of the k-th diagonal and below. Dask's mask of complex matrices is complex, with a warning."""
    return da.tri(*x.shape[-2:], k=k, dtype=bool, chunks=x.chunks[-2:])


def tril(x: Array, /, *, k: int = 0) -> Array:
    """Return the lower triangle of (stacks of) matrices."""
    return da.where(_is_below(x, k), x, x.dtype.type(0)) if x.dtype.kind == "c" else da.tril(x, k)


def triu(x: Array, /, *, k: int = 0) -> Array:
    """Return the upper triangle of (stacks of) matrices."""
    return da.where(_is_below(x, k - 1), x.dtype.type(0), x) if x.dtype.kind == "c" else da.triu(x, k)
