"""Plans of calls: a call that was planned does what it does when it is made for the first time."""

import inspect
import itertools
import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import xpand
from tests.libraries import Library
from xpand_extensions import (
    arithmetic,
    bits,
    convolution,
    histograms,
    indexing,
    interpolation,
    linalg,
    named as hax,
    padding,
    pluggable,
    random,
    scatter,
    sorting,
    special,
    statistics,
    windows,
)
from xpand_extensions._dispatch import OPERATIONS
from xpand_extensions._plans import Memory, signature
from xpand_extensions.named import _products, _rearrange
from xpand_extensions.tracing._facades import Template

pytestmark = pytest.mark.usefixtures("own_operations")

X = np.asarray([3.0, 1.0, 2.0, 5.0, 4.0, 0.5])
INDEX = np.asarray([0, 2, 2, 5, 1, 4])
IDS = np.asarray([0, 0, 1, 1, 1, 2])
EDGES = np.asarray([0.0, 1.0, 2.0, 6.0])
KEY = np.asarray([0, 7], np.uint32)
MATRIX = np.asarray([[2.0, 0.0], [1.0, 4.0]])
SIGNAL, KERNEL = X[None, None], np.asarray([[[1.0, 2.0]]])

Given = tuple[tuple[Any, ...], dict[str, Any]]


def _add_at(x: Any, index: Any, values: Any, *, mode: Any = None) -> Any:
    return scatter.at(x)[index].add(values, mode=mode)


def _get_at(x: Any, index: Any, *, mode: Any = None) -> Any:
    return scatter.at(x)[index].get(mode=mode)


def _ravel(rows: Any, columns: Any, shape: Any, **options: Any) -> Any:
    return indexing.ravel_multi_index((rows, columns), shape, **options)


