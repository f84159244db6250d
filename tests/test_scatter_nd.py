"""Scatter at indices and multi-indices, and segments by offsets: every library against loops of NumPy."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.laziness import nothing_computed
from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from xpand_extensions import indexing, scatter

OPERATIONS = ["set", "add", "subtract", "multiply", "min", "max", "mean"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REAL, COMPLEX = ["float32", "float64"], ["complex64", "complex128"]
DTYPES = {
    "set": ["bool", *INTEGERS, *REAL, *COMPLEX],
    "add": [*INTEGERS, *REAL, *COMPLEX],
    "subtract": [*INTEGERS, *REAL, *COMPLEX],
    "multiply": [*INTEGERS, *REAL, *COMPLEX],
    "min": ["bool", *INTEGERS, *REAL],
    "max": ["bool", *INTEGERS, *REAL],
    "mean": [*REAL, *COMPLEX],
}
UPDATES = {
    "set": lambda old, new: new,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}


def examples(library: Library) -> settings:
    return settings(max_examples=8 if library.lazy else 5 if library.id == "jax" else 25, deadline=None)


def tolerance(dtype: np.dtype) -> float:
    return 0.0 if dtype.kind in "biu" else 1e-5 if dtype in ("float32", "complex64") else 1e-12


def array(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(0, 5, shape).astype(dtype)
    values = rng.normal(size=shape)
    if np.dtype(dtype).kind == "c":
        return (values + 1j * rng.normal(size=shape)).astype(dtype)
    return np.where(rng.random(shape) < 0.1, np.nan, values).astype(dtype)


def moved(index: int, size: int, mode: str | None) -> int | None:
    """The place that an index stands for; None where it is out of bounds."""
    if mode == "wrap":
        return index % size
    counted = index + size if index < 0 else index
    if mode == "clip":
        return min(max(counted, 0), size - 1)
    return counted if 0 <= counted < size else None


def reference(
    x: np.ndarray, indices: np.ndarray, values: np.ndarray, batch_dims: int, axes: tuple[int, ...], operation: str,
    mode: str | None,
) -> tuple[np.ndarray, bool]:  # fmt: skip
    """One update after the other; and whether an index was out of bounds."""
    rest = [axis for axis in range(batch_dims, x.ndim) if axis not in axes]
    batch = x.shape[:batch_dims]
    positions = batch + indices.shape[batch_dims:-1]
    values = np.broadcast_to(values, positions + tuple(x.shape[axis] for axis in rest)).astype(x.dtype)
    out, any_beyond = x.copy(), False
    gathered: dict[Any, list[Any]] = {}
    for place in np.ndindex(positions):
        own = tuple(0 if n == 1 else p for p, n in zip(place, indices.shape[:batch_dims])) + place[batch_dims:]
        found = [moved(int(i), x.shape[axis], mode) for i, axis in zip(indices[own], axes)]
        if None in found:
            any_beyond = True
            continue
        key: list[Any] = [*place[:batch_dims], *([slice(None)] * (x.ndim - batch_dims))]
        for i, axis in zip(found, axes):
            key[axis] = i
        if operation == "mean":
            gathered.setdefault(tuple(map(str, key)), [tuple(key)]).append(values[place])
        else:
            with np.errstate(all="ignore"):
                out[tuple(key)] = UPDATES[operation](out[tuple(key)], values[place])
    for key, *group in gathered.values():
        out[key] = np.mean(np.stack(group), axis=0)
    return out, any_beyond


@st.composite
def problems(draw: st.DrawFn, operation: str, *, along_axis: bool) -> tuple[Any, ...]:
    batch = tuple(draw(st.lists(st.integers(1, 2), max_size=1)))
    sizes = tuple(draw(st.lists(st.integers(1, 3), min_size=int(along_axis), max_size=3)))
    dtype = draw(st.sampled_from(DTYPES[operation]))
    x = array((*batch, *sizes), dtype, 0)
    order = draw(st.permutations(range(len(batch), x.ndim)))
    axes = tuple(order[: 1 if along_axis else draw(st.integers(0, len(order)))])
    own = tuple(1 if draw(st.integers(0, 3)) == 0 else n for n in batch)
    positions = (*own, *draw(st.lists(st.integers(0, 4), max_size=2)))
    low, high = (-2, 1) if draw(st.booleans()) else (0, 0)
    count = int(np.prod(positions))
    parts = []
    for axis in axes:
        size = x.shape[axis]
        entries = st.integers(max(low, -size), size - 1 + high) if low else st.integers(0, size - 1)
        parts.append(np.asarray(draw(st.lists(entries, min_size=count, max_size=count)), np.int64).reshape(positions))
    indices = np.stack(parts, axis=-1) if parts else np.zeros((*positions, 0), np.int64)
    rest = [x.shape[axis] for axis in range(len(batch), x.ndim) if axis not in axes]
    # Sizes of one, and first axes that are missing, broadcast.
    shape = [1 if draw(st.integers(0, 4)) == 0 else n for n in (*batch, *positions[len(batch) :], *rest)]
    values = array(tuple(shape[draw(st.integers(0, 1)) if shape and shape[0] == 1 else 0 :]), dtype, 1)
    return x, indices, values, len(batch), axes, draw(st.sampled_from([None, "drop", "clip", "wrap"]))


def compare(library: Library, mode: str | None, beyond: bool, call: Any, expected: np.ndarray) -> None:
    if beyond and mode is None and not library.lazy:
        with pytest.raises(IndexError, match="is out of bounds for axis"):
            call()
        return
    rtol = tolerance(expected.dtype)
    library.assert_equal(call(), expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_scatter_nd(library: Library, operation: str) -> None:
    @examples(library)
    @given(problem=problems(operation, along_axis=False))
    def run(problem: tuple[Any, ...]) -> None:
        x, indices, values, batch_dims, axes, mode = problem
        expected, beyond = reference(x, indices, values, batch_dims, axes, operation, mode)
        a, i, v = library.asarray(x), library.asarray(indices), library.asarray(values)
        call = lambda: scatter.scatter_nd(a, i, v, batch_dims=batch_dims, axes=axes, operation=operation, mode=mode)
        compare(library, mode, beyond, call, expected)
        for array_, before in ((a, x), (i, indices), (v, values)):
            library.assert_equal(array_, before)

    run()


@pytest.mark.parametrize("operation", OPERATIONS)
def test_scatter(library: Library, operation: str) -> None:
    @examples(library)
    @given(problem=problems(operation, along_axis=True))
    def run(problem: tuple[Any, ...]) -> None:
        x, indices, values, batch_dims, (axis,), mode = problem
        expected, beyond = reference(x, indices, values, batch_dims, (axis,), operation, mode)
        # The axes before the indexed one come before the positions.
        before = axis - batch_dims
        positions = indices.ndim - 1 - batch_dims
        full = x.shape[:batch_dims] + indices.shape[batch_dims:-1] + x.shape[batch_dims:axis] + x.shape[axis + 1 :]
        values = np.broadcast_to(values, full)
        source = [batch_dims + positions + k for k in range(before)]
        values = np.moveaxis(values, source, range(batch_dims, axis))
        a, i, v = library.asarray(x), library.asarray(indices[..., 0]), library.asarray(values)
        call = lambda: scatter.scatter(a, i, v, axis=axis, batch_dims=batch_dims, operation=operation, mode=mode)
        compare(library, mode, beyond, call, expected)
        library.assert_equal(a, x)

    run()


def test_negative_indices(library: Library) -> None:
    """They count from the end; those below are out of bounds. Lazy ones are not known before."""
    x, values = np.arange(12.0).reshape(4, 3), np.asarray([[10.0, 20.0, 30.0], [40.0, 50.0, 60.0], [70.0, 80.0, 90.0]])
    for indices, rows in (([-1, 0, -4], [3, 0, 0]), ([-2, -5, 9], [2, None, None])):
        expected = x.copy()
        for row, value in zip(rows, values):
            if row is not None:
                expected[row] += value
        a, i, v = (library.asarray(each) for each in (x, np.asarray(indices), values))
        library.assert_equal(scatter.scatter(a, i, v, operation="add", mode="drop"), expected)
        library.assert_equal(scatter.scatter_nd(a, i[:, None], v, axes=(0,), operation="add", mode="drop"), expected)
        across = library.asarray(np.ascontiguousarray(x.T)), i, library.asarray(np.ascontiguousarray(values.T))
        library.assert_equal(scatter.scatter(*across, axis=1, operation="add", mode="drop"), expected.T)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("columns", [None, 3])
def test_many_duplicates(library: Library, operation: str, columns: int | None) -> None:
    # More than a block of NumPy's, where the library is fast enough for a size that takes two of them.
    n = 40_000 if library.id in ("numpy", "torch", "jax") else 300
    rng = np.random.default_rng(0)
    shape = () if columns is None else (columns,)
    x, values = rng.uniform(0.9, 1.1, (50, 40, *shape)), rng.uniform(0.99, 1.01, (n, *shape))
    indices = np.stack([rng.integers(0, 50, n), rng.integers(0, 40, n)], axis=1)
    flat = indices[:, 0] * 40 + indices[:, 1]
    expected = x.reshape(2000, *shape).copy()
    if operation == "mean":
        total, number = np.zeros_like(expected), np.bincount(flat, minlength=2000)
        np.add.at(total, flat, values)
        expected[number > 0] = total[number > 0] / number[number > 0].reshape(-1, *(1 for _ in shape))
    elif operation == "set":
        for k in range(n):
            expected[flat[k]] = values[k]
    else:
        {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}[
            operation
        ].at(expected, flat, values)
    a, i, v = library.asarray(x), library.asarray(indices), library.asarray(values)
    result = scatter.scatter_nd(a, i, v, operation=operation)
    library.assert_equal(result, expected.reshape(x.shape), rtol=1e-9)
    result = scatter.scatter(library.xp.reshape(a, (2000, *shape)), library.asarray(flat), v, operation=operation)
    library.assert_equal(result, expected, rtol=1e-9)


def test_scatter_undoes_gather(library: Library) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 5))
    places = np.asarray([[3, 0, 1], [4, 2, 0]])
    found = indexing.gather(library.asarray(x), library.asarray(places), axis=2, batch_dims=1)
    result = scatter.scatter(library.asarray(np.zeros_like(x)), library.asarray(places), found, axis=2, batch_dims=1)
    kept = np.zeros((2, 1, 5), bool)
    for b in range(2):
        kept[b, 0, places[b]] = True
    library.assert_equal(result, np.where(kept, x, 0.0))


@pytest.mark.parametrize(("function", "operation"), [("indexed_add", "add"), ("indexed_put", "set")])
def test_indexed(library: Library, function: str, operation: str) -> None:
    x, indices, values = np.arange(12.0).reshape(3, 4), np.asarray([[3], [0], [3]]), np.ones((3, 3)) * [[1], [2], [3]]
    result = getattr(scatter, function)(
        library.asarray(x), library.asarray(indices), library.asarray(values), axes=(1,)
    )
    library.assert_equal(result, reference(x, indices, values, 0, (1,), operation, None)[0])


def test_scalars_are_weak(library: Library) -> None:
    i = library.asarray(np.asarray([1, 1]))
    for dtype, value in (("uint64", 2**64 - 1), ("int8", -3), ("float32", 0.5), ("complex64", 1j), ("bool", True)):
        x = np.zeros(3, dtype)
        result = scatter.scatter(library.asarray(x), i, value)
        library.assert_equal(result, np.asarray([0, value, 0], dtype=dtype))
    half = scatter.scatter(library.asarray(np.zeros(2, np.float32)), i, library.asarray(np.ones(2)), operation="add")
    library.assert_equal(half, np.asarray([0.0, 2.0], np.float32))


def test_a_mean_leaves_what_has_no_values(library: Library) -> None:
    x, values = np.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.asarray([[7.0, 8.0], [9.0, 12.0]])
    result = scatter.scatter(
        library.asarray(x), library.asarray(np.asarray([1, 1])), library.asarray(values), operation="mean"
    )
    library.assert_equal(result, np.asarray([[1.0, 2.0], [8.0, 10.0], [5.0, 6.0]]))
    positions = library.asarray(np.asarray([[2, 1], [0, 0]]))
    result = scatter.scatter_nd(library.asarray(x), positions, library.asarray(values[0]), operation="mean")
    library.assert_equal(result, np.asarray([[8.0, 2.0], [3.0, 4.0], [5.0, 7.0]]))


def test_unsigned_integers_of_64_bits_are_not_written_into_signed_ones(library: Library) -> None:
    x, i = library.asarray(np.zeros(3, np.int64)), library.asarray(np.asarray([1]))
    with pytest.raises(TypeError, match="scatter: values has .*uint64, which does not promote to x's .*int64"):
        scatter.scatter(x, i, library.asarray(np.ones(1, np.uint64)))
    found = scatter.scatter(x, i, library.asarray(np.ones(1, np.uint32)))
    library.assert_equal(found, np.asarray([0, 1, 0]))


def test_mean_counts_beyond_the_precision_of_the_values() -> None:
    # float16 counts one by one to 2048 only.
    values = np.zeros((3000, 1), np.float16)
    values[0] = 1024
    for x, v in ((np.zeros(1, np.float16), values[:, 0]), (np.zeros((1, 2), np.float16), values)):
        result = scatter.scatter(x, np.zeros(3000, int), v, operation="mean")
        np.testing.assert_allclose(result, np.broadcast_to(1024 / 3000, x.shape), rtol=1e-3)


def test_empty(library: Library) -> None:
    none, x = library.asarray(np.zeros((0,), np.int64)), library.asarray(np.ones((2, 3)))
    library.assert_equal(scatter.scatter(x, none, 5.0), np.ones((2, 3)))
    nothing = library.asarray(np.zeros((0, 3)))
    i = library.asarray(np.asarray([0, 4]))
    library.assert_equal(scatter.scatter(nothing, i, 1.0, mode="drop"), np.zeros((0, 3)))
    # Multi-indices of no index: the whole array, as often as there are positions.
    whole = library.asarray(np.zeros((2, 0), np.int64))
    library.assert_equal(scatter.scatter_nd(x, whole, 2.0, operation="add"), np.full((2, 3), 5.0))


@pytest.mark.parametrize("columns", [1, 8])
@pytest.mark.parametrize("operation", ["set", "add", "max", "mean"])
def test_memory(operation: str, columns: int) -> None:
    # The budget: at most twice the inputs and the output together.
    n, rng = 200_000 // columns, np.random.default_rng(0)
    x, values, indices = rng.normal(size=(n, columns)), rng.normal(size=(n, columns)), rng.integers(0, n, (n, 1))
    x, values = (x[:, 0], values[:, 0]) if columns == 1 else (x, values)
    for call in (
        lambda: scatter.scatter_nd(x, indices, values, operation=operation),
        lambda: scatter.scatter(x, indices[:, 0], values, operation=operation),
    ):
        call()
        tracemalloc.start()
        try:
            result = call()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        total = x.nbytes + values.nbytes + indices.nbytes + result.nbytes
        # The inputs are there already, and not traced.
        assert peak + x.nbytes + values.nbytes + indices.nbytes <= 2 * total


# --- segments by offsets ------------------------------------------------------------------------------------------

REDUCTIONS = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum, "mean": None}


def reduced(values: np.ndarray, offsets: np.ndarray, operation: str, axis: int) -> np.ndarray:
    batch = offsets.shape[:-1]
    ids = [slice(None)] * values.ndim
    out = []
    for k in range(offsets.shape[-1] - 1):
        part = np.zeros(values.shape[:axis] + values.shape[axis + 1 :], values.dtype)
        for b in np.ndindex(batch):
            ids = [*b, *([slice(None)] * (values.ndim - len(b)))]
            ids[axis] = slice(offsets[(*b, k)], offsets[(*b, k + 1)])
            chosen, inner = values[tuple(ids)], axis - len(b)
            if operation == "mean":
                part[b] = chosen.mean(axis=inner) if chosen.shape[inner] else np.nan
            elif operation in ("add", "multiply"):
                part[b] = REDUCTIONS[operation].reduce(chosen, axis=inner, dtype=values.dtype)
            else:
                part[b] = REDUCTIONS[operation].reduce(chosen, axis=inner, initial=extreme(operation, values.dtype))
        out.append(part)
    return np.stack(out, axis=axis) if out else np.zeros((*values.shape[:axis], 0, *values.shape[axis + 1 :]))


def extreme(operation: str, dtype: np.dtype) -> Any:
    lowest = operation == "max"
    if dtype.kind == "b":
        return not lowest
    if dtype.kind == "f":
        return -np.inf if lowest else np.inf
    return np.iinfo(dtype).min if lowest else np.iinfo(dtype).max


@pytest.mark.parametrize("operation", REDUCTIONS)
def test_segment_reduce(library: Library, operation: str) -> None:
    @examples(library)
    @given(
        batch=st.lists(st.integers(1, 3), max_size=2),
        before=st.lists(st.integers(0, 2), max_size=1),
        after=st.lists(st.integers(0, 2), max_size=1),
        cuts=st.lists(st.integers(0, 5), min_size=1, max_size=5),
        dtype=st.sampled_from(DTYPES[operation]),
        offset_type=st.sampled_from(["int64", "uint8", "int32", "uint64"]),
    )
    def run(batch: Any, before: Any, after: Any, cuts: Any, dtype: str, offset_type: str) -> None:
        values = array((*batch, *before, 5, *after), dtype, 2)
        rng = np.random.default_rng(3)
        offsets = np.sort(np.where(rng.random((*batch, len(cuts))) < 0.7, cuts, 5), axis=-1).astype(offset_type)
        axis = len(batch) + len(before)
        with np.errstate(all="ignore"):
            expected = reduced(values, offsets, operation, axis).astype(dtype)
            v, o = library.asarray(values), library.asarray(offsets)
            result = scatter.segment_reduce(v, o, operation=operation, axis=axis)
            rtol = tolerance(values.dtype)
            library.assert_equal(result, expected, rtol=rtol, atol=rtol)
        library.assert_equal(v, values)

    run()


def _scattered(x: Any, i: Any) -> list[Any]:
    return [
        scatter.scatter(x, i[0], 1.0, operation="add"),
        scatter.scatter_nd(x, i, x[:2, 0], operation="mean"),
        scatter.segment_reduce(x, i[0], axis=1),
    ]


def test_nothing_is_computed() -> None:
    import dask.array as da

    x = da.from_array(np.arange(12.0).reshape(6, 2), chunks=(2, 1))
    i = da.from_array(np.asarray([[0, 1], [5, 0]]), chunks=1)
    with nothing_computed():
        results = _scattered(x, i)
    for result, wanted in zip(results, _scattered(x.compute(), i.compute()), strict=True):
        np.testing.assert_array_equal(result.compute(), wanted)
    with pytest.raises(ValueError, match="mode='raise' needs the values"):
        scatter.scatter(x, i[0], 1.0, mode="raise")


# --- transformations ----------------------------------------------------------------------------------------------

X = np.asarray([[1.5, -2.0, 0.5], [0.25, 4.0, -1.0]])
VALUES = np.asarray([[3.0, 0.75, 2.5], [-1.25, 2.0, 1.75], [0.5, -3.0, 6.0]])
INDICES = np.asarray([1, 0, 1])
ND = np.asarray([[0, 2], [1, 1], [0, 2]])


def case(operation: str) -> Case:
    return Case(
        lambda x, i, v: scatter.scatter(x, i, v, operation=operation),
        (X, INDICES, VALUES),
        lambda x, i, v: reference(x, i[:, None], v, 0, (0,), operation, None)[0],
        (0, 2),
    )


CASES = {f"scatter {operation}": case(operation) for operation in OPERATIONS} | {
    "scatter batched": Case(
        lambda x, i, v: scatter.scatter(x, i, v, axis=1, batch_dims=1, operation="add"),
        (X, np.asarray([[0, 2, 2], [1, 1, 0]]), VALUES[:2]),
        lambda x, i, v: reference(x, i[..., None], v, 1, (1,), "add", None)[0],
        (0, 2),
    ),
    "scatter_nd": Case(
        lambda x, i, v: scatter.scatter_nd(x, i, v, operation="add"),
        (X, ND, VALUES[0]),
        lambda x, i, v: reference(x, i, v, 0, (0, 1), "add", None)[0],
        (0, 2),
    ),
    "scatter_nd set": Case(
        lambda x, i, v: scatter.scatter_nd(x, i, v, axes=(1,)),
        (X, ND[:, 1:], VALUES[:, :2]),
        lambda x, i, v: reference(x, i, v, 0, (1,), "set", None)[0],
        (0, 2),
    ),
    "segment_reduce": Case(
        lambda v, o: scatter.segment_reduce(v, o),
        (VALUES, np.asarray([0, 2, 2, 3])),
        lambda v, o: np.stack([v[0] + v[1], np.zeros(3), v[2]]),
        (0,),
        maps=False,  # offsets in reverse order decrease; the next test maps over the values
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


def test_segments_of_mapped_values() -> None:
    import jax
    import torch

    values, offsets = np.stack([VALUES, VALUES + 1]), np.asarray([0, 2, 3])
    expected = np.stack([values[:, :2].max(axis=1), values[:, 2]], axis=1)
    reduce = lambda v, o: scatter.segment_reduce(v, o, operation="max")
    for found in (
        jax.vmap(reduce, (0, None))(jax.numpy.asarray(values), jax.numpy.asarray(offsets)),
        torch.func.vmap(reduce, (0, None))(torch.asarray(values), torch.asarray(offsets)),
    ):
        np.testing.assert_array_equal(np.asarray(found), expected)


def test_gradients_of_values_overwritten_are_zero() -> None:
    import jax
    import torch

    for operation, expected in (("set", [0.0, 1.0, 1.0]), ("mean", [0.5, 0.5, 1.0])):
        f = lambda v, x, i, operation=operation: scatter.scatter(x, i, v, operation=operation).sum()
        x, i, v = np.zeros(3), np.asarray([1, 1, 0]), np.ones(3)
        assert jax.grad(f)(*map(jax.numpy.asarray, (v, x, i))).tolist() == expected
        assert torch.func.grad(f)(*map(torch.asarray, (v, x, i))).tolist() == expected
        leaf = torch.asarray(v).requires_grad_()
        f(leaf, torch.asarray(x), torch.asarray(i)).backward()
        assert leaf.grad.tolist() == expected


def test_second_derivatives() -> None:
    import jax
    import torch

    f = lambda v, x, i: (scatter.scatter(x, i, v, operation="add") ** 3).sum()
    inner = lambda grad: lambda v, x, i: grad(f)(v, x, i)[0, 0]
    first = X[1, 0] + VALUES[0, 0] + VALUES[2, 0]
    expected = np.zeros((3, 3))
    expected[[0, 2], 0] = 6 * first
    for found in (
        jax.grad(inner(jax.grad))(*map(jax.numpy.asarray, (VALUES, X, INDICES))),
        torch.func.grad(inner(torch.func.grad))(*map(torch.asarray, (VALUES, X, INDICES))),
    ):
        np.testing.assert_allclose(np.asarray(found), expected)


def test_out_of_bounds_under_tracing_is_dropped() -> None:
    import jax
    import torch

    x, i = np.zeros(3), np.asarray([0, 7, -1])
    f = lambda x, i: scatter.scatter(x, i, 1.0, operation="add")
    assert jax.jit(f)(jax.numpy.asarray(x), jax.numpy.asarray(i)).tolist() == [1.0, 0.0, 1.0]
    assert torch.func.vmap(f)(torch.asarray(x[None]), torch.asarray(i[None])).tolist() == [[1.0, 0.0, 1.0]]


def test_half_precision() -> None:
    import jax.numpy as jnp
    import torch

    for xp, dtype in ((jnp, jnp.bfloat16), (torch, torch.bfloat16), (torch, torch.float16)):
        for operation in OPERATIONS:
            x, i = xp.ones(3, dtype=dtype), xp.asarray([0, 0])
            result = scatter.scatter(x, i, xp.full((2,), 2.0, dtype=dtype), operation=operation)
            expected = {"set": 2, "add": 5, "subtract": -3, "multiply": 4, "min": 1, "max": 2, "mean": 2}[operation]
            assert result.tolist() == [expected, 1, 1]


# --- bad input ----------------------------------------------------------------------------------------------------

ONE, TWO, INT = np.ones(3), np.ones((3, 4)), np.asarray([0, 1])

BAD = [
    ("scatter", lambda: scatter.scatter(3.0, INT, 1.0), TypeError, "x must be an array"),
    ("scatter", lambda: scatter.scatter(ONE, ONE, 1.0), TypeError, "indices must have an integer data type"),
    ("scatter", lambda: scatter.scatter(ONE, INT, [1.0]), TypeError, "values must be an array"),
    ("scatter", lambda: scatter.scatter(INT, INT, 0.5), TypeError, "values is the float 0.5"),
    ("scatter", lambda: scatter.scatter(INT, INT, ONE[:2]), TypeError, "values has float64"),
    ("scatter", lambda: scatter.scatter(INT, INT, 1, operation="mean"), TypeError, "floating-point data type"),
    ("scatter", lambda: scatter.scatter(ONE + 0j, INT, 1.0, operation="max"), TypeError, "real-valued"),
    ("scatter", lambda: scatter.scatter(ONE > 0, INT, True, operation="add"), TypeError, "numeric data type"),
    ("scatter", lambda: scatter.scatter(ONE, INT, 1.0, operation="ad"), ValueError, "did you mean 'add'"),
    ("scatter", lambda: scatter.scatter(ONE, INT, 1.0, mode="x"), ValueError, "mode must be one of"),
    ("scatter", lambda: scatter.scatter(ONE, INT, ONE), ValueError, "do not broadcast to the shape of the selection"),
    ("scatter", lambda: scatter.scatter(ONE, INT, 1.0, axis=1), ValueError, "axis=1 is out of range"),
    ("scatter", lambda: scatter.scatter(TWO, INT, 1.0, axis=1, batch_dims=1), ValueError, "must be that of x or 1"),
    ("scatter", lambda: scatter.scatter(ONE, INT + 2, 1.0), IndexError, "index 3 is out of bounds for axis 0"),
    ("scatter", lambda: scatter.scatter(ONE, INT - 4, 1.0), IndexError, "index -4 is out of bounds for axis 0"),
    ("scatter_nd", lambda: scatter.scatter_nd(ONE, INT, 1.0), ValueError, "the last axis of indices has size 2"),
    ("scatter_nd", lambda: scatter.scatter_nd(TWO, INT, ONE), ValueError, "do not broadcast"),
    ("scatter_nd", lambda: scatter.scatter_nd(TWO, INT, 1.0, axes=(0,)), ValueError, "must be 2 different axes"),
    ("scatter_nd", lambda: scatter.scatter_nd(TWO, INT + 3, 1.0), IndexError, "index 3 is out of bounds for axis 0"),
    ("indexed_add", lambda: scatter.indexed_add(ONE > 0, INT[:, None], True), TypeError, "numeric data type"),
    ("indexed_put", lambda: scatter.indexed_put(ONE, INT[:, None], ONE), ValueError, "do not broadcast"),
    ("segment_reduce", lambda: scatter.segment_reduce(ONE, ONE), TypeError, "offsets must have an integer"),
    ("segment_reduce", lambda: scatter.segment_reduce(ONE, INT[:0]), ValueError, "one number more than"),
    ("segment_reduce", lambda: scatter.segment_reduce(ONE, INT[::-1]), ValueError, "must not decrease"),
    ("segment_reduce", lambda: scatter.segment_reduce(ONE, INT * 4), IndexError, "offset 4 is out of bounds"),
    ("segment_reduce", lambda: scatter.segment_reduce(ONE, INT - 1), IndexError, "offset -1 is out of bounds"),
    ("segment_reduce", lambda: scatter.segment_reduce(TWO, INT[None]), ValueError, "must have the batch sizes"),
    ("segment_reduce", lambda: scatter.segment_reduce(ONE, INT, operation="sum"), ValueError, "operation must be"),
    ("segment_reduce", lambda: scatter.segment_reduce(INT, INT, operation="mean"), TypeError, "floating-point"),
]


@pytest.mark.parametrize(("function", "call", "error", "message"), BAD, ids=[f"{b[0]}-{k}" for k, b in enumerate(BAD)])
def test_bad_input(function: str, call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        call()
    assert str(caught.value).startswith(f"{function}: ")


def test_two_libraries_and_two_devices() -> None:
    import array_api_strict as strict
    import torch

    x, i = np.ones(3), np.asarray([[0]])
    for name, call in {
        "scatter": lambda x, i: scatter.scatter(x, i, 1.0),
        "scatter_nd": lambda x, i: scatter.scatter_nd(x, i, 1.0),
        "indexed_add": lambda x, i: scatter.indexed_add(x, i, 1.0),
        "indexed_put": lambda x, i: scatter.indexed_put(x, i, 1.0),
        "segment_reduce": lambda x, i: scatter.segment_reduce(x, i[0, :]),
    }.items():
        with pytest.raises(TypeError, match=f"{name}: takes arrays of one library"):
            call(x, torch.asarray(i))
        with pytest.raises(ValueError, match=f"{name}: takes arrays on one device"):
            call(strict.asarray(x), strict.asarray(i, device=strict.Device("device1")))


@pytest.mark.parametrize("operation", ["set", "add"])
def test_largest_unsigned_index_is_out_of_bounds(library: Library, operation: str) -> None:
    x = library.asarray(np.asarray([1.0, 2.0, 4.0]))
    indices = library.asarray(np.asarray([0, 2**64 - 1], dtype=np.uint64))
    if library.lazy:
        expected = np.asarray([{"set": 1.0, "add": 2.0}[operation], 2.0, 4.0])
        library.assert_equal(getattr(scatter.at(x, indices), operation)(1.0), expected)
        return
    with pytest.raises(IndexError, match=f"^at.{operation}: index 18446744073709551615 is out of bounds"):
        getattr(scatter.at(x, indices), operation)(1.0)
