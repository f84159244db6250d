"""Preconditioners against their definitions in dense NumPy, on every library."""

import pickle
import weakref

import jax
import numpy as np
import pytest
import scipy.sparse as sps
import torch
from numpy.testing import assert_allclose

from tests.libraries import EAGER_LIBRARIES, LIBRARIES, Library
from xpand import array_namespace
from xpand_extensions import jit, linear_solve, sparse, vmap

RNG = np.random.default_rng(11)
NUMPY = next(x for x in LIBRARIES if x.id == "numpy")


def poisson(n: int) -> np.ndarray:
    line = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    return np.kron(line, np.eye(n)) + np.kron(np.eye(n), line)


def convection(n: int) -> np.ndarray:
    wind = np.eye(n, k=1) - np.eye(n, k=-1)
    return poisson(n) + 0.3 * np.kron(wind, np.eye(n)) - 0.2 * np.kron(np.eye(n), wind)


SPD = poisson(5)
SKEW = convection(5)
R = RNG.standard_normal((3, 25))


def container(library: Library, a: np.ndarray, dtype=None, format="csr"):
    return sparse.from_dense(library.asarray(a, dtype=dtype), format)


def numbers(library: Library, x) -> np.ndarray:
    return np.asarray(library.to_numpy(x))


def dense_jacobi(a):
    return np.diag(1 / np.diag(a))


def dense_blocks(a, k):
    found = np.zeros_like(a)
    for i in range(0, len(a), k):
        found[i : i + k, i : i + k] = np.linalg.inv(a[i : i + k, i : i + k])
    return found


def dense_ssor(a, omega):
    d, lower, upper = np.diag(np.diag(a)), np.tril(a, -1), np.triu(a, 1)
    m = (d + omega * lower) @ np.linalg.inv(d) @ (d + omega * upper) / (omega * (2 - omega))
    return np.linalg.inv(m)


def dense_ilu(a):
    """Do Gaussian elimination that keeps to the pattern."""
    pattern, f = a != 0, a.copy()
    for i in range(1, len(a)):
        for k in range(i):
            if pattern[i, k]:
                f[i, k] /= f[k, k]
                for j in range(k + 1, len(a)):
                    if pattern[i, j]:
                        f[i, j] -= f[i, k] * f[k, j]
    return np.linalg.inv((np.tril(f, -1) + np.eye(len(a))) @ np.triu(f))


def dense_chebyshev(a, degree, low, high):
    """Evaluate the polynomial by its values on a basis of eigenvectors."""
    inverse = 1 / np.diag(a)
    eigenvalues, vectors = np.linalg.eig(inverse[:, None] * a)
    t = lambda x: np.cosh((degree + 1) * np.arccosh(x + 0j)).real
    centre, width = (high + low) / 2, (high - low) / 2
    values = (1 - t((centre - eigenvalues) / width) / t(centre / width)) / eigenvalues
    return (vectors * values) @ np.linalg.inv(vectors) @ np.diag(inverse)


CASES = {
    "jacobi": (linear_solve.jacobi, dense_jacobi),
    "block_jacobi": (lambda a: linear_solve.block_jacobi(a, 4), lambda a: dense_blocks(a, 4)),
    "whole_blocks": (lambda a: linear_solve.block_jacobi(a, 5), lambda a: dense_blocks(a, 5)),
    "ssor": (lambda a: linear_solve.ssor(a, 1.3), lambda a: dense_ssor(a, 1.3)),
    "ilu": (linear_solve.ilu, dense_ilu),
    "ic": (linear_solve.ic, dense_ilu),
    "chebyshev": (
        lambda a: linear_solve.chebyshev(a, 5, bounds=(0.1, 1.9)),
        lambda a: dense_chebyshev(a, 5, 0.1, 1.9),
    ),
}
SYMMETRIC_ONLY = ("ic",)