CALLS: dict[str, tuple[Callable[..., Any], Given]] = {
    "at.add": (_add_at, ((X, INDEX, X), {"mode": None})),
    "at.get": (_get_at, ((X, INDEX), {"mode": None})),
    "segment_sum": (scatter.segment_sum, ((X, IDS), {"num_segments": 3, "axis": 0, "mode": None})),
    "segment_max": (scatter.segment_max, ((X, IDS), {"num_segments": 3, "indices_are_sorted": True})),
    "segment_reduce": (scatter.segment_reduce, ((X, np.asarray([0, 2, 6])), {"operation": "add", "axis": 0})),
    "scatter": (scatter.scatter, ((X, INDEX, X), {"axis": 0, "operation": "add", "batch_dims": 0})),
    "scatter_nd": (scatter.scatter_nd, ((X, INDEX[:, None], X), {"axes": (0,), "operation": "set"})),
    "take": (indexing.take, ((X, INDEX), {"axis": 0, "mode": None, "fill_value": None})),
    "take_along_axis": (indexing.take_along_axis, ((X, INDEX), {"axis": 0})),
    "gather": (indexing.gather, ((X, INDEX), {"axis": 0, "batch_dims": 0})),
    "gather_nd": (indexing.gather_nd, ((X, INDEX[:, None]), {"batch_dims": 0, "axes": (0,)})),
    "unravel_index": (indexing.unravel_index, ((INDEX, (2, 3)), {"mode": "clip", "fill_value": 1})),
    "ravel_multi_index": (_ravel, ((IDS, IDS, (3, 4)), {"mode": None, "fill_value": -1})),
    "boolean_mask": (indexing.boolean_mask, ((X, X > 2), {"axis": 0, "size": 3, "fill_value": 0})),
    "nonzero": (indexing.nonzero, ((IDS,), {"size": 4, "fill_value": -1})),
    "repeat": (indexing.repeat, ((X, 2), {"axis": 0, "total_repeat_length": 9})),
    "quantile": (statistics.quantile, ((X, 0.5), {"axis": 0, "method": "linear", "keepdims": False})),
    "quantiles": (statistics.nanquantile, ((X, EDGES / 6), {"axis": 0, "keepdims": True})),
    "median": (statistics.median, ((X,), {"axis": 0, "keepdims": False})),
    "gradient": (statistics.gradient, ((X, 0.5), {"axis": 0, "edge_order": 1})),
    "lstsq": (linalg.lstsq, ((MATRIX, MATRIX), {"axis": -2, "rtol": 0.1})),
    "top_k": (sorting.top_k, ((X, 2), {"axis": 0, "largest": True})),
    "partition": (sorting.partition, ((X, 1), {"axis": 0})),
    "searchsorted": (sorting.searchsorted, ((EDGES, X), {"side": "left"})),
    "window_max": (windows.window_max, ((X, 2), {"axis": 0, "strides": 1, "padding": "valid"})),
    "window_mean": (windows.window_mean, ((X, (2,)), {"strides": (1,), "count_include_pad": True})),
    "sliding_window_view": (windows.sliding_window_view, ((X, 2), {"axis": 0})),
    "conv": (convolution.conv, ((SIGNAL, KERNEL), {"strides": 1, "padding": "valid", "feature_groups": 1})),
    "conv_transpose": (convolution.conv_transpose, ((SIGNAL, KERNEL), {"strides": 1, "output_padding": 0})),
    "convolve": (convolution.convolve, ((X, EDGES), {"mode": "full", "axes": 0, "method": "direct"})),
    "grid_sample": (interpolation.grid_sample, ((X[None, :, None], X[None, :, None]), {"extrapolation": "zeros"})),
    "interp": (interpolation.interp, ((X, EDGES, EDGES), {"left": 0.0, "right": 1, "period": None})),
    "pad": (padding.pad, ((X, 1), {"mode": "constant", "constant_values": 0, "interior": 0})),
    "bincount": (histograms.bincount, ((IDS,), {"length": 3, "mode": None})),
    "histogram": (histograms.histogram, ((X, 3), {"range": (0.0, 6.0), "density": False})),
    "histogram of edges": (histograms.histogram, ((X, EDGES), {"density": False})),
    "digitize": (histograms.digitize, ((X, EDGES), {"right": False})),
    "expm": (linalg.expm, ((MATRIX,), {})),
    "lu_factor": (linalg.lu_factor, ((MATRIX,), {})),
    "pivoted_qr": (linalg.pivoted_qr, ((MATRIX,), {"mode": "complete"})),
    "schur": (linalg.schur, ((MATRIX,), {})),
    "sqrtm": (linalg.sqrtm, ((MATRIX,), {})),
    "triangular_solve": (linalg.triangular_solve, ((MATRIX, MATRIX), {"lower": True, "transpose": False})),
    "einsum": (linalg.einsum, (("ij,jk->ik", MATRIX, MATRIX), {"optimize": False})),
    "einsum of one": (linalg.einsum, (("ij->j", MATRIX), {"optimize": True})),
    "einsum of three": (linalg.einsum, (("ij,kj,i->k", MATRIX, MATRIX, X[:2]), {"optimize": False})),
    "triangular_solve of a vector": (linalg.triangular_solve, ((MATRIX, X[:2]), {"unit_diagonal": False})),
    "kron": (linalg.kron, ((MATRIX, MATRIX), {})),
    "quotient": (arithmetic.quotient, ((IDS, 2), {})),
    "divide_no_nan": (arithmetic.divide_no_nan, ((1.5, X), {})),
    "shift_left": (bits.shift_left, ((IDS, INDEX), {})),
    "xlogy": (special.xlogy, ((X, 2.0), {})),
    "gammainc": (special.gammainc, ((2, X), {})),
    "logsumexp": (special.logsumexp, ((X,), {"axis": 0, "keepdims": False, "b": X})),
    "logsumexp without weights": (special.logsumexp, ((X,), {"axis": 0, "keepdims": False})),
    "at.add of a number": (_add_at, ((X, INDEX, 1), {"mode": None})),
    "take with a value to fill in": (indexing.take, ((IDS, INDEX), {"mode": "fill", "fill_value": 7})),
    "pareto": (random.pareto, ((KEY, 2.5), {"shape": (3,), "dtype": None})),
    "uniform": (random.uniform, ((KEY, (3,), "float32"), {"minval": -1, "maxval": 2.0})),
    "diagonal": (linalg.diagonal, ((MATRIX,), {"offset": 0, "axis1": 0, "axis2": 1})),
}


