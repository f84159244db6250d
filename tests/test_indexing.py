"""Indexing: every library against NumPy, element by element where NumPy has no such function; transformations."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.laziness import nothing_computed
from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from xpand_extensions import indexing

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "complex64", "complex128",
]  # fmt: skip
MODES = [None, "raise", "drop", "fill", "clip", "wrap"]


def examples(library: Library) -> settings:
    return settings(max_examples=8 if library.lazy else 5 if library.id == "jax" else 25, deadline=None)


def some(library: Library, options: list[Any]) -> list[Any]:
    """All options; fewer on JAX, which compiles for each."""
    return options[:2] if library.id == "jax" else options


def default_fill(dtype: np.dtype) -> Any:
    if dtype.kind == "b":
        return True
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max
    return np.nan


def resolved(indices: np.ndarray, size: int, mode: str | None, *, from_end: bool = True) -> tuple[np.ndarray, ...]:
    """Indices within bounds, and whether each was out of bounds and isn't moved."""
    indices = indices.astype(np.int64)
    if mode == "wrap":
        return indices % max(size, 1), np.zeros(indices.shape, bool)
    counted = np.where(indices < 0, indices + size, indices) if from_end else indices
    if mode == "clip":
        return np.clip(counted, 0, max(size - 1, 0)), np.zeros(indices.shape, bool)
    beyond = (counted < 0) | (counted >= size)
    return np.where(beyond, 0, counted), beyond


def array(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    values = rng.normal(size=shape)
    values = np.where(rng.random(shape) < 0.1, np.nan, values)
    values = np.where(rng.random(shape) < 0.1, -0.0, values)
    return (values + 1j * values[::-1] if np.dtype(dtype).kind == "c" else values).astype(dtype)


def index_array(draw: st.DrawFn, shape: tuple[int, ...], size: int) -> np.ndarray:
    dtype = draw(st.sampled_from(["int64", "int32", "int8", "uint8", "uint64"]))
    low = 0 if dtype[0] == "u" else -size - 2
    # Mostly within bounds, or an eager call would nearly always raise.
    inside = st.integers(0 if dtype[0] == "u" else -size, size - 1) if size else st.integers(0, 1)
    anywhere = st.integers(low, size + 2)
    count = int(np.prod(shape))
    strategy = inside if draw(st.booleans()) else inside | anywhere
    return np.asarray(draw(st.lists(strategy, min_size=count, max_size=count)), dtype=dtype).reshape(shape)


def expect(library: Library, mode: str | None, beyond: bool, call: Any) -> Any:
    """Call, and return the result; where something is out of bounds, or mode asks for what can't be known, None."""
    if library.lazy and mode == "raise":
        with pytest.raises(ValueError, match="mode='raise' needs the value"):
            call()
        return None
    if beyond and not library.lazy and mode in (None, "raise"):
        with pytest.raises(IndexError, match="is out of bounds for"):
            call()
        return None
    return call()


# --- properties ---------------------------------------------------------------------------------------------------


@st.composite
def take_problems(draw: st.DrawFn) -> tuple[Any, ...]:
    rest = draw(st.lists(st.integers(0, 3), max_size=2))
    size = draw(st.integers(1, 4))
    axis = draw(st.integers(0, len(rest)))
    shape = (*rest[:axis], size, *rest[axis:])
    indices = index_array(draw, tuple(draw(st.lists(st.integers(0, 3), max_size=2))), size)
    dtype = draw(st.sampled_from(DTYPES))
    mode = draw(st.sampled_from(MODES))
    return array(shape, dtype), indices, draw(st.sampled_from([axis, axis - len(shape)])), mode


@pytest.mark.parametrize("function", ["take", "gather"])
def test_take(library: Library, function: str) -> None:
    @examples(library)
    @given(problem=take_problems())
    def run(problem: tuple[Any, ...]) -> None:
        x, indices, axis, mode = problem
        index, beyond = resolved(indices, x.shape[axis], mode)
        expected = np.take(x, index, axis=axis)
        place = axis % x.ndim
        mask = beyond.reshape(beyond.shape + (1,) * (x.ndim - place - 1))
        expected = np.where(mask, np.asarray(default_fill(x.dtype), dtype=x.dtype), expected)
        a, i = library.asarray(x), library.asarray(indices)
        result = expect(library, mode, beyond.any(), lambda: getattr(indexing, function)(a, i, axis=axis, mode=mode))
        if result is not None:
            library.assert_equal(result, expected)
        library.assert_equal(a, x)
        library.assert_equal(i, indices)

    run()


@st.composite
def gather_problems(draw: st.DrawFn) -> tuple[Any, ...]:
    batch = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=2)))
    before, after = (tuple(draw(st.lists(st.integers(0, 2), max_size=1))) for _ in range(2))
    size = draw(st.integers(1, 4))
    own = [tuple(1 if draw(st.integers(0, 3)) == 0 else n for n in batch) for _ in range(2)]
    positions = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    x = array((*own[0], *before, size, *after), draw(st.sampled_from(["float64", "int32", "complex64"])))
    return x, index_array(draw, (*own[1], *positions), size), len(batch), len(batch) + len(before)


