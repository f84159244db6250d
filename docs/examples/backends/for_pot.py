"""A backend of POT, Python Optimal Transport, for every array library.

    register(xpand.namespace("torch"))
    ot.sinkhorn(a, b, costs, 0.1)  # of PyTorch's tensors

POT takes the first registered backend whose type all arguments have, so this one replaces POT's own.
"""

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import ot.backend

import xpand
from xpand import autodiff, convert, devices, indexing, linalg, padding, random, sorting, sparse, special, statistics
from xpand.extend import device_of, is_array
from xpand.typing import Array

from ._common import diag, same_as

SAME = (
    *("abs", "any", "arccos=acos", "atan2", "clip", "conj", "dot=matmul", "exp", "floor", "imag", "isfinite", "isinf"),
    *("isnan", "log", "matmul", "maximum", "meshgrid", "minimum", "power=pow", "real", "reshape", "sign", "sqrt"),
    *("linalg.det", "linalg.eigh", "linalg.inv", "linalg.qr", "linalg.slogdet", "linalg.solve"),
)
"""Functions of the standard that POT calls the same way, where the name differs as `theirs=standard`."""
REDUCTIONS = ("argmax", "argmin", "max", "mean", "min", "std", "sum")


def register(xp: Any) -> type:
    """Let POT use xpand's functions for the arrays of a namespace."""
    found, registered = backend(xp), ot.backend.get_available_backend_implementations()
    if found not in registered:
        registered.insert(0, found)
    return found


def unregister(xp: Any) -> None:
    """Let POT use its own backend again."""
    registered = ot.backend.get_available_backend_implementations()
    if backend(xp) in registered:
        registered.remove(backend(xp))


@contextmanager
def backend_of(*arrays: Array) -> Iterator[None]:
    """Use the backend of some arrays, also of those that xpand's transformations trace, for all arrays that meet."""
    found, registered = (
        backend(xpand.array_namespace(*arrays), True),
        ot.backend.get_available_backend_implementations(),
    )
    registered.insert(0, found)
    try:
        yield
    finally:
        registered.remove(found)


@cache
def backend(xp: Any, for_all: bool = False) -> type:
    """Return the backend's class for the arrays of a namespace, or for arrays of any."""
    label = xpand.library_name(xp)

    class OfNamespace(Common):
        __name__ = label  # by which POT knows what a library can't do
        __type__ = ArraysOf(f"ArraysOf{label}", (), {"xp": None if for_all else xp, "known": {}})

    OfNamespace.xp = xp
    for name, function in same_as(xp, SAME, REDUCTIONS).items():
        setattr(OfNamespace, name, function)
    type.__setattr__(OfNamespace, "__name__", f"Xpand_{label}_{id(xp)}_{for_all}")  # POT's key of instances
    return OfNamespace


class ArraysOf(type):
    """The type of all arrays of a namespace, to be asked by `isinstance`."""

    xp: Any
    known: dict[type, bool]

    def __instancecheck__(cls, x: Any) -> bool:
        kind = type(x)
        if kind not in cls.known:
            ours = is_array(x) and (cls.xp is None or xpand.array_namespace(x) is cls.xp)
            cls.known[kind] = ours
        return cls.known[kind]


