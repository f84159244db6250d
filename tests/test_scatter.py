"""`scatter.at`: every library against NumPy's own index and ufunc.at, transformations, bad input."""

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from tests.laziness import nothing_computed
from tests.libraries import Library
from xpand_extensions import UnsupportedError, capabilities, check_plugin, scatter

UFUNCS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "power": np.power,
    "min": np.minimum,
    "max": np.maximum,
}
UPDATES = ["set", *UFUNCS]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
DTYPES = {
    "set": ["bool", *INTEGERS, *FLOATS, *COMPLEX],
    "add": INTEGERS + FLOATS + COMPLEX,
    "subtract": INTEGERS + FLOATS + COMPLEX,
    "multiply": INTEGERS + FLOATS + COMPLEX,
    "divide": FLOATS + COMPLEX,
    "power": INTEGERS + FLOATS,
    "min": ["bool", *INTEGERS, *FLOATS],
    "max": ["bool", *INTEGERS, *FLOATS],
}


def quiet() -> Any:
    return np.errstate(all="ignore")


def updated(x: np.ndarray, index: Any, operation: str, values: Any) -> np.ndarray:
    """Do with NumPy what `at` does: x[index] op= values, duplicates one after the other."""
    out = np.array(x)
    values = np.asarray(values).astype(x.dtype)
    if operation == "set":
        out[index] = values
    else:
        UFUNCS[operation].at(out, index, values)
    return out


# --- strategies ---------------------------------------------------------------------------------------------------


@st.composite
def indices(draw: st.DrawFn, shape: tuple[int, ...], *, masks: bool = True) -> tuple[Any, ...]:
    """Draw any index for an array of this shape, all within bounds."""
    items: list[Any] = []
    broadcast = draw(st.sampled_from([(), (1,), (3,), (2, 2), (0,)]))
    dim = 0
    stop = draw(st.integers(0, len(shape)))
    masked = False
    while dim < stop:
        kinds = ["slice"]
        if shape[dim]:
            kinds += ["int", "array", "array"]
        if masks and not masked and len(broadcast) < 2:
            kinds.append("mask")
        kind = draw(st.sampled_from(kinds))
        size = shape[dim]
        if kind == "slice":
            bound = st.none() | st.integers(-size - 2, size + 2)
            items.append(slice(draw(bound), draw(bound), draw(st.sampled_from([None, 1, 2, -1, -2]))))
        elif kind == "int":
            items.append(draw(st.integers(-size, size - 1)))
        elif kind == "array":
            # Arrays of fewer axes, and of size one, broadcast.
            own = draw(st.sampled_from([broadcast, broadcast, broadcast[1:], (1,) * len(broadcast)]))
            count = int(np.prod(own))
            values = draw(st.lists(st.integers(-size, size - 1), min_size=count, max_size=count))
            items.append(np.asarray(values, dtype=draw(st.sampled_from(["int64", "int32", "int8"]))).reshape(own))
        else:
            masked = True
            ndim = draw(st.integers(1, min(2, stop - dim)))
            count = int(np.prod(shape[dim : dim + ndim]))
            mask = draw(st.lists(st.booleans(), min_size=count, max_size=count))
            items.append(np.asarray(mask, dtype=bool).reshape(shape[dim : dim + ndim]))
            dim += ndim - 1
        dim += 1
    for _ in range(draw(st.integers(0, 1))):
        items.insert(draw(st.integers(0, len(items))), None)
    if draw(st.booleans()) and dim <= len(shape):
        # An ellipsis in front moves the entries to the last axes, which may be of another size: only where it fits.
        items.append(Ellipsis)
    return tuple(items)


def values_for(draw: st.DrawFn, dtype: str, shape: tuple[int, ...], operation: str) -> np.ndarray:
    kind = np.dtype(dtype).kind
    low = 0 if kind in "ub" or operation == "power" else -3
    ordinary = st.integers(low, 1 if kind == "b" else 3)
    if kind == "f" and operation in ("set", "add", "min", "max"):
        ordinary = ordinary | st.sampled_from([np.nan, np.inf, -np.inf, 0.5])
    count = int(np.prod(shape))
    return np.asarray(draw(st.lists(ordinary, min_size=count, max_size=count))).astype(dtype).reshape(shape)


@st.composite
def problems(draw: st.DrawFn, operation: str) -> tuple[np.ndarray, Any, np.ndarray]:
    dtype = draw(st.sampled_from(DTYPES[operation]))
    shape = tuple(draw(st.lists(st.integers(0, 4), max_size=3)))
    x = values_for(draw, dtype, shape, operation)
    index = draw(indices(shape))
    try:
        selected = x[index].shape
    except IndexError:  # a mask and arrays that don't broadcast together
        assume(False)
    shapes = [selected, selected[1:], (), (1,) * len(selected)]
    values = values_for(draw, dtype, draw(st.sampled_from(shapes)), operation)
    return x, index, values