def applied(library: Library, m, r: np.ndarray, dtype=None, transposed=False):
    x = library.asarray(r, dtype=dtype)
    return m.transposed(x, axis=-1) if transposed else m(x, axis=-1)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("library", "dtype"),
    [
        *((x, "float64") for x in EAGER_LIBRARIES),
        *((x, "float32") for x in EAGER_LIBRARIES if x.id in ("numpy", "jax")),
    ],
    ids=str,
)
def test_definition(library, name, dtype):
    build, dense = CASES[name]
    tolerance = 1e-12 if dtype == "float64" else 3e-5
    matrices = (SPD,) if name in SYMMETRIC_ONLY else (SPD, SKEW) if library is NUMPY else (SKEW,)
    for a in matrices:
        expected = dense(a)
        kinds = (container(library, a, dtype), library.asarray(a, dtype=dtype))
        for given in kinds if library is NUMPY else kinds[:1]:
            m = build(given)
            assert m.size == 25
            found = applied(library, m, R, dtype)
            assert array_namespace(found) is library.xp
            assert str(numbers(library, found).dtype) == dtype
            assert_allclose(numbers(library, found), R @ expected.T, rtol=tolerance, atol=tolerance)
            found = applied(library, m, R[0], dtype, transposed=True)
            assert_allclose(numbers(library, found), R[0] @ expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("format", ["coo", "csc"])
@pytest.mark.parametrize("name", CASES)
def test_formats(name, format):
    build, dense = CASES[name]
    assert_allclose(build(container(NUMPY, SPD, format=format))(R.T), dense(SPD) @ R.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["jacobi", "block_jacobi", "chebyshev", "ssor"])
def test_batches_of_matrices(name):
    build, dense = CASES[name]
    batch = np.stack([SPD, SKEW + np.eye(25)])
    expected = np.stack([r @ dense(a).T for a, r in zip(batch, R)])
    assert_allclose(build(batch)(R[:2], axis=-1), expected, rtol=1e-12, atol=1e-12)
    values = sparse.from_dense(batch, "csr", batch_ndim=1)
    assert_allclose(build(values)(R[:2], axis=-1), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [*CASES, "multilevel"])
@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_under_jit_and_vmap(library, name):
    build = (lambda a: linear_solve.multilevel(a, coarsest=5)) if name == "multilevel" else CASES[name][0]
    m, r = build(container(library, SPD)), library.asarray(R)
    expected = numbers(library, m(r, axis=-1))
    assert_allclose(numbers(library, jit.jit(lambda m, r: m(r, axis=-1))(m, r)), expected, rtol=1e-12, atol=1e-12)
    assert_allclose(numbers(library, vmap.vmap(m)(r)), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_objects_that_are_stored(name):
    """They take weak references, by which libraries hold what they compile, and are pickled."""
    m = CASES[name][0](container(NUMPY, SPD))
    assert weakref.ref(m)() is m
    assert m in {m}
    with pytest.raises(AttributeError, match=r"can't be set: preconditioners are immutable"):
        m.size = 3
    again = pickle.loads(pickle.dumps(m))
    assert type(again) is type(m)
    assert_allclose(again(R.T), m(R.T), rtol=1e-14)
    assert repr(m).startswith(f"{type(m).__name__}({m._trees[0]}=")


def test_transformations_of_libraries_take_them():
    """JAX's own `jit` of one, twice, which ended the process; PyTorch's trees, with a part that is None."""
    with pytest.raises(ValueError, match="zip"):
        linear_solve.Jacobi()
    m = linear_solve.jacobi(jax.numpy.asarray(SPD))
    for _ in range(2):
        assert_allclose(jax.jit(m)(R.T), R.T / 4.0, rtol=1e-14)
    assert_allclose(jax.jit(lambda m, r: m(r))(m, R.T), R.T / 4.0, rtol=1e-14)
    blocks = linear_solve.block_jacobi(torch.asarray(SPD), 5)
    assert blocks.last is None
    found = torch.func.vmap(lambda m, r: m(r), in_dims=(None, 0))(blocks, torch.asarray(R))
    assert_allclose(found, R @ dense_blocks(SPD, 5).T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["jacobi", "block_jacobi", "chebyshev"])
def test_built_under_jit(name):
    build, dense = CASES[name]
    found = jit.jit(lambda a, r: build(a)(r))(SPD, R.T)
    assert_allclose(found, dense(SPD) @ R.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("library", "dtype"), [*((x, "float64") for x in EAGER_LIBRARIES), (NUMPY, "float32")], ids=str
)
def test_multilevel_is_symmetric_and_positive(library, dtype):
    a = poisson(20)
    m = linear_solve.multilevel(container(library, a, dtype), coarsest=30)
    assert m.levels[0].matrix.shape == (400, 400)
    dense = numbers(library, m(library.asarray(np.eye(400), dtype=dtype))).astype(float)
    tolerance = 1e-12 if dtype == "float64" else 1e-4
    assert_allclose(dense, dense.T, rtol=tolerance, atol=tolerance)
    assert np.linalg.eigvalsh((dense + dense.T) / 2).min() > 0
    eigenvalues = np.linalg.eigvals(dense @ a).real
    assert eigenvalues.max() / eigenvalues.min() < 10  # 178 without
    transposed = numbers(library, m.transposed(library.asarray(np.eye(400), dtype=dtype)))
    assert_allclose(transposed, dense.T, rtol=tolerance, atol=tolerance)


def steps(a, m, r) -> int:
    """Count the steps of conjugate gradients."""
    result = linear_solve.solve(a, r, method="cg", preconditioner=m, rtol=1e-8, positive_definite=True)
    assert bool(result.converged)
    return int(result.iterations)


def test_steps_fall_as_expected():
    found = {}
    for n in (16, 32, 64):
        a = sparse.from_native(
            sps.csr_array(sps.kron(_line(n), sps.eye_array(n)) + sps.kron(sps.eye_array(n), _line(n)))
        )
        b = np.random.default_rng(n).standard_normal(n * n)
        builders = {
            "none": lambda a: None,
            "jacobi": linear_solve.jacobi,
            "chebyshev": linear_solve.chebyshev,
            "ssor": linear_solve.ssor,
            "ic": linear_solve.ic,
            "ilu": linear_solve.ilu,
            "multilevel": lambda a: linear_solve.multilevel(a, coarsest=40),
            "pyamg": lambda a: linear_solve.multilevel(a, coarsest=40, builder="pyamg"),
        }
        found[n] = {name: steps(a, build(a), b) for name, build in builders.items()}
    for each in found.values():
        assert each["ic"] == each["ilu"] < 0.6 * each["jacobi"]
        assert each["ssor"] < 0.7 * each["jacobi"]
        assert each["chebyshev"] < 0.4 * each["jacobi"]
        assert each["multilevel"] < each["ic"]
    # Nearly independent of the size, where the others double.
    assert found[64]["multilevel"] <= 1.5 * found[16]["multilevel"]
    assert found[64]["pyamg"] <= 1.5 * found[16]["pyamg"]
    assert found[64]["jacobi"] > 3 * found[16]["jacobi"]


def _line(n):
    return sps.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))


