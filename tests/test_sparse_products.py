"""Sparse products on parts: every library against dense products, transformations, bad input."""

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings, strategies as st

import xpand
from tests.libraries import LIBRARIES, Library
from tests.operations import Case, Check, check_values, checked
from xpand_extensions import sparse
from xpand_extensions.sparse import _assembly as assembly, _products as products
from xpand_extensions.vmap import vmap

M, N = 4, 3
ROWS = np.asarray([0, 0, 1, 3, 3, 3, 3])
COLUMNS = np.asarray([2, 0, 1, 0, 1, 2, 1])  # one place twice, one row without entries
INDPTR = np.asarray([0, 2, 3, 3, 7])
SHUFFLED = np.asarray([3, 0, 6, 2, 5, 1, 4])
VALUES = np.asarray([1.0, -2.0, 0.5, 3.0, 1.5, -1.0, 2.0])
X = np.asarray([0.7, -1.2, 2.5])
XS = np.linspace(-1.0, 2.0, N * 2).reshape(N, 2)
Y = np.asarray([0.3, 1.0, -2.0, 0.9])
YS = np.linspace(-2.0, 1.0, M * 2).reshape(M, 2)


def dense(values: np.ndarray, rows: np.ndarray = ROWS, columns: np.ndarray = COLUMNS) -> np.ndarray:
    out = np.zeros((*values.shape[:-1], M, N), dtype=values.dtype)
    for e in range(len(rows)):
        out[..., rows[e], columns[e]] += values[..., e]
    return out


def like(x: Any, pattern: np.ndarray) -> Any:
    """Make an index array of the library of `x`, and on its device."""
    xp = xpand.array_namespace(x)
    return xp.asarray(pattern, device=getattr(x, "device", None))