def of(library: Library, index: Any) -> Any:
    return tuple(library.asarray(item) if isinstance(item, np.ndarray) else item for item in index)


def tolerance(dtype: np.dtype) -> float:
    return 0.0 if dtype.kind in "biu" else 1e-5 if dtype in ("float32", "complex64") else 1e-12


def needs_values(index: Any, operation: str) -> bool:
    """Whether an update can't be done without knowing the values of the index."""
    arrays = [item for item in index if isinstance(item, np.ndarray)]
    masks = [item for item in arrays if item.dtype == bool]
    others = [i for i in index if not (i is Ellipsis or (isinstance(i, slice) and i == slice(None)))]
    if masks and len(others) > 1:
        return True
    if masks and operation == "get":
        return True
    return operation in ("power", "apply") and any(item.size > 1 for item in arrays if item.dtype != bool)


# --- properties ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", UPDATES)
def test_updates_agree_with_numpy(library: Library, operation: str) -> None:
    @settings(max_examples=6 if library.lazy else 15 if library.id == "jax" else 30)
    @given(problem=problems(operation))
    def run(problem: tuple[np.ndarray, Any, np.ndarray]) -> None:
        x, index, values = problem
        if library.lazy:
            assume(not needs_values(index, operation))
        ours, mine, theirs = library.asarray(x), of(library, index), library.asarray(values)
        with quiet():
            result = getattr(scatter.at(ours)[mine], operation)(theirs)
            rtol = tolerance(x.dtype)
            library.assert_equal(result, updated(x, index, operation, values), rtol=rtol, atol=rtol)
        library.assert_equal(ours, x)
        library.assert_equal(theirs, values)

    run()


def test_reads_agree_with_numpy(library: Library) -> None:
    @settings(max_examples=8 if library.lazy else 50)
    @given(problem=problems("set"))
    def run(problem: tuple[np.ndarray, Any, np.ndarray]) -> None:
        x, index, _ = problem
        if library.lazy:
            assume(not needs_values(index, "get"))
        library.assert_equal(scatter.at(library.asarray(x), of(library, index)).get(), x[index])

    run()


def test_apply_is_called_once_for_each_selection(library: Library) -> None:
    @settings(max_examples=6 if library.lazy else 15 if library.id == "jax" else 30)
    @given(problem=problems("add"))
    def run(problem: tuple[np.ndarray, Any, np.ndarray]) -> None:
        x, index, _ = problem
        if library.lazy:
            assume(not needs_values(index, "apply"))
        times = np.zeros(x.shape, dtype=int)
        np.add.at(times, index, 1)
        expected = np.array(x)
        with quiet():
            for number in range(times.max(initial=0)):
                expected = np.where(times > number, expected + expected, expected)
            result = scatter.at(library.asarray(x))[of(library, index)].apply(lambda y: library.xp.add(y, y))
            library.assert_equal(result, expected.astype(x.dtype))

    run()


