"""A backend of TensorLy for every array library.

    tensorly.set_backend(backend(xpand.namespace("jax")))

After the first such call its name works as well: `tensorly.set_backend("xpand-jax")`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import tensorly
from tensorly.backend import BackendManager
from tensorly.backend.core import Backend

import xpand
from xpand import convert, linalg, scatter, special
from xpand.extend import device_of, is_array
from xpand.typing import Array

from ._common import array, diag, same_as

SAME = (
    *("abs", "argsort", "conj", "cos", "cosh", "exp", "eye", "linalg.eigh", "log", "log2", "matmul", "maximum"),
    *("minimum", "moveaxis", "ones", "reshape", "sign", "sin", "sinh", "linalg.solve", "sqrt", "stack", "tan", "tanh"),
    *("zeros", "zeros_like", "inf", "nan", "e", "int32", "int64", "float32", "float64", "complex64", "complex128"),
    *("arccos=acos", "arccosh=acosh", "arcsin=asin", "arcsinh=asinh", "arctan=atan", "arctanh=atanh"),
    *("acos", "acosh", "asin", "asinh", "atan", "atanh"),
)
"""Names of the standard that TensorLy calls the same way, where the name differs as `theirs=standard`."""
REDUCTIONS = ("all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min", "prod", "sum")


@cache
def backend(xp: Any) -> Backend:
    """Return the backend for the arrays of a namespace, and register its name."""
    label = f"xpand-{xpand.library_name(xp)}"

    class OfNamespace(Common, backend_name=label):
        pass

    OfNamespace.xp = xp
    for name, function in same_as(xp, SAME, REDUCTIONS).items():
        setattr(OfNamespace, name, function)
    if label not in BackendManager.available_backend_names:
        BackendManager.available_backend_names.append(label)
    return OfNamespace()


@contextmanager
def backend_of(*arrays: Array) -> Iterator[Backend]:
    """Use the backend of some arrays, also of those that xpand's transformations trace."""
    found = backend(xpand.array_namespace(*arrays))
    with tensorly.backend_context(found, local_threadsafe=True):
        yield found


class Common(Backend, backend_name="xpand"):
    """Functions with another name in TensorLy than in the standard."""

    xp: Any

    # Arrays and their contexts

    @staticmethod
    def context(tensor: Array) -> dict[str, Any]:
        return {"dtype": tensor.dtype, "device": device_of(tensor)}

    def tensor(self, data: Any, dtype: Any = None, device: Any = None, **_: Any) -> Array:
        if isinstance(data, (list, tuple)):
            return array(self.xp, data, dtype, device)
        return self.xp.asarray(data, dtype=dtype, device=device, copy=True)

    @staticmethod
    def is_tensor(tensor: Any) -> bool:
        return is_array(tensor)

    @staticmethod
    def to_numpy(tensor: Any) -> np.ndarray:
        return convert.to_numpy(tensor) if is_array(tensor) else np.asarray(tensor)

    def copy(self, tensor: Array) -> Array:
        return self.xp.asarray(tensor, copy=True)

    @staticmethod
    def shape(tensor: Array) -> tuple[int, ...]:
        return tuple(tensor.shape)

    @staticmethod
    def ndim(tensor: Array) -> int:
        return tensor.ndim

    @staticmethod
    def index_update(tensor: Array, indices: Any, values: Any) -> Array:
        if xpand.is_writeable_array(tensor):
            tensor[indices] = values
            return tensor
        return scatter.at(tensor)[indices].set(values)

    def finfo(self, dtype: Any) -> Any:
        return self.xp.finfo(dtype)

    # Shapes

    def arange(self, start: Any = 0, stop: Any = None, step: Any = 1, **context: Any) -> Array:
        return self.xp.arange(start, stop, step, **context)

    def transpose(self, tensor: Array, axes: Sequence[int] | None = None) -> Array:
        if axes is None and tensor.ndim == 2:
            return tensor.T
        return self.xp.permute_dims(tensor, tuple(range(tensor.ndim))[::-1] if axes is None else tuple(axes))

    def concatenate(self, tensors: Sequence[Array], axis: int = 0) -> Array:
        return self.xp.concat(tensors, axis=axis)

    def flip(self, tensor: Array, axis: Any = None) -> Array:
        return self.xp.flip(tensor, axis=axis)

    def diag(self, tensor: Array, k: int = 0) -> Array:
        return diag(self.xp, tensor, k)

    # Reductions, sorting and selection

    def trace(self, tensor: Array) -> Array:
        return self.xp.sum(linalg.diagonal(tensor), axis=-1)

    def cumsum(self, tensor: Array, axis: int | None = None) -> Array:
        if axis is None:
            tensor, axis = self.xp.reshape(tensor, (-1,)), 0
        return self.xp.cumulative_sum(tensor, axis=axis)

    def sort(self, tensor: Array, axis: int | None) -> Array:
        if axis is None:
            tensor, axis = self.xp.reshape(tensor, (-1,)), -1
        return self.xp.sort(tensor, axis=axis)

    def where(self, condition: Array, *values: Any) -> Any:
        return self.xp.where(condition, *values) if values else self.xp.nonzero(condition)

    def clip(self, tensor: Array, a_min: Any = None, a_max: Any = None, **_: Any) -> Array:
        return self.xp.clip(tensor, a_min, a_max)

    def logsumexp(self, tensor: Array, axis: int = 0) -> Array:
        return special.logsumexp(tensor, axis=axis)

    def digamma(self, x: Array) -> Array:
        return special.digamma(x)

    # Linear algebra

    def dot(self, a: Array, b: Array) -> Array:
        if a.ndim == 0 or b.ndim == 0:
            return a * b
        if a.ndim <= 2 and b.ndim <= 2:
            return a @ b
        return self.xp.tensordot(a, b, axes=([-1], [max(b.ndim - 2, 0)]))

    def tensordot(self, a: Array, b: Array, axes: Any = 2) -> Array:
        return self.xp.tensordot(a, b, axes=axes)

    def einsum(self, subscripts: str, *operands: Array) -> Array:
        return linalg.einsum(subscripts, *operands)

    def kron(self, a: Array, b: Array) -> Array:
        return linalg.kron(a, b)

    def lstsq(self, a: Array, b: Array, rcond: Any = None, **_: Any) -> tuple[Array, ...]:
        x, residuals, rank, values = linalg.lstsq(a, b, rtol=rcond)
        rows, columns = a.shape
        if rows <= columns or (xpand.is_concrete(rank) and int(rank) < columns):
            residuals = self.xp.reshape(residuals, (-1,))[:0]  # as TensorLy documents it
        return x, residuals, rank, values

    def qr(self, a: Array, mode: Any = "reduced") -> Any:
        return self.xp.linalg.qr(a, mode=mode)

    def svd(self, matrix: Array, full_matrices: bool = True, **_: Any) -> Any:
        return self.xp.linalg.svd(matrix, full_matrices=full_matrices)
