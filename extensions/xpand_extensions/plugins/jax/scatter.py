"""Scatter and segment reductions on JAX, by `x.at`, with defined results where JAX's are undefined."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import xpand.jax as xp
from xpand import UnsupportedError, is_concrete
from xpand.extend import LibraryArray as Array, Scalar
from xpand_extensions._at import GenericAt, binary
from xpand_extensions._bounds import Mode, resolve
from xpand_extensions._dispatch import forwards_to
from xpand_extensions._index import Basic, Mask, Rows
from xpand_extensions._runs import Runs
from xpand_extensions.generic import scatter as generic
from xpand_extensions.scatter import Index
from xpand_extensions.scatter._at import At, Operation
from xpand_extensions.scatter._segments import Reduction, mean_of, nothing, reducers

from . import _linear as linear
from ._linear import wide_of
from ._placement import argument
from ._rows import bounds, is_on_cpu, mode_once_checked


class JaxAt(GenericAt):
    """An array of JAX at an index."""

    __slots__ = ()

    bounds = staticmethod(bounds)

    def _write_basic(self, selection: Basic, values: Array) -> Array:
        return self.x.at[selection.key].set(values, unique_indices=True)

    def _write(self, operation: Operation, values: Array | Scalar, mode: Mode | None) -> Array:
        mask = self._index_alike
        is_mask = mask is not None and mask.dtype == bool and mask.ndim and mask.shape == self.x.shape[: mask.ndim]
        if is_mask and isinstance(values, Scalar):
            return _update_masked(self.x, mask, _of_dtype(values, self.x), operation)
        return super()._write(operation, values, mode)

    def _update_basic(self, selection: Basic, values: Array | Scalar, operation: Operation) -> Array:
        starts, spans = _spans(selection.key, self.x.shape)
        return _update_block(self.x, starts, _of_dtype(values, self.x), spans, operation, selection.shape)

    def _copy_basic(self, selection: Basic) -> Array:
        starts, spans = _spans(selection.key, self.x.shape)
        return _read_block(self.x, starts, spans, selection.shape)

    def _read_rows(self, table: Array, rows: Rows, fill: Any) -> Array:
        return super()._read_rows(table, rows, fill) if rows.dropped else linear.Rows(1).read(table, rows.index)

    def _write_rows(self, table: Array, rows: Rows, values: Array, operation: Operation) -> Array:
        if operation == "power" and not rows.unique and is_concrete(rows.index):
            return super()._write_rows(table, rows, values, operation)
        return _write_compiled(table, rows.index, values, operation, rows.unique)

    def _apply_rows(self, table: Array, rows: Rows, function: Callable[[Array], Array]) -> Array:
        if is_concrete(rows.index):
            return super()._apply_rows(table, rows, function)
        return _one_by_one(table, rows.index, lambda old, n: function(old))

    def _write_positions(self, operation: Any, values: Array, mode: Mode | None) -> Array:
        if not is_concrete(self.index):
            return self._write(operation, values, mode)
        once_checked = mode_once_checked(f"at.{operation}", self.x, self.index, (0,), mode)
        values = _of_dtype(values, self.x)
        return _scatter_along(self.x, self.index, values, axis=0, batch_dims=0, operation=operation, mode=once_checked)

    def _read_positions(self) -> Array:
        if not is_concrete(self.index):
            return self._read(None, None)
        mode_once_checked("at.get", self.x, self.index, (0,), None)
        return _read_within(self.x, self.index)

    def _masked(self, selection: Mask) -> Array:
        raise UnsupportedError(
            "at.get: the number of elements that a boolean mask selects isn't known under jit and vmap; use "
            "`xp.where(mask, x, …)`"
        )


def at(x: Array, index: Index = ..., /) -> At:
    return JaxAt(x, index)


def _spans(key: tuple[int | slice, ...], shape: tuple[int, ...]) -> tuple[Any, tuple[tuple[int, int], ...]]:
    """Return the start of a basic index in each axis, and its length and step along each axis.

    Programs are compiled for lengths and steps, but not for starts, so a loop over positions needs only one program.
    """
    ranges = [range(*entry.indices(size)) if isinstance(entry, slice) else (entry,) for entry, size in zip(key, shape)]
    starts = np.asarray([min(each[0], each[-1]) if each else 0 for each in ranges], dtype=np.int64)
    lengths = [abs(each[-1] - each[0]) + 1 if each else 0 for each in ranges]
    steps = [entry.step if isinstance(entry, slice) else 1 for entry in key]
    return starts, tuple(zip(lengths, steps))


def _steps(spans: tuple[tuple[int, int], ...]) -> tuple[slice, ...]:
    return tuple([slice(None, None, step) for _, step in spans])


@partial(jax.jit, static_argnums=(2, 3))
def _read_block(x: Array, starts: Array, spans: tuple[tuple[int, int], ...], shape: tuple[int, ...]) -> Array:
    block = jax.lax.dynamic_slice(x, tuple(starts), [length for length, _ in spans])
    return block[_steps(spans)].reshape(shape)


@partial(jax.jit, static_argnums=(3, 4, 5))
def _update_block(
    x: Array,
    starts: Array,
    values: Array,
    spans: tuple[tuple[int, int], ...],
    operation: Operation,
    shape: tuple[int, ...],
) -> Array:
    starts = tuple(starts)
    block = jax.lax.dynamic_slice(x, starts, [length for length, _ in spans])
    old = block[_steps(spans)]
    new = binary(xp, operation, x.dtype)(old, jnp.broadcast_to(values, shape).reshape(old.shape))
    if any(step != 1 for _, step in spans):
        new = block.at[_steps(spans)].set(new, unique_indices=True)
    return jax.lax.dynamic_update_slice(x, new, starts)


@partial(jax.jit, static_argnums=(3,))
def _update_masked(x: Array, mask: Array, value: Array, operation: Operation) -> Array:
    mask = mask.reshape(*mask.shape, *(1,) * (x.ndim - mask.ndim))
    return jnp.where(mask, binary(xp, operation, x.dtype)(x, value), x)


@jax.jit  # type: ignore[untyped-decorator]
def _read_within(x: Array, index: Array) -> Array:
    index = jnp.where(index < 0, index + x.shape[0], index) if jnp.issubdtype(index.dtype, jnp.signedinteger) else index
    return linear.Rows(x.ndim - 1).read(x, index)


@partial(jax.jit, static_argnums=(3, 4))
def _write_compiled(table: Array, index: Array, values: Array, operation: Operation, unique: bool) -> Array:
    """Update rows. Compiled, because each of JAX's indexed updates is many small operations."""
    if unique and operation != "set":
        # A dropped index reads some row, but writes none.
        old = table.at[index].get(mode="clip", wrap_negative_indices=False)
        values, operation = binary(xp, operation, table.dtype)(old, values), "set"
    match operation:
        case "set":
            if unique:
                return table.at[index].set(values, mode="drop", wrap_negative_indices=False)
            last = _last(index, table.shape[0])
            return jnp.where((last >= 0)[:, None], values[last], table)
        case "multiply":
            return table * _products(values, index, table.shape[0])
        case "divide":
            return table / _products(values, index, table.shape[0])
        case "power":
            return _one_by_one(table, index, lambda old, n: old ** values[n])
        case _:
            return _scatter(table, index, values, operation)


