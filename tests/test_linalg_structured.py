"""Blocks on the diagonal, Toeplitz matrices, tridiagonal systems, QR with pivots: against SciPy, transformations."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg

from tests.libraries import Library, unless
from tests.operations import Case, Check, check_values, checked
from xpand_extensions import linalg
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit

RNG = np.random.default_rng(0)


def normal(*shape: int, dtype: str = "float64") -> np.ndarray:
    values = RNG.normal(size=shape)
    return (values + 1j * RNG.normal(size=shape) if dtype.startswith("c") else values).astype(dtype)


def tridiagonal(dl: np.ndarray, d: np.ndarray, du: np.ndarray) -> np.ndarray:
    """Dense matrices of three diagonals."""
    shape = np.broadcast_shapes(dl.shape, d.shape, du.shape)
    dl, d, du = (np.broadcast_to(x, shape) for x in (dl, d, du))
    eye = np.eye(shape[-1])
    below, above = np.roll(eye, -1, axis=-1), np.roll(eye, 1, axis=-1)
    below, above = np.tril(below, k=-1), np.triu(above, k=1)
    return np.asarray(dl[..., None] * below + d[..., None] * eye + du[..., None] * above)


def solved(dl: np.ndarray, d: np.ndarray, du: np.ndarray, b: np.ndarray) -> np.ndarray:
    matrix = tridiagonal(dl, d, du)
    return np.asarray(np.linalg.solve(matrix, b[:, None])[..., 0] if b.ndim == 1 else np.linalg.solve(matrix, b))


D3, D5 = (normal(3), normal(3) + 4.0, normal(3)), (normal(2, 5), normal(5), normal(1, 5))
CASES = {
    "block_diag": Case(
        linalg.block_diag,
        (normal(2, 3), normal(1, 1), normal(3, 2)),
        reference=scipy.linalg.block_diag,
        differentiable=(0, 1, 2),
    ),
    "block_diag, no rows": Case(
        linalg.block_diag, (normal(2, 2), np.ones((0, 1)), normal(1, 0)), reference=scipy.linalg.block_diag
    ),
    "toeplitz": Case(linalg.toeplitz, (normal(3), normal(4)), reference=scipy.linalg.toeplitz, differentiable=(0, 1)),
    "toeplitz, Hermitian": Case(linalg.toeplitz, (normal(3, dtype="complex128"),), reference=scipy.linalg.toeplitz),
    "toeplitz, integers": Case(linalg.toeplitz, (np.arange(4), np.arange(2)), reference=scipy.linalg.toeplitz),
    "tridiagonal_solve, vector": Case(
        linalg.tridiagonal_solve, (*D3, normal(3)), reference=solved, differentiable=(0, 1, 2, 3)
    ),
    "tridiagonal_solve, stack": Case(linalg.tridiagonal_solve, (*D5, normal(5, 2)), reference=solved, rtol=1e-11),
    "tridiagonal_solve, complex": Case(
        linalg.tridiagonal_solve,
        (*(normal(4, dtype="complex128") for _ in range(3)), normal(4, 2, dtype="complex128")),
        reference=solved,
        rtol=1e-11,
    ),
    "pivoted_qr": Case(
        lambda x: tuple(abs(each) for each in linalg.pivoted_qr(x)),
        (normal(4, 3),),
        reference=lambda x: tuple(
            np.abs(each).astype(kind)
            for each, kind in zip(scipy.linalg.qr(x, mode="economic", pivoting=True), (float, float, np.int64))
        ),
        differentiable=(0,),
        rtol=1e-11,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked({name: case for name, case in CASES.items() if case.differentiable})
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


def test_stacks_broadcast(library: Library) -> None:
    x, y = normal(2, 1, 2, 1), normal(3, 1, 2)
    blocks = library.to_numpy(linalg.block_diag(library.asarray(x), library.asarray(y)))
    c, r = normal(2, 1, 3), normal(3, 2)
    matrices = library.to_numpy(linalg.toeplitz(library.asarray(c), library.asarray(r)))
    assert blocks.shape == (2, 3, 3, 3)
    assert matrices.shape == (2, 3, 3, 2)
    for i, j in np.ndindex(2, 3):
        np.testing.assert_array_equal(blocks[i, j], scipy.linalg.block_diag(x[i, 0], y[j]))
        np.testing.assert_array_equal(matrices[i, j], scipy.linalg.toeplitz(c[i, 0], r[j]))


@pytest.mark.parametrize("m", [0, 1, 3])
@pytest.mark.parametrize("n", [0, 1, 4])
def test_sizes_of_toeplitz_matrices(library: Library, m: int, n: int) -> None:
    c, r = np.arange(m), np.arange(n) + 10
    expected = np.asarray([[c[i - j] if i >= j else r[j - i] for j in range(n)] for i in range(m)], dtype=c.dtype)
    library.assert_equal(linalg.toeplitz(library.asarray(c), library.asarray(r)), expected.reshape(m, n))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_systems_that_need_exchanges(library: Library, size: int, dtype: str) -> None:
    """Elimination without exchanges would divide by 0 or by tiny numbers."""
    tolerance = 1e-4 if dtype in ("float32", "complex64") else 1e-12
    ones, zeros = np.ones(size, dtype=dtype), np.zeros(size, dtype=dtype)
    tiny = np.full(size, 1e-20, dtype=dtype)
    random = [normal(size, dtype=dtype) for _ in range(3)]
    b = normal(size, 2, dtype=dtype)
    for diagonals in ((ones, tiny, ones), (ones, zeros, ones), random):
        matrix = tridiagonal(*(x.astype(np.complex128) for x in diagonals))
        if np.linalg.cond(matrix) > 1e4:  # an odd number of rows
            continue
        x = library.to_numpy(linalg.tridiagonal_solve(*map(library.asarray, (*diagonals, b))))
        assert x.dtype == np.dtype(dtype)
        scale = np.max(np.abs(x))
        np.testing.assert_allclose(matrix @ x, b, atol=tolerance * scale)


def test_elements_outside_are_not_read(library: Library) -> None:
    dl, d, du, b = (np.array(x) for x in (*D3, normal(3)))
    dl[0] = du[-1] = np.nan
    expected = solved(np.nan_to_num(dl), d, np.nan_to_num(du), b)
    for rhs, wanted in ((b, expected), (b[:, None], expected[:, None])):
        found = linalg.tridiagonal_solve(*map(library.asarray, (dl, d, du, rhs)))
        library.assert_equal(found, wanted, rtol=1e-12)
    stacked = linalg.tridiagonal_solve(*map(library.asarray, (dl[None], d, du, b[:, None])))
    library.assert_equal(stacked, expected[None, :, None], rtol=1e-12)


def test_gradients_ignore_elements_outside() -> None:
    dl, d, du, b = (np.array(x) for x in (*D3, normal(3)))
    dl[0] = du[-1] = np.nan
    gradients = jit(grad(lambda *args: linalg.tridiagonal_solve(*args).sum(), (0, 1, 2, 3)))(dl, d, du, b)
    assert gradients[0][0] == gradients[2][-1] == 0.0
    assert all(np.isfinite(x).all() for x in gradients)


def test_singular_systems(library: Library) -> None:
    """Only the singular system of a stack is infinite or NaN."""
    d = np.asarray([[0.0, 1.0], [1.0, 1.0]])
    zeros = np.zeros(2)
    with np.errstate(all="ignore"):
        x = library.to_numpy(linalg.tridiagonal_solve(*map(library.asarray, (zeros, d, zeros, np.ones((2, 1))))))
        one = library.to_numpy(linalg.tridiagonal_solve(*map(library.asarray, (zeros, d[0], zeros, np.ones(2)))))
    assert not np.isfinite(x[0]).all()
    assert not np.isfinite(one).all()
    np.testing.assert_array_equal(x[1], np.ones((2, 1)))


@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_no_values(library: Library, shape: tuple[int, ...]) -> None:
    x = library.asarray(np.ones(shape))
    b = np.ones((0, 3))
    expected = np.ones((*shape[:-1], 0, 3))
    library.assert_equal(linalg.tridiagonal_solve(x, x, x, library.asarray(b)), expected)
    for size in ((0, 0), (0, 2), (3, 0), (0, 2, 2)):
        q, r, p = linalg.pivoted_qr(library.asarray(np.ones(size)))
        assert library.to_numpy(p).tolist() == np.broadcast_to(np.arange(size[-1]), (*size[:-2], size[-1])).tolist()
        assert (q.shape, r.shape) == tuple(x.shape for x in np.linalg.qr(np.ones(size)))


@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(4, 3), (3, 5), (2, 3, 3)])
def test_factors_with_pivots(library: Library, shape: tuple[int, ...], dtype: str, mode: Any) -> None:
    tolerance = 1e-5 if dtype in ("float32", "complex64") else 1e-12
    x = normal(*shape, dtype=dtype)
    q, r, order = map(library.to_numpy, linalg.pivoted_qr(library.asarray(x), mode=mode))
    taken = np.take_along_axis(x, np.broadcast_to(order[..., None, :], x.shape), axis=-1)
    np.testing.assert_allclose(q @ r, taken, atol=tolerance)
    assert q.shape[-1] == (min(shape[-2:]) if mode == "reduced" else shape[-2])
    size = np.abs(np.diagonal(r, axis1=-2, axis2=-1))
    assert np.all(np.diff(size, axis=-1) <= tolerance)
    for each, found in zip(x.reshape(-1, *shape[-2:]), order.reshape(-1, shape[-1])):
        assert found.tolist() == scipy.linalg.qr(each, pivoting=True)[2].tolist()


def test_rank_by_pivots(library: Library) -> None:
    """Scales don't matter: squares of these numbers overflow or underflow."""
    x = normal(5, 2) @ normal(2, 4)
    for scale in (1.0, 1e200, 1e-200):
        _, r, order = map(library.to_numpy, linalg.pivoted_qr(library.asarray(scale * x)))
        size = np.abs(np.diagonal(r)) / scale
        assert np.sum(size > 1e-10 * size[0]) == 2
        assert sorted(order.tolist()) == [0, 1, 2, 3]


