"""A backend of PhiML for every array library, with gradients and compilation on all of them.

    with register(xpand.namespace("numpy")):
        math.gradient(loss, "x")(x)  # of NumPy's arrays

PhiML prefers its default backend, so `with` decides for arrays that PhiML's own backends know as well. Methods whose
signature is PhiML's own are written out; the others come from tables.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial, wraps
from numbers import Number
from typing import Any, get_type_hints

import numpy as np
import phiml.backend
from phiml.backend import NUMPY, Backend, ComputeDevice
from phiml.math import DType

import xpand
from xpand import inspection, trees
from xpand.extend import is_array
from xpand.typing import Array
from xpand_extensions import (
    arithmetic,
    autodiff,
    control_flow,
    convert,
    convolution,
    devices,
    histograms,
    indexing,
    interpolation,
    jit,
    linalg,
    linear_solve,
    padding,
    random,
    scatter,
    sorting,
    sparse,
    special,
    statistics,
    vmap,
)

from ._common import array, holds_arrays

Function = Callable[..., Any]

ELEMENTWISE = "abs sign round ceil floor isfinite isnan isinf conj zeros_like ones_like"
"""Functions of one array with the same name in PhiML and in the standard."""
FLOATING = (
    "sqrt exp sin cos tan sinh cosh tanh log log2 log10 arcsin=asin arccos=acos arctan=atan arcsinh=asinh "
    "arccosh=acosh arctanh=atanh"
)
"""The same for floating-point arrays, where another name is written as `theirs=standard`."""
SPECIAL = {
    "erf": special.erf,
    "sigmoid": special.sigmoid,
    "softplus": special.softplus,
    "log_gamma": special.gammaln,
    "gamma_inc_l": special.gammainc,
    "gamma_inc_u": special.gammaincc,
    "divide_no_nan": arithmetic.divide_no_nan,
}
BINARY = "equal maximum minimum arctan2=atan2"
"""Functions of two arrays, which are converted to a common data type."""
REDUCTIONS = "sum prod mean std max min any all argmax argmin"
"""Reductions, which take the axis by position."""
OF_BOOLEANS = {"prod": "all", "max": "any", "min": "all"}
"""Reductions of booleans that are booleans; others are of integers."""
MODES = {"periodic": "wrap", "boundary": "edge"}
"""Names of `padding.pad` for PhiML's."""
SOLVERS = {
    "direct": "direct",
    "biCG": "bicg",
    "CGS": "cgs",
    "GMres": "gmres",
    "GCrotMK": "gcrot",
    "QMR": "qmr",
    "minres": "minres",
}
"""Methods of `linear_solve.solve` for which PhiML has no implementation of its own, by PhiML's names."""
BOOL, INT32 = DType(bool), DType(int, 32)

SolveResult = get_type_hints(Backend.linear_solve)["return"]
"""PhiML's class for the result of a linear solve, which it exports under no public name."""


def register(xp: Any) -> "XpandBackend":
    """Return the backend for the arrays of a namespace, and add it to PhiML's list."""
    backend = backend_for(xp)
    if backend not in phiml.backend.BACKENDS:
        phiml.backend.BACKENDS.append(backend)
    return backend


@cache
def backend_for(xp: Any) -> "XpandBackend":
    """Return the backend for the arrays of a namespace."""
    return XpandBackend(xp)


def floating(function: Function) -> Function:
    """Make a method of a function of floating-point arrays: PhiML also passes integers, booleans and numbers."""

    def call(self: "XpandBackend", *operands: Any) -> Array:
        return function(*self.auto_cast(*map(self.as_native, operands), bool_to_int=True, int_to_float=True))

    return call


def unary(name: str) -> Function:
    """Make a method of a function of the standard of one array."""

    def call(self: "XpandBackend", x: Any) -> Array:
        x = self.as_native(x)
        return getattr(self.namespace_of(x), name)(x)

    return call


def binary(name: str) -> Function:
    """Make a method of a function of the standard of two arrays."""

    def call(self: "XpandBackend", x: Any, y: Any) -> Array:
        x, y = self.auto_cast(x, y)
        return getattr(self.namespace_of(x, y), name)(x, y)

    return call