def _others(value: Any) -> list[Any]:
    """List values that may be taken for a value, or are near it: most of them are wrong."""
    if isinstance(value, np.ndarray):
        wider = value.astype(np.int32 if value.dtype.kind == "i" else np.float32)
        return [wider, value + 0j, value[None], value[:-1], value > 0, 0 - value, 100 * value, value.tolist(), None]
    if isinstance(value, bool):
        return [not value, int(value), float(value), None]
    if isinstance(value, int):
        return [bool(value), float(value), -1 - value, value + 7, np.int64(value), str(value), None, (value,), [value]]
    if isinstance(value, float):
        return [-value, int(value), value + 1, "0"]
    if isinstance(value, tuple):
        return [list(value), tuple(map(float, value)), tuple(map(bool, value)), (*value, 0), value[0]]
    return ["raise", "clip", "wrap", "fill", "same", "max", 1, True] if value is None else [value + "?", None, 1]


def _variants(given: Given) -> Iterator[Given]:
    """Change one argument at a time."""
    args, kwargs = given
    for i, value in enumerate(args):
        for other in _others(value):
            yield (*args[:i], other, *args[i + 1 :]), kwargs
    for name, value in kwargs.items():
        for other in _others(value):
            yield args, {**kwargs, name: other}


def _on(library: Library, given: Given) -> Given:
    args, kwargs = given
    converted = [library.asarray(x) if isinstance(x, np.ndarray) else x for x in (*args, *kwargs.values())]
    return tuple(converted[: len(args)]), dict(zip(kwargs, converted[len(args) :]))


def _forget() -> None:
    for operation in OPERATIONS.values():
        operation.forget_types()