def test_bad_input(library: Library) -> None:
    x, vector = library.asarray(np.ones((2, 2))), library.asarray(np.ones(3))
    with pytest.raises(TypeError, match="block_diag: takes at least one array"):
        linalg.block_diag()
    with pytest.raises(TypeError, match=r"block_diag: arrays\[1\] must be an array, got list"):
        linalg.block_diag(x, [[1.0]])
    with pytest.raises(ValueError, match=r"block_diag: arrays\[1\] must hold matrices"):
        linalg.block_diag(x, vector)
    with pytest.raises(TypeError, match="toeplitz: c must be an array, got list"):
        linalg.toeplitz([1.0])
    with pytest.raises(ValueError, match="toeplitz: c must hold vectors"):
        linalg.toeplitz(library.asarray(1.0))
    with pytest.raises(ValueError, match=r"tridiagonal_solve: du must hold one number for each row"):
        linalg.tridiagonal_solve(vector, vector, vector[:2], vector)
    with pytest.raises(ValueError, match=r"tridiagonal_solve: b must have the shape \(3,\) or \(..., 3, k\)"):
        linalg.tridiagonal_solve(vector, vector, vector, x)
    with pytest.raises(TypeError, match="tridiagonal_solve: dl must have a floating-point data type"):
        linalg.tridiagonal_solve(library.asarray([1]), vector[:1], vector[:1], vector[:1])
    with pytest.raises(ValueError, match="pivoted_qr: mode must be one of"):
        linalg.pivoted_qr(x, mode="economic")
    with pytest.raises(ValueError, match="pivoted_qr: x must hold matrices"):
        linalg.pivoted_qr(vector)


@unless(lambda library: library.id not in ("numpy", "jax"))  # the others take one step for each row in Python
def test_large_systems(library: Library) -> None:
    size = 20_000
    d, e, b = np.full(size, 2.0), np.full(size, -1.0), normal(size)
    expected = scipy.linalg.solve_banded((1, 1), np.stack([np.roll(e, 1), d, np.roll(e, -1)]), b)
    found = library.to_numpy(linalg.tridiagonal_solve(*map(library.asarray, (e, d, e, b))))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.max(np.abs(expected)))