@pytest.mark.parametrize("mode", [None, "fill", "wrap"])
def test_batched_gather(library: Library, mode: str | None) -> None:
    @examples(library)
    @given(problem=gather_problems())
    def run(problem: tuple[Any, ...]) -> None:
        x, indices, batch_dims, axis = problem
        index, beyond = resolved(indices, x.shape[axis], mode)
        batch = np.broadcast_shapes(x.shape[:batch_dims], indices.shape[:batch_dims])
        xs = np.broadcast_to(x, batch + x.shape[batch_dims:])
        lanes = [np.broadcast_to(i, batch + indices.shape[batch_dims:]) for i in (index, beyond)]
        inner = axis - batch_dims
        shape = batch + x.shape[batch_dims:axis] + indices.shape[batch_dims:] + x.shape[axis + 1 :]
        expected = np.zeros(shape, x.dtype)
        for b in np.ndindex(batch):
            mask = lanes[1][b].reshape(lanes[1][b].shape + (1,) * (x.ndim - axis - 1))
            fill = np.asarray(7, dtype=x.dtype)
            expected[b] = np.where(mask, fill, np.take(xs[b], lanes[0][b], axis=inner))
        a, i = library.asarray(x), library.asarray(indices)
        options = {"axis": axis, "batch_dims": batch_dims, "mode": mode, "fill_value": 7}
        result = expect(library, mode, beyond.any(), lambda: indexing.gather(a, i, **options))
        if result is not None:
            library.assert_equal(result, expected)

    run()


@st.composite
def nd_problems(draw: st.DrawFn) -> tuple[Any, ...]:
    """An array, multi-indices, the number of batch axes, the axes, and the mode."""
    batch = tuple(draw(st.lists(st.integers(1, 3), max_size=1)))
    sizes = tuple(draw(st.lists(st.integers(1, 4), max_size=3)))
    own = [tuple(1 if draw(st.integers(0, 3)) == 0 else n for n in batch) for _ in range(2)]
    x = array((*own[0], *sizes), draw(st.sampled_from(["float64", "int32", "uint16", "complex64"])))
    order = draw(st.permutations(range(len(batch), x.ndim)))
    axes = tuple(order[: draw(st.integers(0, len(order)))])
    positions = (*own[1], *draw(st.lists(st.integers(0, 3), max_size=2)))
    parts = [index_array(draw, positions, x.shape[axis]).astype(np.int64) for axis in axes]
    indices = np.stack(parts, axis=-1) if parts else np.zeros((*positions, 0), np.int64)
    return x, indices, len(batch), axes, draw(st.sampled_from([None, "fill", "clip", "wrap"]))


@pytest.mark.parametrize("given_axes", [False, True])
def test_gather_nd(library: Library, given_axes: bool) -> None:
    @examples(library)
    @given(problem=nd_problems())
    def run(problem: tuple[Any, ...]) -> None:
        x, indices, batch_dims, axes, mode = problem
        if not given_axes:
            rest = [axis for axis in range(batch_dims, x.ndim) if axis not in axes]
            x = np.ascontiguousarray(x.transpose((*range(batch_dims), *axes, *rest)))
            axes = tuple(range(batch_dims, batch_dims + len(axes)))
        parts = [resolved(indices[..., j], x.shape[axis], mode) for j, axis in enumerate(axes)]
        beyond = np.zeros(indices.shape[:-1], bool)
        for _, part in parts:
            beyond |= part
        batch = np.broadcast_shapes(x.shape[:batch_dims], indices.shape[:batch_dims])
        rest = [axis for axis in range(batch_dims, x.ndim) if axis not in axes]
        positions = batch + indices.shape[batch_dims:-1]
        expected = np.zeros(positions + tuple(x.shape[axis] for axis in rest), x.dtype)
        for place in np.ndindex(positions):
            own = tuple(0 if n == 1 else p for p, n in zip(place, indices.shape[:batch_dims])) + place[batch_dims:]
            key: list[Any] = [0 if n == 1 else p for p, n in zip(place, x.shape[:batch_dims])]
            key += [slice(None)] * (x.ndim - batch_dims)
            for (index, _), axis in zip(parts, axes):
                key[axis] = slice(index[own], index[own] + 1)
            found = np.squeeze(x[tuple(key)], axis=tuple(axis - batch_dims for axis in axes))
            expected[place] = default_fill(x.dtype) if beyond[own] else found
        a, i = library.asarray(x), library.asarray(indices)
        options: dict[str, Any] = {"batch_dims": batch_dims, "mode": mode}
        options |= {"axes": axes} if given_axes else {}
        result = expect(library, mode, beyond.any(), lambda: indexing.gather_nd(a, i, **options))
        if result is not None:
            library.assert_equal(result, expected)
        library.assert_equal(a, x)

    run()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shapes", [((3, 4), (3, 2), -1), ((1, 4), (3, 5), 1), ((4, 3), (2, 1), 0), ((4,), (0,), 0)])
