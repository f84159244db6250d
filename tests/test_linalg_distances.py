"""Distances of vectors: every library against SciPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial import distance

from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from xpand_extensions.linalg import cdist
from xpand_extensions.linalg._distances import METRICS

rng = np.random.default_rng(0)
OPTIONS: list[tuple[Any, dict[str, float]]] = [
    *((metric, {}) for metric in METRICS if metric != "minkowski"),
    *(("minkowski", {"p": p}) for p in (0.5, 1.0, 2.0, 3.5)),
]


def reference(x1: np.ndarray, x2: np.ndarray, metric: str = "euclidean", **options: float) -> np.ndarray:
    if not x1.shape[-1]:
        return np.full((len(x1), len(x2)), np.nan if metric == "cosine" else 0.0)
    return distance.cdist(x1.astype("float64"), x2.astype("float64"), metric, **options)


@pytest.mark.parametrize(("metric", "options"), OPTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distances(library: Library, metric: Any, options: dict[str, float], dtype: str) -> None:
    tolerance = 2e-5 if dtype == "float32" else 1e-12
    for m, n, d in ((4, 5, 3), (1, 1, 1), (0, 3, 2), (3, 0, 2), (30, 40, 5), (2, 3, 0)):
        x1, x2 = rng.normal(size=(m, d)).astype(dtype), rng.normal(size=(n, d)).astype(dtype)
        x2[:1] = x1[:1] if m and n else x2[:1]
        expected = reference(x1, x2, metric, **options).astype(dtype)
        found = cdist(library.asarray(x1), library.asarray(x2), metric, **options)
        library.assert_equal(found, expected, rtol=tolerance, atol=tolerance)


def test_batches(library: Library) -> None:
    x1, x2 = rng.normal(size=(2, 1, 4, 3)), rng.normal(size=(5, 6, 3))
    for metric in ("euclidean", "cosine", "chebyshev"):
        expected = np.stack([np.stack([reference(a, b, metric) for b in x2]) for a in x1[:, 0]])
        found = cdist(library.asarray(x1), library.asarray(x2), metric)
        library.assert_equal(found, expected, rtol=1e-12, atol=1e-12)


def test_data_types_promote(library: Library) -> None:
    x1, x2 = rng.normal(size=(3, 2)).astype("float32"), rng.normal(size=(4, 2))
    found = cdist(library.asarray(x1), library.asarray(x2))
    library.assert_equal(found, reference(x1, x2), rtol=1e-12)


def test_half_precision() -> None:
    """Squares are added in float32: those of 300 don't fit into float16."""
    x = np.asarray([[0.0, 0.0], [300.0, 400.0]], dtype=np.float16)
    np.testing.assert_array_equal(cdist(x, x), np.asarray([[0.0, 500.0], [500.0, 0.0]], dtype=np.float16))


def test_small_distances_of_large_vectors(library: Library) -> None:
    """They are lost where the squares are expanded into products."""
    x1 = np.full((30, 2), 1e6)
    x2 = x1 + np.asarray([3e-3, 4e-3])
    found = cdist(library.asarray(x1), library.asarray(x2))
    library.assert_equal(found, np.full((30, 30), 5e-3), rtol=1e-6)


@pytest.mark.parametrize(("metric", "options"), OPTIONS)
def test_values_that_are_not_finite(library: Library, metric: Any, options: dict[str, float]) -> None:
    x = np.asarray([[np.nan, 1.0], [1.0, np.nan], [np.inf, 2.0], [0.5, 1.0]])
    with np.errstate(invalid="ignore"):
        found = library.to_numpy(cdist(library.asarray(x[:3]), library.asarray(x[3:]), metric, **options))
    assert np.isnan(found[:2]).all()
    assert np.isnan(found[2]) if metric == "cosine" else found[2] == np.inf


def test_powers_do_not_overflow(eager_library: Library) -> None:
    """The components are scaled: PyTorch's and SciPy's own are not."""
    x1, x2 = np.asarray([[1e30, 2e30]], dtype="float32"), np.zeros((1, 2), dtype="float32")
    if eager_library.id in ("jax", "strict"):
        found = cdist(eager_library.asarray(x1), eager_library.asarray(x2), "minkowski", p=3.0)
        eager_library.assert_equal(found, np.float32([[9.0 ** (1 / 3) * 1e30]]), rtol=1e-5)


X1, X2 = rng.normal(size=(3, 4)), rng.normal(size=(2, 4))
CASES = {
    f"{metric} {options.get('p', '')}".strip(): Case(
        lambda x1, x2, metric=metric, options=options: cdist(x1, x2, metric, **options),
        (X1, X2),
        lambda x1, x2, metric=metric, options=options: reference(x1, x2, metric, **options),
        differentiable=(0, 1),
    )
    for metric, options in OPTIONS
    if options.get("p") not in (0.5, 1.0, 2.0)  # differences by steps are inexact for 0.5
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("metric", ["euclidean", "minkowski"])
def test_the_derivative_at_0_is_0(metric: Any) -> None:
    import jax
    import torch

    from xpand_extensions.autodiff import grad

    x = np.asarray([[1.0, 2.0], [4.0, 6.0]])
    expected = [[-1.2, -1.6], [1.2, 1.6]]  # of the sum of both distances that are not 0
    for make in (np.asarray, jax.numpy.asarray, torch.asarray):
        found = grad(lambda x: cdist(x, x, metric, p=2.0).sum())(make(x))
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)


def test_dask_stays_lazy() -> None:
    import dask.array as da

    x = da.from_array(rng.normal(size=(6, 4)), chunks=(2, 2))
    found = cdist(x, x)
    assert isinstance(found, da.Array)
    assert found.chunks == ((2, 2, 2), (2, 2, 2))
    np.testing.assert_allclose(np.asarray(found), reference(np.asarray(x), np.asarray(x)), atol=1e-12)


BAD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a list": (lambda: cdist([[1.0]], X1), TypeError, "cdist: x1 must be an array"),
    "integers": (lambda: cdist(X1, X2.astype(int)), TypeError, "cdist: x2 must have a real floating-point"),
    "one vector": (lambda: cdist(X1[0], X2), ValueError, r"cdist: x1 and x2 must have the shapes \(\*batch, m, d\)"),
    "sizes": (lambda: cdist(X1, X2[:, :2]), ValueError, r"got \(3, 4\) and \(2, 2\)"),
    "batches": (
        lambda: cdist(np.ones((2, 3, 4)), np.ones((3, 3, 4))),
        ValueError,
        "cdist: takes arrays that broadcast",
    ),
    "metric": (lambda: cdist(X1, X2, "euclid"), ValueError, "did you mean 'euclidean'"),
    "p": (lambda: cdist(X1, X2, "minkowski", p=0), ValueError, "cdist: p must be positive and finite, got 0"),
    "p of a type": (lambda: cdist(X1, X2, "minkowski", p="2"), TypeError, "cdist: p must be a number"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    call, error, message = BAD[name]
    with pytest.raises(error, match=message):
        call()