def csr(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return lambda v, x: function(v, like(v, COLUMNS), like(v, INDPTR), x, shape=(M, N), **options)


def coo(v: Any, x: Any) -> Any:
    rows, columns = like(v, ROWS[SHUFFLED]), like(v, COLUMNS[SHUFFLED])
    return products.coo_matmul(v, rows, columns, x, shape=(M, N))


BATCH = np.stack([VALUES, 2.0 - VALUES])
BATCH_C = np.stack([COLUMNS, COLUMNS])
BATCH_X = np.stack([XS, XS[::-1] + 0.5])
CASES = {
    "csr-vector": Case(csr(products.csr_matmul), (VALUES, X), lambda v, x: dense(v) @ x, (0, 1)),
    "csr-matrix": Case(csr(products.csr_matmul), (VALUES, XS), lambda v, x: dense(v) @ x, (0, 1)),
    "csr-batch": Case(csr(products.csr_matmul), (BATCH, XS), lambda v, x: dense(v) @ x, (0, 1)),
    "csr-batches": Case(csr(products.csr_matmul), (BATCH, BATCH_X), lambda v, x: dense(v) @ x, (0, 1)),
    "csr-stack-of-x": Case(csr(products.csr_matmul), (VALUES, BATCH_X), lambda v, x: dense(v) @ x, (0, 1)),
    "csr-transposed-vector": Case(csr(products.csr_rmatmul), (VALUES, Y), lambda v, x: dense(v).T @ x, (0, 1)),
    "csr-transposed-matrix": Case(csr(products.csr_rmatmul), (VALUES, YS), lambda v, x: dense(v).T @ x, (0, 1)),
    "coo-vector": Case(coo, (VALUES[SHUFFLED], X), lambda v, x: dense(v[np.argsort(SHUFFLED)]) @ x, (0, 1)),
    "coo-matrix": Case(coo, (VALUES[SHUFFLED], XS), lambda v, x: dense(v[np.argsort(SHUFFLED)]) @ x, (0, 1)),
    "coo-pattern": Case(
        lambda v, r, c, x: products.coo_matmul(v, r, c, x, shape=(M, N)),
        (VALUES, ROWS, COLUMNS, X),
        lambda v, r, c, x: dense(v) @ x,
        (0, 3),
    ),
    "sampled": Case(
        lambda x, y: products.sampled_matmul(x, y, like(x, ROWS), like(x, COLUMNS)),
        (YS, XS.T),
        lambda x, y: (x @ y)[ROWS, COLUMNS],
        (0, 1),
    ),
    "sampled-vectors": Case(
        lambda x, y: products.sampled_matmul(x[:, None], y[None, :], like(x, ROWS), like(x, COLUMNS)),
        (Y, X),
        lambda x, y: np.outer(x, y)[ROWS, COLUMNS],
        (0, 1),
    ),
    "sampled-pattern": Case(
        products.sampled_matmul,
        (YS, XS.T, ROWS, COLUMNS),
        lambda x, y, r, c: (x @ y)[r, c],
        (0, 1),
    ),
    "dense": Case(
        lambda v: sparse.coo_todense(v, like(v, ROWS), like(v, COLUMNS), shape=(M, N)), (VALUES,), dense, (0,)
    ),
    "dense-pattern": Case(
        lambda v, r, c: sparse.coo_todense(v, r, c, shape=(M, N)),
        (VALUES, ROWS, COLUMNS),
        lambda v, r, c: dense(v),
        (0,),
    ),
    "dense-csr": Case(
        lambda v: sparse.csr_todense(v, like(v, COLUMNS), like(v, INDPTR), shape=(M, N)), (BATCH,), dense, (0,)
    ),
    "rows": Case(
        lambda p: products.csr_rows(p, nse=8),
        (np.stack([INDPTR, [0, 0, 5, 7, 8]]),),
        lambda p: np.stack([[*ROWS, 4], [1] * 5 + [2] * 2 + [3]]),
    ),
}

CASES["assembled"] = Case(
    lambda v, r, c: assembly.assembled_values(v, assembly.csr_assembly(r, c, shape=(M, N), size=6)),
    (VALUES, ROWS, COLUMNS),
    lambda v, r, c: dense(v)[[0, 0, 1, 3, 3, 3], [0, 2, 1, 0, 1, 2]],
    (0,),
)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


TRANSFORMED = [
    "csr-vector",
    "csr-batches",
    "csr-stack-of-x",
    "csr-transposed-matrix",
    "coo-matrix",
    "coo-pattern",
    "sampled",
    "sampled-pattern",
    "dense-pattern",
    "rows",
    "assembled",
]


@checked({name: CASES[name] for name in TRANSFORMED})
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


# Any matrix, against SciPy

DTYPES = ["int8", "uint8", "int32", "int64", "uint64", "float32", "float64", "complex64", "complex128"]


@st.composite
def matrices(draw: st.DrawFn) -> tuple[scipy.sparse.coo_array, np.ndarray, np.ndarray]:
    """A matrix of integers by coordinates, with duplicates, unsorted, and what to multiply it with from both sides."""
    m, n = draw(st.integers(0, 5)), draw(st.integers(0, 5))
    nse = draw(st.integers(0, 9)) if m * n else 0
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    kind = draw(st.sampled_from(["int32", "int64", "int16", "uint64"]))
    rows, columns = (rng.integers(0, size, nse).astype(kind) if nse else np.zeros(0, kind) for size in (m, n))
    shape = draw(st.sampled_from([(), (1,), (3,), (0,), (2, 3)]))
    stack, width = shape[:-1], shape[-1:]
    numbers = [rng.integers(0, 5, size) for size in (nse, (*stack, n, *width), (*stack, m, *width))]
    values, x, y = (
        a.astype(dtype) + (1j * (a % 2)).astype(dtype) if dtype.kind == "c" else a.astype(dtype) for a in numbers
    )
    matrix = scipy.sparse.coo_array((values, (rows, columns)), shape=(m, n))
    matrix.coords = (rows, columns)  # SciPy has changed the data type
    return matrix, x, y


def as_dense(matrix: scipy.sparse.coo_array) -> np.ndarray:
    out = np.zeros(matrix.shape, dtype=matrix.dtype)
    rows, columns = (each.astype(np.int64) for each in matrix.coords)
    np.add.at(out, (rows, columns), matrix.data)
    return out


def test_agrees_with_dense_products(library: Library) -> None:
    @settings(max_examples=4 if library.id == "jax" else 8 if library.lazy else 25)
    @given(problem=matrices())
    def run(problem: tuple[scipy.sparse.coo_array, np.ndarray, np.ndarray]) -> None:
        matrix, x, y = problem
        full, shape = as_dense(matrix), matrix.shape
        dtype = full.dtype
        order = np.argsort(matrix.coords[0], kind="stable")
        values, rows, columns = (library.asarray(each) for each in (matrix.data, *matrix.coords))
        by_row = [library.asarray(each[order]) for each in (matrix.data, matrix.coords[1])]
        ends = np.cumsum(np.bincount(matrix.coords[0].astype(np.int64), minlength=shape[0]))
        indptr = library.asarray(np.concatenate([[0], ends]).astype(matrix.coords[0].dtype))
        given_x, given_y = library.asarray(x), library.asarray(y)
        forwards, backwards = (full @ x).astype(dtype), (full.T @ y).astype(dtype)
        found = products.coo_matmul(values, rows, columns, given_x, shape=shape)
        library.assert_equal(found, forwards, rtol=1e-6)
        library.assert_equal(products.csr_matmul(*by_row, indptr, given_x, shape=shape), forwards, rtol=1e-6)
        library.assert_equal(products.csr_rmatmul(*by_row, indptr, given_y, shape=shape), backwards, rtol=1e-6)
        library.assert_equal(sparse.coo_todense(values, rows, columns, shape=shape), full)
        library.assert_equal(sparse.csr_todense(*by_row, indptr, shape=shape), full)

    run()


def test_agrees_with_scipys_assembly(eager_library: Library) -> None:
    @settings(max_examples=4 if eager_library.id == "jax" else 25)
    @given(problem=matrices(), more=st.sampled_from([None, 0, 2]))
    def run(problem: tuple[scipy.sparse.coo_array, np.ndarray, np.ndarray], more: int | None) -> None:
        matrix, _, _ = problem
        plain = scipy.sparse.coo_array((matrix.data, tuple(x.astype(np.int64) for x in matrix.coords)), matrix.shape)
        expected = plain.tocsr()
        expected.sum_duplicates()
        rows, columns = (eager_library.asarray(each) for each in matrix.coords)
        size = None if more is None else expected.nnz + more
        found = assembly.csr_assembly(rows, columns, shape=matrix.shape, size=size)
        values = assembly.assembled_values(eager_library.asarray(matrix.data), found)
        assert tuple(values.shape) == (expected.nnz + (more or 0),)
        values, indices, indptr = (eager_library.to_numpy(each) for each in (values, found.indices, found.indptr))
        np.testing.assert_array_equal(indptr, expected.indptr)
        np.testing.assert_array_equal(indices[: expected.nnz], expected.indices)
        np.testing.assert_array_equal(values[: expected.nnz], expected.data)
        assert not np.any(values[expected.nnz :])

    run()


def test_assembly_keeps_duplicates_in_their_order(library: Library) -> None:
    rows, columns = library.asarray(np.asarray([1, 0, 1, 1, 2])), library.asarray(np.asarray([2, 1, 0, 2, 0]))
    found = assembly.csr_assembly(rows, columns, shape=(2, 3), sum_duplicates=False, size=4)  # one entry is padding
    values = assembly.assembled_values(library.asarray(np.asarray([1.0, 2.0, 3.0, 4.0, 5.0])), found)
    library.assert_equal(found.indptr, np.asarray([0, 1, 4]))
    library.assert_equal(found.indices, np.asarray([1, 0, 2, 2]))
    library.assert_equal(values, np.asarray([2.0, 3.0, 1.0, 4.0]))


def test_what_is_beyond_the_size_is_left_out(library: Library) -> None:
    rows, columns = library.asarray(np.asarray([1, 0, 1, 1])), library.asarray(np.asarray([2, 1, 0, 2]))
    found = assembly.csr_assembly(rows, columns, shape=(2, 3), size=2)
    library.assert_equal(found.indptr, np.asarray([0, 1, 2]))
    values = assembly.assembled_values(library.asarray(np.asarray([1.0, 2.0, 3.0, 4.0])), found)
    library.assert_equal(values, np.asarray([2.0, 3.0]))


# Padding, data types


def test_padding_counts_as_nothing(library: Library) -> None:
    values = library.asarray(np.asarray([*VALUES, np.nan, np.inf]))
    rows, columns = library.asarray(np.asarray([*ROWS, M, 1])), library.asarray(np.asarray([*COLUMNS, 0, N]))
    x, y = library.asarray(X), library.asarray(Y)
    full = dense(VALUES)
    library.assert_equal(products.coo_matmul(values, rows, columns, x, shape=(M, N)), full @ X, rtol=1e-14)
    library.assert_equal(products.coo_matmul(values, columns, rows, y, shape=(N, M)), full.T @ Y, rtol=1e-14)
    library.assert_equal(sparse.coo_todense(values, rows, columns, shape=(M, N)), full, rtol=1e-14)
    sampled = products.sampled_matmul(y[:, None], x[None, :], rows, columns)
    library.assert_equal(sampled, np.asarray([*np.outer(Y, X)[ROWS, COLUMNS], 0.0, 0.0]), rtol=1e-14)
    indices, indptr = library.asarray(np.asarray([*COLUMNS, 0, 0])), library.asarray(INDPTR)
    library.assert_equal(products.csr_matmul(values, indices, indptr, x, shape=(M, N)), full @ X, rtol=1e-14)
    wide = library.asarray(XS)
    library.assert_equal(products.csr_matmul(values, indices, indptr, wide, shape=(M, N)), full @ XS, rtol=1e-14)
    library.assert_equal(products.csr_rmatmul(values, indices, indptr, y, shape=(M, N)), full.T @ Y, rtol=1e-14)


def test_a_pattern_for_each_lane(library: Library) -> None:
    values = np.stack([VALUES, VALUES[::-1]])
    rows, columns = np.stack([ROWS, ROWS[::-1]]), np.stack([COLUMNS, COLUMNS[::-1]])
    full = np.stack([dense(values[i], rows[i], columns[i]) for i in range(2)])
    v, r, c, x, xs = (library.asarray(each) for each in (values, rows, columns, X, BATCH_X))
    library.assert_equal(products.coo_matmul(v, r, c, x, shape=(M, N)), full @ X, rtol=1e-14)
    library.assert_equal(products.coo_matmul(v, r, c, xs, shape=(M, N)), full @ BATCH_X, rtol=1e-14)
    library.assert_equal(sparse.coo_todense(v, r, c, shape=(M, N)), full, rtol=1e-14)
    v, ys = library.asarray(BATCH), library.asarray(np.stack([YS, -YS]))
    indices, indptr = np.stack([COLUMNS, COLUMNS]), np.stack([INDPTR, [0, 1, 1, 4, 7]])
    full = np.stack([dense(BATCH[i], np.repeat(np.arange(M), np.diff(indptr[i])), COLUMNS) for i in range(2)])
    p, ends = library.asarray(indices), library.asarray(indptr)
    library.assert_equal(products.csr_matmul(v, p, ends, x, shape=(M, N)), full @ X, rtol=1e-14)
    library.assert_equal(products.csr_rmatmul(v, p, ends, ys, shape=(M, N)), full.mT @ np.stack([YS, -YS]), rtol=1e-14)
    library.assert_equal(sparse.csr_todense(v, p, ends, shape=(M, N)), full, rtol=1e-14)


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("axes", [(0, 0, 0, 0), (None, None, 0, None), (0, 0, None, None)])
def test_patterns_are_mapped(name: str, axes: tuple[int | None, ...]) -> None:
    library = next(each for each in LIBRARIES if each.id == name)
    batches = (BATCH, np.stack([COLUMNS, COLUMNS[::-1]]), np.stack([INDPTR, [0, 1, 1, 4, 7]]), BATCH_X)
    arrays = [library.asarray(x if axis == 0 else x[0]) for x, axis in zip(batches, axes)]
    function = lambda v, i, p, x: products.csr_matmul(v, i, p, x, shape=(M, N))
    each = [[x[i] if axis == 0 else x for x, axis in zip(arrays, axes)] for i in range(2)]
    expected = np.stack([library.to_numpy(function(*lane)) for lane in each])
    library.assert_equal(vmap(function, in_axes=axes)(*arrays), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("numpy", "float16"), *((name, dtype) for name in ("torch", "jax") for dtype in ("float16", "bfloat16"))],
)
def test_narrow_types(name: str, dtype: str) -> None:
    library = next(each for each in LIBRARIES if each.id == name)
    kind = getattr(__import__({"jax": "jax.numpy"}.get(name, name), fromlist=["x"]), dtype)
    v, x, xs, y = (library.xp.astype(library.asarray(each), kind) for each in (VALUES, X, XS, Y))
    indices, indptr = library.asarray(COLUMNS), library.asarray(INDPTR)
    for function, factor, wanted in (
        (products.csr_matmul, x, dense(VALUES) @ X),
        (products.csr_matmul, xs, dense(VALUES) @ XS),
        (products.csr_rmatmul, y, dense(VALUES).T @ Y),
    ):
        found = function(v, indices, indptr, factor, shape=(M, N))
        assert found.dtype == kind
        found = library.to_numpy(library.xp.astype(found, library.xp.float64))
        np.testing.assert_allclose(found, wanted, rtol=0.05, atol=0.05)