def reduction(name: str) -> Function:
    """Make a method of a reduction of the standard."""

    def call(self: "XpandBackend", x: Any, axis: Any = None, keepdims: bool = False) -> Array:
        x, function = self.as_native(x), name
        if name in ("mean", "std"):
            (x,) = self.auto_cast(x, bool_to_int=True, int_to_float=True)
        elif self.dtype(x).kind is bool and name not in ("any", "all"):
            function = OF_BOOLEANS.get(name, name)
            x = x if name in OF_BOOLEANS else self.to_int64(x)
        axis = tuple(axis) if isinstance(axis, list) else axis
        return getattr(self.namespace_of(x), function)(x, axis=axis, keepdims=keepdims)

    return call


def methods() -> dict[str, Function]:
    """Return the methods that the tables above describe."""

    def named(table: str, make: Callable[[str], Function]) -> dict[str, Function]:
        pairs = (entry.partition("=") for entry in table.split())
        return {theirs: make(standard or theirs) for theirs, _, standard in pairs}

    def of_standard(name: str) -> Function:
        return floating(lambda x: getattr(xpand.array_namespace(x), name)(x))

    return {
        **named(ELEMENTWISE, unary),
        **named(FLOATING, of_standard),
        **{name: floating(function) for name, function in SPECIAL.items()},
        **named(BINARY, binary),
        **named(REDUCTIONS, reduction),
    }


