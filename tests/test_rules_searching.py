"""The rules of `tracing` for sorting, searching and sets, and for the facades of statistics, sorting and histograms."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xpand
from tests.cases import Case
from tests.libraries import LIBRARIES
from tests.operations import Check, checked
from tests.traced import traced_forward, traced_grad, traced_second, traced_stage, traced_vmap
from xpand_extensions import histograms, sorting, statistics
from xpand_extensions.autodiff import grad, jvp
from xpand_extensions.tracing import TracedError, traced_namespace
from xpand_extensions.tracing._core import Aval
from xpand_extensions.tracing._staging import stage
from xpand_extensions.vmap import vmap

TRACED = [traced_stage, traced_vmap, traced_forward, traced_grad, traced_second]

X = np.asarray([[0.5, -1.25, 2.0, 0.25], [3.0, 0.75, -0.5, 1.5]])
BLOCK = np.sin(np.arange(24.0)).reshape(2, 3, 4)
TIES = np.asarray([[2.0, 1.0, 2.0, 2.0], [0.5, 3.0, 0.5, 0.5]])
V = np.asarray([0.3, -1.2, 2.5, 0.7, -0.4])
SORTED = np.asarray([-1.0, 0.0, 0.5, 0.5, 2.0])
ORDER = np.asarray([4, 1, 3, 2, 0])
NAN = np.asarray([[1.0, np.nan, -2.0], [np.nan, 0.5, 0.25]])


def _of(name: str, **options: Any) -> Callable[[Any], Any]:
    return lambda x: getattr(xpand.array_namespace(x), name)(x * x + x, **options)


def _plain(name: str, **options: Any) -> Callable[..., Any]:
    return lambda *arrays: getattr(xpand.array_namespace(*arrays), name)(*arrays, **options)


def _case(function: Any, *arrays: np.ndarray, **options: Any) -> Case:
    return Case(function, arrays, differentiable=tuple(range(len(arrays))), **options)


def _searched(side: str) -> Callable[..., Any]:
    return lambda x1, x2, sorter: xpand.array_namespace(x1).searchsorted(x1, x2, side=side, sorter=sorter)


def _rows(x1: Any, x2: Any) -> Any:
    """Search in a batch of sorted values from within a function of one lane."""
    return xpand.array_namespace(x1, x2).searchsorted(x1, x2)


STANDARD = {
    "sort": _case(_of("sort"), X),
    "sort along the first": _case(_of("sort", axis=0), BLOCK),
    "sort along the middle, descending": _case(_of("sort", axis=-2, descending=True), BLOCK),
    "sort without order among ties": _case(_of("sort", stable=False), X),
    "sort of ties": _case(_plain("sort"), TIES),
    "sort of ties, descending": _case(_plain("sort", descending=True), TIES),
    "sort of one value": _case(_of("sort"), V[:1]),
    "sort of nothing": _case(_of("sort", axis=0), np.zeros((0, 3))),
    "sort of integers": Case(_plain("sort", descending=True), (ORDER.astype(np.uint8),)),
    "argsort": Case(_plain("argsort"), (X,)),
    "argsort, descending": Case(_plain("argsort", axis=0, descending=True), (BLOCK,)),
    "argsort of ties": Case(_plain("argsort", axis=1), (TIES,)),
    "searchsorted": Case(_plain("searchsorted"), (SORTED, X)),
    "searchsorted from the right": Case(_plain("searchsorted", side="right"), (SORTED, BLOCK)),
    "searchsorted of one value": Case(_plain("searchsorted"), (SORTED, np.asarray(0.5))),
    "searchsorted in what is not sorted": Case(
        _searched("right"), (SORTED[::-1].copy(), X, ORDER[::-1].copy()), maps=False
    ),
    "isin": Case(_plain("isin"), (TIES, np.asarray([0.5, 2.0, 7.0]))),
    "isin not": Case(_plain("isin", invert=True), (TIES, X)),
    "isin of one value": Case(_plain("isin"), (np.asarray(2.0), TIES)),
    "isin of NaN": Case(_plain("isin"), (NAN, NAN)),
    "isin of integers": Case(_plain("isin"), (ORDER, np.asarray([[1, 2], [8, 9]]))),
}

FACADES = {
    "cumulative_max with ties": _case(lambda x: statistics.cumulative_max(x, axis=1), TIES),
    "cumulative_min with ties": _case(lambda x: statistics.cumulative_min(x, axis=-1), TIES),
    "cumulative_max of nothing": _case(lambda x: statistics.cumulative_max(x, axis=0), np.zeros((0, 3))),
    "cumulative_max of columns": _case(lambda x: statistics.cumulative_max(x * x, axis=0), BLOCK),
    "logcumsumexp of large numbers": _case(
        lambda x: statistics.logcumsumexp(x, axis=0, include_initial=True), V * 1000.0, rtol=1e-10
    ),
    "top_k along the first": _case(lambda x: sorting.top_k(x * x, 2, axis=0).values, BLOCK.reshape(6, 4)),
    "top_k of ties": _case(lambda x: sorting.top_k(x, 2, axis=-1).values, TIES),
    "indices of top_k": Case(lambda x: sorting.top_k(x, 3, largest=False), (X,)),
    "ptp with ties": _case(lambda x: statistics.ptp(x, axis=1), TIES),
    "nanmax of all": _case(lambda x: statistics.nanmax(x * x), X),
    "nansum kept": _case(lambda x: statistics.nansum(x * x, axis=(0, 2), keepdims=True), BLOCK),
    "nanvar": _case(lambda x: statistics.nanvar(x, axis=1, correction=1.0), BLOCK),
    "nanargmin": Case(lambda x: statistics.nanargmin(x, axis=1), (NAN,)),
    "nanargmax of all": Case(lambda x: statistics.nanargmax(x, keepdims=True), (NAN,)),
    "nansum of integers": Case(lambda x: statistics.nansum(x, axis=0), (ORDER.astype(np.uint16),)),
    "searchsorted of rows in rows": Case(
        lambda x1, x2: sorting.searchsorted(x1, x2, side="right"), (np.sort(BLOCK, axis=-1), BLOCK[::-1, :, :2].copy())
    ),
    "argpartition of columns": Case(lambda x: _picked(x, sorting.argpartition(x, 1, axis=0)), (BLOCK,)),
}


def _picked(x: Any, order: Any) -> Any:
    """Take what alone is determined of a partition."""
    return xpand.array_namespace(x).take_along_axis(x, order, axis=0)[1, ...]


CASES = {**STANDARD, **FACADES}


@checked(CASES, TRACED)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    "where", [(0, 0, 0), (0, 0, None), (None, 0, 0), (0, None, None), (None, None, 0), (None, 0, None)]
)
def test_batches_of_searches(where: tuple[int | None, ...], side: Any) -> None:
    """Each lane has its own sorted values, its own order, or neither."""
    rng = np.random.default_rng(3)
    x1, x2 = rng.normal(size=(3, 6)), rng.normal(size=(3, 2, 4))
    sorter = np.argsort(x1, axis=-1)
    given = [x if axis == 0 else x[0] for x, axis in zip((x1, x2, sorter), where)]
    found = vmap(_searched(side), in_axes=where)(*given)
    for i in range(3):
        lane = [x[i] if axis == 0 else x for x, axis in zip(given, where)]
        np.testing.assert_array_equal(found[i], np.searchsorted(lane[0], lane[1], side, lane[2]))


UNIQUE: dict[str, Callable[[Any], Any]] = {
    "unique_values": lambda x: xpand.array_namespace(x).unique_values(x),
    "unique_counts": lambda x: xpand.array_namespace(x).unique_counts(x).values,
    "unique_inverse": lambda x: xpand.array_namespace(x).unique_inverse(x).values,
    "unique_all": lambda x: xpand.array_namespace(x).unique_all(x).values,
}


@pytest.mark.parametrize("name", UNIQUE)
@pytest.mark.parametrize("library", [x for x in LIBRARIES if x.id.partition("-")[0] not in ("jax", "dask")], ids=str)
def test_derivatives_of_unique_values(library: Any, name: str) -> None:
    """Those of the first of each: JAX's own are zero throughout, and central differences are not those of ties."""
    xp = library.xp
    x = library.asarray(np.asarray([[2.0, 1.0, 2.0], [1.0, 5.0, 1.0]]))
    weights = library.asarray(np.asarray([1.0, 10.0, 100.0]))

    def weighted(x: Any) -> Any:
        return xpand.array_namespace(x).sum(UNIQUE[name](x * x) * weights)

    found = library.to_numpy(grad(weighted)(x))
    np.testing.assert_array_equal(found, [[2 * 10 * 2.0, 2 * 1.0, 0.0], [0.0, 100 * 2 * 5.0, 0.0]])
    along = jvp(weighted, (x,), (xp.ones_like(x),))[1]
    assert float(along) == found.sum()
    total = lambda x: xpand.array_namespace(x).sum(grad(weighted)(x))
    twice = library.to_numpy(grad(total)(x))
    np.testing.assert_array_equal(twice, [[20.0, 2.0, 0.0], [0.0, 200.0, 0.0]])