def test_a_users_function():
    a, b = container(NUMPY, SPD), R[0]
    inverse = np.linalg.inv(SPD)
    assert steps(a, lambda r: r @ inverse, b) <= 2


def test_complex():
    a = SPD + 1j * np.triu(SKEW, 1) * 0.1 - 1j * np.triu(SKEW, 1).T * 0.1
    for name in ("jacobi", "block_jacobi", "ssor", "ilu", "ic"):
        build, dense = CASES[name]
        expected = dense(a)
        m = build(container(NUMPY, a))
        assert_allclose(m(R.T + 0j), expected @ R.T, rtol=1e-12, atol=1e-12)
        assert_allclose(m.transposed(R.T + 0j), expected.T @ R.T, rtol=1e-12, atol=1e-12)


def test_incomplete_factors_where_sweeps_fail():
    # Far from diagonally dominant: the sweeps overflow on their way, and rows are eliminated one by one.
    rng = np.random.default_rng(5)
    a = np.where(rng.random((40, 40)) < 0.5, 50 * rng.standard_normal((40, 40)), 0.0) + np.eye(40)
    m = linear_solve.ilu(a)
    expected = dense_ilu(a)
    r = rng.standard_normal(40)
    assert_allclose(m(r), expected @ r, rtol=1e-6, atol=1e-6 * np.abs(expected @ r).max())