def test_booleans_are_joined(library: Library) -> None:
    values = library.asarray(np.asarray([True, False, True]))
    rows, columns = library.asarray(np.asarray([0, 1, 0])), library.asarray(np.asarray([1, 0, 1]))
    expected = np.asarray([[False, True], [False, False]])
    library.assert_equal(sparse.coo_todense(values, rows, columns, shape=(2, 2)), expected)


# Plans, which JAX alone has use for


@pytest.mark.parametrize("longest", [2, 70])
def test_products_by_plan(longest: int) -> None:
    """Rows in step, and, where one is much longer than the others, by segments; also compiled and differentiated."""
    import jax
    import jax.numpy as jnp

    rng = np.random.default_rng(0)
    lengths = np.asarray([2, 1, longest, 0, 2])
    values, indptr = rng.normal(size=lengths.sum()), np.concatenate([[0], np.cumsum(lengths)])
    indices, x = rng.integers(0, 6, lengths.sum()), rng.normal(size=6)
    full = np.zeros((5, 6))
    np.add.at(full, (np.repeat(np.arange(5), lengths), indices), values)
    v, i, p = jnp.asarray(values), jnp.asarray(indices), jnp.asarray(indptr)
    plan = products.csr_plan(i, p, shape=(5, 6))
    assert plan is not None
    assert plan.slots.shape[0] == (longest if longest < 3 else 0)

    @jax.jit
    def both(v: Any, x: Any, plan: Any) -> Any:
        multiply = lambda v, x: products.csr_matmul(v, i, p, x, shape=(5, 6), plan=plan)
        total = lambda v, x: jnp.sum(multiply(v, x) ** 2)
        of_transposed = products.csr_rmatmul(v, i, p, multiply(v, x), shape=(5, 6), plan=plan)
        return (
            multiply(v, x),
            of_transposed,
            jax.grad(total, (0, 1))(v, x),
            jax.linear_transpose(partial(multiply, v), x)(x[:5]),
        )

    out, twice, (of_values, of_x), (transposed,) = both(v, jnp.asarray(x), plan)
    np.testing.assert_allclose(out, full @ x, rtol=1e-12)
    np.testing.assert_allclose(twice, full.T @ full @ x, rtol=1e-12)
    np.testing.assert_allclose(of_x, 2 * full.T @ full @ x, rtol=1e-12)
    np.testing.assert_allclose(of_values, 2 * (full @ x)[np.repeat(np.arange(5), lengths)] * x[indices], rtol=1e-12)
    np.testing.assert_allclose(transposed, full.T @ x[:5], rtol=1e-12)
    np.testing.assert_allclose(products.csr_matmul(v, i, p, jnp.asarray(x), shape=(5, 6)), full @ x, rtol=1e-12)


