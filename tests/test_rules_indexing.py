"""The rules of `tracing` for indexing: `x[key]`, `x[key] = value`, taking, and what writing at indices comes to."""

import itertools
from typing import Any

import numpy as np
import pytest

import xpand
from tests.cases import Case
from tests.libraries import LIBRARIES
from tests.operations import checked
from tests.traced import traced_forward, traced_grad, traced_second, traced_stage, traced_vmap
from xpand_extensions import indexing, scatter
from xpand_extensions.autodiff import grad, jvp, vjp
from xpand_extensions.jit import eval_shape, jit
from xpand_extensions.padding import pad
from xpand_extensions.tracing import traced_namespace
from xpand_extensions.tracing._core import Aval
from xpand_extensions.tracing._staging import stage
from xpand_extensions.vmap import vmap

TRACED = [traced_stage, traced_vmap, traced_forward, traced_grad, traced_second]
EAGER = [library for library in LIBRARIES if library.id in ("numpy", "strict", "strict-device1")]
NUMPY = LIBRARIES[0]

V = np.asarray([0.3, -1.2, 2.5, 0.75])
X = np.asarray([[0.5, -1.25, 2.0], [3.0, 0.75, -0.5]])
BLOCK = np.sin(np.arange(24.0)).reshape(2, 3, 4)
IDS = np.asarray([1, 0, 1, 2])
LINES = np.asarray([[2, 0], [1, 1]])


def _got(key: Any) -> Any:
    """Make a function that squares an array and selects of it."""
    return lambda x: (x * x)[key]


def _with(function: Any) -> Any:
    """Give a function of arrays their namespace first."""
    return lambda *arrays: function(xpand.array_namespace(*arrays), *arrays)


def _case(function: Any, *arrays: np.ndarray, **options: Any) -> Case:
    of_floats = tuple(i for i, x in enumerate(arrays) if x.dtype == np.float64)
    return Case(function, arrays, differentiable=of_floats, **options)


BASIC = {
    "integer": (0, ...),
    "negative integer": (-1, ...),
    "integers": (1, -2, 0),
    "slice": (slice(1, 2), ...),
    "steps": (slice(None), slice(None, None, 2), slice(3, 0, -2)),
    "backwards": (..., slice(None, None, -1)),
    "empty": (slice(1, 1), ...),
    "None": (None, slice(None), 0, ...),
    "ellipsis": (...,),
    "ellipsis between": (0, ..., 1),
}

READ = {
    **{name: _case(_got(key), BLOCK) for name, key in BASIC.items()},
    "0-d": _case(lambda x: (x * x)[()], np.asarray(1.5)),
    "one of a vector": _case(lambda x: x[1] * x[-1] + x[0], V),
    "complex": _case(_with(lambda xp, x: (x + 1j * x * x)[1:] ** 2), V),
    "float32": _case(_with(lambda xp, x: xp.astype(x * x, xp.float32)[::2]), V, rtol=2e-6),
    "rows": _case(lambda x, i: (x * x)[i, ...] if x.ndim > 1 else x[i], V, IDS),
    "rows of a matrix": _case(_with(lambda xp, x, i: xp.take(x * x, i, axis=0)), BLOCK, np.asarray([1, 0, 1])),
    "all axes": _case(lambda x, i, j: (x * x)[i, j], X, np.asarray([0, 1, 1]), np.asarray([2, -1, 2])),
    "all axes broadcast": _case(
        _with(lambda xp, x, i, j: (x * x)[i[:, None], j[None, :]]), X, np.asarray([0, 1, 1]), np.asarray([2, 0])
    ),
    "array and integer": _case(lambda x, i: (x * x)[i, 1], X, np.asarray([0, 1, 1])),
    "take": _case(_with(lambda xp, x, i: xp.take(x * x, i)), V, IDS),
    "take axis": _case(_with(lambda xp, x, i: xp.take(x * x, i, axis=1)), BLOCK, np.asarray([2, 0])),
    "take last axis": _case(_with(lambda xp, x, i: xp.take(x * x, i, axis=-1)), BLOCK, np.asarray([2, 0, 3, 3, 1])),
    "take int32": _case(_with(lambda xp, x, i: xp.take(x * x, i, axis=0)), X, np.asarray([1, 1, 0], dtype=np.int32)),
    "take uint8": _case(_with(lambda xp, x, i: xp.take(x * x, i, axis=0)), X, np.asarray([1, 1, 0], dtype=np.uint8)),
    "take none": _case(_with(lambda xp, x, i: xp.take(x * x, i, axis=0)), X, np.asarray([], dtype=np.int64)),
    "take_along_axis": _case(_with(lambda xp, x, i: xp.take_along_axis(x * x, i)), X, LINES),
    "take_along_axis first": _case(
        _with(lambda xp, x, i: xp.take_along_axis(x * x, i, axis=0)), X, np.asarray([[1, 1, 0], [0, 1, 1], [0, 0, 0]])
    ),
    "take_along_axis broadcast": _case(
        _with(lambda xp, x, i: xp.take_along_axis(x * x, i, axis=1)), BLOCK, np.asarray([[[2, 0, 1, 1]]])
    ),
    "take_along_axis of one": _case(
        _with(lambda xp, x, i: xp.take_along_axis(x * x, i, axis=1)), X[:1], np.asarray([[2, 0], [1, 1]])
    ),
}


