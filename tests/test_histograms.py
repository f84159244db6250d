"""Counts and histograms: every library against NumPy, transformations, bad input."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.laziness import nothing_computed
from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from xpand_extensions import histograms

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REAL_VALUED = [*INTEGERS, "float32", "float64"]


def by_row(function: Callable[..., np.ndarray], x: np.ndarray, *others: np.ndarray | None) -> np.ndarray:
    """Apply a function of one row to all; of the other arrays each has as many rows, or one for all."""
    if x.ndim == 1:
        return function(x, *others)
    rows = [tuple(o if o is None or o.ndim == 1 else o[i] for o in others) for i in range(len(x))]
    return np.stack([function(row, *other) for row, other in zip(x, rows)])


def reference_bincount(x: np.ndarray, weights: np.ndarray | None, length: int) -> np.ndarray:
    """Count one by one, in the data type of the weights."""

    def count(row: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        out = np.zeros(length, dtype=np.int64 if weights is None else weights.dtype)
        np.add.at(out, row.astype(np.int64), np.int64(1) if weights is None else weights)
        return out

    return by_row(count, x, weights)


def examples(library: Library) -> int:
    return 6 if library.lazy or library.id == "jax" else 25


@st.composite
def shapes(draw: st.DrawFn, least: int = 0) -> tuple[int, ...]:
    return (*draw(st.sampled_from([(), (), (1,), (3,)])), draw(st.integers(least, 12)))


def drawn(draw: st.DrawFn, shape: tuple[int, ...], elements: st.SearchStrategy[Any], dtype: str) -> np.ndarray:
    count = int(np.prod(shape))
    return np.asarray(draw(st.lists(elements, min_size=count, max_size=count)), dtype=dtype).reshape(shape)


def test_bincount(library: Library) -> None:
    @settings(max_examples=examples(library))
    @given(st.data())
    def run(data: st.DataObject) -> None:
        x = drawn(data.draw, data.draw(shapes()), st.integers(0, 5), data.draw(st.sampled_from(INTEGERS)))
        kind = data.draw(st.sampled_from([None, "float32", "float64", "complex128", "int64", "uint8"]))
        weights = None if kind is None else drawn(data.draw, x.shape, st.integers(0, 9), kind)
        arguments = {} if weights is None else {"weights": library.asarray(weights)}
        result = histograms.bincount(library.asarray(x), length=7, **arguments)
        library.assert_equal(result, reference_bincount(x, weights, 7))
        if not library.lazy:
            least = data.draw(st.integers(0, 8))
            length = max(int(x.astype(np.int64).max(initial=-1)) + 1, least)
            result = histograms.bincount(library.asarray(x), minlength=least, **arguments)
            library.assert_equal(result, reference_bincount(x, weights, length))

    run()


@pytest.mark.parametrize("mode", ["drop", "fill", "clip", "wrap"])
def test_bincount_modes(library: Library, mode: str) -> None:
    signed = np.asarray([[-1, 0, 3, 1], [2, 2, -4, 5]])
    unsigned = np.asarray([2**64 - 1, 0, 3, 2**63], dtype=np.uint64)
    for x in (signed, signed[0], unsigned):
        move = {"clip": lambda i: min(max(i, 0), 2), "wrap": lambda i: i % 3}.get(mode, lambda i: i)
        moved = np.asarray([move(int(i)) for i in x.reshape(-1)], dtype=object).reshape(x.shape)
        expected = np.stack([(moved == i).sum(axis=-1) for i in range(3)], axis=-1).astype(np.int64)
        library.assert_equal(histograms.bincount(library.asarray(x), length=3, mode=mode), expected)
        weights = np.broadcast_to([0.5, 1.0, 2.0, 4.0], x.shape)
        expected = np.stack([((moved == i) * weights).sum(axis=-1) for i in range(3)], axis=-1)
        result = histograms.bincount(library.asarray(x), weights=library.asarray(weights[..., :]), length=3, mode=mode)
        library.assert_equal(result, expected.astype(np.float64))


@pytest.mark.parametrize(("mode", "expected"), [("drop", [1, 0, 1]), ("clip", [3, 0, 1]), ("wrap", [1, 2, 1])])
def test_bincount_modes_without_a_length(eager_library: Library, mode: str, expected: list[int]) -> None:
    x = eager_library.asarray([-2, 2, 0, -5])
    eager_library.assert_equal(histograms.bincount(x, mode=mode), np.asarray(expected))
    eager_library.assert_equal(histograms.bincount(x[:0], minlength=2, mode=mode), np.asarray([0, 0]))
    with pytest.raises(IndexError, match="length is 0"):
        histograms.bincount(x[:1], mode="clip")


@pytest.mark.parametrize(("values", "fragment"), [([0, 3], "x holds 3, .* length=3"), ([0, -1], "x holds -1")])
def test_bincount_out_of_bounds(eager_library: Library, values: list[int], fragment: str) -> None:
    x = eager_library.asarray(values)
    for arguments in ({}, {"weights": eager_library.asarray([1.0, 2.0])}):
        with pytest.raises(IndexError, match=f"bincount: {fragment}"):
            histograms.bincount(x, length=3, **arguments)
        with pytest.raises(IndexError, match=f"bincount: {fragment}"):
            histograms.bincount(x, length=3, mode="raise", **arguments)
        if min(values) < 0:
            with pytest.raises(IndexError, match=f"bincount: {fragment}"):
                histograms.bincount(x, **arguments)


def test_large_integer_weights_are_exact(library: Library) -> None:
    weights = np.asarray([2**60 + 1, 2**60 + 1, 3])
    result = histograms.bincount(library.asarray([0, 0, 1]), weights=library.asarray(weights), length=2)
    library.assert_equal(result, np.asarray([2**61 + 2, 3]))


@pytest.mark.parametrize("uniform", [True, False])
def test_histogram(library: Library, uniform: bool) -> None:
    @settings(max_examples=examples(library))
    @given(st.data())
    def run(data: st.DataObject) -> None:
        dtype = data.draw(st.sampled_from(REAL_VALUED))
        shape = data.draw(shapes())
        # Multiples of a tenth lie on edges, or beside them as rounding has it.
        elements = st.integers(0 if dtype[0] == "u" else -12, 12)
        real = dtype[0] == "f"
        x = drawn(data.draw, shape, elements.map(lambda i: i / 10) if real else elements, dtype)
        if real and data.draw(st.booleans()) and x.size:
            x[..., 0] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf]))
        weights = None
        if data.draw(st.booleans()):
            weights = drawn(data.draw, shape, st.integers(-9, 9), data.draw(st.sampled_from(["float64", "int64"])))
        arguments = {} if weights is None else {"weights": library.asarray(weights)}
        if uniform:
            bins = data.draw(st.integers(1, 30))
            low = data.draw(st.integers(-12, 12)) / 10
            range_ = (low, low + data.draw(st.integers(0, 12)) / 10)
            result = histograms.histogram(library.asarray(x), bins, range=range_, **arguments)
            edges = np.histogram_bin_edges(x, bins, range=range_)
        else:
            steps = drawn(data.draw, (4,), st.integers(0, 7), "int64")
            edges = np.cumsum(steps).astype(dtype) if not real else (np.cumsum(steps) / 10 - 1).astype(dtype)
            result = histograms.histogram(library.asarray(x), library.asarray(edges), **arguments)
        library.assert_equal(result.edges, edges)
        given = (bins, range_) if uniform else (edges, None)
        count = lambda row, weights: np.histogram(row, *given, weights=weights)[0]
        library.assert_equal(result.hist, by_row(count, x, weights))

    run()


def test_range_of_the_values(library: Library) -> None:
    @settings(max_examples=examples(library))
    @given(st.data())
    def run(data: st.DataObject) -> None:
        dtype = data.draw(st.sampled_from(REAL_VALUED))
        shape = data.draw(shapes())
        x = drawn(data.draw, shape, st.integers(0, 100).map(lambda i: i / 7 if dtype[0] == "f" else i), dtype)
        bins = data.draw(st.integers(1, 12))
        hist, edges = histograms.histogram(library.asarray(x), bins)
        expected = by_row(lambda row: np.histogram_bin_edges(row, bins), x)
        rtol = 1e-6 if dtype == "float32" else 1e-14
        library.assert_equal(edges, expected, rtol=rtol, atol=rtol)  # the last digit is each library's own
        library.assert_equal(histograms.histogram_bin_edges(library.asarray(x), bins), library.to_numpy(edges))
        found = np.asarray(library.to_numpy(edges))
        library.assert_equal(hist, by_row(lambda row, e: np.histogram(row, e)[0], x, found))

    run()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_edges_of_many_bins_are_exact(eager_library: Library, dtype: str) -> None:
    # Every edge, and the numbers next to it on both sides: arithmetic alone would err on many of them.
    # (None is 0, whose neighbours JAX takes for 0 themselves.)
    edges = np.linspace(0.3, 1.9, 1001).astype(dtype)
    x = np.concatenate([edges, np.nextafter(edges, dtype_of(dtype, -9)), np.nextafter(edges, dtype_of(dtype, 9))])
    hist, found = histograms.histogram(eager_library.asarray(x), 1000, range=(0.3, 1.9))
    expected, _ = np.histogram(x, 1000, range=(0.3, 1.9))
    eager_library.assert_equal(found, edges)
    eager_library.assert_equal(hist, np.histogram(x, edges)[0])
    eager_library.assert_equal(hist, expected)


def dtype_of(dtype: str, value: float) -> Any:
    return np.dtype(dtype).type(value)


def test_many_values(eager_library: Library) -> None:
    x = np.random.default_rng(0).normal(size=50_000)
    hist, edges = histograms.histogram(eager_library.asarray(x), 37)
    eager_library.assert_equal(edges, np.histogram_bin_edges(x, 37), rtol=1e-13, atol=1e-14)
    eager_library.assert_equal(hist, np.histogram(x, np.asarray(eager_library.to_numpy(edges)))[0])
    hist, _ = histograms.histogram(eager_library.asarray(x), 37, range=(-1, 2))
    eager_library.assert_equal(hist, np.histogram(x, 37, range=(-1, 2))[0])


def test_mixed_kinds(library: Library) -> None:
    x, edges = np.asarray([0, 1, 2, 5]), np.asarray([0.5, 1.0, 2.5])
    hist, found = histograms.histogram(library.asarray(x), library.asarray(edges))
    library.assert_equal(hist, np.histogram(x, edges)[0])
    library.assert_equal(found, edges)
    hist, found = histograms.histogram(library.asarray(edges), library.asarray(x))
    library.assert_equal(hist, np.histogram(edges, x)[0])
    library.assert_equal(found, x.astype(float))


def test_a_number_of_bins_of_numpy(library: Library) -> None:
    x = np.asarray([0.0, 1.0, 2.0, 4.0])
    library.assert_equal(histograms.histogram(library.asarray(x), np.int64(3)).edges, np.histogram(x, 3)[1])
    with pytest.raises(TypeError, match="histogram: bins must be an integer"):
        histograms.histogram(library.asarray(x), np.float64(3.0))


def test_density(library: Library) -> None:
    x = np.asarray([[0.0, 0.5, 2.0, 2.0], [9.0, 9.0, 9.0, 9.0]])
    edges = np.asarray([0.0, 1.0, 1.0, 3.0])
    density = histograms.histogram(library.asarray(x), library.asarray(edges), density=True).hist
    nan = np.nan
    library.assert_equal(density, np.asarray([[0.5, nan, 0.25], [nan, nan, nan]]))
    weights = np.asarray([1.0, 1.0, 3.0, 3.0])
    weighted = histograms.histogram(
        library.asarray(x[:1]), 4, range=(0, 4), weights=library.asarray(weights), density=True
    )
    library.assert_equal(weighted.hist, np.asarray([[0.25, 0.0, 0.75, 0.0]]))


@pytest.mark.parametrize("density", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_histogramdd(library: Library, density: bool, weighted: bool) -> None:
    rng = np.random.default_rng(0)
    sample = rng.normal(size=(2, 40, 3)).round(1)
    edges = np.asarray([-1.0, 0.0, 0.3, 2.0])
    weights = rng.uniform(size=(2, 40)) if weighted else None
    bins, range_ = (3, edges, 4), ((-2.0, 1.0), None, None)
    result = histograms.histogramdd(
        library.asarray(sample),
        (3, library.asarray(edges), 4),
        range=range_,
        weights=None if weights is None else library.asarray(weights),
        density=density,
    )
    expected = [
        np.histogramdd(s, bins, range=range_, weights=None if weights is None else weights[i], density=density)
        for i, s in enumerate(sample)
    ]
    hist = np.stack([e[0] for e in expected])
    hist = hist.astype(np.int64) if weights is None and not density else hist
    library.assert_equal(result.hist, hist, rtol=1e-12, atol=1e-14)
    library.assert_equal(result.edges[1], edges)
    library.assert_equal(result.edges[2], np.stack([e[1][2] for e in expected]), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("right", [True, False])
def test_digitize(library: Library, right: bool) -> None:
    @settings(max_examples=examples(library))
    @given(st.data())
    def run(data: st.DataObject) -> None:
        dtype = data.draw(st.sampled_from(REAL_VALUED))
        x = drawn(data.draw, data.draw(st.sampled_from([(), (3,), (2, 4)])), st.integers(0, 6), dtype)
        edges = np.sort(drawn(data.draw, (data.draw(st.integers(0, 4)),), st.integers(0, 6), dtype))
        if dtype[0] == "f" and x.ndim:
            x[..., 0] = np.nan
        for ordered in (edges, edges[::-1]):
            expected = np.digitize(x, ordered, right)
            library.assert_equal(
                histograms.digitize(library.asarray(x), library.asarray(ordered), right=right), expected
            )

    run()


X = np.asarray([[0.05, 1.0, 2.5, 2.9, 4.0], [0.25, 0.3, 1.5, 3.7, 9.0]])
IDS = np.asarray([[0, 2, 2, 1, 7], [1, 1, 0, 2, 2]])
W = np.asarray([[1.0, -2.0, 0.5, 3.0, 1.0], [2.0, 2.0, 1.5, -1.0, 4.0]])
EDGES = np.asarray([0.0, 1.0, 2.0, 4.0])


def rows_of_histograms(bins: Any, **options: Any) -> Callable[..., np.ndarray]:
    return lambda x, w=None: by_row(lambda r, u: np.histogram(r, bins, weights=u, **options)[0], x, w)


CASES = {
    "bincount": Case(
        lambda x: histograms.bincount(x, length=3, mode="drop"),
        (IDS,),
        lambda x: by_row(lambda r: np.bincount(r[r < 3], minlength=3), x),
    ),
    "bincount, weighted": Case(
        lambda x, w: histograms.bincount(x, weights=w, length=8),
        (IDS, W),
        lambda x, w: by_row(lambda r, u: np.bincount(r, u, 8), x, w),
        differentiable=(1,),
    ),
    "histogram": Case(
        lambda x: histograms.histogram(x, 4, range=(0, 4)),
        (X,),
        lambda x: (rows_of_histograms(4, range=(0, 4))(x), np.linspace(0, 4, 5)),
    ),
    "histogram, weighted": Case(
        lambda x, w: histograms.histogram(x, 4, range=(0, 4), weights=w).hist,
        (X, W),
        rows_of_histograms(4, range=(0, 4)),
        differentiable=(1,),
    ),
    "density": Case(
        lambda x, w: histograms.histogram(x, 4, range=(0, 10), weights=w, density=True).hist,
        (X, W),
        rows_of_histograms(4, range=(0, 10), density=True),
        differentiable=(1,),
        rtol=1e-11,
    ),
    "range of the values": Case(lambda x: histograms.histogram(x, 5).hist, (X,), rows_of_histograms(5)),
    "edges": Case(
        lambda x: histograms.histogram_bin_edges(x, 3),
        (X[:, :4],),
        lambda x: np.stack([np.histogram_bin_edges(r, 3) for r in x]),
        differentiable=(0,),
    ),
    "given edges": Case(
        lambda x, w: histograms.histogram(x, _const(x, (0.0, 1.0, 2.0, 4.0)), weights=w).hist,
        (X, W),
        rows_of_histograms(EDGES),
        differentiable=(1,),
    ),
    "several dimensions": Case(
        lambda x, w: histograms.histogramdd(x, (2, 3), range=((0, 4), (0, 9)), weights=w).hist,
        (X.T[:, ::-1].copy(), W[0]),
        lambda x, w: np.histogramdd(x, (2, 3), range=((0, 4), (0, 9)), weights=w)[0],
        differentiable=(1,),
    ),
    "digitize": Case(
        lambda x: histograms.digitize(x, _const(x, (4.0, 2.0, 1.0, 0.0))), (X,), lambda x: np.digitize(x, EDGES[::-1])
    ),
}


def _const(x: Any, values: tuple[float, ...]) -> Any:
    from xpand import _arguments, array_namespace

    xp = array_namespace(x)
    return xp.asarray(list(values), dtype=xp.float64, device=_arguments.device_of(x))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


def test_dask_stays_lazy() -> None:
    import dask.array as da

    x, ids = da.from_array(X, chunks=(1, 2)), da.from_array(IDS, chunks=(2, 3))
    with nothing_computed():
        counts = histograms.bincount(ids, length=4)
        hist, edges = histograms.histogram(x, 5)
    np.testing.assert_array_equal(np.asarray(counts), [[1, 1, 2, 0], [1, 2, 2, 0]])
    np.testing.assert_array_equal(np.asarray(hist), rows_of_histograms(5)(X))
    np.testing.assert_allclose(np.asarray(edges), np.stack([np.histogram_bin_edges(r, 5) for r in X]))


def test_integers_without_64_bit_types() -> None:
    import jax

    with jax.enable_x64(False):
        hist, edges = histograms.histogram(jax.numpy.asarray([1, 2, 4]), 3)
        counts = jax.jit(lambda x: histograms.bincount(x, length=3))(jax.numpy.asarray([1, 1, 200], dtype="uint8"))
    assert (hist.tolist(), edges.tolist(), counts.tolist()) == ([1, 1, 1], [1.0, 2.0, 3.0, 4.0], [0, 2, 0])
    assert edges.dtype == "float32"


BAD = {
    "a list": ("bincount", lambda f, x, i: f([1]), TypeError, "x must be an array"),
    "real": ("bincount", lambda f, x, i: f(x), TypeError, "x must have an integer data type"),
    "0-d": ("bincount", lambda f, x, i: f(i[0, ...]), ValueError, "at least one axis"),
    "minlength": ("bincount", lambda f, x, i: f(i, minlength=-1), ValueError, "minlength must be at least 0"),
    "length": ("bincount", lambda f, x, i: f(i, length=1.5), TypeError, "length must be an integer"),
    "both": ("bincount", lambda f, x, i: f(i, length=4, minlength=4), ValueError, "takes minlength or length"),
    "mode": ("bincount", lambda f, x, i: f(i, length=4, mode="dropp"), ValueError, "did you mean 'drop'"),
    "nowhere": ("bincount", lambda f, x, i: f(i, length=0, mode="clip"), IndexError, "length is 0"),
    "weights": ("bincount", lambda f, x, i: f(i, weights=x[:2]), ValueError, "weights must have a shape"),
    "bool weights": ("bincount", lambda f, x, i: f(i, weights=x > 1), TypeError, "weights must have a numeric"),
    "complex": ("histogram", lambda f, x, i: f(x + 1j), TypeError, "integer or real floating-point"),
    "no bins": ("histogram", lambda f, x, i: f(x, 0), ValueError, "bins must be at least 1"),
    "bins": ("histogram", lambda f, x, i: f(x, [0.0, 1.0]), TypeError, "bins must be an integer"),
    "one edge": ("histogram", lambda f, x, i: f(x, x[:1]), ValueError, "at least two"),
    "rows of edges": ("histogram", lambda f, x, i: f(x, np.ones((2, 2))), ValueError, "with the leading axes of x"),
    "descending": ("histogram", lambda f, x, i: f(x, x[::-1]), ValueError, "edges must be in ascending order"),
    "NaN edges": ("histogram", lambda f, x, i: f(x, x * np.nan), ValueError, "edges must be in ascending order"),
    "edges of bool": ("histogram", lambda f, x, i: f(x, x > 1), TypeError, "bins must have an integer or real"),
    "range and edges": (
        "histogram",
        lambda f, x, i: f(x, x, range=(0, 1)),
        ValueError,
        "range is for a number of bins",
    ),
    "range": ("histogram", lambda f, x, i: f(x, 3, range=1), TypeError, "range must be a pair"),
    "infinite": ("histogram", lambda f, x, i: f(x, 3, range=(0, np.inf)), ValueError, "range must be finite"),
    "backwards": ("histogram", lambda f, x, i: f(x, 3, range=(1, 0)), ValueError, "range must be finite, the lower"),
    "NaN": ("histogram", lambda f, x, i: f(x * np.nan), ValueError, "is not finite; give a range"),
    "too narrow": (
        "histogram",
        lambda f, x, i: f(np.asarray([1.0, np.nextafter(1.0, 2.0)]), 9),
        ValueError,
        "room for 9 bins",
    ),
    "density": ("histogram", lambda f, x, i: f(x, density=1), TypeError, "density must be True or False"),
    "edges only": ("histogram_bin_edges", lambda f, x, i: f(x, x), TypeError, "bins must be an integer"),
    "one axis": ("histogramdd", lambda f, x, i: f(x), ValueError, "for one dimension use `histogram`"),
    "no dimension": ("histogramdd", lambda f, x, i: f(np.ones((3, 0))), ValueError, "at least one dimension"),
    "too many": ("histogramdd", lambda f, x, i: f(np.ones((3, 2)), (1, 2, 3)), ValueError, "each of the 2 dimensions"),
    "one range": ("histogramdd", lambda f, x, i: f(np.ones((3, 2)), range=3), TypeError, "range must be a sequence"),
    "two axes": ("digitize", lambda f, x, i: f(x, np.ones((2, 2))), ValueError, "edges must have the shape (m,)"),
    "no order": ("digitize", lambda f, x, i: f(x, np.asarray([1.0, 3.0, 2.0])), ValueError, "ascending or descending"),
    "right": ("digitize", lambda f, x, i: f(x, x, right=0), TypeError, "right must be True or False"),
    "uint64": (
        "digitize",
        lambda f, x, i: f(i, i.astype(np.uint64)),
        TypeError,
        "x has int64 and edges has uint64",
    ),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_bad_input(bad: tuple[str, Callable[..., Any], type[Exception], str]) -> None:
    function, call, error, fragment = bad
    with pytest.raises(error) as caught:
        call(getattr(histograms, function), np.asarray([1.0, 2.0, 3.0]), np.asarray([1, 2, 3]))
    assert type(caught.value) is error
    assert str(caught.value).startswith(f"{function}: ")
    assert fragment in str(caught.value)


def test_not_known_under_tracing() -> None:
    import jax
    import torch

    ids = np.asarray([[1, 2], [0, 1]])
    with pytest.raises(ValueError, match="bincount: length must be given"):
        jax.jit(histograms.bincount)(ids)
    with pytest.raises(ValueError, match="bincount: length must be given"):
        torch.func.vmap(histograms.bincount)(torch.asarray(ids))
    with pytest.raises(ValueError, match="mode='raise' needs the values"):
        jax.jit(lambda x: histograms.bincount(x, length=3, mode="raise"))(ids)


@pytest.mark.parametrize("function", ["bincount", "histogram", "digitize"])
def test_two_devices(function: str) -> None:
    import array_api_strict as strict

    x, other = strict.asarray([1, 2]), strict.asarray([1, 2], device=strict.Device("device1"))
    call = getattr(histograms, function)
    arguments, options = ((x,), {"weights": other}) if function == "bincount" else ((x, other), {})
    with pytest.raises(ValueError, match=f"{function}: takes arrays on one device"):
        call(*arguments, **options)


def test_tensors_whose_signs_are_a_flag() -> None:
    import torch

    x = torch.tensor([1 + 2j, 1 + 3j, 1 + 5j]).conj().imag
    assert x.is_neg()
    assert histograms.histogram(x, 2, range=(-5.0, -1.0)).hist.tolist() == [1, 2]


def test_forward_mode_of_torch_reaches_the_edges() -> None:
    import torch
    from torch.autograd import forward_ad

    with forward_ad.dual_level():
        x = forward_ad.make_dual(torch.asarray([1.0, 2.0, 5.0]), torch.asarray([2.0, 0.0, 1.0]))
        found = histograms.histogram(x, 2)
        assert found.hist.tolist() == [2, 1]
        assert forward_ad.unpack_dual(found.edges).tangent.tolist() == [2.0, 1.5, 1.0]