def test_take_along_axis(library: Library, shapes: Any, mode: str | None) -> None:
    shape, index_shape, axis = shapes
    for seed, dtype in enumerate(["float64", "int16", "uint32", "bool", "complex64"]):
        x = array(shape, dtype)
        indices = np.random.default_rng(seed).integers(-6, 6, index_shape)
        index, beyond = resolved(indices, x.shape[axis], mode)
        sizes = [list(x.shape), list(index.shape)]
        for size in sizes:
            size[axis] = 1
        lines = list(np.broadcast_shapes(*map(tuple, sizes)))
        lines[axis] = x.shape[axis]
        xs = np.broadcast_to(x, lines)
        lines[axis] = index.shape[axis]
        found = np.take_along_axis(xs, np.broadcast_to(index, lines), axis)
        expected = np.where(beyond, np.asarray(default_fill(x.dtype), x.dtype), found)
        a, i = library.asarray(x), library.asarray(indices)
        call = lambda a=a, i=i: indexing.take_along_axis(a, i, axis=axis, mode=mode)
        result = expect(library, mode, beyond.any(), call)
        if result is not None:
            library.assert_equal(result, expected)


@pytest.mark.parametrize("size", [None, 0, 2, 30])
@pytest.mark.parametrize(
    ("shape", "axis", "axes"), [((5,), 0, 1), ((3, 4), 0, 1), ((3, 4, 2), 1, 1), ((3, 4, 2), -3, 2)]
)
def test_boolean_mask(library: Library, shape: Any, axis: int, axes: int, size: int | None) -> None:
    place = axis % len(shape)
    for share, dtype in some(library, [(0.0, "bool"), (0.6, "complex64"), (0.5, "float64"), (1.0, "uint16")]):
        x = array(shape, dtype)
        mask = np.random.default_rng(1).random(shape[place : place + axes]) < share
        expected = x[(slice(None),) * place + (mask,)]
        if size is not None:
            missing = [(0, 0)] * expected.ndim
            missing[place] = (0, max(size - expected.shape[place], 0))
            expected = np.pad(expected, missing)[(slice(None),) * place + (slice(size),)]
        result = indexing.boolean_mask(library.asarray(x), library.asarray(mask), axis=axis, size=size)
        result = result.compute_chunk_sizes() if library.lazy else result
        library.assert_equal(result, expected)
    if size == 30:
        x = library.asarray(x.astype(np.complex64))
        result = indexing.boolean_mask(x, library.asarray(mask), axis=axis, size=size, fill_value=2j)
        assert np.asarray(library.to_numpy(result)).flat[-1] == 2j


@pytest.mark.parametrize("size", [None, 0, 3, 30])
@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 2), (0, 3)])
def test_nonzero_and_argwhere(library: Library, shape: tuple[int, ...], size: int | None) -> None:
    for dtype in some(library, ["bool", "complex128", "float64", "int8", "uint64"]):
        x = array(shape, dtype) * np.asarray(np.random.default_rng(2).random(shape) < 0.5, dtype=dtype)
        expected = [np.asarray(part) for part in np.nonzero(x)]
        if size is not None:
            expected = [np.concatenate([part, np.full(size, -1)])[:size] for part in expected]
        found = indexing.nonzero(library.asarray(x), size=size, fill_value=-1)
        assert isinstance(found, tuple)
        assert len(found) == len(expected)
        for part, wanted in zip(found, expected):
            part = part.compute_chunk_sizes() if library.lazy and size is None else part
            library.assert_equal(part, wanted)
        together = indexing.argwhere(library.asarray(x), size=size, fill_value=-1)
        together = together.compute_chunk_sizes() if library.lazy and size is None else together
        library.assert_equal(together, np.stack(expected, axis=1))


@pytest.mark.parametrize("mode", MODES)
def test_unravel_and_ravel(library: Library, mode: str | None) -> None:
    @examples(library)
    @given(
        shape=st.lists(st.integers(1, 4), min_size=1, max_size=3),
        positions=st.lists(st.integers(0, 3), max_size=2),
        data=st.data(),
    )
    def run(shape: list[int], positions: list[int], data: st.DataObject) -> None:
        count = int(np.prod(shape))
        number = int(np.prod(positions))
        flat = data.draw(st.lists(st.integers(-2, count + 1), min_size=number, max_size=number))
        flat = np.asarray(flat, dtype=np.int32).reshape(positions)
        index, beyond = resolved(flat, count, mode, from_end=False)
        i = library.asarray(flat)
        found = expect(library, mode, beyond.any(), lambda: indexing.unravel_index(i, shape, mode=mode))
        if found is not None:
            for part, wanted in zip(found, np.unravel_index(index, shape), strict=True):
                library.assert_equal(part, np.where(beyond, -1, wanted).astype(np.int64))
        parts = [np.asarray(data.draw(st.integers(-2, size + 1))) + np.zeros_like(flat) for size in shape]
        each = [resolved(part, size, mode, from_end=False) for part, size in zip(parts, shape)]
        beyond = np.any([part for _, part in each], axis=0) & np.ones(positions, bool)
        arrays = tuple(library.asarray(part) for part in parts)
        result = expect(
            library, mode, beyond.any(), lambda: indexing.ravel_multi_index(arrays, shape, mode=mode, fill_value=-5)
        )
        if result is not None:
            wanted = np.ravel_multi_index([part for part, _ in each], shape)
            library.assert_equal(result, np.where(beyond, -5, wanted).astype(np.int64))

    run()


