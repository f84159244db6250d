"""Vectors and matrices: samples, means and covariances, invariance."""

from typing import Any

import jax
import numpy as np
import pytest
from scipy import special, stats

from tests.distributions import SEED
from tests.libraries import LIBRARIES, Library
from xpand import array_namespace
from xpand_extensions import random
from xpand_extensions.autodiff import grad
from xpand_extensions.vmap import vmap

NUMPY, TORCH, JAX, STRICT = LIBRARIES[:4]
MEAN = np.asarray([1.0, -2.0, 0.5])
COV = np.asarray([[2.0, 0.5, 0.0], [0.5, 1.0, -0.3], [0.0, -0.3, 0.5]])


def _key(library: Library, seed: int = SEED) -> Any:
    return library.asarray(np.asarray([0, seed], dtype=np.uint32))


def test_normal_vectors_are_those_of_jax(library: Library) -> None:
    for shape in (None, (4,)):
        expected = np.asarray(jax.random.multivariate_normal(jax.random.PRNGKey(SEED), MEAN, COV, shape))
        found = random.multivariate_normal(_key(library), library.asarray(MEAN), library.asarray(COV), shape)
        np.testing.assert_allclose(library.to_numpy(found), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", ["cholesky", "eigh", "svd"])
def test_moments_of_normal_vectors(method: str) -> None:
    samples = random.multivariate_normal(random.key(1), MEAN, COV, (20_000,), method=method)
    whitened = np.linalg.solve(np.linalg.cholesky(COV), (samples - MEAN).T)
    # Twenty thousand squared lengths of three normal numbers.
    assert stats.kstest(np.sum(whitened**2, axis=0), stats.chi2(3).cdf).pvalue > 1e-3
    for row in whitened:
        assert stats.kstest(row, stats.norm.cdf).pvalue > 1e-3


def test_singular_covariance() -> None:
    # Of these matrices of rank 1, rounding makes some eigenvalues negative.
    for seed in range(4):
        vector = np.random.default_rng(seed).normal(size=3)
        cov = np.outer(vector, vector)
        for method in ("eigh", "svd"):
            samples = random.multivariate_normal(random.key(1), np.zeros(3), cov, (50,), method=method)
            np.testing.assert_allclose(samples / vector, np.repeat(samples[:, :1] / vector[0], 3, axis=1), atol=1e-6)
    assert min(np.linalg.eigvalsh(np.outer(v, v))[0] for v in np.random.default_rng(0).normal(size=(4, 3))) < 0.0
    with pytest.raises(ValueError, match="cov must be positive definite; use method='eigh'"):
        random.multivariate_normal(random.key(1), np.zeros(2), np.ones((2, 2)))


def test_stacks_and_types_of_normal_vectors(library: Library) -> None:
    mean = library.asarray(np.zeros((4, 1, 2)))
    cov = library.asarray(np.eye(2))
    found = random.multivariate_normal(_key(library), mean, cov, (4, 3))
    assert tuple(found.shape) == (4, 3, 2)
    found = random.multivariate_normal(_key(library), mean, cov, dtype=library.xp.float32)
    assert found.dtype == library.xp.float32
    assert tuple(found.shape) == (4, 1, 2)


def test_gradient_in_the_covariance() -> None:
    def total(cov: Any) -> Any:
        xp = array_namespace(cov)
        return xp.sum(random.multivariate_normal(random.key(SEED), np.zeros(3), cov) ** 2)

    expected = jax.grad(
        lambda cov: (jax.random.multivariate_normal(jax.random.PRNGKey(SEED), np.zeros(3), cov) ** 2).sum()
    )(COV)
    found = grad(total)(COV)
    # How a library takes the two triangles for variables is its own; the derivative along symmetric changes is not.
    np.testing.assert_allclose(found + found.T, np.asarray(expected) + np.asarray(expected).T, rtol=1e-9)


@pytest.mark.parametrize(("n", "m"), [(3, None), (2, 4), (4, 2)])
def test_orthogonal(library: Library, n: int, m: int | None) -> None:
    if library.lazy and m is None:
        m = n
    found = library.to_numpy(random.orthogonal(_key(library), n, dtype=library.xp.float64, m=m))
    assert found.shape == (n, m or n)
    product = found @ found.T if n <= (m or n) else found.T @ found
    np.testing.assert_allclose(product, np.eye(min(n, m or n)), atol=1e-14)
    expected = jax.random.orthogonal(jax.random.PRNGKey(SEED), n, m=m)
    np.testing.assert_allclose(found, np.asarray(expected), atol=1e-13)


def test_unitary() -> None:
    found = random.orthogonal(random.key(0), 4, (3,), np.complex128)
    np.testing.assert_allclose(
        found @ np.conj(np.swapaxes(found, -1, -2)), np.broadcast_to(np.eye(4), (3, 4, 4)), atol=1e-14
    )


def test_orthogonal_matrices_are_uniform() -> None:
    samples = random.orthogonal(random.key(3), 3, (5000,))
    # A column is a point of the sphere, whose coordinates are uniform in three dimensions; and half are reflections.
    for i in range(3):
        assert stats.kstest(samples[:, i, 0], stats.uniform(-1.0, 2.0).cdf).pvalue > 1e-3
    reflections = int(np.sum(np.linalg.det(samples) < 0.0))
    assert stats.binomtest(reflections, 5000).pvalue > 1e-3


@pytest.mark.parametrize("p", [1.0, 2.0, 4.0])
def test_ball(library: Library, p: float) -> None:
    shape = (6,)
    expected = np.asarray(jax.random.ball(jax.random.PRNGKey(SEED), 3, p, shape))
    found = library.to_numpy(random.ball(_key(library), 3, p, shape, library.xp.float64))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_radii_of_a_ball() -> None:
    for d, p in ((2, 2.0), (5, 1.0)):
        samples = random.ball(random.key(4), d, p, (20_000,))
        radii = np.sum(np.abs(samples) ** p, axis=-1) ** (1 / p)
        assert stats.kstest(radii**d, stats.uniform.cdf).pvalue > 1e-3


@pytest.mark.parametrize("p", [0.05, 0.1, 100.0, 1000.0])
def test_powers_of_a_ball_do_not_underflow(library: Library, p: float) -> None:
    """Samples of the gamma distribution are 0 in float32 for large p, and norms overflow for small ones."""
    samples = library.to_numpy(random.ball(_key(library), 3, p, (4000,), library.xp.float32)).astype(np.float64)
    assert np.mean(samples == 0.0) < 0.001
    radii = np.exp(special.logsumexp(p * np.log(np.abs(samples)), axis=-1) / p)
    assert stats.kstest(radii**3, stats.uniform.cdf).pvalue > 1e-3


@pytest.mark.parametrize("library", [NUMPY, TORCH, JAX], ids=str)
def test_mapped(library: Library) -> None:
    keys = random.split(_key(library), 3)
    mean, cov = library.asarray(MEAN), library.asarray(COV)

    def draw(key: Any) -> Any:
        return random.multivariate_normal(key, mean, cov) + random.ball(key, 3, dtype=mean.dtype)

    expected = np.stack([library.to_numpy(draw(keys[i, ...])) for i in range(3)])
    np.testing.assert_allclose(library.to_numpy(vmap(draw)(keys)), expected, rtol=1e-12)


KEY = random.key(0)
BAD = {
    "square": (
        lambda: random.multivariate_normal(KEY, MEAN, COV[:2]),
        ValueError,
        "cov must have the shape",
    ),
    "vector": (lambda: random.multivariate_normal(KEY, MEAN[0], COV), ValueError, "mean must be a vector"),
    "symmetric": (lambda: random.multivariate_normal(KEY, MEAN, np.triu(COV)), ValueError, "cov must be symmetric"),
    "definite": (lambda: random.multivariate_normal(KEY, MEAN, -COV), ValueError, "cov must be positive definite"),
    "method": (lambda: random.multivariate_normal(KEY, MEAN, COV, method="lu"), ValueError, "method must be one of"),
    "integers": (lambda: random.multivariate_normal(KEY, np.zeros(3, int), COV), TypeError, "mean must have a real"),
    "stack": (
        lambda: random.multivariate_normal(KEY, np.zeros((2, 3)), COV, (3,)),
        ValueError,
        "multivariate_normal: ",
    ),
    "rows": (lambda: random.orthogonal(KEY, -1), ValueError, "orthogonal: n must be at least 0"),
    "columns": (lambda: random.orthogonal(KEY, 2, m=1.5), TypeError, "orthogonal: m must be an integer"),
    "dimensions": (lambda: random.ball(KEY, 2.0), TypeError, "ball: d must be an integer"),
    "norm": (lambda: random.ball(KEY, 2, 0.0), ValueError, "ball: p must be above 0"),
    "norms": (lambda: random.ball(KEY, 2, np.ones(2), (2,)), ValueError, "p must be a number or an array of no axes"),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_bad_input(case: tuple) -> None:
    call, error, match = case
    with pytest.raises(error, match=match):
        call()
