"""Least squares for columns, and for vectors along the last axis: every library against NumPy, transformations."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import xpand
from tests.libraries import EAGER_LIBRARIES, LIBRARIES, Library
from tests.operations import Case, Check, check_values, checked
from xpand_extensions import autodiff, sparse
from xpand_extensions.linear_solve import lstsq

by_rows = partial(lstsq, axis=-1)

RNG = np.random.default_rng(0)
FLOATING = ["float32", "float64", "complex64", "complex128"]


def normal(*shape: int, dtype: str = "float64") -> np.ndarray:
    values = RNG.normal(size=shape)
    return (values + 1j * RNG.normal(size=shape) if dtype.startswith("c") else values).astype(dtype)


def reference(a: np.ndarray, b: np.ndarray, rtol: float | None = None) -> tuple[np.ndarray, ...]:
    """Each system by NumPy, the residuals by their definition."""
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-1])
    x = np.zeros((*batch, a.shape[-1]), a.dtype)
    right = np.broadcast_to(b, (*batch, b.shape[-1]))
    every = np.broadcast_to(a, (*batch, *a.shape[-2:]))
    for index in np.ndindex(batch):
        x[index] = np.linalg.lstsq(every[index], right[index], rcond=rtol)[0]
    residuals = np.sum(np.abs(right - (every @ x[..., None])[..., 0]) ** 2, axis=-1)
    s = np.linalg.svdvals(every) if min(a.shape[-2:]) else np.zeros((*batch, 0), residuals.dtype)
    cut = max(a.shape[-2:]) * np.finfo(a.dtype).eps if rtol is None else rtol
    rank = np.sum(s > cut * np.max(s, axis=-1, keepdims=True, initial=0.0), axis=-1)
    return x, residuals, np.asarray(rank), s


TALL, WIDE, MANY = normal(2, 5, 3), normal(3, 5), normal(4, 5)
CASES = {
    "tall": Case(by_rows, (TALL, normal(2, 5)), reference=reference, differentiable=(0, 1), rtol=1e-10, atol=1e-13),
    "one matrix": Case(
        lambda a, b: by_rows(a, b)[:2],
        (TALL[0], MANY),
        reference=lambda a, b: reference(a, b)[:2],
        differentiable=(0, 1),
        rtol=1e-10,
        atol=1e-13,
    ),
    "wide": Case(
        lambda a, b: lstsq(a, b).x,
        (WIDE, normal(3)),
        reference=lambda a, b: reference(a, b)[0],
        differentiable=(0, 1),
        rtol=1e-10,
        atol=1e-13,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked({"": CASES["one matrix"]})
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("name", ["tall", "wide"])
def test_second_derivatives(name: str) -> None:
    library = LIBRARIES[0]
    a, b = CASES[name].arrays
    one = (library.asarray(a[0] if a.ndim > 2 else a), library.asarray(b[0] if a.ndim > 2 else b))
    autodiff.check_grads(lambda a, b: by_rows(a, b).x, one, order=2)


@st.composite
def systems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, str]:
    dtype = draw(st.sampled_from(FLOATING))
    stack = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    rows, columns = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    before = draw(st.sampled_from([stack, (), (2, *(1 for _ in stack))]))
    return normal(*stack, rows, columns, dtype=dtype), normal(*before, rows, dtype=dtype), dtype


def test_systems(library: Library) -> None:
    # JAX takes seconds to compile the decomposition for another shape.
    @settings(max_examples=3 if library.lazy or library.id == "jax" else 25)
    @given(system=systems())
    def run(system: tuple[np.ndarray, np.ndarray, str]) -> None:
        a, b, dtype = system
        rtol = 5e-3 if dtype in ("float32", "complex64") else 1e-9
        result = by_rows(library.asarray(a), library.asarray(b))
        real = np.zeros(0, dtype).real.dtype
        for found, wanted, kind in zip(result, reference(a, b), (dtype, real, "int64", real), strict=True):
            library.assert_equal(found, wanted.astype(kind), rtol=rtol, atol=rtol)

    run()


def test_low_rank(library: Library) -> None:
    a, b = np.diag([1.0, 1e-3, 1e-9]), np.ones(3)
    for rtol, rank in ((None, 3), (1e-6, 2), (0.1, 1)):
        result = lstsq(library.asarray(a), library.asarray(b), rtol=rtol)
        library.assert_equal(result.rank, np.asarray(rank))
        library.assert_equal(result.x, [1.0, 1e3, 1e9][:rank] + [0.0] * (3 - rank), rtol=1e-9, atol=1e-12)
        library.assert_equal(result.residuals, np.asarray(3.0 - rank), atol=1e-6)


@pytest.mark.parametrize("shape", [(400, 3), (3, 400)], ids=str)
def test_the_default_tolerance_is_that_of_the_longer_axis(library: Library, shape: tuple[int, int]) -> None:
    """A singular value between 3 and 400 times the rounding error counts as zero."""
    rng, eps = np.random.default_rng(0), np.finfo(np.float64).eps
    u, v = (np.linalg.qr(rng.normal(size=(n, 3)))[0] for n in shape)
    for small, rank in ((4e3 * eps, 3), (100 * eps, 2)):
        a = u @ np.diag([1.0, 0.5, small]) @ v.T
        assert np.linalg.lstsq(a, a[:, 0])[2] == rank
        library.assert_equal(lstsq(library.asarray(a), library.asarray(a[:, 0])).rank, np.asarray(rank))


def test_what_is_not_finite_spoils_nothing_else(library: Library) -> None:
    b = np.stack([MANY[0], MANY[1], MANY[2]])
    b[1, 2] = np.inf
    result = by_rows(library.asarray(TALL[0]), library.asarray(b))
    x, residuals, rank, _ = reference(TALL[0], MANY[:3])
    x[1], residuals[1] = np.nan, np.nan
    library.assert_equal(result.x, x, rtol=1e-10)
    library.assert_equal(result.residuals, residuals, rtol=1e-10)
    library.assert_equal(result.rank, rank)
    a = np.array(TALL)
    a[0, 1, 1] = np.nan
    result = lstsq(library.asarray(a), library.asarray(MANY[0]))
    library.assert_equal(result.x, np.stack([np.full(3, np.nan), reference(TALL[1], MANY[0])[0]]), rtol=1e-10)
    library.assert_equal(result.rank, np.asarray([0, 3]))


def test_bad_input(library: Library) -> None:
    a, v = library.asarray(WIDE), library.asarray(normal(3))
    integers = library.asarray(np.ones((3, 5), dtype=int))
    stack, three = library.asarray(TALL), library.asarray(normal(3, 5))
    calls: list[tuple[Any, type, str]] = [
        (lambda: lstsq(a, v[:2]), ValueError, r"lstsq: b must have the shape \(3,\) or \(..., 3, k\) .* got \(2,\)"),
        (lambda: lstsq(a, library.asarray(1.0)), ValueError, r"lstsq: b must have the shape \(3,\)"),
        (lambda: lstsq(v, v), ValueError, "lstsq: A must hold matrices"),
        (lambda: lstsq(integers, v), TypeError, "lstsq: A must have a floating-point data type"),
        (lambda: lstsq(a, [1.0]), TypeError, "lstsq: b must be an array, got list"),
        (lambda: lstsq(a, v, rtol=-1.0), ValueError, "lstsq: rtol must be at least 0, got -1.0"),
        (lambda: lstsq(a, v, rtol="small"), TypeError, "lstsq: rtol must be a number or None"),
        (lambda: by_rows(stack, three.T), ValueError, r"b must have the shape \(..., 5\) .*; for columns leave"),
        (
            lambda: lstsq(a, three.T),
            ValueError,
            r"b must have the shape .* got \(5, 3\); for vectors .* pass `axis=-1`",
        ),
        (lambda: by_rows(stack, three), ValueError, "lstsq: takes arrays that broadcast"),
        (lambda: lstsq(a, v, axis=0), ValueError, "lstsq: axis must be -2, .* or -1"),
        (lambda: lstsq(a, v, axis="rows"), TypeError, "lstsq: axis must be -2 or -1, got 'rows'"),
    ]
    for call, error, message in calls:
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_sparse_matrices_are_another_method(library: Library) -> None:
    place = library.asarray(np.arange(2))
    a = sparse.COO(library.asarray(np.ones(2)), (place, place), (3, 2))
    with pytest.raises(TypeError, match="lstsq: A must be a dense array.*method='lsmr'"):
        lstsq(a, library.asarray(np.ones(3)))


def test_dask_stays_lazy() -> None:
    import dask.array as da

    result = lstsq(da.from_array(TALL, chunks=(1, 2, 3)), da.from_array(MANY[0], chunks=2))
    assert not any(xpand.is_concrete(x) for x in result)
    np.testing.assert_allclose(result.x, reference(TALL, MANY[0])[0], rtol=1e-10)