def test_ravel_multi_index_broadcasts(library: Library) -> None:
    rows, columns = np.arange(3)[:, None], np.arange(4)
    result = indexing.ravel_multi_index((library.asarray(rows), library.asarray(columns)), (3, 4))
    library.assert_equal(result, np.arange(12).reshape(3, 4))


@pytest.mark.parametrize("function", ["take", "take_along_axis", "gather"])
def test_largest_unsigned_indices_are_out_of_bounds(library: Library, function: str) -> None:
    x = library.asarray(np.asarray([1.0, 2.0, 4.0]))
    indices = library.asarray(np.asarray([0, 2**64 - 1], dtype=np.uint64))
    run = getattr(indexing, function)
    if library.lazy:
        library.assert_equal(run(x, indices, axis=0), np.asarray([1.0, np.nan]))
        return
    with pytest.raises(IndexError, match=f"^{function}: index 18446744073709551615 is out of bounds for axis 0"):
        run(x, indices, axis=0)


@pytest.mark.parametrize("mode", ["fill", "clip", "wrap"])
def test_largest_unsigned_indices(library: Library, mode: str) -> None:
    given_, x = np.asarray([2**64 - 1, 0, 2**63], dtype=np.uint64), np.asarray([1.0, 2.0, 4.0])
    kept = {"clip": [2, 0, 2], "wrap": [int(i) % 3 for i in given_], "fill": [0, 0, 0]}[mode]
    i = library.asarray(given_)
    expected = x[kept] if mode != "fill" else np.asarray([np.nan, 1.0, np.nan])
    library.assert_equal(indexing.take(library.asarray(x), i, mode=mode), expected)
    flat = np.asarray(kept) if mode != "fill" else np.asarray([-1, 0, -1])
    library.assert_equal(indexing.unravel_index(i, (3,), mode=mode)[0], flat)
    start = {"clip": 1, "wrap": int(given_[0]) % 3}.get(mode)
    if start is not None:
        found = indexing.dynamic_slice(library.asarray(x), (i[0],), (2,), mode=mode)
        library.assert_equal(found, np.take(x, [start, start + 1], mode="wrap"))


@pytest.mark.parametrize("total", [None, 0, 3, 12])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_repeat(library: Library, axis: int | None, total: int | None) -> None:
    numbers = [np.asarray([1, 0, 4, 2], dtype=np.int32), 2, 0, np.asarray(2), np.asarray([3], dtype=np.uint8)]
    for dtype, repeats in itertools.product(["float64", "uint16", "bool"][: 1 if library.id == "jax" else 3], numbers):
        x = array((4,) if axis is None else (4, 4), dtype)
        count = np.broadcast_to(repeats, (4,))
        places = np.repeat(np.arange(4), count)
        if total is not None:
            places = np.concatenate([places, np.full(total, 3)])[:total]
        given_ = library.asarray(repeats) if isinstance(repeats, np.ndarray) else repeats
        result = indexing.repeat(library.asarray(x), given_, axis=axis, total_repeat_length=total)
        if library.lazy and total is None and isinstance(repeats, np.ndarray):
            result = result.compute_chunk_sizes()
        library.assert_equal(result, np.take(x, places, axis=axis))


def test_repeat_nothing(library: Library) -> None:
    empty = library.asarray(np.zeros((0, 2)))
    library.assert_equal(indexing.repeat(empty, 3, axis=0), np.zeros((0, 2)))
    library.assert_equal(indexing.repeat(empty, 3), np.zeros(0))
    library.assert_equal(indexing.repeat(library.asarray(2.0), 2), np.asarray([2.0, 2.0]))


def first_index(size: int, start: int, span: int, mode: str | None) -> int | None:
    """Where a slice starts; None where it doesn't lie within the array."""
    if mode == "wrap":
        return start % size
    number = start + size if start < 0 else start
    if mode == "clip":
        return min(max(number, 0), size - span)
    return number if 0 <= number <= size - span else None