class Common(ot.backend.Backend):
    """Functions with another name in POT than in the standard."""

    xp: Any

    def __init__(self) -> None:
        self.key: Array | None = None
        self.__type_list__ = [self.xp.asarray(1.0, dtype=dtype) for dtype in (self.xp.float32, self.xp.float64)]

    # Conversions

    def _to_numpy(self, a: Any) -> np.ndarray:
        if not is_array(a):
            return np.asarray(a)
        found = convert.to_numpy(autodiff.stop_gradient(a))
        return found if xpand.is_writeable_array(found) else found.copy()  # POT writes into it

    def _from_numpy(self, a: Any, type_as: Any = None) -> Array:
        return self.xp.asarray(a, **_like(type_as))

    def _own(self, a: Any, type_as: Any) -> Array:
        """Convert an array of NumPy; return one of this namespace as it is, with its derivatives."""
        return a if isinstance(a, self.__type__) else self._from_numpy(a, type_as)

    def _detach(self, a: Array) -> Array:
        return autodiff.stop_gradient(a)

    def set_gradients(self, val: Array, inputs: Any, grads: Any) -> Array:
        """Return `val` with given gradients: those of a linear function that is subtracted again."""
        val = autodiff.stop_gradient(val)
        if is_array(inputs):
            if not is_array(grads):  # the slopes of each column
                grads = self.xp.stack([self.xp.asarray(slope, **_like(inputs)) for slope in grads], axis=-1)
            inputs, grads = (inputs,), (grads,)
        for x, slope in zip(inputs, grads):
            x, slope = (self._values(each) if sparse.is_sparse(each) else self._own(each, val) for each in (x, slope))
            if x.shape != slope.shape:
                continue  # of several problems at once, for which POT's own classes have no gradient either
            slope = autodiff.stop_gradient(slope)
            # Infinite costs have the slope zero.
            linear = self.xp.sum(self.xp.where(slope != 0, x, self.xp.zeros_like(x)) * slope)
            val = val + (linear - autodiff.stop_gradient(linear))
        return val

    def copy(self, a: Array) -> Array:
        return self.xp.asarray(a, copy=True)

    def dtype_device(self, a: Any) -> tuple[Any, Any]:
        return (a.dtype, xpand.device(a)) if is_array(a) else (type(a), "cpu")

    def assert_same_dtype_device(self, a: Any, b: Any) -> None:
        (a_dtype, a_device), (b_dtype, b_device) = self.dtype_device(a), self.dtype_device(b)
        assert a_dtype == b_dtype, f"data types {a_dtype} and {b_dtype} differ"
        assert a_device == b_device, f"devices {a_device} and {b_device} differ"

    def bitsize(self, type_as: Array) -> int:
        return self.xp.finfo(type_as.dtype).bits

    def device_type(self, type_as: Array) -> str:
        return "CPU" if "cpu" in str(xpand.device(type_as)).lower() else "GPU"

    def is_floating_point(self, a: Array) -> bool:
        return self.xp.isdtype(a.dtype, "real floating")

    def _bench(self, callable: Any, *args: Any, n_runs: int = 1, warmup_runs: int = 1) -> dict[Any, float]:
        """Return the seconds of a call at each data type."""
        seconds = {}
        for like in self.__type_list__:
            inputs = [self.from_numpy(each, type_as=like) for each in args]
            devices.synchronize([callable(*inputs) for _ in range(warmup_runs)])
            start = time.perf_counter()
            devices.synchronize([callable(*inputs) for _ in range(n_runs)])
            key = self.__name__, self.device_type(like), self.bitsize(like)
            seconds[key] = (time.perf_counter() - start) / n_runs
        return seconds

    # New arrays

    def zeros(self, shape: Any, type_as: Any = None) -> Array:
        return self.xp.zeros(shape, **_like(type_as))

    def ones(self, shape: Any, type_as: Any = None) -> Array:
        return self.xp.ones(shape, **_like(type_as))

    def full(self, shape: Any, fill_value: Any, type_as: Any = None) -> Array:
        return self.xp.full(shape, fill_value, **_like(type_as))

    def eye(self, N: int, M: int | None = None, type_as: Any = None) -> Array:
        return self.xp.eye(N, M, **_like(type_as))

    def arange(self, stop: Any, start: Any = 0, step: Any = 1, type_as: Any = None) -> Array:
        return self.xp.arange(start, stop, step, device=None if type_as is None else device_of(type_as))

    def linspace(self, start: Any, stop: Any, num: int, type_as: Any = None) -> Array:
        return self.xp.linspace(start, stop, num, **_like(type_as))

    def diag(self, a: Array, k: int = 0) -> Array:
        return diag(self.xp, a, k)

    # Random numbers

    def seed(self, seed: int | None = None) -> None:
        if seed is not None:
            self.key = random.key(seed, xp=self.xp)

    def _next_key(self) -> Array:
        if self.key is None:
            self.seed(int(np.random.default_rng().integers(2**31)))
        self.key, key = random.split(self.key)
        return key

    def rand(self, *size: int, type_as: Any = None) -> Array:
        return random.uniform(self._next_key(), size, None if type_as is None else type_as.dtype)

    def randn(self, *size: int, type_as: Any = None) -> Array:
        return random.normal(self._next_key(), size, None if type_as is None else type_as.dtype)

    def randperm(self, size: int, type_as: Any = None) -> Array:
        if not isinstance(size, int):
            raise ValueError("size must be an integer")
        return random.permutation(self._next_key(), size)

    # Reductions

    def prod(self, a: Array, axis: Any = 0) -> Array:
        return self.xp.prod(a, axis=axis)

    def median(self, a: Array, axis: Any = None) -> Array:
        return statistics.median(a, axis=axis)

    def cumsum(self, a: Array, axis: int | None = None) -> Array:
        if axis is None:
            a, axis = self.xp.reshape(a, (-1,)), 0
        return self.xp.cumulative_sum(a, axis=axis)

    def norm(self, a: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return self.xp.linalg.vector_norm(a, axis=axis, keepdims=keepdims)

    def logsumexp(self, a: Array, axis: Any = None, keepdims: bool = False) -> Array:
        return special.logsumexp(a, axis=axis, keepdims=keepdims)

    def kl_div(self, p: Array, q: Array, mass: bool = False, eps: float = 1e-16, axis: Any = None) -> Array:
        value = self.xp.sum(p * self.xp.log(p / q + eps), axis=axis)
        return value + self.xp.sum(q - p, axis=axis) if mass else value

    def allclose(self, a: Array, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
        close = (a == b) | (self.xp.abs(a - b) <= atol + rtol * abs(b))
        return bool(self.xp.all(close | (a != a) & (b != b) if equal_nan else close))

    def array_equal(self, a: Array, b: Array) -> bool:
        return a.shape == b.shape and bool(self.xp.all(a == b))

    # Elements and shapes

    def where(self, condition: Array, x: Any = None, y: Any = None) -> Any:
        return self.xp.nonzero(condition) if x is None and y is None else self.xp.where(condition, x, y)

    def nan_to_num(self, x: Array, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Array:
        limits = self.xp.finfo(x.dtype)
        x = self.xp.where(self.xp.isnan(x), nan, x)
        x = self.xp.where(x == math.inf, limits.max if posinf is None else posinf, x)
        return self.xp.where(x == -math.inf, limits.min if neginf is None else neginf, x)

    def sort(self, a: Array, axis: int = -1) -> Array:
        return self.xp.sort(a, axis=axis)

    def argsort(self, a: Array, axis: int = -1) -> Array:
        return self.xp.argsort(a, axis=axis)

    def sort2(self, a: Array, axis: int = -1) -> tuple[Array, Array]:
        return sorting.sort_with_order(a, axis=axis)

    def searchsorted(self, a: Array, v: Array, side: Any = "left") -> Array:
        return sorting.searchsorted(a, v, side=side)

    def unique(self, a: Array, return_inverse: bool = False) -> Any:
        return tuple(self.xp.unique_inverse(a)) if return_inverse else self.xp.unique_values(a)

    def take_along_axis(self, arr: Array, indices: Array, axis: int) -> Array:
        return self.xp.take_along_axis(arr, indices, axis=axis)

    def repeat(self, a: Array, repeats: Any, axis: int | None = None) -> Array:
        return indexing.repeat(a, repeats, axis=axis)

    def tile(self, a: Array, reps: Any) -> Array:
        return self.xp.tile(a, (reps,) if isinstance(reps, int) else tuple(reps))

    def concatenate(self, arrays: Sequence[Array], axis: int = 0) -> Array:
        return self.xp.concat(arrays, axis=axis)

    def stack(self, arrays: Sequence[Array], axis: int = 0) -> Array:
        return self.xp.stack(arrays, axis=axis)

    def zero_pad(self, a: Array, pad_width: Any, value: Any = 0) -> Array:
        return padding.pad(a, pad_width, constant_values=value)

    def flip(self, a: Array, axis: Any = None) -> Array:
        return self.xp.flip(a, axis=axis)

    def squeeze(self, a: Array, axis: Any = None) -> Array:
        return self.xp.squeeze(a, axis=tuple(i for i, n in enumerate(a.shape) if n == 1) if axis is None else axis)

    def unsqueeze(self, a: Array, axis: int) -> Array:
        return self.xp.expand_dims(a, axis=axis)

    def transpose(self, a: Array, axes: Any = None) -> Array:
        return self.xp.permute_dims(a, tuple(range(a.ndim))[::-1] if axes is None else axes)

    # Linear algebra

    def outer(self, a: Array, b: Array) -> Array:
        return a[:, None] * b[None, :]

    def einsum(self, subscripts: str, *operands: Array) -> Array:
        return linalg.einsum(subscripts, *operands)

    def trace(self, a: Array) -> Array:
        return self.xp.sum(linalg.diagonal(a), axis=-1)

    def pinv(self, a: Array, hermitian: bool = False) -> Array:
        return self.xp.linalg.pinv(a)

    def sqrtm(self, a: Array) -> Array:
        values, vectors = self.xp.linalg.eigh(a)
        return self.xp.matmul(vectors * self.xp.sqrt(values)[..., None, :], self.xp.matrix_transpose(vectors))

    # Sparse matrices: the library's own where it has any, otherwise xpand's containers

    def coo_matrix(self, data: Array, rows: Array, cols: Array, shape: Any = None, type_as: Any = None) -> Any:
        data = self._own(data, type_as)
        data = data if type_as is None else self.xp.astype(data, type_as.dtype)
        like = {"dtype": self.xp.int64, "device": device_of(data)}  # POT passes floats, and NumPy's arrays
        rows, cols = (self.xp.asarray(index, **like) for index in (rows, cols))
        shape = tuple(int(self.xp.max(index)) + 1 for index in (rows, cols)) if shape is None else tuple(shape)
        return _native(sparse.COO(data, (rows, cols), shape))

    def issparse(self, a: Any) -> bool:
        return sparse.is_sparse(a) and xpand.array_namespace(sparse.from_native(a).values) is self.xp

    def tocsr(self, a: Any) -> Any:
        return _native((sparse.from_native(a) if sparse.is_sparse(a) else sparse.from_dense(a)).tocsr())

    def todense(self, a: Any) -> Array:
        return sparse.from_native(a).todense() if sparse.is_sparse(a) else a

    def eliminate_zeros(self, a: Any, threshold: float = 0.0) -> Any:
        def large(x: Array) -> Array:
            return self.xp.where(self.xp.abs(x) <= threshold, self.xp.zeros_like(x), x)

        if sparse.is_sparse(a):
            return _native(sparse.eliminate_zeros(sparse.map_values(large, sparse.from_native(a))))
        return large(a) if threshold > 0 else a

    def sparse_coo_data(self, a: Any) -> tuple[Any, ...]:
        found = sparse.sum_duplicates(sparse.from_native(a).tocoo())
        return *map(self._to_numpy, (*found.coords, found.values)), found.shape

    def _values(self, a: Any) -> Array:
        return sparse.sum_duplicates(sparse.from_native(a).tocoo()).values


def _native(a: Any) -> Any:
    try:
        return sparse.to_native(a)
    except xpand.UnsupportedError:
        return a


def _like(type_as: Any) -> dict[str, Any]:
    return {} if type_as is None else {"dtype": type_as.dtype, "device": device_of(type_as)}
