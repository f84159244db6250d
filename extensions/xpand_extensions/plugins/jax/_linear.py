"""Reads and sums of rows on JAX, as linear functions that are transposes of each other.

JAX adds values one by one in their own data type: a million float32 numbers lose four digits, and bfloat16 stops
counting at 256. Without `jax_enable_x64`, JAX has no float64, but XLA has. So one primitive evaluates these functions;
it switches float64 on where it is lowered, after all transformations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from xpand.extend import LibraryArray as Array

_WIDE: Final = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}
_FEW: Final = 16
"""A table with more rows than this number for each value is not converted."""
_BLOCK: Final = 2**14
"""On the CPU, this many values are converted at a time. A wide copy of all takes three times as long as the sum."""


class Rows(NamedTuple):
    """The positions of rows: those of an index, along one axis. Indices out of bounds or negative are dropped."""

    after: int = 0
    """The number of axes after this axis."""
    is_sorted: bool = False

    def add(self, table: Array, values: Array, index: Array) -> Array:
        """Add values to rows."""
        wide, number = wide_of(table.dtype), index.shape[0]
        axis = table.ndim - 1 - self.after
        if wide is None or number < 2:
            return self.added(table, values, index)
        if table.shape[axis] <= _FEW * number:
            return evaluated(_Add(self), table, values, index)
        # Add the values for each row first.
        order = jnp.arange(number) if self.is_sorted else jnp.argsort(index)
        rows = index[order]
        run = jnp.cumsum(jnp.concatenate([jnp.zeros(1, bool), rows[1:] != rows[:-1]]), dtype=jnp.int32)
        sums = self.sum(jnp.take(values, order, axis=axis), run, number)
        missing = jnp.full_like(rows, table.shape[axis])
        return self.added(table, sums, missing.at[run].set(rows, mode="drop"))

    def sum(self, values: Array, index: Array, count: int) -> Array:
        """Sum values by row."""
        axis = values.ndim - 1 - self.after
        # `full_like`: under shard_map, the sums vary with the values.
        zeros = jax.lax.full_like(values, 0, shape=(*values.shape[:axis], count, *values.shape[axis + 1 :]))
        if wide_of(values.dtype) is None:
            return self.added(zeros, values, index)
        return evaluated(_Add(self), zeros, values, index)

    def read(self, table: Array, index: Array, *, drops: bool = False) -> Array:
        """Return the rows at indices within bounds; or any indices, and zeros for dropped ones."""
        if wide_of(table.dtype) is None:
            return self.taken(table, index, drops=drops)
        return evaluated(_Read(self, drops), table, index)

    def added(self, table: Array, values: Array, index: Array) -> Array:
        return self._at(table, index).add(values, **{**self._options, "mode": "drop"})

    def taken(self, table: Array, index: Array, *, drops: bool) -> Array:
        options = {**self._options, "mode": "fill", "fill_value": 0} if drops else {**self._options, "mode": "clip"}
        return self._at(table, index).get(**options)

    def _at(self, table: Array, index: Array) -> Any:
        return table.at[(..., index, *[slice(None)] * self.after)]

    @property
    def _options(self) -> dict[str, Any]:
        return {"wrap_negative_indices": False, "indices_are_sorted": self.is_sorted}


def wide_of(dtype: Any) -> Any:
    """Return the data type in which numbers of a data type are added; None for their own."""
    if jnp.issubdtype(dtype, jnp.floating) and dtype.itemsize < 4:
        return np.float64
    return _WIDE.get(np.dtype(dtype))


class _Linear(Protocol):
    """A function that is linear in all arrays but the last one, an index."""

    def __call__(self, *arrays: Array) -> Array: ...

    def transposed(self, ct: Array, index: Array, avals: Sequence[Any]) -> Sequence[Array]:
        """Pull back a cotangent to the linear arguments, which have these types."""
        ...


@dataclass(frozen=True)
class _Add:
    rows: Rows

    def __call__(self, *arrays: Array) -> Array:
        table, values, index = arrays
        if values.size <= 4 * _BLOCK or index.size < 2:
            return self._together(*arrays)
        return jax.lax.platform_dependent(table, values, index, cpu=self._in_blocks, default=self._together)

    def _together(self, table: Array, values: Array, index: Array) -> Array:
        wide = wide_of(table.dtype)
        return self.rows.added(table.astype(wide), values.astype(wide), index).astype(table.dtype)

    def _in_blocks(self, table: Array, values: Array, index: Array) -> Array:
        wide, axis, number = wide_of(table.dtype), values.ndim - 1 - self.rows.after, index.shape[0]
        size = min(max(1, _BLOCK * number // values.size), number)
        first = number % size or size

        def add(block: Any, sums: Array) -> Array:
            start = first + block * size
            some = jax.lax.dynamic_slice_in_dim(values, start, size, axis).astype(wide)
            return self.rows.added(sums, some, jax.lax.dynamic_slice_in_dim(index, start, size))

        # The first values, outside of the loop: under shard_map, the sums then vary with the values.
        few = jax.lax.slice_in_dim(values, 0, first, axis=axis).astype(wide)
        sums = self.rows.added(table.astype(wide), few, index[:first])
        return jax.lax.fori_loop(0, (number - first) // size, add, sums).astype(table.dtype)

    def transposed(self, ct: Array, index: Array, avals: Sequence[Any]) -> Sequence[Array]:
        return ct, self.rows.read(ct, index, drops=True)


@dataclass(frozen=True)
class _Read:
    rows: Rows
    drops: bool

    def __call__(self, *arrays: Array) -> Array:
        return self.rows.taken(*arrays, drops=self.drops)

    def transposed(self, ct: Array, index: Array, avals: Sequence[Any]) -> Sequence[Array]:
        shape, after = avals[0].shape, self.rows.after
        axis = len(shape) - 1 - after
        ct = ct.reshape((*shape[:axis], index.size, *shape[axis + 1 :]))
        return (self.rows.sum(ct, index.reshape(-1), shape[axis]),)


@dataclass(frozen=True)
class _Mapped:
    """A linear function of the elements of a batch."""

    function: _Linear
    axes: tuple[int | None, ...]

    def __call__(self, *arrays: Array) -> Array:
        return jax.vmap(self.function, self.axes)(*arrays)

    def transposed(self, ct: Array, index: Array, avals: Sequence[Any]) -> Sequence[Array]:
        *axes, last = self.axes
        each = [
            aval if axis is None else jax.ShapeDtypeStruct((*aval.shape[:axis], *aval.shape[axis + 1 :]), aval.dtype)
            for aval, axis in zip(avals, axes)
        ]
        found = jax.vmap(lambda ct, index: self.function.transposed(ct, index, each), (0, last))(ct, index)
        return [x.sum(0) if axis is None else jnp.moveaxis(x, 0, axis) for x, axis in zip(found, axes)]


_linear: Final = Primitive("xpand_linear")


def evaluated(function: Callable[..., Array], *arrays: Array) -> Array:
    """Call a hashable function of arrays in programs where JAX has float64. Linear functions have derivatives."""
    return _linear.bind(*arrays, function=function)


def _evaluated(*arrays: Any, function: Callable[..., Array]) -> Any:
    with jax.enable_x64(True):
        return jax.jit(function)(*arrays)


def _abstract(*avals: Any, function: Callable[..., Array]) -> Any:
    with jax.enable_x64(True):
        found = jax.eval_shape(function, *[jax.ShapeDtypeStruct(x.shape, x.dtype) for x in avals])
    return avals[0].update(shape=found.shape, dtype=found.dtype)


def _lowered(context: Any, *values: Any, function: Callable[..., Array]) -> Any:
    with jax.enable_x64(True):
        return mlir.lower_fun(function, multiple_results=False)(context, *values)


def _pushed(primals: Sequence[Any], tangents: Sequence[Any], *, function: _Linear) -> tuple[Any, Any]:
    filled = [ad.instantiate_zeros(t) if isinstance(t, ad.Zero) else t for t in tangents[:-1]]
    return evaluated(function, *primals), evaluated(function, *filled, primals[-1])


def _pulled(ct: Any, *args: Any, function: _Linear) -> list[Any]:
    *linear, index = args
    avals = [x.aval if ad.is_undefined_primal(x) else jax.typeof(x) for x in linear]
    if isinstance(ct, ad.Zero):
        found: Sequence[Any] = list(map(ad.Zero, avals))
    else:
        found = function.transposed(ct, index, avals)
    return [*[x if ad.is_undefined_primal(arg) else None for x, arg in zip(found, linear)], None]


def _batched(args: Sequence[Any], axes: Sequence[Any], *, function: Any) -> tuple[Any, int]:
    if isinstance(function, _Read) and axes[0] is None:  # one read of all lanes, whose transpose is one sum
        table, index = args
        return evaluated(function, table, jnp.moveaxis(index, axes[1], 0)), table.ndim - 1 - function.rows.after
    return evaluated(_Mapped(function, tuple(axes)), *args), 0


_linear.def_impl(_evaluated)
_linear.def_abstract_eval(_abstract)
mlir.register_lowering(_linear, _lowered)
ad.primitive_jvps[_linear] = _pushed
ad.primitive_transposes[_linear] = _pulled
batching.primitive_batchers[_linear] = _batched