@pytest.mark.parametrize("operation", [*UPDATES, "get"])
@pytest.mark.parametrize("mode", ["drop", "fill", "clip", "wrap"])
def test_modes(library: Library, operation: str, mode: str) -> None:
    x = np.arange(1.0, 13.0).reshape(4, 3)
    rows, columns = np.asarray([-5, 0, -1, 4, 9, 0]), np.asarray([0, -3, 1, 1, 7, 0])
    values = np.asarray([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    in_range = (rows >= -4) & (rows < 4) & (columns >= -3) & (columns < 3)

    def moved(index: np.ndarray, size: int) -> np.ndarray:
        return index % size if mode == "wrap" else np.clip(np.where(index < 0, index + size, index), 0, size - 1)

    at = scatter.at(library.asarray(x))[library.asarray(rows), library.asarray(columns)]
    if mode in ("drop", "fill"):
        near, values_in_range = (rows[in_range], columns[in_range]), values[in_range]
    else:
        near, values_in_range = (moved(rows, 4), moved(columns, 3)), values
    if operation == "get":
        expected = np.full(6, np.nan)
        expected[in_range if mode in ("drop", "fill") else slice(None)] = x[near]
        library.assert_equal(at.get(mode=mode), expected)
        expected = np.where(np.isnan(expected), -1.0, expected)
        library.assert_equal(at.get(mode=mode, fill_value=-1), expected)
        library.assert_equal(at.get(mode=mode, fill_value=library.asarray(-1.0)), expected)
        return
    if library.lazy and operation == "power":
        with pytest.raises(UnsupportedError, match="power and apply"):
            at.power(library.asarray(values), mode=mode)
        return
    result = getattr(at, operation)(library.asarray(values), mode=mode)
    library.assert_equal(result, updated(x, near, operation, values_in_range), rtol=1e-12)


@pytest.mark.parametrize("mode", ["drop", "fill", "clip", "wrap"])
def test_modes_of_a_number(library: Library, mode: str) -> None:
    x = np.arange(6.0).reshape(3, 2)
    place = {"clip": 2, "wrap": 2}.get(mode)
    expected = np.array(x)
    if place is not None:
        expected[place, 1] = 9
    library.assert_equal(scatter.at(library.asarray(x))[5, 1].set(9, mode=mode), expected)
    read = scatter.at(library.asarray(x))[5, :].get(mode=mode)
    library.assert_equal(read, np.full(2, np.nan) if place is None else x[place])
    applied = scatter.at(library.asarray(x))[5, 1].apply(lambda y: y + 4.0, mode=mode)
    library.assert_equal(applied, expected)


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [("float32", np.nan), ("complex128", np.nan), ("int8", -128), ("uint16", 65535), ("bool", True)],
)
def test_fill_value_left_out(library: Library, dtype: str, fill: Any) -> None:
    x = np.zeros(3, dtype=dtype)
    result = scatter.at(library.asarray(x))[library.asarray([0, 3])].get(mode="fill")
    library.assert_equal(result, np.asarray([x[0], fill], dtype=dtype))


def test_the_last_of_several_values_stays(library: Library) -> None:
    # Many, for a library that would write with several threads.
    rng = np.random.default_rng(0)
    size = 200 if library.lazy else 20_000
    index, values = rng.integers(0, 50, size), rng.normal(size=size)
    x = np.zeros(60)
    library.assert_equal(
        scatter.at(library.asarray(x))[library.asarray(index)].set(library.asarray(values)),
        updated(x, index, "set", values),
    )


def test_masks(library: Library) -> None:
    x = np.arange(12.0).reshape(3, 4)
    mask = x % 3 == 1
    at = scatter.at(library.asarray(x))[library.asarray(mask)]
    library.assert_equal(at.set(-1), np.where(mask, -1.0, x))
    library.assert_equal(at.multiply(library.asarray([2.0])), np.where(mask, 2 * x, x))
    library.assert_equal(at.power(2), np.where(mask, x**2, x))
    library.assert_equal(at.apply(lambda y: y * y), np.where(mask, x * x, x))
    each = np.arange(mask.sum()) + 10.0
    library.assert_equal(at.set(library.asarray(each)), updated(x, mask, "set", each))
    rows = np.asarray([True, False, True])
    at = scatter.at(library.asarray(x))[library.asarray(rows)]
    library.assert_equal(at.add(library.asarray(x[:2])), updated(x, rows, "add", x[:2]))
    columns = np.asarray([True, False, True, True])
    at = scatter.at(library.asarray(x))[:, library.asarray(columns)]
    library.assert_equal(at.add(library.asarray(x[:, 1:])), updated(x, np.s_[:, columns], "add", x[:, 1:]))
    nothing = np.zeros((3, 4), dtype=bool)
    library.assert_equal(scatter.at(library.asarray(x))[library.asarray(nothing)].set(7), x)


def test_values_are_cast_within_their_kind(library: Library) -> None:
    x, index = library.asarray(np.zeros(3, dtype="float32")), library.asarray([0, 0])
    library.assert_equal(
        scatter.at(x)[index].add(library.asarray(np.asarray([0.5, 0.25]))), np.asarray([0.75, 0, 0], dtype="float32")
    )
    library.assert_equal(scatter.at(x)[index].set(2), np.asarray([2, 0, 0], dtype="float32"))
    z = library.asarray(np.zeros(3, dtype="complex64"))
    library.assert_equal(
        scatter.at(z)[index].add(library.asarray(np.asarray([0.5, 0.25]))), np.asarray([0.75, 0, 0], dtype="complex64")
    )
    i = library.asarray(np.zeros(3, dtype="int16"))
    library.assert_equal(
        scatter.at(i)[index].add(library.asarray(np.asarray([1, 2], dtype="uint8"))),
        np.asarray([3, 0, 0], dtype="int16"),
    )


def test_index_left_out_and_scalars(library: Library) -> None:
    x = library.asarray(np.asarray([1.0, 2.0]))
    library.assert_equal(scatter.at(x).add(1), np.asarray([2.0, 3.0]))
    library.assert_equal(scatter.at(x)[...].set(0.5), np.asarray([0.5, 0.5]))
    library.assert_equal(scatter.at(library.asarray(3.0)).multiply(2), np.asarray(6.0))
    library.assert_equal(scatter.at(library.asarray(3.0))[()].get(), np.asarray(3.0))
    library.assert_equal(scatter.at(x)[library.asarray(1)].get(), np.asarray(2.0))
    library.assert_equal(scatter.at(x)[True].get(), np.asarray([[1.0, 2.0]]))
    library.assert_equal(scatter.at(x)[False].set(9), np.asarray([1.0, 2.0]))
    library.assert_equal(scatter.at(x)[True].add(1), np.asarray([2.0, 3.0]))


def test_integers_of_numpy_are_indices(library: Library) -> None:
    """They index arrays of every library, as Python's integers do."""
    x = np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for index in (np.int64(1), np.uint8(1), (np.int32(-1), slice(np.int64(1), None)), (..., np.int64(2))):
        at = scatter.at(library.asarray(x))[index]
        library.assert_equal(at.get(), x[index])
        library.assert_equal(at.add(2.0), updated(x, index, "add", 2.0))
    library.assert_equal(scatter.at(library.asarray(x))[np.int64(5)].set(0.0, mode="drop"), x)
    with pytest.raises(IndexError, match="at.get: .* 2 .*size 2"):
        scatter.at(library.asarray(x))[np.int64(2)].get()


@pytest.mark.parametrize("dtype", ["int16", "uint8", "uint32", "float32", "float64", "complex64", "bool"])
def test_one_number_for_many_positions(library: Library, dtype: str) -> None:
    x = np.asarray([[3, 1], [2, 0], [5, 4]]).astype(dtype)
    number = True if dtype == "bool" else 2
    for index in (np.asarray([0, 2, 2, -1]), np.asarray([[1, 1], [0, 1]])):
        for operation, ufunc in (("set", None), ("add", np.add), ("max", np.maximum)):
            if (operation == "add" and dtype == "bool") or (operation == "max" and dtype == "complex64"):
                continue
            expected = x.copy()
            if ufunc is None:
                expected[index] = number
            else:
                ufunc.at(expected, index, np.asarray(number, dtype))
            given = scatter.at(library.asarray(x))[library.asarray(index)]
            library.assert_equal(getattr(given, operation)(number), expected)
    if not library.lazy:
        with pytest.raises(IndexError, match=r"at\.set: index 3"):
            scatter.at(library.asarray(x))[library.asarray(np.asarray([0, 3]))].set(number, mode="raise")


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_rows_read_at_positions(library: Library, dtype: str) -> None:
    x = np.arange(12.0).reshape(4, 3)
    for index in ([0, 2, 2, 3], [[1, 0], [3, 1]], [], *(() if dtype == "uint8" else ([3, -1, -4], [[-2], [1]]))):
        index = np.asarray(index, dtype)
        library.assert_equal(scatter.at(library.asarray(x))[library.asarray(index)].get(), x[index])


def test_jax_compiles_one_program_for_all_positions() -> None:
    import jax.numpy as jnp

    from xpand_extensions.plugins.jax.scatter import _read_block, _update_block

    x = jnp.arange(8.0)
    before = _read_block._cache_size(), _update_block._cache_size()
    for i in range(6):
        x = scatter.at(x)[i].set(2.0 * i)
        x = scatter.at(x)[i : i + 2].add(1.0)
        assert scatter.at(x)[i].get() == 2.0 * i + 1.0
    assert (_read_block._cache_size(), _update_block._cache_size()) <= (before[0] + 1, before[1] + 2)


def test_results_share_no_memory() -> None:
    import torch

    for x in (np.arange(4.0), torch.arange(4.0)):
        for result in (scatter.at(x)[1:].get(), scatter.at(x)[3:3].set(0), scatter.at(x).set(x), scatter.at(x).get()):
            result[...] = 9
            assert x.tolist() == [0, 1, 2, 3]


# --- lazy and traced ----------------------------------------------------------------------------------------------


def test_dask_stays_lazy() -> None:
    import dask.array as da

    x, index = da.from_array(np.arange(6.0), chunks=4), da.from_array(np.asarray([0, 5, 9, 0]), chunks=2)
    values = da.from_array(np.asarray([1.0, 2.0, 3.0, 4.0]), chunks=3)
    with nothing_computed():
        results = [getattr(scatter.at(x)[index], name)(values) for name in UPDATES if name != "power"]
        results += [scatter.at(x)[index].get(), scatter.at(x)[1:3].power(2.0), scatter.at(x)[x > 2].set(0.0)]
    expected = [
        updated(np.arange(6.0), np.asarray([0, 5, 0]), name, np.asarray([1.0, 2.0, 4.0]))
        for name in UPDATES
        if name != "power"
    ]
    for result, want in zip(results, expected):
        np.testing.assert_allclose(np.asarray(result), want)
    np.testing.assert_array_equal(np.asarray(results[-3]), [0, 5, np.nan, 0])
    np.testing.assert_array_equal(np.asarray(results[-2]), [0, 1, 4, 3, 4, 5])
    np.testing.assert_array_equal(np.asarray(results[-1]), [0, 1, 2, 0, 0, 0])


def test_unsupported_where_values_are_unknown() -> None:
    import dask.array as da
    import jax
    import torch

    x, index = da.arange(4.0, chunks=2), da.from_array(np.asarray([0, 0]), chunks=2)
    for call in (
        lambda: scatter.at(x)[index].power(2.0),
        lambda: scatter.at(x)[index].apply(lambda y: y * y),
        lambda: scatter.at(da.ones((4, 4)))[x > 1, 0].set(1.0),
        lambda: torch.func.vmap(lambda t, i: scatter.at(t)[i].power(2.0))(torch.ones(2, 3), torch.ones((2, 2)).long()),
        lambda: torch.func.vmap(lambda t: scatter.at(t)[t > 0].get())(torch.ones(2, 3)),
        lambda: jax.jit(lambda t: scatter.at(t)[t > 0].get())(jax.numpy.ones(3)),
    ):
        with pytest.raises(UnsupportedError, match="at"):
            call()


X = np.asarray([1.0, 2.0, 3.0, 4.0])
INDEX = np.asarray([0, 2, 0, 7, -1])  # 7 is dropped: nobody can raise under tracing
NEW = np.asarray([0.5, 1.5, 2.5, 3.5, 4.5])
IN_RANGE = [0, 1, 2, 4]


@pytest.mark.parametrize("operation", UPDATES)
def test_jax_transformations(operation: str) -> None:
    import warnings

    import jax
    import jax.numpy as jnp

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from jax.test_util import check_grads

    def update(x: Any, index: Any, values: Any) -> Any:
        return getattr(scatter.at(x)[index], operation)(values)

    x, index, new = jnp.asarray(X), jnp.asarray(INDEX), jnp.asarray(NEW)
    expected = updated(X, INDEX[IN_RANGE], operation, NEW[IN_RANGE])
    np.testing.assert_allclose(jax.jit(update)(x, index, new), expected)
    xs, news = jnp.stack([x, x + 1]), jnp.stack([new, new - 0.1])
    both = [updated(a, INDEX[IN_RANGE], operation, b[IN_RANGE]) for a, b in zip(np.asarray(xs), np.asarray(news))]
    np.testing.assert_allclose(jax.vmap(update)(xs, jnp.stack([index, index]), news), both)
    np.testing.assert_allclose(
        jax.jit(jax.vmap(update, (None, None, 0)))(x, index, news),
        [updated(X, INDEX[IN_RANGE], operation, b[IN_RANGE]) for b in np.asarray(news)],
    )

    def loss(x: Any, values: Any) -> Any:
        result = getattr(scatter.at(jnp.asarray(x))[index], operation)(jnp.asarray(values), mode="drop")
        return (result * jnp.asarray([1.0, 2.0, 3.0, 4.0])).sum()

    check_grads(loss, (x, new), order=2, modes=("rev",), rtol=1e-4, atol=1e-4)
    check_grads(jax.jit(loss), (x, new), order=1, modes=("fwd", "rev"), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("operation", UPDATES)
def test_torch_transformations(operation: str) -> None:
    import torch

    def update(x: Any, index: Any, values: Any) -> Any:
        return getattr(scatter.at(x)[index], operation)(values, mode="drop")

    x, index, new = torch.asarray(X), torch.asarray(INDEX), torch.asarray(NEW)
    expected = torch.asarray(updated(X, INDEX[IN_RANGE], operation, NEW[IN_RANGE]))
    xs, news = torch.stack([x, x + 1]), torch.stack([new, new - 0.1])

    def same(actual: Any, expected: Any) -> None:
        torch.testing.assert_close(actual, expected)

    same(
        torch.func.vmap(update, (0, None, 0))(xs, index, news),
        torch.stack([update(a, index, b) for a, b in zip(xs, news)]),
    )
    same(torch.func.vmap(update, (None, None, 0))(x, index, news), torch.stack([update(x, index, b) for b in news]))
    if operation != "power":  # which needs the values of the index
        vmapped = torch.func.vmap(update)(xs, torch.stack([index, index]), news)
        same(vmapped, torch.stack([update(a, index, b) for a, b in zip(xs, news)]))
        compiled = torch.compile(
            lambda x, i, v: getattr(scatter.at(x)[i], operation)(v), fullgraph=True, backend="eager"
        )
        same(compiled(x, index, new), expected)

    def loss(x: Any, values: Any) -> Any:
        return (update(x, index, values) * torch.asarray([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)).sum()

    inputs = (x.clone().requires_grad_(), new.clone().requires_grad_())
    assert torch.autograd.gradcheck(loss, inputs)
    assert torch.autograd.gradgradcheck(loss, inputs)
    for argument in (0, 1):
        gradient = torch.func.grad(loss, argument)
        same(torch.func.vmap(gradient)(xs, news), torch.stack([gradient(a, b) for a, b in zip(xs, news)]))


BASIC: list[Any] = [np.s_[1:], np.s_[::-1, 0], np.s_[..., None, 1], 2, np.s_[1:3, ::-2]]


@pytest.mark.parametrize("index", BASIC, ids=str)
def test_basic_indices_under_transformations(index: Any) -> None:
    import jax
    import torch

    x = np.arange(12.0).reshape(4, 3)
    values = np.ones(x[index].shape) * 3
    expected = updated(x, index, "add", values)
    update = lambda x, v: scatter.at(x)[index].add(v)
    np.testing.assert_array_equal(jax.jit(update)(jax.numpy.asarray(x), jax.numpy.asarray(values)), expected)
    t, v = torch.asarray(x), torch.asarray(values)
    np.testing.assert_array_equal(torch.func.vmap(update, (None, 0))(t, v[None]).numpy()[0], expected)
    compiled = torch.compile(update, fullgraph=True, backend="eager")
    np.testing.assert_array_equal(compiled(t, v).numpy(), expected)
    assert torch.autograd.gradcheck(update, (t.clone().requires_grad_(), v.clone().requires_grad_()))


def test_masks_under_transformations() -> None:
    import jax
    import torch

    x = np.arange(6.0).reshape(2, 3)
    mask = x % 2 == 0
    each = np.asarray([7.0, 8.0, 9.0])
    for value, expected in ((5.0, np.where(mask, 5.0, x)), (each, updated(x, mask, "set", each))):

        def update(x: Any, m: Any, xp: Any, value: Any = value) -> Any:
            return scatter.at(x)[m].set(xp.asarray(value, dtype=xp.float64))

        result = jax.jit(lambda x, m: update(x, m, jax.numpy))(jax.numpy.asarray(x), jax.numpy.asarray(mask))
        np.testing.assert_array_equal(result, expected)
        result = torch.func.vmap(lambda x, m: update(x, m, torch))(torch.asarray(x)[None], torch.asarray(mask)[None])
        np.testing.assert_array_equal(result[0].numpy(), expected)


def test_jax_applies_and_raises_to_powers_by_traced_indices() -> None:
    import jax
    import jax.numpy as jnp

    # (-2)**2**0.5 is 2, not -2: exponents can't be multiplied first.
    power = jax.jit(lambda x, i, v: scatter.at(x)[i].power(v))
    result = power(jnp.asarray([-2.0, 3.0]), jnp.asarray([0, 0, 5]), jnp.asarray([2.0, 0.5, 1.0]))
    np.testing.assert_allclose(result, [2.0, 3.0])
    apply = jax.jit(lambda x, i: scatter.at(x)[i].apply(lambda y: y * y))
    np.testing.assert_allclose(apply(jnp.asarray([-2.0, 3.0]), jnp.asarray([0, 0, 5])), [16.0, 3.0])


def test_indices_that_are_known_are_checked_under_tracing() -> None:
    import jax

    with pytest.raises(IndexError, match="index 4"):
        jax.grad(lambda x: scatter.at(x)[jax.numpy.asarray([4])].set(1.0).sum())(jax.numpy.ones(4))
    with pytest.raises(IndexError, match="index 4"):
        jax.jit(lambda x: scatter.at(x)[4].set(1.0))(jax.numpy.ones(4))


# --- bad input ----------------------------------------------------------------------------------------------------


def other(library: Library, values: Any) -> Any:
    import torch

    return torch.asarray(values) if library.id == "numpy" else np.asarray(values)


def bad_calls(library: Library) -> dict[str, tuple[Any, type, str]]:
    """Name each kind of bad call: the call, the exception, and what the message must hold."""
    x = library.asarray(np.ones((4, 3)))
    i = library.asarray([0, 1])
    integers = library.asarray(np.ones(4, dtype="int16"))
    flags = library.asarray(np.ones(4, dtype=bool))
    z = library.asarray(np.ones(4, dtype="complex128"))
    at = scatter.at
    mask = library.asarray(np.ones(3, dtype=bool))
    long = library.asarray(np.ones(5))
    calls: dict[str, tuple[Any, type, str]] = {
        "list": (lambda: at([1.0, 2.0]), TypeError, "list"),
        "number": (lambda: at(1.0), TypeError, "float"),
        "two indices": (lambda: at(x)[0][1], TypeError, "index once"),
        "list as index": (lambda: at(x)[[0, 1]].set(1.0), TypeError, "index holds list"),
        "list in index": (lambda: at(x)[[0, 1], 0].set(1.0), TypeError, "index holds list"),
        "string": (lambda: at(x)["a"].set(1.0), TypeError, "index holds str"),
        "float": (lambda: at(x)[1.5].set(1.0), TypeError, "index holds float"),
        "float array": (lambda: at(x)[x].set(1.0), TypeError, "index must have an integer or boolean data type"),
        "slice of floats": (lambda: at(x)[0.5:].set(1.0), TypeError, "slice"),
        "slice without step": (lambda: at(x)[::0].set(1.0), ValueError, "step"),
        "too many": (lambda: at(x)[0, 0, 0].set(1.0), IndexError, "too many indices: index has 3 for the 2 axes"),
        "ellipses": (lambda: at(x)[..., ...].set(1.0), IndexError, "2 ellipses"),
        "mask": (lambda: at(x)[mask].set(1.0), IndexError, "the mask of shape (3,)"),
        "mask beside": (lambda: at(x)[mask, 0].set(1.0), IndexError, "the mask of shape (3,)"),
        "arrays that don't broadcast": (
            lambda: at(x)[i, library.asarray([0, 1, 2])].set(1.0),
            IndexError,
            "(2,), (3,)",
        ),
        "number out of bounds": (
            lambda: at(x)[0, 3].set(1.0),
            IndexError,
            "index 3 is out of bounds for axis 1 of size 3",
        ),
        "number too low": (lambda: at(x)[-5].get(), IndexError, "index -5 is out of bounds for axis 0 of size 4"),
        "clip to nothing": (
            lambda: at(x[:0, :])[i].set(1.0, mode="clip"),
            IndexError,
            "size is 0",
        ),
        "shape of values": (lambda: at(x)[i].set(long), ValueError, "(5,)"),
        "rank of values": (lambda: at(x)[i].set(x[:1, :][None, ...]), ValueError, "(1, 1, 3)"),
        "shape for slices": (lambda: at(x)[1:].add(long), ValueError, "(3, 3)"),
        "shape for a mask": (lambda: at(x)[x > 0, ...].set(x[:1, :][None, ...]), ValueError, "(1, 1, 3)"),
        "float into integers": (lambda: at(integers)[i].add(1.5), TypeError, "int16"),
        "floats into integers": (lambda: at(integers)[i].add(long[:2]), TypeError, "float64"),
        "integers into floats": (lambda: at(x)[i].add(integers[:3]), TypeError, "int16"),
        "complex into floats": (lambda: at(x)[i].set(1j), TypeError, "1j"),
        "bool into integers": (lambda: at(integers)[i].set(True), TypeError, "True"),
        "integer into bools": (lambda: at(flags)[i].set(1), TypeError, "bool"),
        "too large": (lambda: at(integers)[i].set(40_000), OverflowError, "40000"),
        "list of values": (lambda: at(x)[i].set([1.0]), TypeError, "values must be an array, got list"),
        "sum of bools": (lambda: at(flags)[i].add(True), TypeError, "x must have a numeric data type"),
        "minimum of complex": (lambda: at(z)[i].min(1.0), TypeError, "x must have a boolean or real-valued data type"),
        "division of integers": (
            lambda: at(integers)[i].divide(2),
            TypeError,
            "x must have a floating-point data type",
        ),
        "negative power of integers": (lambda: at(integers)[i].power(-1), ValueError, "values must not be negative"),
        "mode": (lambda: at(x)[i].set(1.0, mode="clamp"), ValueError, "'clip'"),
        "misspelt mode": (lambda: at(x)[i].get(mode="wrapp"), ValueError, "did you mean 'wrap'?"),
        "type of mode": (lambda: at(x)[i].apply(operator.neg, mode=3), TypeError, "mode must be one of"),
        "type of fill_value": (lambda: at(x)[i].get(fill_value="nan"), TypeError, "fill_value"),
        "shape of fill_value": (lambda: at(x)[i].get(fill_value=long), ValueError, "fill_value must be a scalar"),
        "kind of fill_value": (lambda: at(integers)[i].get(fill_value=0.5), TypeError, "fill_value"),
        "function": (lambda: at(x)[i].apply(3), TypeError, "function must be a function, got int"),
        "shape of function": (lambda: at(x)[:2].apply(lambda y: y[:1, :]), ValueError, "keep the shape"),
        "type of function": (lambda: at(integers)[:2].apply(lambda y: [1, 1]), TypeError, "the function's result"),
        "two libraries": (lambda: at(x)[i].set(other(library, 1.0)), TypeError, "one library"),
        "index of another library": (lambda: at(x)[other(library, [0, 1])].set(1.0), TypeError, "one library"),
    }
    if library.lazy:
        calls["raising"] = (lambda: at(x)[i].set(1.0, mode="raise"), ValueError, "mode='raise' needs the values")
    else:
        high, low = library.asarray([0, 4]), library.asarray([[-5]])
        message = "is out of bounds for axis 0 of size 4"
        for name in UPDATES:
            update = lambda index, name=name: getattr(at(x)[index], name)(1.0)
            calls[f"{name} too high"] = (lambda u=update: u(high), IndexError, f"index 4 {message}")
            calls[f"{name} too low"] = (lambda u=update: u((low, slice(1))), IndexError, f"index -5 {message}")
        calls["get"] = (lambda: at(x)[high, 0].get(), IndexError, f"index 4 {message}")
        calls["apply"] = (lambda: at(x)[high].apply(operator.neg), IndexError, f"index 4 {message}")
        calls["raising"] = (lambda: at(x)[high].set(1.0, mode="raise"), IndexError, f"index 4 {message}")
        calls["empty axis"] = (lambda: at(x[:0, :])[i].set(1.0), IndexError, "axis 0 of size 0")
        calls["negative powers of integers"] = (
            lambda: at(integers)[i].power(library.asarray([2, -1])),
            ValueError,
            "values must not be negative",
        )
        calls["index of no row"] = (lambda: at(x[:0, :])[i].get(), IndexError, "which takes none")
        few = library.asarray(np.asarray([True, False, True, False]))
        calls["number of values for a mask"] = (lambda: at(long[:4])[few].set(long[:3]), ValueError, "(3,)")
    return calls


def test_bad_input(library: Library) -> None:
    for name, (call, error, fragment) in bad_calls(library).items():
        try:
            call()
        except (TypeError, ValueError, IndexError, OverflowError) as raised:
            caught = raised
        else:
            pytest.fail(f"{name}: nothing was raised")
        assert type(caught) is error, f"{name}: {caught!r}"
        assert fragment in str(caught), f"{name}: {caught}"
        assert str(caught).startswith("at"), f"{name}: {caught}"


def test_two_devices() -> None:
    import array_api_strict as strict

    x, there = strict.ones(3), strict.Device("device1")
    with pytest.raises(ValueError, match="at.set: takes arrays on one device"):
        scatter.at(x)[0].set(strict.asarray(1.0, device=there))
    with pytest.raises(ValueError, match="at.set: takes arrays on one device"):
        scatter.at(x)[strict.asarray([0], device=there)].set(1.0)


def test_at_has_the_short_name_of_jax() -> None:
    assert scatter.At.mul is scatter.At.multiply


def test_at_is_immutable() -> None:
    at = scatter.at(np.ones(3))[0]
    with pytest.raises(AttributeError):
        at.index = 1  # type: ignore[misc]


def test_plugins() -> None:
    row = capabilities()["scatter.at"]
    assert {row[name] for name in ("numpy", "torch", "jax", "cupy")} == {"native"}
    assert row["dask"] == row["other"] == "generic"
    for name in ("numpy", "torch", "jax"):
        check_plugin(f"xpand_extensions.plugins.{name}")


@pytest.mark.parametrize("operation", UPDATES)
def test_jax_without_64_bit_types(operation: str) -> None:
    import jax
    import jax.numpy as jnp

    expected = updated(X.astype(np.float32), INDEX[IN_RANGE], operation, NEW[IN_RANGE])
    with jax.enable_x64(False):
        x, index, new = jnp.asarray(X), jnp.asarray(INDEX), jnp.asarray(NEW)
        update = lambda x, i, v: getattr(scatter.at(x)[i], operation)(v, mode="drop")
        np.testing.assert_allclose(update(x, index, new), expected, rtol=1e-6)
        np.testing.assert_allclose(jax.jit(update)(x, index, new), expected, rtol=1e-6)
        mask = x > 2
        np.testing.assert_array_equal(jax.jit(lambda x, m: scatter.at(x)[m].set(x[:2]))(x, mask), [1, 2, 1, 2])


def test_parameters_of_torch() -> None:
    import torch

    weight = torch.nn.Parameter(torch.ones(4))
    scatter.at(weight)[torch.asarray([0, 0, 7])].add(weight[:3], mode="drop").sum().backward()
    assert weight.grad.tolist() == [2, 2, 1, 1]
    with pytest.raises(IndexError, match="index 7"):
        scatter.at(weight)[torch.asarray([0, 0, 7])].set(0.0)


def test_masked_arrays_are_refused():
    """Their mask would be lost."""
    x = np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False])
    with pytest.raises(UnsupportedError, match=r"at: not available for numpy\.ma.*filled"):
        scatter.at(x)
    with pytest.raises(UnsupportedError, match="segment_sum: not available"):
        scatter.segment_sum(x, np.asarray([0, 0, 1]), num_segments=2)
    assert x.mask.tolist() == [False, True, False]