def _set(key: Any) -> Any:
    """Make a function that sets elements of an array."""

    def function(x: Any, value: Any) -> Any:
        xp = xpand.array_namespace(x, value)
        if xpand.is_jax_namespace(xp):
            return (x * x).at[key].set(value * value)
        x = x * x
        x[key] = value * value
        return x

    return function


def _squares_in_place(*arrays: Any) -> Any:
    """Set the elements of an array of zeros one by one."""
    xp = xpand.array_namespace(*arrays)
    x = arrays[0]
    if xpand.is_jax_namespace(xp):
        return xp.asarray([2.0 * (i + 1) * x[i] ** 2 for i in range(x.shape[0])])
    out = xp.zeros_like(x)
    for i in range(x.shape[0]):
        out[i] = (i + 1) * x[i] ** 2
    out *= 2.0
    return out


def _masked(x: Any, value: Any) -> Any:
    """Set what is positive to one value."""
    xp = xpand.array_namespace(x, value)
    if xpand.is_jax_namespace(xp):
        return xp.where(x > 0.0, value * x[0], x * x)
    out = x * x
    out[x > 0.0] = value * x[0]
    return out


WRITTEN = {
    "set one": _case(_set((1,)), V, np.asarray(0.5)),
    "set slice": _case(_set((slice(1, 3),)), V, V[:2]),
    "set broadcast": _case(_set((slice(None), slice(0, 2))), X, V[:2]),
    "set broadcast 0-d": _case(_set((..., 1)), BLOCK, np.asarray(0.5)),
    "set steps backwards": _case(_set((0, slice(None, None, -2), ...)), BLOCK, BLOCK[1, :2, :]),
    "set all": _case(_set((...,)), X, X + 1.0),
    "set nothing": _case(_set((slice(1, 1),)), V, V[:1]),
    "set one by one": _case(_squares_in_place, V),
    "set where": _case(_masked, V, np.asarray(0.5)),
}

COLUMNS = np.asarray([[0.5, 1.5], [0.5, -1.0], [0.5, 2.0], [0.25, 3.0]])