def test_only_jax_has_plans(library: Library) -> None:
    plan = products.csr_plan(library.asarray(COLUMNS), library.asarray(INDPTR), shape=(M, N))
    assert (plan is not None) == (library.id == "jax")


def test_the_product_of_torch_for_large_matrices() -> None:
    """PyTorch's own kernel, which serves where there are many entries and several threads, gives the same."""
    import torch

    rng = np.random.default_rng(0)
    size, nse = 2000, 120_000
    matrix = scipy.sparse.random_array((size, size), density=nse / size**2, rng=rng).tocsr()
    parts = [torch.from_numpy(x) for x in (matrix.data, matrix.indices, matrix.indptr, rng.normal(size=size))]
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        found = products.csr_matmul(*parts, shape=(size, size))
    finally:
        torch.set_num_threads(threads)
    np.testing.assert_allclose(found.numpy(), matrix @ parts[3].numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_second_derivatives_on_torch(dtype: str) -> None:
    """`backward`, and through it once more, of real and complex numbers, against differences."""
    import torch
    from torch.autograd import gradcheck, gradgradcheck

    rng = np.random.default_rng(0)
    kind = getattr(torch, dtype)
    make = lambda *shape: torch.from_numpy(rng.normal(size=shape)).to(kind).requires_grad_()
    v, x, y = make(7), make(N, 2), make(M, 2)
    rows, columns, indptr = (torch.from_numpy(each) for each in (ROWS, COLUMNS, INDPTR))
    forwards = lambda v, x: products.csr_matmul(v, columns, indptr, x, shape=(M, N))
    backwards = lambda v, y: products.csr_rmatmul(v, columns, indptr, y, shape=(M, N))
    at_places = lambda y, x: products.sampled_matmul(y, x.mT, rows, columns)
    for function, arrays in ((forwards, (v, x)), (backwards, (v, y)), (at_places, (y, x))):
        assert gradcheck(function, arrays)
        assert gradgradcheck(function, arrays)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", ["csr", "csr transposed", "coo", "sampled", "assembled"])
def test_nested_derivatives_on_torch(name: str, dtype: str) -> None:
    """Forward and reverse mode in one another, and mapped, give what they give of dense products."""
    import torch

    rng = np.random.default_rng(0)
    make = lambda *shape: torch.from_numpy(rng.normal(size=shape)).to(getattr(torch, dtype))
    rows, columns = torch.from_numpy(ROWS), torch.from_numpy(COLUMNS)
    full = lambda v: torch.zeros(M, N, dtype=v.dtype).index_put((rows, columns), v, accumulate=True)
    at_size = assembly.csr_assembly(rows, columns, shape=(M, N))
    of_values = lambda v: assembly.assembled_values(v, at_size)
    function, reference, arrays = {
        "csr": (csr(products.csr_matmul), lambda v, x: full(v) @ x, (make(7), make(N, 2))),
        "csr transposed": (csr(products.csr_rmatmul), lambda v, y: full(v).mT @ y, (make(7), make(M, 2))),
        "coo": (coo, lambda v, x: full(v[torch.from_numpy(np.argsort(SHUFFLED))]) @ x, (make(7), make(N, 2))),
        "sampled": (
            lambda y, x: products.sampled_matmul(y, x, rows, columns),
            lambda y, x: (y @ x)[rows, columns],
            (make(M, 2), make(2, N)),
        ),
        "assembled": (
            lambda v, x: csr(products.csr_matmul)(v, x).sum() * of_values(v),
            lambda v, x: (full(v) @ x).sum() * full(v)[full(torch.ones(7)) != 0],
            (make(7), make(N, 2)),
        ),
    }[name]

    def of_one(multiply: Callable[..., Any]) -> Callable[..., Any]:
        def total(t: Any) -> Any:
            out = multiply(*(x * t + torch.sin(x.real * t) for x in arrays))
            return (out * out.conj()).real.sum()

        return total

    one, t = torch.ones((), dtype=torch.float64), torch.tensor(0.7, dtype=torch.float64)
    level = {
        "jvp": lambda f: lambda t: torch.func.jvp(f, (t,), (one,))[1],
        "grad": torch.func.grad,
    }
    nestings = [*((a, b) for a in level for b in level), ("jvp", "jvp", "jvp"), ("grad", "jvp", "jvp")]
    for nesting in nestings:
        found, expected = of_one(function), of_one(reference)
        for each in reversed(nesting):
            found, expected = level[each](found), level[each](expected)
        np.testing.assert_allclose(found(t), expected(t), rtol=1e-10, err_msg=str(nesting))
        ts = torch.stack([t, t + 1])
        np.testing.assert_allclose(
            torch.func.vmap(found)(ts), torch.func.vmap(expected)(ts), rtol=1e-10, err_msg=f"mapped {nesting}"
        )


def test_torch_is_first_used_inside_of_a_derivative() -> None:
    """The plug-in makes no tensors as it is imported: PyTorch's transformations have none of these."""
    code = (
        "import torch; from xpand_extensions.sparse import _products as products\n"
        "i, p, x = torch.tensor([0]), torch.tensor([0, 1]), torch.ones(1)\n"
        "f = lambda v: products.csr_matmul(v, i, p, x, shape=(1, 1)).sum()\n"
        "assert torch.func.grad(f)(x) == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


# Bad input

V, R, C, P = (np.asarray(x) for x in (VALUES, ROWS, COLUMNS, INDPTR))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: products.csr_matmul([1.0], C, P, X, shape=(M, N)), TypeError, "csr_matmul: values must be an array"),
        (lambda: products.csr_matmul(V, C, P, [1.0], shape=(M, N)), TypeError, "x must be an array"),
        (lambda: products.csr_matmul(V, C * 1.0, P, X, shape=(M, N)), TypeError, "indices must have an integer"),
        (lambda: products.csr_matmul(V > 0, C, P, X, shape=(M, N)), TypeError, "values must have a numeric"),
        (lambda: products.csr_matmul(V, C, P, X.astype(int), shape=(M, N)), TypeError, "data types that the standard"),
        (lambda: products.csr_matmul(V, C, P, X[:2], shape=(M, N)), ValueError, r"x must have the shape \(3,\)"),
        (lambda: products.csr_rmatmul(V, C, P, X, shape=(M, N)), ValueError, r"x must have the shape \(4,\)"),
        (lambda: products.csr_matmul(V, C, P[:-1], X, shape=(M, N)), ValueError, r"indptr must have the shape \(5,\)"),
        (lambda: products.csr_matmul(V, C[:3], P, X, shape=(M, N)), ValueError, r"indices must have the shape \(7,\)"),
        (lambda: products.csr_matmul(V, C, P, X, shape=M), ValueError, "shape must be a tuple of two sizes"),
        (lambda: products.csr_matmul(V[0], C, P, X, shape=(M, N)), ValueError, "values must have the shape"),
        (lambda: products.csr_matmul(BATCH, BATCH_C, P, X, shape=(M, N)), ValueError, "a pattern is for all"),
        (lambda: products.coo_matmul(V, R, C[:2], X, shape=(M, N)), ValueError, r"columns must have the shape \(7,\)"),
        (
            lambda: products.coo_matmul(BATCH, R, C, np.ones((3, N, 2)), shape=(M, N)),
            ValueError,
            "takes arrays that broadcast together",
        ),
        (lambda: products.sampled_matmul(Y, X, R, C), ValueError, "sampled_matmul: takes x of shape"),
        (lambda: products.sampled_matmul(YS, XS.T, R, C[:2]), ValueError, "rows and columns must have one shape"),
        (lambda: products.csr_rows(P * 1.0, nse=7), TypeError, "indptr must have an integer"),
        (lambda: products.csr_rows(P, nse=-1), ValueError, "nse must be at least 0"),
        (lambda: products.csr_rows(P[0], nse=1), ValueError, "indptr must have the shape"),
        (lambda: products.csr_plan(BATCH_C, P, shape=(M, N)), ValueError, "indices must have one shape"),
        (lambda: sparse.coo_todense(V, R, C * 1.0, shape=(M, N)), TypeError, "columns must have an integer"),
        (lambda: sparse.csr_todense(V, C, P[1:], shape=(M, N)), ValueError, "indptr must have the shape"),
        (lambda: assembly.csr_assembly(R, C[:2], shape=(M, N)), ValueError, "rows and columns must have one shape"),
        (lambda: assembly.csr_assembly(R, C, shape=(M, N), size=-1), ValueError, "size must be at least 0"),
        (lambda: assembly.csr_assembly(R, C, shape=(M, N), sum_duplicates=1), TypeError, "must be True or False"),
        (
            lambda: assembly.assembled_values(V[:2], assembly.csr_assembly(R, C, shape=(M, N))),
            ValueError,
            "one for each",
        ),
    ],
)
def test_bad_input(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_the_size_is_required_where_the_pattern_is_not_known() -> None:
    import jax

    with pytest.raises(ValueError, match="csr_assembly: size must be given"):
        jax.jit(lambda r, c: assembly.csr_assembly(r, c, shape=(M, N)))(ROWS, COLUMNS)