class XpandBackend(Backend):
    """PhiML's operations on the arrays of one namespace, and on those that transformations trace over it."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        self.types: set[type] = set()
        self.dtypes: dict[Any, DType] = {}
        self.generator = random.Generator(0, xp=xp)
        found = [
            ComputeDevice(
                *(self, info.name, info.kind.upper(), info.total_memory or -1, info.processor_count or -1),
                *(info.description, info.device),
            )
            for info in devices.devices(xp)
        ]
        # PhiML lets NumPy's constants meet only backends of three names; of these, "jax" has fixed shapes in `jit`.
        super().__init__("jax", found, found[0])

    def __repr__(self) -> str:
        return f"xpand-{self.library}"

    __str__ = __repr__

    def prefers_channels_last(self) -> bool:
        return True

    def requires_fixed_shapes_when_tracing(self) -> bool:
        return True

    # Arrays

    @staticmethod
    def namespace_of(*arrays: Array) -> Any:
        return xpand.array_namespace(*arrays)

    def is_own(self, x: Any) -> bool:
        """Return whether an object is an array of this library, traced or not."""
        kind = type(x)
        if kind not in self.types:
            if not is_array(x):
                return False
            xp = xpand.array_namespace(x)
            if xp is not self.xp:  # traced arrays of all libraries may have one type
                return xpand.library_name(xp, underlying=True) == self.library
            self.types.add(kind)
        return kind is not np.ndarray or x.dtype.kind in "biufc"

    @property
    def library(self) -> str:
        return xpand.library_name(self.xp)

    def is_module(self, obj: Any) -> bool:
        return False

    def is_tensor(self, x: Any, only_native: bool = False) -> bool:
        if isinstance(x, np.generic):  # constants of NumPy for PhiML, and results of NumPy's reductions
            return not only_native and x.dtype.kind in "biufc"
        if self.is_own(x) or self.is_sparse(x):
            return True
        if only_native:
            return False
        if isinstance(x, (tuple, list)):
            return all(map(self.is_tensor, x))
        return isinstance(x, (bool, Number)) or (NUMPY.is_tensor(x, only_native=True) and x.dtype.kind in "biufc")

    def is_available(self, tensor: Any) -> bool:
        return all(not is_array(part) or xpand.is_concrete(part) for part in trees.leaves(tensor))

    def as_native(self, x: Any) -> Any:
        """Convert numbers, nested lists, and arrays of NumPy to arrays of this library."""
        if self.is_own(x) or self.is_sparse(x):
            return x
        device = self.get_default_device().ref
        return array(self.xp, x if holds_arrays(x) else np.asarray(x), device=device)

    def as_tensor(self, x: Any, convert_external: bool = True) -> Any:
        return x if not convert_external and isinstance(x, Number) else self.auto_cast1(self.as_native(x))

    def numpy(self, tensor: Any) -> Any:
        if self.is_sparse(tensor):
            assemble, parts = self.disassemble(tensor)
            return assemble(NUMPY, *map(self.numpy, parts))
        return np.asarray(convert.to_numpy(autodiff.stop_gradient(tensor)) if is_array(tensor) else tensor)

    def from_external_array_dlpack(self, external_array: Any) -> Array:
        return convert.convert(external_array, self.xp)

    def copy(self, tensor: Any, only_mutable: bool = False) -> Any:
        return trees.copy(tensor)  # PhiML writes into copies, also of read-only arrays

    def sizeof(self, tensor: Any) -> int:
        return inspection.nbytes(tensor)

    def shape(self, tensor: Any) -> tuple[int, ...]:
        return tuple(tensor.shape) if hasattr(tensor, "shape") else np.shape(tensor)

    staticshape = shape

    def stop_gradient(self, value: Any) -> Any:
        return autodiff.stop_gradient(value)

    # Data types and devices

    def dtype(self, array: Any) -> DType:
        if isinstance(array, (bool, int, float, complex)) and not is_array(array):
            return NUMPY.dtype(array)
        dtype = (array.values if self.is_sparse(array) else self.as_native(array)).dtype
        if dtype not in self.dtypes:
            self.dtypes[dtype] = NUMPY.dtype(np.zeros((), str(dtype).rpartition(".")[2]))
        return self.dtypes[dtype]

    def own_dtype(self, dtype: DType | None) -> Any:
        """Return the library's data type for PhiML's, or for the current precision."""
        return getattr(self.xp, NUMPY.zeros((), dtype or self.float_type).dtype.name)

    def cast(self, x: Any, dtype: DType) -> Any:
        x = self.as_native(x)
        if self.dtype(x) == dtype:
            return x
        if self.is_sparse(x):
            return sparse.astype(x, self.own_dtype(dtype))
        if self.dtype(x).kind is complex and dtype.kind is not complex:
            x = self.real(x)
        return self.namespace_of(x).astype(x, self.own_dtype(dtype))

    def get_device(self, tensor: Array) -> ComputeDevice:
        return self.get_device_by_ref(xpand.device(tensor))

    def allocate_on_device(self, tensor: Any, device: ComputeDevice) -> Any:
        return devices.to_device(tensor, device.ref)

    def get_peak_memory(self, device: ComputeDevice) -> int:
        memory = devices.memory_stats(device.ref, xp=self.xp)
        return 0 if memory is None else memory.peak_bytes_in_use or 0

    def block_until_ready(self, values: Any) -> None:
        devices.synchronize(values)

    # New arrays

    def _like(self, dtype: DType | None) -> dict[str, Any]:
        return {"dtype": self.own_dtype(dtype), "device": self.get_default_device().ref}

    def zeros(self, shape: Any, dtype: DType | None = None) -> Array:
        return self.xp.zeros(tuple(shape), **self._like(dtype))

    def ones(self, shape: Any, dtype: DType | None = None) -> Array:
        return self.xp.ones(tuple(shape), **self._like(dtype))

    def range(self, start: Any, limit: Any = None, delta: Any = 1, dtype: DType = INT32) -> Array:
        start, limit = (0, start) if limit is None else (start, limit)
        return self.xp.arange(start, limit, delta, **self._like(dtype))

    def linspace(self, start: Any, stop: Any, number: int, endpoint: bool = True) -> Array:
        start, stop = (self.numpy(x).item() if self.is_available(x) else x for x in (start, stop))
        return self.xp.linspace(start, stop, number, endpoint=endpoint, **self._like(None))

    def linspace_without_last(self, start: Any, stop: Any, number: int) -> Array:
        return self.linspace(start, stop, number, endpoint=False)

    def meshgrid(self, *coordinates: Any) -> list[Array]:
        arrays = [self.as_tensor(coordinate) for coordinate in coordinates]
        return list(self.namespace_of(*arrays).meshgrid(*arrays, indexing="ij"))

    # Random numbers

    def seed(self, seed: int) -> None:
        self.generator = random.Generator(seed, xp=self.xp)

    def random_uniform(self, shape: Any, low: Any, high: Any, dtype: DType | None = None) -> Array:
        dtype = dtype or self.float_type
        if dtype.kind is complex:
            real, imag = (
                self.random_uniform(shape, getattr(low, part), getattr(high, part), DType(float, dtype.precision))
                for part in ("real", "imag")
            )
            return real + 1j * imag
        shape, own = tuple(shape), self.own_dtype(dtype)
        if dtype.kind is int:
            return self.generator.randint(shape, low, high, own)
        return self.generator.uniform(shape, own, low, high)

    def random_normal(self, shape: Any, dtype: DType | None = None) -> Array:
        drawn = self.generator.normal(tuple(shape), self.own_dtype(None))
        return drawn if dtype is None else self.cast(drawn, dtype)

    def random_permutations(self, permutations: int, n: int) -> Array:
        rows = self.xp.broadcast_to(self.xp.arange(n), (permutations, n))
        return self.generator.permutation(rows, axis=1, independent=True)

    def random_subsets(
        self,
        element_count: int,
        subset_size: int,
        subset_count: int,
        allow_duplicates: bool,
        element_weights: Any = None,
    ) -> Array:
        if element_weights is not None:
            element_weights = element_weights / self.sum(element_weights)
        draws = [
            self.generator.choice(element_count, (subset_size,), allow_duplicates, element_weights)
            for _ in range(subset_count)
        ]
        return self.xp.stack(draws)

    # Shapes

    def reshape(self, value: Any, shape: Any) -> Array:
        value = self.as_native(value)
        return self.namespace_of(value).reshape(value, tuple(shape))

    def transpose(self, tensor: Any, axes: Sequence[int]) -> Array:
        tensor = self.as_native(tensor)
        return self.namespace_of(tensor).permute_dims(tensor, tuple(axes))

    def stack(self, values: Sequence[Any], axis: int = 0) -> Array:
        values = self.auto_cast(*map(self.as_native, values))
        return self.namespace_of(*values).stack(values, axis=axis)

    def concat(self, values: Sequence[Any], axis: int) -> Array:
        values = self.auto_cast(*map(self.as_native, values))
        return self.namespace_of(*values).concat(values, axis=axis)

    def flip(self, value: Array, axes: Sequence[int]) -> Array:
        return self.namespace_of(value).flip(value, axis=tuple(axes))

    def expand_dims(self, a: Any, axis: int = 0, number: int = 1) -> Array:
        a = self.as_native(a)
        axis = axis if axis >= 0 else axis + a.ndim + 1
        return self.reshape(a, (*a.shape[:axis], *[1] * number, *a.shape[axis:]))

    def tile(self, value: Any, multiples: Sequence[int]) -> Array:
        value = self.as_native(value)
        return self.namespace_of(value).tile(value, tuple(map(int, multiples)))

    def repeat(self, x: Any, repeats: Any, axis: int, new_length: int | None = None) -> Array:
        repeats = repeats if isinstance(repeats, int) else self.as_native(repeats)
        return indexing.repeat(self.as_native(x), repeats, axis=axis, total_repeat_length=new_length)

    def pad(self, value: Any, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Any:
        if mode not in ("constant", "symmetric", "periodic", "reflect", "boundary"):
            return NotImplemented
        if mode == "constant":
            value, constant_values = self.auto_cast(value, constant_values)
        widths = [tuple(map(int, pair)) for pair in pad_width]
        return padding.pad(self.as_native(value), widths, mode=MODES.get(mode, mode), constant_values=constant_values)

    # Elements

    def multi_slice(self, tensor: Array, slices: tuple[Any, ...]) -> Array:
        """Slice, also where the library has no negative steps, as PyTorch."""
        for axis, part in enumerate(slices):
            if isinstance(part, slice) and (part.step or 1) < 0:
                positions = range(*part.indices(tensor.shape[axis]))
                chosen = self.as_native(np.asarray(positions, dtype=np.int64))
                tensor = indexing.take(tensor, chosen, axis=axis)
        kept = tuple(slice(None) if isinstance(part, slice) and (part.step or 1) < 0 else part for part in slices)
        return tensor[kept]

    def gather(self, values: Any, indices: Any, axis: int) -> Array:
        values, indices = self.as_native(values), self.as_native(indices)
        if self.is_available(indices):
            return indexing.take(values, indices, axis=axis)
        # PhiML's buffers may be too small in the first compilation: indices beyond their end must not matter.
        wrapped = self.where(indices < 0, indices + values.shape[axis], indices)
        return indexing.take(values, wrapped, axis=axis, mode="clip")

    def batched_gather_nd(self, values: Any, indices: Any) -> Array:
        return indexing.gather_nd(self.as_native(values), self.as_native(indices), batch_dims=1)

    def boolean_mask(
        self, x: Any, mask: Any, axis: int = 0, new_length: int | None = None, fill_value: Any = 0
    ) -> Array:
        options = {} if new_length is None else {"size": new_length, "fill_value": fill_value}
        return indexing.boolean_mask(self.as_native(x), self.cast(mask, BOOL), axis=axis, **options)

    def where(self, condition: Any, x: Any = None, y: Any = None) -> Array:
        condition = self.cast(condition, BOOL)
        if x is None or y is None:
            return indexing.argwhere(condition)
        x, y = self.auto_cast(x, y)
        return self.namespace_of(condition, x, y).where(condition, x, y)

    def nonzero(self, values: Any, length: int | None = None, fill_value: int = -1) -> Array:
        return indexing.argwhere(self.as_native(values), size=length, fill_value=fill_value)

    def scatter(self, base_grid: Any, indices: Any, values: Any, mode: str) -> Array:
        base_grid, values = self.auto_cast(base_grid, values)
        indices = self.as_native(indices)
        batch = self.determine_size((base_grid, indices, values), 0)
        operation = {"update": "set"}.get(mode, mode)
        if self.dtype(values).kind is bool and operation == "add":
            operation = "max"
        return scatter.scatter_nd(self.tile_to(base_grid, 0, batch), indices, values, batch_dims=1, operation=operation)

    def unravel_index(self, flat_index: Any, shape: Any) -> Array:
        return self.stack(indexing.unravel_index(self.as_native(flat_index), tuple(map(int, shape))), -1)

    def ravel_multi_index(self, multi_index: Any, shape: Any, mode: str | int = "undefined") -> Array:
        if not self.is_available(shape):
            return super().ravel_multi_index(multi_index, shape, mode)
        multi_index = self.as_native(multi_index)
        options: dict[str, Any] = {"mode": {"periodic": "wrap", "clamp": "clip"}.get(mode)}
        if isinstance(mode, int):
            options = {"mode": "fill", "fill_value": mode}
        flat = indexing.ravel_multi_index(self.unstack(multi_index, -1), tuple(map(int, shape)), **options)
        return self.cast(flat, self.dtype(multi_index))

    # Sorting and statistics

    def sort(self, x: Any, axis: int = -1) -> Array:
        x = self.as_native(x)
        return self.namespace_of(x).sort(x, axis=axis)

    def argsort(self, x: Any, axis: int = -1) -> Array:
        x = self.as_native(x)
        return self.namespace_of(x).argsort(x, axis=axis)

    def cumsum(self, x: Any, axis: int) -> Array:
        (x,) = self.auto_cast(x, bool_to_int=True)
        return self.namespace_of(x).cumulative_sum(x, axis=axis)

    def searchsorted(self, sorted_sequence: Any, search_values: Any, side: Any, dtype: DType = INT32) -> Array:
        keys, values = self.auto_cast(sorted_sequence, search_values)
        search = partial(sorting.searchsorted, side=side)
        return self.cast((search if keys.ndim == 1 else vmap.vmap(search))(keys, values), dtype)

    def unique(self, x: Any, return_inverse: bool, return_counts: bool, axis: int) -> Any:
        return sorting.unique(self.as_native(x), return_inverse=return_inverse, return_counts=return_counts, axis=axis)

    def quantile(self, x: Any, quantiles: Any) -> Array:
        (x,) = self.auto_cast(x, int_to_float=True)
        return statistics.quantile(x, self.cast(quantiles, self.dtype(x)), axis=-1)

    def bincount(self, x: Any, weights: Any, bins: int, x_sorted: bool = False) -> Array:
        weights = None if weights is None else self.as_native(weights)
        return histograms.bincount(self.as_native(x), weights=weights, length=bins)

    def histogram1d(self, values: Any, weights: Any, bin_edges: Any) -> Array:
        values, bin_edges = self.auto_cast(values, bin_edges)
        return histograms.histogram(values, bin_edges, weights=self.as_native(weights)).hist

    def indexed_segment_sum(self, x: Any, indices: Any, axis: int) -> Array:
        x, indices = self.as_native(x), self.as_native(indices)
        ends = self.as_native(np.full((indices.shape[0], 1), x.shape[axis]))
        offsets = self.concat([indices, ends], 1)
        return self.stack([scatter.segment_reduce(row, ids, axis=axis - 1) for row, ids in zip(x, offsets)])

    # Products, convolutions, Fourier transforms

    def tensordot(self, a: Any, a_axes: Any, b: Any, b_axes: Any) -> Array:
        a, b = self.auto_cast(a, b, bool_to_int=True)
        return self.namespace_of(a, b).tensordot(a, b, axes=(tuple(a_axes), tuple(b_axes)))

    def einsum(self, equation: str, *tensors: Any) -> Array:
        return linalg.einsum(equation, *self.auto_cast(*tensors, bool_to_int=True))

    def conv(self, value: Any, kernel: Any, strides: Sequence[int], out_sizes: Sequence[int], transpose: bool) -> Array:
        value, kernel = self.auto_cast(value, kernel, bool_to_int=True)
        kernel = kernel[0] if kernel.shape[0] == 1 else kernel
        points, taps = value.shape[2:], kernel.shape[-len(strides) :]
        if transpose:
            return self._transposed_conv(value, kernel, strides, out_sizes)
        missing = [max(0, s * (o - 1) - n + k) for s, o, n, k in zip(strides, out_sizes, points, taps)]
        return convolution.conv(
            value, kernel, strides=tuple(strides), padding=[((m + 1) // 2, m // 2) for m in missing]
        )

    def _transposed_conv(self, value: Array, kernel: Array, strides: Any, sizes: Any) -> Array:
        kernel = self.namespace_of(kernel).moveaxis(kernel, -len(strides) - 1, -len(strides) - 2)
        full = convolution.conv_transpose(value, kernel, strides=tuple(strides))
        for axis, size in enumerate(sizes, 2):
            low = max(0, (full.shape[axis] - size) // 2)
            part = full[(*[slice(None)] * axis, slice(low, low + size))]
            full = self.pad_to(part, axis, size, 0)
        return full

    def fft(self, x: Any, axes: Sequence[int]) -> Array:
        return self._transformed("fftn", x, axes)

    def ifft(self, k: Any, axes: Sequence[int]) -> Array:
        return self._transformed("ifftn", k, axes)

    def _transformed(self, name: str, x: Any, axes: Sequence[int]) -> Array:
        x = self.to_complex(x)
        return getattr(self.namespace_of(x).fft, name)(x, axes=tuple(axes)) if axes else x

    def real(self, x: Any) -> Array:
        x = self.as_native(x)
        return self.namespace_of(x).real(x) if self.dtype(x).kind is complex else x

    def imag(self, x: Any) -> Array:
        x = self.as_native(x)
        return self.namespace_of(x).imag(x) if self.dtype(x).kind is complex else self.namespace_of(x).zeros_like(x)

    def clip(self, x: Any, minimum: Any, maximum: Any) -> Array:
        x, minimum, maximum = self.auto_cast(x, minimum, maximum)
        return self.namespace_of(x, minimum, maximum).clip(x, minimum, maximum)

    def grid_sample(self, grid: Any, coordinates: Any, extrapolation: Any) -> Array:
        return interpolation.grid_sample(*self.auto_cast(grid, coordinates), extrapolation=extrapolation)

    # Linear algebra

    def get_diagonal(self, matrices: Array, offset: int = 0) -> Array:
        values = linalg.diagonal(matrices, offset=offset, axis1=1, axis2=2)
        return self.namespace_of(values).matrix_transpose(values)

    def matrix_solve_least_squares(self, matrix: Any, rhs: Any) -> Any:
        return tuple(linalg.lstsq(*self.auto_cast(matrix, rhs, int_to_float=True)))

    def matrix_rank_dense(self, matrix: Any, hermitian: bool = False) -> Array:
        matrix = self.auto_cast(matrix, int_to_float=True)[0]
        return self.namespace_of(matrix).linalg.matrix_rank(matrix)

    def eigvals(self, matrix: Array) -> Array:
        return self.namespace_of(matrix).linalg.eigvals(matrix)

    def eig(self, matrix: Array) -> Any:
        return self.namespace_of(matrix).linalg.eig(matrix)

    def svd(self, matrix: Array, full_matrices: bool = True) -> Any:
        return self.namespace_of(matrix).linalg.svd(matrix, full_matrices=full_matrices)

    def solve_triangular_dense(self, matrix: Any, rhs: Any, lower: bool, unit_diagonal: bool) -> Array:
        if sparse.is_sparse(matrix):  # one of SciPy's, for NumPy's arrays
            return self.solve_triangular_sparse(sparse.from_native(matrix), rhs, lower, unit_diagonal)
        matrix, rhs = self.auto_cast(matrix, rhs, bool_to_int=True, int_to_float=True)
        is_rows = rhs.ndim == matrix.ndim - 1
        x = linalg.triangular_solve(
            matrix, rhs[..., None] if is_rows else rhs, lower=lower, unit_diagonal=unit_diagonal
        )
        return x[..., 0] if is_rows else x

    def solve_triangular_sparse(self, matrix: Any, rhs: Any, lower: bool, unit_diagonal: bool) -> Array:
        matrix, rhs = self.auto_cast(matrix, rhs, int_to_float=True)
        return linear_solve.solve_triangular(matrix, rhs, axis=-1, lower=lower, unit_diagonal=unit_diagonal)

    def linear_solve(
        self, method: str, lin: Any, y: Any, x0: Any, rtol: Any, atol: Any, max_iter: Any, pre: Any, matrix_offset: Any
    ) -> Any:
        """Solve with a method of xpand where PhiML has no implementation for all libraries."""
        if method not in SOLVERS or pre is not None or matrix_offset is not None or len(max_iter) > 1:
            return super().linear_solve(method, lin, y, x0, rtol, atol, max_iter, pre, matrix_offset)
        y, x0 = self.to_float(y), self.to_float(x0)
        options = {"batch_ndim": 1} if callable(lin) else {"axis": -1}
        if method != "direct":
            options |= {
                "x0": x0,
                "rtol": self.to_float(rtol),
                "atol": self.to_float(atol),
                "max_steps": int(np.max(max_iter)),
            }
        result = linear_solve.solve(lin, y, method=SOLVERS[method], throw=False, **options)
        steps, calls = self.to_int32(result.iterations), self.to_int32(result.function_evaluations)
        failed = ~result.converged
        return SolveResult(method, result.x, result.residual, steps, calls, result.converged, failed, [""] * y.shape[0])

    # Sparse matrices

    def is_sparse(self, x: Any) -> bool:
        return isinstance(x, sparse.Sparse)

    def get_sparse_format(self, x: Any) -> str:
        return sparse.sparse_format(x) if self.is_sparse(x) else "dense"

    def disassemble(self, x: Any) -> tuple[Function, Sequence[Any]]:
        kind = self.get_sparse_format(x)
        if kind == "dense":
            return lambda b, t: t, (x,)
        if kind == "coo":
            return lambda b, i, v: b.sparse_coo_tensor(i, v, x.shape), (self.stack(x.coords, -1), x.values)
        parts = x.values, x.indices, x.indptr
        if kind == "csr":
            return lambda b, v, i, p: b.csr_matrix(i, p, v, x.shape), parts
        return lambda b, v, i, p: b.csc_matrix(p, i, v, x.shape), parts

    def sparse_coo_tensor(self, indices: Any, values: Any, shape: Any) -> sparse.COO:
        coords = self.unstack(self.as_native(indices), -1)
        return sparse.COO(self.as_tensor(values), coords, tuple(shape))

    def csr_matrix(self, column_indices: Any, row_pointers: Any, values: Any, shape: Any) -> sparse.CSR:
        pattern = self.as_native(column_indices), self.as_native(row_pointers)
        return sparse.CSR(self.as_tensor(values), *pattern, tuple(shape))

    def csc_matrix(self, column_pointers: Any, row_indices: Any, values: Any, shape: Any) -> sparse.CSC:
        pattern = self.as_native(row_indices), self.as_native(column_pointers)
        return sparse.CSC(self.as_tensor(values), *pattern, tuple(shape))

    def mul_matrix_batched_vector(self, A: Any, b: Any) -> Array:
        A, b = self.auto_cast(A, b)
        return (sparse.matmul(A, b.T) if self.is_sparse(A) else A @ b.T).T

    # Transformations

    def jit_compile(self, f: Function) -> Function:
        compiled = jit.jit(f)

        @wraps(f)
        def run(*args: Any) -> Any:
            name = getattr(f, "__name__", "function")
            return self.as_registered.call(compiled, *map(self.as_native, args), name=f"run jit-compiled '{name}'")

        return run

    def vectorized_call(self, f: Function, *args: Any, output_dtypes: Any = None, **aux_args: Any) -> Any:
        arrays = [self.as_native(arg) for arg in args]
        size = self.determine_size(arrays, 0)
        return vmap.vmap(lambda *rows: f(*rows, **aux_args))(*[self.tile_to(x, 0, size) for x in arrays])

    def numpy_call(self, f: Function, output_shapes: Any, output_dtypes: Any, *args: Any, **aux_args: Any) -> Any:
        if self.is_available(args):
            result = f(*map(self.numpy, args), **aux_args)
            return tuple(map(self.as_native, result)) if isinstance(result, tuple) else self.as_native(result)
        if isinstance(output_dtypes, DType):
            types: Any = jit.ShapeDtype(output_shapes, self.own_dtype(output_dtypes))
        else:
            types = tuple(map(jit.ShapeDtype, output_shapes, map(self.own_dtype, output_dtypes)))
        return jit.pure_callback(lambda *arrays: f(*arrays, **aux_args), types, *args)

    def jacobian(self, f: Function, wrt: Sequence[int], get_output: bool, is_f_scalar: bool) -> Function:
        gradient = autodiff.value_and_grad(f, argnums=tuple(wrt), has_aux=True)

        def call(*args: Any) -> Any:
            (_, output), slopes = gradient(*self._differentiable(args, wrt))
            slopes = tuple(map(self.conj, slopes))
            return (*output, *slopes) if get_output else slopes

        return wraps(f)(call)

    def hessian(self, f: Function, wrt: Sequence[int], get_output: bool, get_gradient: bool) -> Function:
        def value(*args: Any) -> Any:
            return f(*args)[0]

        def parts(*args: Any) -> Any:
            gradient = autodiff.value_and_grad(f, argnums=tuple(wrt), has_aux=True)
            (_, output), slopes = gradient(*args)
            return output, slopes, autodiff.hessian(value, argnums=tuple(wrt))(*args)

        def call(*args: Any) -> Any:
            found = vmap.vmap(parts)(*self._differentiable(args, wrt))
            return tuple(part for part, wanted in zip(found, (get_output, get_gradient, True)) if wanted)

        return wraps(f)(call)

    def jit_compile_grad(self, f: Function, wrt: Sequence[int], get_output: bool, is_f_scalar: bool) -> Function:
        return self.jit_compile(self.jacobian(f, wrt, get_output, is_f_scalar))

    def jit_compile_hessian(self, f: Function, wrt: Sequence[int], get_output: bool, get_gradient: bool) -> Function:
        return self.jit_compile(self.hessian(f, wrt, get_output, get_gradient))

    def _differentiable(self, args: Sequence[Any], wrt: Sequence[int]) -> list[Array]:
        arrays = [self.as_native(arg) for arg in args]
        return [self.to_float(x) if i in wrt and self.dtype(x).kind in (bool, int) else x for i, x in enumerate(arrays)]

    def custom_gradient(
        self, f: Function, gradient: Function, get_external_cache: Any = None, on_call_skipped: Any = None
    ) -> Function:
        function = autodiff.custom_vjp(f)

        def forward(*x: Any) -> Any:
            y = f(*x)
            return y, (x, y)

        def backward(saved: Any, slopes: Any) -> Any:
            return tuple(gradient(*saved, slopes))

        function.defvjp(forward, backward)
        return lambda *args: function(*map(self.as_native, args))

    def while_loop(self, loop: Function, values: Any, max_iter: Any) -> Any:
        values = self.stop_gradient_tree(values)
        plain = self.is_available(values) and self.namespace_of(*trees.leaves(values)) is self.xp
        if plain and max_iter is not None:  # PhiML's loops write into arrays, which must not be traced then
            return super().while_loop(loop, values, max_iter)
        return self.stop_gradient_tree(
            control_flow.while_loop(
                lambda carry: self.any(carry[0]), lambda carry: tuple(loop(*carry)), tuple(values), max_iter=max_iter
            )
        )


for name, function in methods().items():
    setattr(XpandBackend, name, function)