# Cases that the tests of these operations omit: ties, zeros, indices for each batch element, both modes of dropping.
FACADES = {
    "rows min ties": _case(
        lambda x, i, v: scatter.scatter(x, i, v, operation="min"), X[:, :2] * 0 + 0.5, IDS % 2, COLUMNS
    ),
    "segment_max ties": _case(
        lambda x, i: scatter.segment_max(x * x, i, num_segments=4, mode="drop")[1:2, ...],
        COLUMNS,
        np.asarray([1, 1, 1, 9]),
    ),
    "segment_min axis": _case(
        lambda x, i: scatter.segment_min(x * x, i, num_segments=2, axis=-1, mode="clip"), X, np.asarray([-1, 5, 0])
    ),
    "segment_sum wrap": _case(
        lambda x, i: scatter.segment_sum(x * x, i, num_segments=2, axis=1, mode="wrap"), BLOCK, np.asarray([-1, 5, 0])
    ),
    "segment_mean drop": _case(
        _with(
            lambda xp, x, i: xp.sum(scatter.segment_mean(x * x, i, num_segments=3, mode="drop")[:2, ...] ** 2, axis=0)
        ),
        COLUMNS,
        np.asarray([1, 0, 1, 7]),
    ),
    "multiply zeros": _case(
        lambda x, i, v: scatter.scatter(x, i, v, operation="multiply"), V[:3], IDS, np.asarray([0.0, 2.0, 0.0, 3.0])
    ),
    "set several": _case(lambda x, i, v: scatter.scatter(x * x, i, v * v, mode="drop"), V, np.asarray([1, 1, 9, 0]), V),
    "take filled": _case(
        lambda x, i, fill: indexing.take(x * x, i, axis=0, mode="fill", fill_value=fill * fill),
        X,
        np.asarray([[1, 5], [0, -1]]),
        np.asarray(0.5),
    ),
    "gather": _case(
        lambda x, i: indexing.gather(x * x, i, axis=2, batch_dims=1), BLOCK, np.asarray([[3, 0, 3], [1, 1, 2]])
    ),
    "gather one batch": _case(
        lambda x, i: indexing.gather(x * x, i, axis=2, batch_dims=1), BLOCK[:1], np.asarray([[3, 0, 3], [1, 1, 2]])
    ),
    "pad constants": _case(
        lambda x, low: pad(x * x, ((1, 2), (0, 1)), constant_values=((low, 1.0), (low * low, low))), X, np.asarray(0.5)
    ),
    "pad less": _case(lambda x: pad(x * x, ((-1, 2), (1, -2)), constant_values=2.0), X),
    "pad between": _case(lambda x: pad(x * x, ((1, 0), (0, 1)), interior=(2, 1)), X),
    "pad reflect": _case(lambda x: pad(x * x, (2, 3), mode="reflect"), V),
    "pad odd": _case(lambda x: pad(x * x, (2, 3), mode="reflect", reflect_type="odd"), V),
    "pad ramp": _case(lambda x, end: pad(x * x, (2, 3), mode="linear_ramp", end_values=end * end), V, np.asarray(0.5)),
}


@checked(READ | WRITTEN | FACADES, TRACED)
def test_rules(case, transformation):
    transformation(case)


# Keys beyond the standard that NumPy accepts: arrays, slices and None together

MIXED = {
    "slices beyond": lambda i, m: (slice(0, 9), slice(-7, 2), slice(2, 9)),
    "several None": lambda i, m: (None, slice(None), 0, None, ...),
    "array and slice": lambda i, m: (slice(None), i, slice(1, 3)),
    "slice and array": lambda i, m: (..., i),
    "array between": lambda i, m: (0, i),
    "apart": lambda i, m: (i, slice(None), i),
    "apart by None": lambda i, m: (i, None, i),
    "matrix": lambda i, m: (slice(None), i[:, None], i[None, :]),
    "mask of rows": lambda i, m: (slice(None), m),
    "mask and slice": lambda i, m: (0, m, slice(None, None, 2)),
}


