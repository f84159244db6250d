"""Order among values: every library against NumPy, transformations, bad input."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.laziness import nothing_computed
from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from xpand_extensions import sorting

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REAL = ["float32", "float64"]
REAL_VALUED = INTEGERS + REAL


def stable_order(x: np.ndarray, largest: bool) -> np.ndarray:
    """Sort along the last axis; of equal values the lower index comes first, in either direction."""
    if not largest:
        return np.argsort(x, axis=-1, kind="stable")
    return x.shape[-1] - 1 - np.argsort(x[..., ::-1], axis=-1, kind="stable")[..., ::-1]


def reference_top_k(x: np.ndarray, k: int, axis: int = -1, largest: bool = True) -> tuple[np.ndarray, np.ndarray]:
    moved = np.moveaxis(x, axis, -1)
    order = stable_order(moved, largest)[..., :k]
    return tuple(np.moveaxis(a, -1, axis) for a in (np.take_along_axis(moved, order, -1), order))


def reference_search(x1: np.ndarray, x2: np.ndarray, side: str) -> np.ndarray:
    if x1.ndim == 1:
        return np.searchsorted(x1, x2, side)
    lead = np.broadcast_shapes(x1.shape[:-1], x2.shape[:-1])
    x1, x2 = np.broadcast_to(x1, (*lead, x1.shape[-1])), np.broadcast_to(x2, (*lead, x2.shape[-1]))
    out = np.zeros(x2.shape, dtype=np.int64)
    for row in np.ndindex(lead):
        out[row] = np.searchsorted(x1[row], x2[row], side)
    return out


def reference_unique(x: np.ndarray, axis: int | None = None, **options: bool) -> Any:
    found = np.unique(x, axis=axis, equal_nan=False, **options)
    if axis is None and options.get("return_inverse"):
        position = 1 + options.get("return_index", False)
        return (*found[:position], found[position].reshape(x.shape), *found[position + 1 :])
    return found


def elements(dtype: str) -> st.SearchStrategy[Any]:
    kind = np.dtype(dtype).kind
    if kind == "b":
        return st.booleans()
    if kind in "iu":
        info = np.iinfo(dtype)
        return st.integers(max(int(info.min), -2), 2) if kind == "i" else st.sampled_from([0, 1, int(info.max)])
    special = st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0])
    few = st.integers(-2, 2).map(float) | special
    return few if kind == "f" else st.builds(complex, st.integers(-1, 1), st.integers(-1, 1))


@st.composite
def arrays(draw: st.DrawFn, dtypes: list[str] = REAL_VALUED, least: int = 0) -> np.ndarray:
    dtype = draw(st.sampled_from(dtypes))
    shape = (*draw(st.lists(st.integers(0, 3), max_size=1)), draw(st.integers(least, 9)))
    count = int(np.prod(shape))
    return np.asarray(draw(st.lists(elements(dtype), min_size=count, max_size=count)), dtype=dtype).reshape(shape)


def examples(library: Library) -> int:
    return 8 if library.lazy or library.id == "jax" else 25


@pytest.mark.parametrize(
    "shapes", [((3, 5), (2, 3, 4)), ((3, 5), (3, 4)), ((2, 1, 5), (3, 4)), ((5,), (2, 3, 4))], ids=str
)
def test_searches_in_stacks_that_broadcast(library: Library, shapes: tuple[tuple[int, ...], ...]) -> None:
    rng = np.random.default_rng(0)
    x1, x2 = np.sort(rng.normal(size=shapes[0]), axis=-1), rng.normal(size=shapes[1])
    stack = np.broadcast_shapes(x1.shape[:-1], x2.shape[:-1])
    rows, wanted = np.broadcast_to(x1, (*stack, x1.shape[-1])), np.broadcast_to(x2, (*stack, x2.shape[-1]))
    expected = np.stack([np.searchsorted(rows[i], wanted[i]) for i in np.ndindex(stack)]).reshape(wanted.shape)
    library.assert_equal(sorting.searchsorted(library.asarray(x1), library.asarray(x2)), expected)


@pytest.mark.parametrize("largest", [True, False])
def test_top_k(library: Library, largest: bool) -> None:
    @settings(max_examples=examples(library))
    @given(arrays(), st.data())
    def run(x: np.ndarray, data: st.DataObject) -> None:
        axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
        k = data.draw(st.integers(0, x.shape[axis]))
        result = sorting.top_k(library.asarray(x), k, axis=axis, largest=largest)
        values, indices = reference_top_k(x, k, axis, largest)
        library.assert_equal(result.values, values)
        library.assert_equal(result.indices, indices)

    run()


def test_missing_values_are_the_largest(library: Library) -> None:
    x = np.asarray([1.0, np.nan, 3.0, 2.0, 0.0])
    for largest, indices in ((True, [1, 2]), (False, [4, 0])):
        result = sorting.top_k(library.asarray(x), 2, largest=largest)
        library.assert_equal(result.values, x[indices])
        library.assert_equal(result.indices, np.asarray(indices))


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint16", "int64"])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("kind", ["ties", "none", "few missing", "missing", "mostly missing"])
def test_top_k_of_many(eager_library: Library, dtype: str, largest: bool, kind: str) -> None:
    # Enough values for every library's selection to be taken, and its ties to be anywhere.
    rng = np.random.default_rng(0)
    x = rng.permuted(np.tile(np.arange(5000), (2, 1)), axis=1).astype(dtype)
    if kind == "ties":
        x = (x // 50).astype(dtype)
    if dtype[0] == "f" and "missing" in kind:
        # Fewer than are selected, more than that, and almost all.
        x[rng.random(x.shape) < {"few missing": 0.001, "missing": 0.01, "mostly missing": 0.999}[kind]] = np.nan
    for values in (x, x[0]):
        result = sorting.top_k(eager_library.asarray(values), 20, largest=largest)
        expected = reference_top_k(values, 20, largest=largest)
        eager_library.assert_equal(result.values, expected[0])
        eager_library.assert_equal(result.indices, expected[1])


@pytest.mark.parametrize("size", [9, 5000])
def test_partition(library: Library, size: int) -> None:
    @settings(max_examples=examples(library) if size < 10 else 3)
    @given(arrays(least=1), st.data())
    def run(x: np.ndarray, data: st.DataObject) -> None:
        x = np.resize(x, (*x.shape[:-1], size)) if size > 10 and x.size else x
        axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
        if not x.shape[axis]:
            return
        kth = data.draw(st.integers(-x.shape[axis], x.shape[axis] - 1))
        ordered = np.sort(x, axis=axis)
        order = library.to_numpy(sorting.argpartition(library.asarray(x), kth, axis=axis))
        assert order.dtype == np.int64
        positions = np.arange(x.shape[axis]).reshape(-1, *(1 for _ in x.shape[axis % x.ndim + 1 :]))
        np.testing.assert_array_equal(np.sort(order, axis=axis), np.broadcast_to(positions, x.shape))
        for result in (
            library.to_numpy(sorting.partition(library.asarray(x), kth, axis=axis)),
            np.take_along_axis(x, order, axis),
        ):
            assert result.dtype == x.dtype
            np.testing.assert_array_equal(np.sort(result, axis=axis), ordered)
            before, after = np.split(np.moveaxis(result, axis, 0), [kth % x.shape[axis]])
            wanted = np.take(ordered, kth, axis=axis)
            np.testing.assert_array_equal(after[0], wanted)
            # Positions in the sorted row, so that NaN compares.
            assert not np.any((before > wanted) | (np.isnan(before) & ~np.isnan(wanted)))
            assert not np.any((after < wanted) | (~np.isnan(after) & np.isnan(wanted)))

    run()


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(library: Library, side: str) -> None:
    @settings(max_examples=examples(library))
    @given(st.sampled_from(REAL_VALUED), st.data())
    def run(dtype: str, data: st.DataObject) -> None:
        x1 = np.sort(data.draw(arrays([dtype])), axis=-1)
        x2 = data.draw(arrays([dtype]))
        if x1.ndim > 1:
            x2 = np.broadcast_to(
                x2[..., None, :], (*x2.shape[:-1], data.draw(st.sampled_from([1, len(x1)])), x2.shape[-1])
            )
        expected = reference_search(x1, x2, side)
        library.assert_equal(sorting.searchsorted(library.asarray(x1), library.asarray(x2), side=side), expected)
        order = np.argsort(x1[..., ::-1], axis=-1, kind="stable")
        result = sorting.searchsorted(
            library.asarray(x1[..., ::-1]), library.asarray(x2), side=side, sorter=library.asarray(order)
        )
        library.assert_equal(result, expected)

    run()


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # Dask casts the value itself for its meta
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("value", [0.5, 1.0, 2.0, np.nan])
def test_searchsorted_of_one_value(library: Library, side: Any, value: float) -> None:
    """The result has no axes, also where the sorted values hold NaN."""
    for values in ([1.0, 2.0], [1.0, np.nan], [np.nan, np.nan], []):
        expected = np.asarray(np.searchsorted(values, value, side=side))
        found = sorting.searchsorted(library.asarray(np.asarray(values)), library.asarray(value), side=side)
        library.assert_equal(found, expected)


def test_searchsorted_promotes(library: Library) -> None:
    x1, x2 = np.asarray([1, 2, 200], dtype=np.uint8), np.asarray([-1, 2, 300], dtype=np.int16)
    library.assert_equal(sorting.searchsorted(library.asarray(x1), library.asarray(x2)), np.asarray([0, 1, 3]))
    for value in (0.5, 7.0):
        result = sorting.searchsorted(library.asarray([1.0, 2.0]), library.asarray(np.float32(value)))
        library.assert_equal(result, np.asarray(0 if value < 1 else 2))


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "float64"])
def test_lexsort(library: Library, dtype: str) -> None:
    for shape in ((3, 8), (1, 5), (2, 4, 5), (2, 0), (2, 3, 0)):
        keys = np.random.default_rng(0).integers(0, 3, shape).astype(dtype)
        if dtype[0] == "f" and keys.size:
            keys[0, ..., 1:3], keys[-1, ..., 0], keys[-1, ..., -1] = np.nan, np.nan, -0.0
        for axis in range(-1, len(shape) - 1):
            expected = np.lexsort(keys, axis=axis)
            library.assert_equal(sorting.lexsort(library.asarray(keys), axis=axis), expected)
            library.assert_equal(sorting.lexsort([library.asarray(key) for key in keys], axis=axis), expected)
    mixed = [np.asarray([2, 1, 2], dtype="int16"), np.asarray([0.5, 0.5, 0.25])]
    library.assert_equal(sorting.lexsort(list(map(library.asarray, mixed))), np.lexsort(mixed))


SWITCHES = {"return_index": True, "return_inverse": True, "return_counts": True}


@pytest.mark.parametrize("axis", [None, 0, -1])
def test_unique(library: Library, axis: int | None) -> None:
    # Of slices with NaN, NumPy's structured comparison knows no order.
    dtypes = ["bool", *INTEGERS, *([*REAL, "complex64", "complex128"] if axis is None else ["complex128"])]

    @settings(max_examples=4 if examples(library) < 25 else 25)
    @given(arrays(dtypes), st.sampled_from(list(SWITCHES)), st.integers(0, 6))
    def run(x: np.ndarray, switch: str, size: int) -> None:
        results = sorting.unique(library.asarray(x), axis=axis, **SWITCHES)
        expected = reference_unique(x, axis, **SWITCHES)
        for result, wanted in zip(results, expected, strict=True):
            found = library.to_numpy(result)
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(library.to_numpy(sorting.unique(library.asarray(x), axis=axis)), expected[0])
        along = 0 if axis is None else axis
        number = expected[0].shape[along]
        fill_value = True if x.dtype == bool else 1
        values, result = sorting.unique(
            library.asarray(x), axis=axis, size=size, fill_value=fill_value, **{switch: True}
        )
        kept = np.take(expected[0], np.arange(min(size, number)), axis=along)
        missing = [(0, 0)] * kept.ndim
        missing[along] = (0, size - kept.shape[along])
        library.assert_equal(values, np.pad(kept, missing, constant_values=1))
        wanted = expected[1 + list(SWITCHES).index(switch)]
        if switch == "return_inverse":
            library.assert_equal(result, np.minimum(wanted, size))
        else:
            fill = wanted[0] if switch == "return_index" and number else 0
            library.assert_equal(result, np.pad(wanted[:size], (0, max(size - number, 0)), constant_values=fill))

    run()


def test_unique_rows_with_nan(library: Library) -> None:
    nan = np.nan
    x = np.asarray([[1.0, nan], [0.0, 2.0], [1.0, nan], [-0.0, 2.0], [nan, 0.0]])
    values, first, inverse, counts = sorting.unique(library.asarray(x), axis=0, size=5, **SWITCHES)
    library.assert_equal(values, np.asarray([[0.0, 2.0], [1.0, nan], [1.0, nan], [nan, 0.0], [0.0, 2.0]]))
    library.assert_equal(first, np.asarray([1, 0, 2, 4, 1]))
    library.assert_equal(inverse, np.asarray([1, 0, 2, 0, 3]))
    library.assert_equal(counts, np.asarray([2, 1, 1, 1, 0]))


X = np.asarray([[3.0, 1.0, 4.0, 1.0, 5.0], [-2.0, 7.0, 0.5, 7.0, 2.5]])
SMOOTH = np.asarray([[3.0, 1.0, 4.0, 1.5, 5.0], [-2.0, 7.0, 0.5, 8.0, 2.5]])
SORTED = np.asarray([[1.0, 2.0, 2.0, 4.0], [0.0, 0.0, 3.0, 9.0]])
CASES = {
    "top_k": Case(lambda x: sorting.top_k(x, 3), (X,), lambda x: reference_top_k(x, 3)),
    "smallest": Case(
        lambda x: sorting.top_k(x, 2, axis=1, largest=False).values,
        (SMOOTH,),
        lambda x: np.sort(x, axis=1)[:, :2],
        differentiable=(0,),
    ),
    "partition": Case(lambda x: sorting.partition(x, 2)[..., 2], (SMOOTH,), lambda x: np.sort(x)[..., 2], (0,)),
    "argpartition": Case(lambda x: sorting.argpartition(x, -1)[..., -1], (SMOOTH,), lambda x: np.argmax(x, axis=-1)),
    "searchsorted": Case(
        lambda a, v: sorting.searchsorted(a, v, side="right"),
        (np.asarray([1.0, 2.0, 2.0, 4.0]), X),
        lambda a, v: np.searchsorted(a, v, "right"),
        maps=False,  # one of the two batches of the checker has the sorted values reversed
    ),
    "searchsorted in rows": Case(
        sorting.searchsorted, (SORTED, X), lambda a, v: reference_search(a, v, "left"), maps=True
    ),
    "lexsort": Case(
        lambda x, y: sorting.lexsort([x, y], axis=0),
        (X[:, :4], np.asarray([[1, 0, 2, 2], [1, 1, 0, 2]])),
        lambda x, y: np.lexsort([x, y], axis=0),
    ),
    "unique": Case(
        lambda x: sorting.unique(x, size=9, fill_value=-1.0, **SWITCHES)[0],
        (SMOOTH,),
        lambda x: np.sort(x, axis=None)[:9],
        differentiable=(0,),
    ),
    "unique rows": Case(
        lambda x: sorting.unique(x, axis=1, size=2, return_counts=True),
        (np.asarray([[1, 2, 1], [3, 3, 3]]),),
        lambda x: np.unique(x, axis=1, return_counts=True),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
@pytest.mark.parametrize("largest", [True, False])
def test_special_values_under_jit(dtype: str, largest: bool) -> None:
    import jax

    x = np.asarray([0, 1, 0, 2, 1], dtype=dtype)
    if dtype[0] == "f":
        x = np.asarray([-0.0, 0.0, np.nan, -np.inf, -np.nan, np.inf, -0.0], dtype=dtype)
    result = jax.jit(lambda x: sorting.top_k(x, 5, largest=largest))(x)
    for found, wanted in zip(result, reference_top_k(x, 5, largest=largest)):
        np.testing.assert_array_equal(np.asarray(found), wanted)


def test_dask_stays_lazy() -> None:
    import dask.array as da

    x = da.from_array(X, chunks=(1, 2))
    with nothing_computed():
        top = sorting.top_k(x, 3)
        place = sorting.searchsorted(da.from_array(SORTED, chunks=(1, 3)), x)
        values, counts = sorting.unique(x, return_counts=True)
    np.testing.assert_array_equal(np.asarray(top.indices), reference_top_k(X, 3)[1])
    np.testing.assert_array_equal(np.asarray(place), reference_search(SORTED, X, "left"))
    assert np.isnan(values.shape[0])
    np.testing.assert_array_equal(np.asarray(counts), np.unique(X, return_counts=True)[1])


def test_half_precision() -> None:
    import torch

    x = torch.asarray([1.0, 3.0, 2.0, 3.0], dtype=torch.bfloat16)
    assert sorting.top_k(x, 2).indices.tolist() == [1, 3]
    assert sorting.searchsorted(x.sort().values, x).tolist() == [0, 2, 1, 2]
    assert sorting.unique(x).tolist() == [1.0, 2.0, 3.0]
    assert sorting.top_k(np.asarray([1.0, 3.0, 2.0], dtype=np.float16), 2).values.tolist() == [3.0, 2.0]


BAD = {
    "a list": ("top_k", lambda f, x: f([1, 2], 1), TypeError, "x must be an array"),
    "complex": ("top_k", lambda f, x: f(x + 1j, 1), TypeError, "integer or real floating-point"),
    "k too large": ("top_k", lambda f, x: f(x, 4), ValueError, "k=4 is more than the 3 values along axis 0"),
    "k below 0": ("top_k", lambda f, x: f(x, -1), ValueError, "k must be at least 0"),
    "k of floats": ("top_k", lambda f, x: f(x, 1.0), TypeError, "k must be an integer"),
    "no axis": ("top_k", lambda f, x: f(x, 1, axis=1), ValueError, "axis=1 is out of range"),
    "largest": ("top_k", lambda f, x: f(x, 1, largest=1), TypeError, "largest must be True or False"),
    "0-d": ("partition", lambda f, x: f(x[0, ...], 0), ValueError, "axis=-1 is out of range for 0 axes"),
    "kth": (
        "partition",
        lambda f, x: f(x, 3),
        IndexError,
        "kth=3 is out of bounds for axis 0 of size 3; takes -3 to 2",
    ),
    "kth of none": ("argpartition", lambda f, x: f(x[:0], 0), IndexError, "kth=0 is out of bounds"),
    "bool": ("argpartition", lambda f, x: f(x > 1, 0), TypeError, "integer or real floating-point"),
    "kinds": ("searchsorted", lambda f, x: f(x, np.asarray([1])), TypeError, "x1 has float64 and x2 has int64"),
    "uint64": (
        "searchsorted",
        lambda f, x: f(np.asarray([1]), np.asarray([1], dtype=np.uint64)),
        TypeError,
        "x1 has int64 and x2 has uint64",
    ),
    "side": ("searchsorted", lambda f, x: f(x, x, side="lefft"), ValueError, "did you mean 'left'"),
    "0-d sorted": ("searchsorted", lambda f, x: f(x[0, ...], x), ValueError, "x1 must have at least one axis"),
    "leading axes": (
        "searchsorted",
        lambda f, x: f(np.ones((2, 3)), np.ones((3, 3))),
        ValueError,
        "must broadcast together",
    ),
    "no last axis": ("searchsorted", lambda f, x: f(np.ones((2, 3)), x[0, ...]), ValueError, "must broadcast together"),
    "sorter": ("searchsorted", lambda f, x: f(x, x, sorter=np.asarray([0])), ValueError, "sorter must have the shape"),
    "real sorter": ("searchsorted", lambda f, x: f(x, x, sorter=x), TypeError, "sorter must have an integer data type"),
    "no keys": ("lexsort", lambda f, x: f([]), ValueError, "keys must hold at least one key"),
    "one number": ("lexsort", lambda f, x: f(x[0, ...]), ValueError, "keys must have an axis of keys"),
    "a number": ("lexsort", lambda f, x: f(3), TypeError, "keys must be an array or a list of arrays, got int"),
    "shapes of keys": ("lexsort", lambda f, x: f([x, x[:2]]), ValueError, "keys must have one shape, got (2,), (3,)"),
    "complex keys": ("lexsort", lambda f, x: f([x + 1j]), TypeError, "integer or real floating-point"),
    "axis of keys": ("lexsort", lambda f, x: f([x], axis=1), ValueError, "axis=1 is out of range"),
    "fill only": ("unique", lambda f, x: f(x, fill_value=0.0), ValueError, "give size too"),
    "fill": ("unique", lambda f, x: f(x, size=1, fill_value=x), TypeError, "fill_value must be a Python scalar"),
    "complex fill": ("unique", lambda f, x: f(x, size=1, fill_value=1j), TypeError, "does not promote"),
    "size": ("unique", lambda f, x: f(x, size=-1), ValueError, "size must be at least 0"),
    "unique axis": ("unique", lambda f, x: f(x, axis=2), ValueError, "axis=2 is out of range"),
    "switch": ("unique", lambda f, x: f(x, return_counts=1), TypeError, "return_counts must be True or False"),
    "strings": ("unique", lambda f, x: f(np.asarray(["a"])), TypeError, "data type of the standard"),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_bad_input(bad: tuple[str, Callable[[Any, Any], Any], type[Exception], str]) -> None:
    function, call, error, fragment = bad
    with pytest.raises(error) as caught:
        call(getattr(sorting, function), np.asarray([1.0, 2.0, 3.0]))
    assert type(caught.value) is error
    assert str(caught.value).startswith(f"{function}: ")
    assert fragment in str(caught.value)


def test_size_is_asked_for_under_tracing() -> None:
    import jax
    import torch

    with pytest.raises(ValueError, match="unique: size must be given"):
        jax.jit(sorting.unique)(jax.numpy.ones(3))
    with pytest.raises(ValueError, match="unique: size must be given"):
        torch.func.vmap(sorting.unique)(torch.ones(2, 3))


def test_two_devices() -> None:
    import array_api_strict as strict

    other = strict.Device("device1")
    with pytest.raises(ValueError, match="searchsorted: takes arrays on one device"):
        sorting.searchsorted(strict.ones(2), strict.ones(2, device=other))