def test_isolated_unknowns_and_tiny_matrices():
    a = np.eye(300)
    a[:200, :200] = 2 * np.eye(200) - np.eye(200, k=1) - np.eye(200, k=-1)
    m = linear_solve.multilevel(container(NUMPY, a), coarsest=10)
    assert np.all(np.isfinite(m(np.ones(300))))
    for n in (1, 2):
        for build in (*(build for build, _ in CASES.values()), linear_solve.multilevel):
            if build in (CASES["block_jacobi"][0], CASES["whole_blocks"][0]):
                continue
            assert np.all(np.isfinite(build(np.eye(n) * 2.0)(np.ones(n))))


BUILDERS = (
    "jacobi",
    "ssor",
    "ilu",
    "ic",
    "chebyshev",
    "multilevel",
)


@pytest.mark.parametrize("name", BUILDERS)
def test_bad_matrices(name):
    build = getattr(linear_solve, name)
    with pytest.raises(ValueError, match=rf"{name}: A must hold square matrices.*\(2, 3\)"):
        build(np.ones((2, 3)))
    with pytest.raises(TypeError, match=f"{name}: A must have a floating-point data type, got int64"):
        build(np.eye(2, dtype=np.int64))
    with pytest.raises(TypeError, match=f"{name}: A must be an array"):
        build([[1.0]])
    if name != "multilevel":
        with pytest.raises(ValueError, match=f"{name}: the diagonal of A .* row 1 isn't"):
            build(np.asarray([[1.0, 2.0], [2.0, 0.0]]))


@pytest.mark.parametrize("name", ["ilu", "ic", "multilevel"])
def test_built_from_known_values_alone(name):
    build = getattr(linear_solve, name)
    with pytest.raises(TypeError, match=f"{name}: A must have known values.*build the preconditioner outside"):
        jit.jit(lambda a: build(a)(R.T))(SPD)
    with pytest.raises(ValueError, match=f"{name}: A must be one matrix, got a batch"):
        build(np.stack([SPD, SPD]))


def test_bad_options():
    with pytest.raises(ValueError, match="ssor: omega must be a number above 0 and below 2, got 2.0"):
        linear_solve.ssor(SPD, 2.0)
    with pytest.raises(ValueError, match="block_jacobi: block_size=26 is more than the 25 rows"):
        linear_solve.block_jacobi(SPD, 26)
    with pytest.raises(ValueError, match="chebyshev: bounds must be a pair of numbers, 0 < low < high"):
        linear_solve.chebyshev(SPD, bounds=(2.0, 1.0))
    with pytest.raises(ValueError, match="chebyshev: degree must be at least 0"):
        linear_solve.chebyshev(SPD, -1)
    with pytest.raises(ValueError, match="multilevel: strength must be from 0 to below 1"):
        linear_solve.multilevel(SPD, strength=1.0)
    with pytest.raises(ValueError, match="multilevel: builder must be one of"):
        linear_solve.multilevel(SPD, builder="hypre")
    with pytest.raises(ValueError, match=r"multilevel: candidate must be an array of shape \(25,\)"):
        linear_solve.multilevel(SPD, candidate=np.ones(3))
    with pytest.raises(ValueError, match="ic: the pivot of row 1 is"):
        linear_solve.ic(np.asarray([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(
        ValueError, match=r"r must have the shape \(25,\) or \(..., 25, k\) for A of shape \(25, 25\), got \(3,\)"
    ):
        linear_solve.jacobi(SPD)(np.ones(3))
    with pytest.raises(TypeError, match="r must be an array, got list"):
        linear_solve.jacobi(SPD)([1.0])