@pytest.mark.parametrize("name", MIXED)
def test_mixed_keys_read(name):
    """Derivatives are of the same as selecting with NumPy; batches, of arrays or of indices, are as loops."""
    i, mask = np.asarray([0, 1, 1]), np.asarray([True, False, True])
    key = MIXED[name](i, mask)
    expected = BLOCK[key]
    weights = np.cos(np.arange(expected.size)).reshape(expected.shape)
    total = lambda x: xpand.array_namespace(x).sum((x * x)[key] * weights)
    wanted = np.zeros_like(BLOCK)
    np.add.at(wanted, key, weights)
    np.testing.assert_allclose(grad(total)(BLOCK), 2 * BLOCK * wanted, rtol=1e-14)
    np.testing.assert_allclose(jvp(total, (BLOCK,), (BLOCK,))[1], 2 * np.sum(expected**2 * weights), rtol=1e-13)
    blocks = np.stack([BLOCK, BLOCK[::-1]])
    np.testing.assert_array_equal(vmap(lambda x: x[key])(blocks), np.stack([x[key] for x in blocks]))
    np.testing.assert_allclose(vmap(grad(total))(blocks)[0], 2 * BLOCK * wanted, rtol=1e-14)
    graph, _ = _staged(lambda xp, x: x[key], BLOCK.shape)
    assert graph.outputs[0].shape == expected.shape
    np.testing.assert_array_equal(graph.run(BLOCK)[0], expected)
    if "mask" not in name:
        several = np.stack([i, i[::-1]])
        keys = [MIXED[name](each, mask) for each in several]
        found = vmap(lambda i: traced_namespace(NUMPY.xp).wrap(BLOCK)[MIXED[name](i, mask)])(several)
        np.testing.assert_array_equal(found, np.stack([BLOCK[key] for key in keys]))
        found = vmap(lambda x, i: x[MIXED[name](i, mask)])(blocks, several)
        np.testing.assert_array_equal(found, np.stack([x[key] for x, key in zip(blocks, keys)]))


@pytest.mark.parametrize("name", MIXED)
def test_mixed_keys_written(name):
    """Of several values for one element the last one counts, for the derivative too."""
    i, mask = np.asarray([0, 1, 1]), np.asarray([True, False, True])
    key = MIXED[name](i, mask)
    values = np.cos(np.arange(BLOCK[key].size)).reshape(BLOCK[key].shape)
    weights = np.sin(1.0 + np.arange(BLOCK.size)).reshape(BLOCK.shape)

    def written(x: Any, values: Any) -> Any:
        x = x * x
        x[key] = values * values
        return x

    total = lambda x, values: xpand.array_namespace(x).sum(written(x, values) * weights)
    writer = np.full(BLOCK.shape, -1)
    writer[key] = np.arange(values.size).reshape(values.shape)
    mine = writer[key] == np.arange(values.size).reshape(values.shape)
    found = grad(total, (0, 1))(BLOCK, values)
    np.testing.assert_allclose(found[0], np.where(writer < 0, 2 * BLOCK * weights, 0.0), rtol=1e-14)
    np.testing.assert_allclose(found[1], np.where(mine, 2 * values * weights[key], 0.0), rtol=1e-14)
    blocks, several = np.stack([BLOCK, BLOCK[::-1]]), np.stack([values, values + 1.0])
    expected = np.stack([written(x, v) for x, v in zip(blocks, several)])
    np.testing.assert_allclose(vmap(written)(blocks, several), expected, rtol=1e-14)
    np.testing.assert_allclose(
        vmap(written, in_axes=(None, 0))(BLOCK, several)[1], written(BLOCK, several[1]), rtol=1e-14
    )
    graph, _ = _staged(lambda xp, x, v: written(x, v), BLOCK.shape, values.shape)
    np.testing.assert_allclose(graph.run(BLOCK, values)[0], written(BLOCK, values), rtol=1e-14)


def test_values_of_more_axes():
    """NumPy lets values have axes of length 1 in front that the selection hasn't."""

    def written(x: Any, values: Any) -> Any:
        x = x * x
        x[1, :] = values * values
        return x

    total = lambda x, values: xpand.array_namespace(x).sum(written(x, values) * X)
    found = grad(total, (0, 1))(X, X[:1])
    np.testing.assert_allclose(found[0], [2 * X[0] ** 2, np.zeros(3)], rtol=1e-14)
    np.testing.assert_allclose(found[1], 2 * X[:1] * X[1:], rtol=1e-14)
    both = np.stack([X, X + 1.0])
    expected = [written(x, x[:1]) for x in both]
    np.testing.assert_allclose(vmap(lambda x: written(x, x[:1]))(both), expected, rtol=1e-14)