def _outcome(library: Library, function: Callable[..., Any], given: Given) -> Any:
    """Return the results as NumPy's arrays, or the error."""
    args, kwargs = given
    try:
        found = function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error)
    return [library.to_numpy(x) for x in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("name", CALLS)
def test_a_planned_call_does_what_a_first_one_does(library: Library, name: str) -> None:
    function, given = CALLS[name]
    good = _on(library, given)
    variants = list(_variants(given))
    if library.id.startswith(("jax", "dask")):  # the shapes that are right compile; those of options are mostly wrong
        variants = [(args, kwargs) for args, kwargs in variants if kwargs is not given[1]]
    variants = [_on(library, variant) for variant in variants]
    first = []
    with np.errstate(all="ignore"):
        for variant in variants:
            _forget()
            first.append(_outcome(library, function, variant))
        for _ in range(2):  # all are planned, then all are found
            assert not isinstance(_outcome(library, function, good), tuple)
            for variant, expected in zip(variants, first, strict=True):
                found = _outcome(library, function, variant)
                if isinstance(expected, tuple):
                    assert found == expected
                else:
                    np.testing.assert_equal(found, expected)


def test_plans_are_kept_for_libraries_whose_types_decide(library: Library) -> None:
    operation = OPERATIONS["xpand_extensions.sorting.top_k"]
    _forget()
    sorting.top_k(library.asarray(X), 2)
    wrapped = xpand.library_name(library.xp) in xpand.wrapped_libraries()
    assert len(operation.plans) == wrapped


def _checked() -> tuple[Any, list[Any]]:
    """Make a facade, and the list of what its check was called with."""
    calls = []

    def check(function: str, x: Any, *options: Any) -> tuple[Any, ...]:
        calls.append(options)
        return options

    @pluggable
    def doubled(x: Any, *options: Any) -> Any:
        implementation, *_ = doubled.planned(check, (x,), *options)
        return implementation(x)

    doubled.default(lambda x: x + x)
    return doubled, calls


EQUAL = [1, True, 1.0, 1 + 0j, np.int64(1), (1,), (True,), [1], (1.0,), ((1,),), ("1",), "1", 0.0, -0.0, 0, False]


def test_equal_options_of_other_types_have_plans_of_their_own() -> None:
    doubled, calls = _checked()
    x = np.ones(2)
    for option in EQUAL:
        doubled(x, option)
    assert [(type(option), repr(option)) for (option,) in calls] == [(type(o), repr(o)) for o in EQUAL]
    for option in EQUAL:
        doubled(x, option)
    assert [type(option) for (option,) in calls[len(EQUAL) :]] == [np.int64]  # all others are found


def test_what_may_change_is_asked_each_time() -> None:
    doubled, calls = _checked()
    axis = torch.tensor(0)
    for expected in (0, 1):
        axis.fill_(expected)
        doubled(np.ones(2), axis)
        assert int(calls[-1][0]) == expected
    assert len(calls) == 2


def test_signatures_tell_arrays_apart() -> None:
    arrays = [np.ones(2), np.ones(3), np.ones((2, 1)), np.ones(2, np.float32), np.float64(1.0), torch.ones(2)]
    arrays += [jnp.ones(2), torch.ones(2, device="meta")]
    assert len({signature((x, None), ()) for x in arrays}) == len(arrays)
    assert signature((X, X), (1,)) == signature((X + 1, X), (1,)) != signature((X, None), (1,))


def test_numbers_of_one_size_share_a_plan() -> None:
    assert signature((X, 1.5), ()) == signature((X, -0.0), ()) != signature((X, 1), ())
    assert signature((X, 5), ()) == signature((X, 7), ()) != signature((X, 8), ())
    assert signature((X, -8), ()) == signature((X, -5), ()) != signature((X, 5), ())
    assert len({signature((X, x), ()) for x in (0, -1, 1, True, 1.0, 1j, None)}) == 7


@pytest.mark.parametrize("low", [0, 1])
def test_an_integer_that_does_not_fit_is_refused_after_one_that_does(library: Library, low: int) -> None:
    x = library.xp.asarray([1, 2], dtype=library.xp.uint8 if low else library.xp.int8)
    bound = 256 if low else 128
    bits.shift_left(x, bound - 1)
    arithmetic.quotient(x, bound // 2)
    for number in (bound, -low or -bound - 1, 2**70):
        with pytest.raises(OverflowError, match="fit"):
            arithmetic.quotient(x, number)


def test_data_types_are_options_of_plans() -> None:
    doubled, calls = _checked()
    dtypes = [np.float32, np.dtype(np.float32), torch.float32, jnp.float32, np.float64, "float32"]
    for xp, dtype in zip((np, np, torch, jnp, np), dtypes):
        xpand.extend.checks.kind(xpand.namespace(xp.__name__.partition(".")[0]), dtype)
    for dtype in [*dtypes, *dtypes]:
        doubled(np.ones(2), dtype)
    assert len(calls) == len(dtypes)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memory, "most", 3)
    doubled, _ = _checked()
    for size in range(10):
        doubled(np.ones(size))
    assert len(OPERATIONS[f"{__name__}.doubled"].plans) <= 3


def test_register_takes_effect_at_once() -> None:
    doubled, calls = _checked()
    x = np.ones(2)
    assert doubled(x).tolist() == [2.0, 2.0]
    doubled.register("numpy")(lambda x: x - x)
    assert doubled(x).tolist() == [0.0, 0.0]
    assert len(calls) == 2


def test_a_plan_made_while_one_registers_is_dropped() -> None:
    doubled, _ = _checked()
    x = np.ones(2)

    def check(function: str, x: Any) -> tuple[Any, ...]:
        doubled.register("numpy")(lambda x: x - x)
        return ()

    operation = OPERATIONS[f"{__name__}.doubled"]
    before = operation.plans
    doubled.planned(check, (x,))
    assert len(before) == 1
    assert operation.plans is not before
    assert not operation.plans


def test_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Memory, "most", 5)  # so that it is cleared all the time
    doubled, _ = _checked()
    start = threading.Barrier(8)

    def call(number: int) -> None:
        start.wait()
        for i in range(200):
            x = np.full(1 + (i * number) % 11, 2.0)
            assert doubled(x, i % 7).tolist() == [4.0] * len(x)
            if i % 50 == 0:
                doubled.register("numpy")(lambda x: 2 * x)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, range(8)))