def test_other_results_of_unique() -> None:
    """They are what they are without a transformation, and named."""
    seen: list[Any] = []

    def function(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        values, indices, inverse, counts = xp.unique_all(x)
        seen.append((indices, xp.unique_inverse(x).inverse_indices, inverse, xp.unique_counts(x).counts, counts))
        return xp.sum(values * xp.astype(counts, values.dtype))

    np.testing.assert_array_equal(grad(function)(np.asarray([2.0, 1.0, 2.0])), [2.0, 1.0, 0.0])
    for found, expected in zip(seen[0], ([1, 0], [1, 0, 1], [1, 0, 1], [1, 2], [1, 2]), strict=True):
        assert [int(x) for x in found] == expected


def test_indices_of_what_is_not_zero() -> None:
    """Where values are known, as in gradients, the indices are."""

    def function(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        (places,) = xp.nonzero(x)
        return xp.sum(xp.take(x * x, places))

    np.testing.assert_array_equal(grad(function)(np.asarray([0.0, 3.0, 0.0, 4.0])), [0.0, 6.0, 0.0, 8.0])


SIZED: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    **{name: (lambda xp, x, name=name: getattr(xp, name)(x), "sorting` with size=") for name in UNIQUE},
    "nonzero": (lambda xp, x: xp.nonzero(x)[0], "indexing` with size="),
}


@pytest.mark.parametrize("name", SIZED)
def test_sizes_that_depend_on_values(name: str) -> None:
    function, message = SIZED[name]
    namespace = traced_namespace(xpand.array_namespace(X))
    with pytest.raises(TracedError, match=f"{name}: the size.*{message}"):
        vmap(lambda x: function(xpand.array_namespace(x), x))(X)
    with pytest.raises(TracedError, match=f"{name}: the size.*{message}"):
        stage(namespace, "jit", lambda x: ((function(namespace, x),), ()), [Aval((3,), X.dtype)])


WRONG: dict[str, tuple[Callable[[Any, Any], Any], type[Exception], str]] = {
    "sort": (lambda xp, x: xp.sort(x, axis=2), IndexError, "sort: axis 2 is out of bounds"),
    "argsort of a number": (lambda xp, x: xp.argsort(x[0, 0]), IndexError, "argsort: axis -1 is out of bounds"),
    "searchsorted": (lambda xp, x: xp.searchsorted(x, x), ValueError, "searchsorted: x1 must have one axis"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors(name: str) -> None:
    """Errors raise while a graph is traced, and for a lane although the batch has one more axis."""
    function, error, message = WRONG[name]
    namespace = traced_namespace(xpand.array_namespace(X))
    with pytest.raises(error, match=message):
        stage(namespace, "jit", lambda x: ((function(namespace, x),), ()), [Aval((2, 3), X.dtype)])
    with pytest.raises(error, match=message):
        vmap(lambda x: function(xpand.array_namespace(x), x))(BLOCK)


# Facades of which one array alone is traced


ONE_OF_SEVERAL: dict[str, Callable[[Any], Any]] = {
    "average": lambda w: statistics.average(X, axis=1, weights=w),
    "cov": lambda w: statistics.cov(X, aweights=w[0, :]),
    "quantile": lambda q: statistics.quantile(X, q[1, 1:3] / 3.5, axis=1),
    "nanquantile": lambda q: statistics.nanquantile(X, q[1, 1:3] / 3.5, axis=1),
    "reduce": lambda w: statistics.reduce(X, lambda a, b: a + b, w[0, 0]),
    "gradient": lambda t: statistics.gradient(X, t[0, :], axis=1),
    "bincount": lambda w: histograms.bincount(np.asarray([0, 2, 2, 1]), weights=w[0, :], length=3),
    "histogram": lambda w: histograms.histogram(X, 3, range=(-2.0, 3.0), weights=w, density=True).hist,
    "histogramdd": lambda w: histograms.histogramdd(X, (2, 2, 2, 2), weights=w[:, 0]).hist,
}


@pytest.mark.parametrize("name", ONE_OF_SEVERAL)
def test_one_of_several_arrays(name: str) -> None:
    """The implementation is chosen by all arrays: by NumPy's own ones alone it would be NumPy's."""
    function = ONE_OF_SEVERAL[name]
    w = np.asarray([[1.0, 2.0, 0.5, 3.0], [0.75, 1.0, 2.0, 1.5]])
    direction = np.cos(np.arange(8.0)).reshape(2, 4)
    out, along = jvp(function, (w,), (direction,))
    np.testing.assert_allclose(out, function(w), rtol=1e-12)
    step = 1e-5
    near = (function(w + step * direction) - function(w - step * direction)) / (2 * step)
    np.testing.assert_allclose(along, near, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("function", [sorting.searchsorted, lambda x1, x2: histograms.digitize(x2, x1)])
def test_searches_of_which_one_array_is_traced(function: Any) -> None:
    values = np.asarray([[0.25, -3.0], [7.0, 0.5]])
    for where in ((0, None), (None, 0)):
        given = [np.stack([x, x]) if axis == 0 else x for x, axis in zip((SORTED, values), where)]
        found = vmap(function, in_axes=where)(*given)
        np.testing.assert_array_equal(found, np.stack([function(SORTED, values)] * 2))