def _staged(function: Any, *shapes: tuple[int, ...]) -> Any:
    xp = NUMPY.xp
    return stage(
        traced_namespace(xp),
        "jit",
        lambda *arrays: ((function(xpand.array_namespace(*arrays), *arrays),), ()),
        [Aval(shape, xp.float64) for shape in shapes],
    )


@pytest.mark.parametrize("library", EAGER, ids=str)
def test_masks(library):
    """The selection of a mask from an array with known values has a derivative."""
    x = library.asarray(X)

    def total(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        chosen = (x * x)[x > 0.0]
        changed = x * x
        changed[x < 0.0] = chosen[0] * 2.0
        return xp.sum(chosen) + 3.0 * xp.sum(changed)

    expected = np.where(X > 0, 8 * X, 0.0)
    expected[0, 0] += 2 * 3.0 * 2 * 2 * X[0, 0]
    library.assert_equal(grad(total)(x), expected, rtol=1e-14)


@pytest.mark.parametrize("library", EAGER, ids=str)
def test_constants_take_traced_values(library):
    """Zeros made inside the function, and set elements of, follow the values."""
    x = library.asarray(V)

    def total(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        out = xp.zeros((3, 4), dtype=xp.float64, device=xpand.device(x))
        out[0, :] = x
        out[1, 1:] = x[:-1] * out[0, 1:]
        return xp.sum(out * out)

    def by_hand(x: np.ndarray) -> np.ndarray:
        found = 2 * x
        found[:-1] += 2 * x[:-1] * x[1:] ** 2
        found[1:] += 2 * x[1:] * x[:-1] ** 2
        return found

    found = grad(total)(x)
    library.assert_equal(found, by_hand(V), rtol=1e-14)
    library.assert_equal(x, V)


def test_inputs_stay_as_they_are():
    """A function that sets elements of its argument doesn't change the caller's array, nor what is derived."""

    def changed(x: Any) -> Any:
        x[0] = x[1] * x[2]
        return x

    x = NUMPY.asarray(V)  # read-only
    total = lambda x: xpand.array_namespace(x).sum(changed(x) ** 2)
    expected = 2 * np.asarray([0.0, V[1] + V[1] * V[2] ** 2, V[2] + V[2] * V[1] ** 2, V[3]])
    np.testing.assert_allclose(grad(total)(x), expected, rtol=1e-14)
    np.testing.assert_allclose(vmap(changed)(np.stack([V, 2 * V]))[:, 0], [V[1] * V[2], 4 * V[1] * V[2]])
    graph, _ = _staged(lambda xp, x: changed(x), V.shape)
    np.testing.assert_allclose(graph.run(x)[0], [V[1] * V[2], *V[1:]])
    np.testing.assert_array_equal(x, V)


@pytest.mark.parametrize("compiler", [None, "native", "xla"])
def test_set_elements_take_the_data_type_of_the_array(compiler: str | None) -> None:
    """Also in a read-only array, such as the caller's tangent, and in arrays of JAX."""

    def changed(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        y = xp.asarray(x, copy=True)
        y[0] = xp.asarray(3)
        return y

    x = NUMPY.asarray(V)  # read-only
    value, tangent = jvp(changed, (x,), (x,))
    np.testing.assert_array_equal(value, [3.0, *V[1:]])
    np.testing.assert_array_equal(tangent, [0.0, *V[1:]])
    if compiler == "xla":
        pytest.importorskip("jax")
    np.testing.assert_array_equal(jit(changed, compiler=compiler)(x), [3.0, *V[1:]])


@pytest.mark.parametrize("library", EAGER, ids=str)
def test_constants_of_a_facade(library):
    """Only some of the arrays of a call are traced: any of them."""
    table, ids = library.asarray(X), library.asarray(np.asarray([1, 0, 1]))
    values = library.asarray(np.asarray([0.5, 1.5, -2.0]))
    none = library.asarray(np.zeros(2))
    found = grad(lambda v: xpand.array_namespace(v).sum(scatter.scatter(none, ids, v * v, operation="add")))(values)
    library.assert_equal(found, np.asarray([1.0, 3.0, -4.0]))
    found = grad(lambda v: xpand.array_namespace(v).sum(scatter.at(none)[ids].add(v * v)))(values)
    library.assert_equal(found, np.asarray([1.0, 3.0, -4.0]))
    both = library.asarray(np.asarray([[1, 0, 1], [0, 0, 1]]))
    library.assert_equal(vmap(lambda i: indexing.take(table, i, axis=0))(both), X[np.asarray([[1, 0, 1], [0, 0, 1]])])
    found = vmap(lambda i: scatter.segment_sum(values, i, num_segments=2))(both)
    library.assert_equal(found, np.asarray([[1.5, -1.5], [2.0, -2.0]]))
    starts = library.asarray(np.asarray([0, 1]))
    found = vmap(lambda i: indexing.dynamic_slice(values, (i,), (2,)))(starts)
    library.assert_equal(found, np.asarray([[0.5, 1.5], [1.5, -2.0]]))
    fill = lambda c: xpand.array_namespace(c).sum(pad(values, (1, 2), constant_values=c) ** 2)
    library.assert_equal(grad(fill)(library.asarray(0.5)), np.asarray(3.0))


def test_out_of_bounds():
    """Known indices raise, under grad too; those that aren't known are dropped."""
    x, ids = V, np.asarray([0, 7])
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        grad(lambda x: xpand.array_namespace(x).sum(indexing.take(x, ids)))(x)
    with pytest.raises(IndexError, match="7 is out of bounds"):
        grad(lambda x: xpand.array_namespace(x).sum(scatter.segment_sum(x[:2], ids, num_segments=3)))(x)
    found = vmap(lambda x, i: scatter.segment_sum(x, i, num_segments=2))(np.ones((2, 2)), np.stack([ids, ids - 7]))
    np.testing.assert_array_equal(found, [[1.0, 0.0], [1.0, 0.0]])


INDICES = {(): np.asarray([1, 0, -1, 1]), (2,): np.asarray([[0, 1], [-1, 0], [1, 1], [0, -2]])}
INDICES[(3, 1)] = np.stack([INDICES[(2,)][:, :1], INDICES[(2,)][:, 1:], INDICES[(2,)][:, :1]], axis=1)


@pytest.mark.parametrize("where", ["begin", "end", "apart"])
@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(INDICES, 2)), ids=str)
def test_index_arrays_of_several_numbers_of_axes_in_lanes(where, first, second):
    """They broadcast in each lane, whichever are mapped: `x[rows, k]` with one number `k` for each lane."""
    x = np.arange(96.0).reshape(4, 2, 3, 2, 2)
    keys = {"begin": lambda i, j: (i, j), "end": lambda i, j: (..., i, j), "apart": lambda i, j: (i, slice(None), j)}
    f = lambda x, i, j: xpand.array_namespace(x, i, j).asarray(x)[keys[where](i, j)]
    arrays = (x, INDICES[first], INDICES[second])
    for axes in itertools.product([0, None], repeat=3):
        given = [a if axis == 0 else a[1] for a, axis in zip(arrays, axes)]
        lanes = [[a[n] if axis == 0 else a for a, axis in zip(given, axes)] for n in range(len(x))]
        expected = np.stack([f(*lane) for lane in lanes])
        if axes != (None, None, None):
            np.testing.assert_array_equal(vmap(f, in_axes=axes)(*given), expected)


# array-api-strict refuses them, as the standard asks.
@pytest.mark.parametrize("library", [each for each in LIBRARIES if not each.id.startswith("strict")], ids=str)
@pytest.mark.parametrize("axis", [0, -2])
@pytest.mark.parametrize("shape", [(), (2, 3), (2, 0)], ids=str)
def test_take_with_indices_of_other_shapes_than_one_axis(library, shape, axis):
    """Libraries take them beyond the standard, all in NumPy's way."""
    take = lambda x, i: xpand.array_namespace(x, i).take(x, i, axis=axis)
    index = np.arange(-2, -2 + 2 * np.prod(shape, dtype=int)).reshape(2, *shape) % 4 - 2  # those of two lanes
    x, i, lanes = map(library.asarray, (BLOCK, index[0], index))
    expected = np.take(BLOCK, index[0], axis=axis)
    library.assert_equal(take(x, i), expected)
    assert eval_shape(take, x, i).shape == expected.shape
    library.assert_equal(vmap(lambda j: take(x, j))(lanes), np.stack([np.take(BLOCK, j, axis=axis) for j in index]))
    lanes_of_x = np.stack([BLOCK, BLOCK + 1.0])
    library.assert_equal(
        vmap(take)(library.asarray(lanes_of_x), lanes),
        np.stack([np.take(y, j, axis=axis) for y, j in zip(lanes_of_x, index)]),
    )
    library.assert_equal(
        vmap(lambda y: take(y, i))(library.asarray(lanes_of_x)),
        np.stack([np.take(y, index[0], axis=axis) for y in lanes_of_x]),
    )
    weights = np.cos(np.arange(expected.size)).reshape(expected.shape)
    gradient = np.zeros(BLOCK.shape)
    front = (slice(None),) * (axis % 3)
    np.add.at(gradient, (*front, index[0]), weights)
    w = library.asarray(weights)
    found = grad(lambda x: xpand.array_namespace(x).sum(w * take(x, i)))(x)
    library.assert_equal(found, gradient, rtol=1e-15)
    library.assert_equal(jvp(lambda x: take(x, i), (x,), (2.0 * x,))[1], 2.0 * expected)


def test_the_library_does_it(monkeypatch):
    """The values of traced arrays go through what NumPy has, in both modes: nothing is sorted."""
    from xpand_extensions import _runs

    def sorts(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("the generic implementation sorts")

    monkeypatch.setattr(_runs.Runs, "of", sorts)
    ids = np.asarray([0, 1, 1, 2])

    def total(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        found = scatter.segment_sum(x * x, ids, num_segments=3) + scatter.segment_max(x, ids, num_segments=3)
        found = scatter.scatter(found, ids, x, operation="add") + indexing.take(x, ids[1:])
        return xp.sum(scatter.at(found)[ids[:2]].add(x[:2]) * xp.take(x, ids[:3]) + x[ids[1:]])

    assert grad(total)(V).shape == V.shape
    assert grad(lambda x: xpand.array_namespace(x).sum(grad(total)(x) ** 2))(V).shape == V.shape
    assert vmap(grad(total))(np.stack([V, V])).shape == (2, 4)


WRONG = {
    "too many": (lambda xp, x: x[0, 0, 0], IndexError, "too many indices"),
    "ellipses": (lambda xp, x: x[..., ...], IndexError, "one ellipsis"),
    "bounds": (lambda xp, x: x[2, :], IndexError, "index 2 is out of bounds for axis 0 of size 2"),
    "bool": (lambda xp, x: x[True, ...], TypeError, "got True"),
    "mask": (lambda xp, x: x[x > 0.0], TypeError, "boolean_mask` with size"),
    "value": (lambda xp, x: _set((0, slice(None)))(x, x[:, 0]), ValueError, "doesn't broadcast to the selection"),
    "take": (lambda xp, x: xp.take(x, xp.asarray([0])), ValueError, "axis must be given"),
    "take axis": (lambda xp, x: xp.take(x, xp.asarray([0]), axis=2), IndexError, "axis 2 is out of bounds"),
    "take_along_axis": (lambda xp, x: xp.take_along_axis(x, xp.asarray([0])), ValueError, "as many axes"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_while_a_graph_is_written(name):
    function, error, message = WRONG[name]
    with pytest.raises(error, match=message):
        _staged(function, (2, 3))


def test_masks_of_each_lane():
    with pytest.raises(TypeError, match="boolean_mask` with size"):
        vmap(lambda x: x[x > 0.0])(X)
    found = vmap(lambda x: _masked(x, x[1]))(X)
    np.testing.assert_allclose(found, np.stack([_masked(x.copy(), x[1]) for x in X]))


M = np.asarray([True, False])
BARE = {
    "alone": lambda mask: (mask,),
    "before": lambda mask: (mask, slice(1, None), ...),
    "after": lambda mask: (slice(None), mask),
    "at the end": lambda mask: (..., mask),
    "beside an integer": lambda mask: (1, mask),
    "beside a mask": lambda mask: (slice(None), mask, M),
    "twice": lambda mask: (mask, slice(None), mask),
}


@pytest.mark.parametrize("holds", [True, False])
@pytest.mark.parametrize("key", BARE.values(), ids=BARE)
def test_masks_of_no_axes(key: Any, holds: bool) -> None:
    x = BLOCK[0, :, :2]
    function = _got(key(np.asarray(holds)))
    expected = function(x)
    np.testing.assert_array_equal(jit(function)(x), expected)
    np.testing.assert_array_equal(vmap(function)(np.stack([x, -2.0 * x])), np.stack([expected, 4.0 * expected]))
    sum_of = lambda x: xpand.array_namespace(x).sum(function(x))
    np.testing.assert_allclose(np.sum(x * grad(sum_of)(x)), 2.0 * np.sum(expected), rtol=1e-13)


def _added_up(shape: tuple[int, ...], cotangents: list[tuple[Any, float]]) -> np.ndarray:
    """Add up arrays of zeros with a number at each key, in the order of the transpose: the last one first."""
    total = None
    for key, ct in reversed(cotangents):
        one = np.zeros(shape)
        one[key] = ct
        total = one if total is None else total + one
    return np.asarray(total)


PARTS = {
    "one element": [(1, -0.0)],
    "one element, twice": [(1, -0.0), (1, -0.0)],
    "one element, as itself and from the end": [(1, -0.0), (-2, -0.0), ((1, ...), -0.0)],
    "zeros of both signs": [(1, -0.0), (1, 0.0)],
    "elements": [(0, -0.0), (1, 2.0), (2, -0.0), (0, 3.0), (0, 0.1)],
    "elements and slices": [(0, 0.1), (slice(0, 2), 0.2), (1, 0.3), (2, -0.0), (slice(1, 3), 0.7)],
    "rows": [((0, slice(None)), 0.1), (1, -0.0), ((-3, ...), 0.3)],
    "rows and their elements": [(0, 0.1), ((0, 1), 0.2), ((0, 0), -0.0), (0, 0.3), ((2, -1), 0.7)],
}


@pytest.mark.parametrize("library", EAGER, ids=[library.id for library in EAGER])
@pytest.mark.parametrize("name", PARTS)
def test_elements_add_up_to_the_bits_of_arrays(library, name):
    shape = (3, 2) if name.startswith("rows") else (3,)
    parts = PARTS[name] if library.id == "numpy" else [
        (key if isinstance(key, tuple) or len(shape) == 1 else (key, ...), ct) for key, ct in PARTS[name]
    ]  # fmt: skip

    def total(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        found = 0.0
        for key, ct in parts:
            found = found + xp.sum(x[key] * ct)
        return found

    found = np.asarray(library.to_numpy(grad(total)(library.asarray(np.ones(shape)))))
    expected = _added_up(shape, parts)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


def test_elements_of_an_array_that_is_used_whole_too():
    def total(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        return x[0] * x[1] + xp.sum(x * x) + x[2] * x[0] + xp.sum(x[:2])

    x = np.asarray([2.0, 3.0, 5.0])
    np.testing.assert_array_equal(grad(total)(x), [2 * 2.0 + 3.0 + 5.0 + 1.0, 2 * 3.0 + 2.0 + 1.0, 2 * 5.0 + 2.0])
    np.testing.assert_array_equal(jvp(grad(total), (x,), (np.ones(3),))[1], [4.0, 3.0, 3.0])


def test_cotangents_of_elements_are_the_callers_own():
    _, pull = vjp(lambda x: x[0] + x[1], V)
    (first,) = pull(np.asarray(1.0))
    (second,) = pull(np.asarray(2.0))
    np.testing.assert_array_equal(first, [1.0, 1.0, 0.0, 0.0])
    np.testing.assert_array_equal(second, [2.0, 2.0, 0.0, 0.0])