def _scatter(table: Array, index: Array, values: Array, operation: str, *, is_sorted: bool = False) -> Array:
    if operation in ("add", "subtract") and wide_of(table.dtype) is not None:
        values = values if operation == "add" else -values
        return linear.Rows(table.ndim - 1, is_sorted).add(table, values, index)
    update = getattr(table.at[index], operation)
    return update(values, mode="drop", wrap_negative_indices=False, indices_are_sorted=is_sorted)


def _last(index: Array, count: int) -> Array:
    """Find the last position of each index, or -1. JAX alone does not define which of several values `set` keeps."""
    order = jnp.arange(index.shape[0])
    return jnp.full((count,), -1).at[index].max(order, mode="drop", wrap_negative_indices=False)


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def _products(values: Array, index: Array, count: int) -> Array:
    """Multiply the values of shape `(n, width)` for each index: shape `(count, width)`, 1 for indices without values.

    JAX has no gradient for products with duplicate indices.
    """
    ones = jnp.ones((count, *values.shape[1:]), dtype=values.dtype)
    return _scatter(ones, index, values, "multiply")


@_products.defjvp  # type: ignore[untyped-decorator]
def _products_jvp(count: int, primals: tuple[Array, Array], tangents: tuple[Array, Array]) -> tuple[Array, Array]:
    values, index = primals

    def product(values: Array) -> Array:
        runs = Runs.of(xp, index, count)
        return jnp.where(runs.present[:, None], runs.reduce(values, jnp.multiply, 1), 1)

    return jax.jvp(product, (values,), (tangents[0],))