def test_whether_values_are_known_is_asked_each_time() -> None:
    for asarray, vmap in ((torch.asarray, torch.func.vmap), (jnp.asarray, jax.vmap)):
        x, ids = asarray(X), asarray(IDS)
        assert scatter.segment_sum(x, ids).shape == (3,)
        assert indexing.take(x, ids).shape == (6,)
        with pytest.raises(ValueError, match="num_segments must be given"):
            vmap(scatter.segment_sum)(x[None], ids[None])
        assert bool(xpand.array_namespace(x).isnan(vmap(indexing.take)(x[None], ids[None] + 100)).all())
        with pytest.raises(IndexError):
            indexing.take(x, ids + 100)


@pytest.mark.parametrize("called_before", [False, True])
def test_torch_compile(called_before: bool) -> None:
    _forget()
    x, ids = torch.asarray(X), torch.asarray(IDS)

    def function(x: Any, ids: Any) -> Any:
        taken = indexing.take(x, ids, axis=0, mode="clip")
        return sorting.top_k(scatter.segment_sum(taken, ids, num_segments=3), 2).values + windows.window_max(x, (5,))

    expected = function(x, ids) if called_before else None
    graphs = []
    torch.compiler.reset()
    compiled = torch.compile(function, fullgraph=True, backend=lambda graph, _: graphs.append(graph) or graph)
    found = compiled(x, ids)
    sorting.top_k(torch.asarray(X[:4]), 3)  # another plan
    assert compiled(x + 1.0, ids).shape == found.shape
    if called_before:  # else implementations have been found in between
        assert len(graphs) == 1
    torch.testing.assert_close(found, function(x, ids) if expected is None else expected)


NAMED: dict[str, Callable[[Any, Any], Any]] = {
    "dot": lambda x, axis: hax.dot(x, x, axis=axis),
    "einsum": lambda x, axis: hax.einsum("{a} -> ", x, a=axis),
    "sum": lambda x, axis: hax.sum(x, axis),
    "var": lambda x, axis: hax.var(x, axis),
    "rearrange": lambda x, axis: hax.rearrange(x, (..., axis)),
    "take": lambda x, axis: hax.take(x, axis, 0),
    "flip": lambda x, axis: hax.flip(x, axis),
    "sort": lambda x, axis: hax.sort(x, axis),
    "broadcast_axis": lambda x, axis: hax.broadcast_axis(x, axis),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_named_call_does_after_others_what_it_does_first(name: str) -> None:
    """Names, right sizes and wrong sizes select an axis. Only calls with other data types or layouts come between."""
    call = NAMED[name]
    x = np.arange(6.0).reshape(2, 3)
    arrays = [hax.named(x, ("a", "b")), hax.named(x.T, ("a", "b")), hax.named(x.astype(np.float32), ("b", "a"))]
    calls = [(array, axis) for array in arrays for axis in ("a", hax.Axis("a", 2), hax.Axis("a", 3), "c")]

    def outcome(array: Any, axis: Any) -> Any:
        try:
            found = call(array, axis)
        except Exception as error:
            return type(error), str(error)
        return found.names, found.array.dtype, found.array.tolist()

    alone = []
    for each in calls:
        for memory in (_products._PRODUCTS, _products._EINSUMS, _rearrange._REARRANGEMENTS, _rearrange._ORDERS):
            memory.clear()
        alone.append(outcome(*each))
    numbers = range(len(calls))
    for i in (*numbers, *numbers[::-1], *numbers):
        assert outcome(*calls[i]) == alone[i], calls[i]


def test_templates_of_calls_differ_like_their_numbers() -> None:
    """A template is part of keys: what is known about a call with 1 must not be used for one with True."""

    def of(number: object) -> Template:
        return Template.of(inspect.signature(indexing.take), (X, X), {"fill_value": number})[0]

    numbers = [1, True, 1.0, 1j, 0.0, -0.0, 0, False, math.nan, None]
    for (i, first), (j, second) in itertools.product(enumerate(numbers), repeat=2):
        assert (of(first) == of(second)) is (i == j), (first, second)