@st.composite
def slice_problems(draw: st.DrawFn) -> tuple[Any, ...]:
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=2))
    steps = [draw(st.integers(1, 2)) for _ in shape]
    sizes = [draw(st.integers(0, (size - 1) // step + 1)) for size, step in zip(shape, steps)]
    # More often than not within the array, at least along one axis.
    starts = [draw(st.integers(0, 1) | st.integers(-size - 1, size + 1)) for size in shape]
    return array(tuple(shape), "float64"), starts, sizes, steps, [draw(st.booleans()) for _ in shape]


@pytest.mark.parametrize("mode", [None, "raise", "clip", "wrap"])
@pytest.mark.parametrize("function", ["dynamic_slice", "put_slice"])
def test_slices(library: Library, function: str, mode: str | None) -> None:
    @examples(library)
    @given(problem=slice_problems())
    def run(problem: tuple[Any, ...]) -> None:
        x, starts, sizes, steps, as_array = problem
        steps = steps if function == "dynamic_slice" else [1] * x.ndim
        starts_given = [
            library.asarray(start, dtype="int32") if is_array else start for start, is_array in zip(starts, as_array)
        ]
        a, values = library.asarray(x), np.arange(1.0, 1.0 + np.prod(sizes)).reshape(sizes)

        def call() -> Any:
            if function == "dynamic_slice":
                return indexing.dynamic_slice(a, starts_given, sizes, strides=steps, mode=mode)
            return indexing.put_slice(a, library.asarray(values), starts_given, mode=mode)

        if library.lazy and mode == "raise" and any(as_array):
            with pytest.raises(ValueError, match="mode='raise' needs the value of starts"):
                call()
            return
        modes = ["clip" if library.lazy and mode is None and is_array else mode for is_array in as_array]
        spans = [(size - 1) * step + 1 if size else 0 for size, step in zip(sizes, steps)]
        first = [first_index(*each) for each in zip(x.shape, starts, spans, modes)]
        if None in first:
            with pytest.raises(IndexError, match="does not lie within axis"):
                call()
            return
        lines = [(f + np.arange(size) * step) % n for f, size, step, n in zip(first, sizes, steps, x.shape)]
        if function == "dynamic_slice":
            library.assert_equal(call(), x[np.ix_(*lines)])
        else:
            expected = x.copy()
            expected[np.ix_(*lines)] = values
            library.assert_equal(call(), expected)
        library.assert_equal(a, x)

    run()


def test_results_are_copies() -> None:
    x = np.arange(6.0)
    for result in (
        indexing.dynamic_slice(x, (0,), (6,)),
        indexing.put_slice(x, np.zeros(0), (0,)),
        indexing.repeat(x, 1),
        indexing.take(x, np.arange(6)),
    ):
        assert not np.shares_memory(result, x)


def test_integers_of_numpy_are_integers(library: Library) -> None:
    values = np.arange(6.0)
    x, two = library.asarray(values), np.int64(2)
    library.assert_equal(indexing.dynamic_slice(x, (two,), (two,)), values[2:4])
    library.assert_equal(indexing.put_slice(x, x[:2], (-two,)), np.asarray([0.0, 1.0, 2.0, 3.0, 0.0, 1.0]))
    library.assert_equal(indexing.repeat(x, two), np.repeat(values, 2))
    with pytest.raises(IndexError, match="put_slice"):
        indexing.put_slice(x, x[:2], (np.uint8(5),))


def test_casts_within_the_kind(library: Library) -> None:
    x, values = library.asarray(np.zeros(3, np.float32)), library.asarray(np.asarray([1.0]))
    library.assert_equal(indexing.put_slice(x, values, (1,)), np.asarray([0.0, 1.0, 0.0], np.float32))


def test_nothing_is_computed() -> None:
    import dask.array as da

    x = da.from_array(np.arange(12.0).reshape(6, 2), chunks=(2, 1))
    i = da.from_array(np.asarray([[0, 1], [5, 0]]), chunks=1)
    one = da.from_array(np.asarray(1))
    calls = [
        lambda: indexing.take(x, i, axis=0),
        lambda: indexing.gather_nd(x, i),
        lambda: indexing.gather(x, da.zeros((6, 3), dtype=int), axis=1, batch_dims=1),
        lambda: indexing.boolean_mask(x, x > 3, size=4),
        lambda: indexing.boolean_mask(x, x > 3),
        lambda: indexing.nonzero(x, size=4)[0],
        lambda: indexing.argwhere(x),
        lambda: indexing.repeat(x, da.ones(6, dtype=int), axis=0, total_repeat_length=7),
        lambda: indexing.dynamic_slice(x, (one, 0), (2, 2)),
        lambda: indexing.put_slice(x, x[:2], (one, 0)),
    ]
    with nothing_computed():
        results = [call() for call in calls]
    for result in results:
        result.compute()


# --- transformations ----------------------------------------------------------------------------------------------

X = np.asarray([[1.5, -2.0, 0.5, 3.0], [0.25, 4.0, -1.0, 2.0], [7.0, 5.0, -3.5, 6.0]])
INDICES = np.asarray([[0, 2, 1], [2, 2, 0]])
ND = np.asarray([[[0, 2], [1, 3]], [[2, 0], [2, 0]]])
MASK = np.asarray([True, False, True])

CASES = {
    "take": Case(lambda x, i: indexing.take(x, i, axis=0), (X, INDICES), lambda x, i: x[i], (0,)),
    "take with fill": Case(
        lambda x, i: indexing.take(x, i, axis=1, mode="fill", fill_value=0.5),
        (X, np.asarray([0, 9, -1])),
        lambda x, i: np.stack([x[:, 0], np.full(3, 0.5), x[:, -1]], axis=1),
        (0,),
    ),
    "take_along_axis": Case(
        lambda x, i: indexing.take_along_axis(x, i, axis=0), (X, INDICES[:, :1]), lambda x, i: x[i[:, 0]], (0,)
    ),
    "gather": Case(
        lambda x, i: indexing.gather(x, i, axis=1, batch_dims=1),
        (X, np.asarray([[3, 0], [1, 1], [0, 2]])),
        lambda x, i: np.take_along_axis(x, i, axis=1),
        (0,),
    ),
    "gather_nd": Case(lambda x, i: indexing.gather_nd(x, i), (X, ND), lambda x, i: x[i[..., 0], i[..., 1]], (0,)),
    "gather_nd with axes": Case(
        lambda x, i: indexing.gather_nd(x, i, axes=(1,)), (X, np.asarray([[3], [0]])), lambda x, i: x.T[i[:, 0]], (0,)
    ),
    "boolean_mask": Case(
        lambda x, m: indexing.boolean_mask(x, m, size=4),
        (X, MASK),
        lambda x, m: np.stack([x[0], x[2], np.zeros(4), np.zeros(4)]),
        (0,),
    ),
    "nonzero": Case(
        lambda x: indexing.nonzero(x, size=3, fill_value=-1),
        (np.asarray([[0.0, 2.0], [3.0, 0.0]]),),
        lambda x: (np.asarray([0, 1, -1]), np.asarray([1, 0, -1])),
    ),
    "argwhere": Case(
        lambda x: indexing.argwhere(x, size=2), (np.asarray([0.0, 2.0, 1.0]),), lambda x: np.asarray([[1], [2]])
    ),
    "unravel_index": Case(
        lambda i: indexing.unravel_index(i, (3, 4)), (np.asarray([11, 5]),), lambda i: np.unravel_index(i, (3, 4))
    ),
    "ravel_multi_index": Case(
        lambda i, j: indexing.ravel_multi_index((i, j), (3, 4)),
        (np.asarray([2, 0]), np.asarray([1, 3])),
        lambda i, j: np.asarray([9, 3]),
    ),
    "repeat": Case(
        lambda x, n: indexing.repeat(x, n, axis=0, total_repeat_length=5),
        (X, np.asarray([2, 0, 2])),
        lambda x, n: x[[0, 0, 2, 2, 2]],
        (0,),
    ),
    "dynamic_slice": Case(
        lambda x, i: indexing.dynamic_slice(x, (i, 1), (2, 2), strides=(1, 2)),
        (X, np.asarray(1)),
        lambda x, i: x[1:, 1::2],
        (0,),
    ),
    "put_slice": Case(
        lambda x, v, i: indexing.put_slice(x, v, (1, i)),
        (X, X[:2, :2] + 1, np.asarray(2)),
        lambda x, v, i: np.concatenate([x[:1], np.concatenate([x[1:, :2], v], axis=1)]),
        (0, 1),
    ),
    "put_slice that wraps": Case(
        lambda x, v, i: indexing.put_slice(x, v, (i,), mode="wrap"),
        (X[0], X[1, :2], np.asarray(3)),
        lambda x, v, i: np.asarray([v[1], x[1], x[2], v[0]]),
        (0, 1),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


def test_out_of_bounds_under_tracing() -> None:
    import jax
    import jax.numpy as jnp
    import torch

    x, i = np.asarray([1.0, 2.0]), np.asarray([0, 5, -1])
    expected = [1.0, np.nan, 2.0]
    np.testing.assert_array_equal(jax.jit(indexing.take)(jnp.asarray(x), jnp.asarray(i)), expected)
    mapped = torch.func.vmap(indexing.take)(torch.asarray(x[None]), torch.asarray(i[None]))
    np.testing.assert_array_equal(mapped[0], expected)
    # A slice is moved into the array.
    read = jax.jit(lambda x, i: indexing.dynamic_slice(x, (i,), (2,)))
    assert read(jnp.arange(5), jnp.asarray(9)).tolist() == [3, 4]
    with pytest.raises(ValueError, match="mode='raise' needs the value"):
        jax.jit(lambda x, i: indexing.take(x, i, mode="raise"))(jnp.asarray(x), jnp.asarray(i))


def test_second_derivatives() -> None:
    import jax
    import torch

    f = lambda x, i: (indexing.gather_nd(x, i) ** 3).sum()
    expected = np.zeros((3, 4))
    np.add.at(expected, (ND[..., 0], ND[..., 1]), 6 * X[ND[..., 0], ND[..., 1]])
    second = jax.grad(lambda x, i: jax.grad(f)(x, i).sum())(jax.numpy.asarray(X), jax.numpy.asarray(ND))
    np.testing.assert_allclose(second, expected)
    second = torch.func.grad(lambda x, i: torch.func.grad(f)(x, i).sum())(torch.asarray(X), torch.asarray(ND))
    np.testing.assert_allclose(second, expected)


def test_half_precision() -> None:
    import jax.numpy as jnp
    import torch

    assert indexing.take(torch.ones(3, dtype=torch.bfloat16), torch.asarray([0, 7]), mode="fill").isnan().tolist() == [
        False,
        True,
    ]
    assert indexing.boolean_mask(jnp.ones(3, jnp.bfloat16), jnp.asarray([True, False, True]), size=3).tolist() == [
        1,
        1,
        0,
    ]


# --- bad input ----------------------------------------------------------------------------------------------------

ONE, TWO, INT = np.ones(3), np.ones((3, 4)), np.asarray([0, 1])

BAD = [
    ("take", lambda: indexing.take(3.0, INT), TypeError, "x must be an array"),
    ("take", lambda: indexing.take(ONE, ONE), TypeError, "indices must have an integer data type"),
    ("take", lambda: indexing.take(TWO, INT), ValueError, "axis must be given for an array of 2 axes"),
    ("take", lambda: indexing.take(ONE, INT, axis=1), ValueError, "axis=1 is out of range"),
    ("take", lambda: indexing.take(ONE, INT, mode="clp"), ValueError, "did you mean 'clip'"),
    ("take", lambda: indexing.take(ONE, INT, fill_value=1j), TypeError, "fill_value is the complex 1j"),
    ("take", lambda: indexing.take(ONE, INT, fill_value=ONE), ValueError, "fill_value must be a scalar"),
    ("take", lambda: indexing.take(ONE, INT + 2), IndexError, "index 3 is out of bounds for axis 0 of size 3"),
    ("take_along_axis", lambda: indexing.take_along_axis(TWO, INT), ValueError, "must have as many axes as x"),
    ("take_along_axis", lambda: indexing.take_along_axis(ONE, INT - 9), IndexError, "index -9 is out of bounds"),
    ("gather", lambda: indexing.gather(TWO, INT, batch_dims=1), ValueError, "batch_dims=1 must be at most axis=0"),
    ("gather", lambda: indexing.gather(TWO, INT, axis=1, batch_dims=1), ValueError, "do not broadcast"),
    ("gather", lambda: indexing.gather(TWO, INT, batch_dims=-1), ValueError, "batch_dims must be at least 0"),
    ("gather", lambda: indexing.gather(TWO, INT + 7), IndexError, "index 8 is out of bounds for axis 0"),
    ("gather_nd", lambda: indexing.gather_nd(ONE, INT), ValueError, "the last axis of indices has size 2"),
    ("gather_nd", lambda: indexing.gather_nd(TWO, INT, axes=(0, 0)), ValueError, "must be 2 different axes"),
    ("gather_nd", lambda: indexing.gather_nd(TWO, INT, axes=1), TypeError, "axes must be a sequence"),
    ("gather_nd", lambda: indexing.gather_nd(TWO, INT, batch_dims=1), ValueError, "batch_dims=1 must be at most"),
    ("gather_nd", lambda: indexing.gather_nd(TWO, INT + 3), IndexError, "index 3 is out of bounds for axis 0"),
    ("gather_nd", lambda: indexing.gather_nd(TWO, INT - 9, axes=(1, 0)), IndexError, "index -9 is out of bounds"),
    ("boolean_mask", lambda: indexing.boolean_mask(ONE, ONE), TypeError, "mask must be boolean"),
    ("boolean_mask", lambda: indexing.boolean_mask(TWO, ONE > 0, axis=1), ValueError, "must have the sizes"),
    ("boolean_mask", lambda: indexing.boolean_mask(ONE, np.asarray(True)), ValueError, "one or more axes"),
    ("boolean_mask", lambda: indexing.boolean_mask(ONE, ONE > 0, size=-1), ValueError, "size must be at least 0"),
    ("boolean_mask", lambda: indexing.boolean_mask(INT, INT > 0, fill_value=0.5), TypeError, "fill_value"),
    ("nonzero", lambda: indexing.nonzero(np.asarray(1.0)), ValueError, "x must have one or more axes"),
    ("nonzero", lambda: indexing.nonzero(ONE, size=1.5), TypeError, "size must be an integer"),
    ("argwhere", lambda: indexing.argwhere(ONE, fill_value=None), TypeError, "fill_value must be an integer"),
    ("unravel_index", lambda: indexing.unravel_index(INT, 4), TypeError, "shape must be a sequence"),
    ("unravel_index", lambda: indexing.unravel_index(INT, (1, 1)), IndexError, "shape .* with 1 elements"),
    ("unravel_index", lambda: indexing.unravel_index(INT - 1, (2,)), IndexError, "index -1 is out of bounds"),
    ("ravel_multi_index", lambda: indexing.ravel_multi_index(INT, (2,)), TypeError, "must be a tuple"),
    ("ravel_multi_index", lambda: indexing.ravel_multi_index((INT,), (2, 2)), ValueError, "for each of the 2 axes"),
    ("ravel_multi_index", lambda: indexing.ravel_multi_index((INT, ONE), (2, 2)), TypeError, r"multi_index\[1\] must"),
    ("ravel_multi_index", lambda: indexing.ravel_multi_index((INT, INT), (2, 1)), IndexError, "axis 1 of size 1"),
    ("ravel_multi_index", lambda: indexing.ravel_multi_index((INT, np.arange(3)), (9, 9)), ValueError, "broadcast"),
    ("repeat", lambda: indexing.repeat(ONE, -1), ValueError, "repeats must be at least 0"),
    ("repeat", lambda: indexing.repeat(ONE, INT - 1), ValueError, "must have the shape"),
    ("repeat", lambda: indexing.repeat(ONE, np.asarray([1, -2, 0])), ValueError, "at least 0, got -2"),
    ("repeat", lambda: indexing.repeat(ONE, ONE), TypeError, "repeats must have an integer data type"),
    ("repeat", lambda: indexing.repeat(ONE[:0], 1, total_repeat_length=2), ValueError, "must be 0 where x has no"),
    ("repeat", lambda: indexing.repeat(ONE, 1, axis=3), ValueError, "axis=3 is out of range"),
    ("dynamic_slice", lambda: indexing.dynamic_slice(ONE, (0,), (4,)), ValueError, "covers 4 elements"),
    ("dynamic_slice", lambda: indexing.dynamic_slice(ONE, (0, 0), (1,)), ValueError, "one start for each"),
    ("dynamic_slice", lambda: indexing.dynamic_slice(ONE, 0, (1,)), TypeError, "starts must be a sequence"),
    (
        "dynamic_slice",
        lambda: indexing.dynamic_slice(ONE, (INT,), (1,)),
        ValueError,
        r"starts\[0\] must have the shape",
    ),
    ("dynamic_slice", lambda: indexing.dynamic_slice(ONE, (0,), (1,), strides=(0,)), ValueError, "at least 1"),
    ("dynamic_slice", lambda: indexing.dynamic_slice(ONE, (2,), (2,)), IndexError, "takes starts from -3 to 1"),
    ("dynamic_slice", lambda: indexing.dynamic_slice(ONE, (0,), (1,), mode="drop"), ValueError, "mode must be one of"),
    ("put_slice", lambda: indexing.put_slice(ONE, ONE[:1], (3,)), IndexError, "does not lie within axis 0"),
    ("put_slice", lambda: indexing.put_slice(ONE, TWO, (0,)), ValueError, "as many axes as x"),
    ("put_slice", lambda: indexing.put_slice(INT, ONE[:1], (0,)), TypeError, "does not promote"),
    ("put_slice", lambda: indexing.put_slice(ONE, 1.0, (0,)), TypeError, "values must be an array"),
]


@pytest.mark.parametrize(("function", "call", "error", "message"), BAD, ids=[f"{b[0]}-{k}" for k, b in enumerate(BAD)])
def test_bad_input(function: str, call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        call()
    assert str(caught.value).startswith(f"{function}: ")


def test_two_libraries_and_two_devices() -> None:
    import array_api_strict as strict
    import torch

    x, i = torch.ones(3), torch.asarray([0])
    calls = {
        "take": (lambda x, i: indexing.take(x, i), x, i),
        "take_along_axis": (lambda x, i: indexing.take_along_axis(x, i), x, i),
        "gather": (lambda x, i: indexing.gather(x, i), x, i),
        "gather_nd": (lambda x, i: indexing.gather_nd(x, i), x, i),
        "boolean_mask": (lambda x, i: indexing.boolean_mask(x, i), x, x > 0),
        "repeat": (lambda x, i: indexing.repeat(x, i), x, i),
        "dynamic_slice": (lambda x, i: indexing.dynamic_slice(x, (i,), (1,)), x, i[0]),
        "put_slice": (lambda x, v: indexing.put_slice(x, v, (0,)), x, x),
        "ravel_multi_index": (lambda i, j: indexing.ravel_multi_index((i, j), (1, 1)), i, i),
    }
    for name, (call, one, other) in calls.items():
        with pytest.raises(TypeError, match=f"{name}: takes arrays of one library"):
            call(np.asarray(one), other)
        there = strict.asarray(np.asarray(other), device=strict.Device("device1"))
        with pytest.raises(ValueError, match=f"{name}: takes arrays on one device"):
            call(strict.asarray(np.asarray(one)), there)


def test_sizes_are_asked_for_under_tracing() -> None:
    import jax
    import torch

    x = jax.numpy.ones(3)
    for name, call in {
        "boolean_mask": lambda x: indexing.boolean_mask(x, x > 0),
        "nonzero": indexing.nonzero,
        "argwhere": indexing.argwhere,
    }.items():
        with pytest.raises(ValueError, match=f"{name}: size must be given"):
            jax.jit(call)(x)
        with pytest.raises(ValueError, match=f"{name}: size must be given"):
            torch.func.vmap(call)(torch.ones(2, 3))
    with pytest.raises(ValueError, match="repeat: total_repeat_length must be given"):
        jax.jit(lambda n: indexing.repeat(x, n))(jax.numpy.ones(3, dtype=int))