def _one_by_one(table: Array, index: Array, update: Callable[[Array, Array], Array]) -> Array:
    """Update the rows one after the other, for any index."""

    def step(table: Array, n: Array) -> tuple[Array, None]:
        row = index[n]
        old = table.at[row].get(mode="clip")
        return table.at[row].set(update(old, n), mode="drop"), None

    return jax.lax.scan(step, table, jnp.arange(index.shape[0]))[0]


@partial(jax.jit, static_argnums=(0,))
def _kernel_compiled(what: Reduction, values: Array, ids: Array) -> Array:
    empty = nothing(xp, values, what)
    mode = "drop" if what.mode == "raise" else what.mode  # ids out of bounds have raised before
    dropping = Reduction(what.function, what.combination, what.num_segments, what.is_sorted, mode)
    if what.mode in ("clip", "wrap") or jnp.issubdtype(ids.dtype, jnp.unsignedinteger):
        ids, _ = resolve(what.function, xp, ids, what.num_segments, dropping.mode, bounds, axis=None, from_end=False)
    if what.combination == "multiply":
        table = values.reshape(values.shape[0], math.prod(values.shape[1:]))
        return _products(table, ids, what.num_segments).reshape(empty.shape)
    is_sorted = what.is_sorted and what.mode != "wrap"
    if what.combination == "add":
        return linear.Rows(values.ndim - 1, is_sorted).sum(values, ids, what.num_segments)
    return _scatter(empty, ids, values, what.combination, is_sorted=is_sorted)


def _check_ids(what: Reduction, ids: Array) -> None:
    if what.mode == "raise" and ids.size and is_concrete(ids):
        # One pass is enough on the CPU: read as unsigned numbers, negative ids are the largest.
        width = ids.dtype.itemsize
        if not is_on_cpu(ids) or np.asarray(ids).view(f"u{width}").max() >= min(
            what.num_segments, 2 ** (8 * width - 1)
        ):
            resolve(what.function, xp, ids, what.num_segments, "raise", bounds, axis=None, from_end=False)


def _kernel(what: Reduction, values: Array, ids: Array) -> Array:
    _check_ids(what, ids)
    return _kernel_compiled(what, values, ids)


_mean_compiled = jax.jit(mean_of(_kernel_compiled), static_argnums=0)


def _mean(what: Reduction, values: Array, ids: Array) -> Array:
    _check_ids(what, ids)
    return _mean_compiled(what, values, ids)


_scatter_along = jax.jit(generic.scatter, static_argnames=("axis", "batch_dims", "operation", "mode"))
_scatter_nd = jax.jit(generic.scatter_nd, static_argnames=("batch_dims", "axes", "operation", "mode"))
offset_facts = jax.jit(generic.offset_facts)
segment_reduce = jax.jit(generic.segment_reduce, static_argnames=("operation", "axis"))


@forwards_to(generic.scatter)
def scatter(x: Array, indices: Array, values: Array | Scalar, /, *, mode: Any = None, **options: Any) -> Array:
    mode = mode_once_checked("scatter", x, indices, (options["axis"],), mode)
    return _scatter_along(x, indices, _of_dtype(values, x), mode=mode, **options)


@forwards_to(generic.scatter_nd)
def scatter_nd(x: Array, indices: Array, values: Array | Scalar, /, *, mode: Any = None, **options: Any) -> Array:
    mode = mode_once_checked("scatter_nd", x, indices, options["axes"], mode, multi=True)
    return _scatter_nd(x, indices, _of_dtype(values, x), mode=mode, **options)


def _of_dtype(values: Array | Scalar, x: Array) -> Any:
    # Do not compare `getattr(values, "dtype", None) == x.dtype`: for NumPy, None equals float64.
    return values if hasattr(values, "dtype") and values.dtype == x.dtype else argument(values, x.dtype)


segment_sum, segment_prod, segment_min, segment_max, segment_mean = reducers(_kernel, _mean)
