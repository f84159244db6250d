"""Sparse triangles solved level by level, as on devices far from the host: here on all, told that they are far."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from hypothesis import given, settings, strategies as st

from tests.libraries import EAGER_LIBRARIES, Library, unless
from tests.systems import SYSTEMS, LinearSystem, poisson, vector
from xpand_extensions import autodiff, jit, sparse, vmap
from xpand_extensions.linear_solve import Status, _levels as levels, factorize, ic, ilu, solve, solve_triangular, ssor
from xpand_extensions.linear_solve._levels import schedule
from xpand_extensions.tracing import _host

pytestmark = pytest.mark.usefixtures("far_from_the_host")
RNG = np.random.default_rng(0)
BANK = [
    each
    for each in SYSTEMS
    if each.is_square and each.matrix.size and (np.diag(each.matrix) != 0).all() and each.condition < 1e6
]


@pytest.fixture
def far_from_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "_is_off_host", lambda x: True)


def container(library: Library, a: Any, dtype: str | None = None) -> sparse.CSR:
    a = scipy.sparse.csr_array(a)
    return sparse.CSR(library.asarray(a.data, dtype), library.asarray(a.indices), library.asarray(a.indptr), a.shape)


def triangle(size: int, share: float, seed: int = 0, dtype: str = "float64") -> np.ndarray:
    """A matrix with entries here and there, whose triangles are well conditioned."""
    random = np.random.default_rng(seed)
    a = random.normal(size=(size, size)) * (random.uniform(size=(size, size)) < share) / max(1.0, share * size)
    return (a * (1 + 0.5j) if dtype.startswith("c") else a).astype(dtype) + 2 * np.eye(size, dtype=dtype)


def chosen(library: Library) -> list[LinearSystem]:
    return BANK if library.id == "numpy" else BANK[:: {"jax": 90}.get(library.id, 12)]


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_against_scipy(library: Library) -> None:
    for system in chosen(library):
        for lower in (True, False):
            cut = np.tril(system.matrix) if lower else np.triu(system.matrix)
            found = factorize(container(library, system.matrix), method="lower" if lower else "upper")
            assert found.method.startswith("triangular (level by level, "), system
            b = vector(len(cut), cut.dtype)
            expected = scipy.sparse.linalg.spsolve_triangular(scipy.sparse.csr_array(cut), b, lower=lower)
            backward = scipy.sparse.linalg.spsolve_triangular(scipy.sparse.csr_array(cut.T), b, lower=not lower)
            tolerance = max(float(library.to_numpy(found.condition)), 1.0) * 1e-14
            for x, right in ((found.solve, expected), (found.solve_transposed, backward)):
                scale = max(np.abs(right).max(), 1e-300)
                library.assert_equal(x(library.asarray(b)), right, rtol=1e-12, atol=tolerance * scale)
            assert int(library.to_numpy(found.status)) == Status.CONVERGED, system


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
@unless(lambda dtype, library: library.id == "jax" and dtype != "complex64")  # which is compiled anew for each
def test_data_types(library: Library, dtype: str) -> None:
    a, b = triangle(9, 0.4, dtype=dtype), vector(9, dtype)
    found = solve_triangular(container(library, a), library.asarray(b))
    library.assert_equal(found, np.linalg.solve(np.tril(a), b), rtol=1e-4 if dtype.endswith(("32", "64")) else 1e-12)
    if dtype == "complex64":  # of real matrices too
        found = solve_triangular(container(library, a.real), library.asarray(b))
        library.assert_equal(found, np.linalg.solve(np.tril(a.real), b), rtol=1e-4)


@settings(max_examples=60)
@given(
    size=st.integers(1, 60), share=st.sampled_from([0.0, 0.05, 0.3, 1.0]), seed=st.integers(0, 9), long=st.booleans()
)
def test_no_unknown_is_solved_for_before_those_it_needs(size: int, share: float, seed: int, long: bool) -> None:
    a = triangle(size, share, seed)
    if long:
        a[size // 2, :] = 1.0
        a[-1, :] = a[:, 0] = 1.0
    rows, columns = (x.astype(np.int64) for x in np.nonzero(a))
    for lower in (True, False):
        found = schedule(rows, columns, size, lower=lower)
        in_triangle = rows > columns if lower else rows < columns
        longest = max(np.bincount(rows[in_triangle], minlength=1).max(), 1)
        assert (found is None) == (longest * size > 8 * (in_triangle.sum() + size))
        if found is None:  # the host solves it
            continue
        steps, width, entries = found.source.shape
        # Each entry once; none needs a slot of its own step, or of a later one.
        used = found.source[found.source < len(rows)]
        assert sorted(used.tolist()) == np.nonzero(in_triangle)[0].tolist()
        step = np.arange(steps)[:, None, None]
        needs = found.source != len(rows)
        assert (found.columns // width < step)[needs].all()
        assert sorted(found.rows[found.rows < size].tolist()) == list(range(size))
        assert (found.rows.reshape(-1)[found.slots] == np.arange(size)).all()
        # Few slots stay empty.
        assert steps * width <= 2 * (size + needs.sum())
        assert entries == longest


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_the_host_solves_triangles_with_a_long_row(library: Library) -> None:
    a = 2.0 * np.eye(40)
    a[-1, :] = 1.0
    b = vector(40)
    for matrix, lower in ((a, True), (a.T, False)):
        found = factorize(container(library, matrix), method="lower" if lower else "upper")
        assert "SuperLU" in found.method
        library.assert_equal(found.solve(library.asarray(b)), np.linalg.solve(matrix, b), rtol=1e-12)


def test_a_grid_takes_as_many_steps_as_it_has_diagonals() -> None:
    rows, columns = (x.astype(np.int64) for x in np.nonzero(poisson(6, 6)))
    found = schedule(rows, columns, 36, lower=True)
    # The width is the average of the diagonals': those that are longer take two steps.
    assert found.source.shape == (14, 4, 2)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_no_values_go_to_the_host(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it is built, a preconditioner is applied where it lies."""
    a, b = poisson(4, 4), vector(16)
    matrix, right = container(library, a), library.asarray(b)
    for build in (ssor, ilu, ic):
        expected = build(scipy.sparse.csr_array(a))(b)
        preconditioner = build(matrix)

        def refuse(*args: Any, **kwargs: Any) -> None:
            raise AssertionError("values went to the host")

        with monkeypatch.context() as patch:
            patch.setattr(_host, "on_host", refuse)
            patch.setattr(levels, "on_host", refuse)
            apply = lambda preconditioner, r: preconditioner(r)
            for transform in (lambda f: f, jit.jit) if library.id != "torch" else (lambda f: f,):
                library.assert_equal(transform(apply)(preconditioner, right), expected, rtol=1e-12)
            library.assert_equal(preconditioner.transposed(right), expected, rtol=1e-12)
            result = solve(matrix, right, method="cg", preconditioner=preconditioner, positive_definite=True)
        assert int(library.to_numpy(result.status)) == 0
        library.assert_equal(result.x, np.linalg.solve(a, b), rtol=1e-6)


ROWS, COLUMNS = np.nonzero(triangle(6, 0.5, 3))


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_transformations(library: Library) -> None:
    values, b = triangle(6, 0.5, 3)[ROWS, COLUMNS], RNG.normal(size=(2, 6))
    rows, columns = library.asarray(ROWS), library.asarray(COLUMNS)

    def of_values(values: Any, b: Any) -> Any:
        matrix = sparse.COO(values, (rows, columns), (*values.shape[:-1], 6, 6))
        return solve_triangular(matrix, b, axis=-1, lower=False, transposed=True)

    both = np.stack([values, 1.5 * values])
    expected = []
    for x, right in zip(both, b):
        dense = scipy.sparse.coo_array((x, (ROWS, COLUMNS)), shape=(6, 6)).toarray()
        expected.append(np.linalg.solve(np.triu(dense).T, right))
    # A batch of values over one pattern, as such and mapped.
    library.assert_equal(of_values(library.asarray(both), library.asarray(b)), np.stack(expected), rtol=1e-12)
    mapped = vmap.vmap(of_values)
    library.assert_equal(mapped(library.asarray(both), library.asarray(b)), np.stack(expected), rtol=1e-12)
    if library.id != "strict-device1":
        compiled = jit.jit(mapped)(library.asarray(both), library.asarray(b))
        library.assert_equal(compiled, np.stack(expected), rtol=1e-12)
    order = 2 if library.id in ("numpy", "torch") else 1
    autodiff.check_grads(of_values, (library.asarray(values), library.asarray(b[0])), order=order)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_verdicts(library: Library) -> None:
    a = np.stack([triangle(3, 1.0)] * 3)
    a[1, 1, 1], a[2, 2, 0] = 0.0, np.inf
    statuses = [Status.CONVERGED, Status.SINGULAR, Status.NON_FINITE]
    rows, columns = (library.asarray(x) for x in np.nonzero(np.ones((3, 3))))
    stack = sparse.COO(library.asarray(a.reshape(3, 9)), (rows, columns), (3, 3, 3))
    found = factorize(stack, method="lower")
    library.assert_equal(found.status, np.asarray(statuses, np.int32))
    x = library.to_numpy(found.solve(library.asarray(np.ones(3))))
    assert np.isnan(x[1:]).all()
    np.testing.assert_allclose(x[0], np.linalg.solve(np.tril(a[0]), np.ones(3)), rtol=1e-12)
    with pytest.raises(ValueError, match="zero on the diagonal"):
        solve_triangular(container(library, np.asarray([[1.0, 0.0], [1.0, 0.0]])), library.asarray(np.ones(2)))
    exact = scipy.sparse.linalg.splu(scipy.sparse.csc_array(np.tril(a[0])))
    inverse = exact.solve(np.eye(3))
    skeel = (np.abs(inverse) @ np.abs(np.tril(a[0]))).sum(axis=1).max()
    assert skeel / 3 <= float(library.to_numpy(found.condition)[0]) <= skeel * (1 + 1e-12)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_edges(library: Library) -> None:
    none = container(library, np.zeros((0, 0)))
    library.assert_equal(solve_triangular(none, library.asarray(np.zeros((2, 0))), axis=-1), np.zeros((2, 0)))
    one = container(library, np.asarray([[4.0]]))
    library.assert_equal(solve_triangular(one, library.asarray(np.asarray([2.0]))), np.asarray([0.5]))
    # Entries of one place are added up, those of the other triangle aren't read, and a diagonal of ones need not be.
    twice = sparse.COO(
        library.asarray(np.asarray([1.0, 1.0, 2.0, 1.0, 5.0, np.nan])),
        tuple(library.asarray(np.asarray(x)) for x in ([0, 0, 1, 1, 1, 0], [0, 0, 0, 0, 1, 1])),
        (2, 2),
    )
    b = library.asarray(np.asarray([2.0, 13.0]))
    library.assert_equal(solve_triangular(twice, b), np.asarray([1.0, 2.0]))
    library.assert_equal(solve_triangular(twice, b, unit_diagonal=True), np.asarray([2.0, 7.0]))


def test_where_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the device, and only where the pattern is known: one for all lanes."""
    one, many = np.asarray([0]), np.asarray([[0], [0]])
    matrix = sparse.COO(np.ones(1), (one, one), (1, 1))
    assert levels.applies(matrix)
    assert not levels.applies(sparse.COO(np.ones((2, 1)), (many, many), (2, 1, 1)))
    known = []
    jit.jit(lambda x: known.append(levels.applies(sparse.COO(np.ones(1), (x, x), (1, 1)))) or x)(one)
    assert known == [False]
    monkeypatch.undo()
    assert not levels.applies(matrix)
    assert factorize(matrix, method="lower").method == "triangular (SuperLU)"


@pytest.mark.parametrize("build", [ssor, ilu, ic])
def test_banded_triangles_on_the_host_in_compiled_iterations(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX brings banded matrices into another layout for its loops, but not those that tell whose factors are kept."""
    monkeypatch.undo()
    library = next(each for each in EAGER_LIBRARIES if each.id == "jax")
    a, b = poisson(9), vector(9)
    matrix = container(library, a)
    result = solve(matrix, library.asarray(b), method="cg", preconditioner=build(matrix), positive_definite=True)
    library.assert_equal(result.x, np.linalg.solve(a, b), rtol=1e-7)


SECOND_DEVICE = """
import jax
import numpy as np
import scipy.sparse

jax.config.update("jax_enable_x64", True)

from xpand_extensions import sparse
from xpand_extensions.linear_solve import _levels, ilu, solve

_levels._is_off_host = lambda x: True
device = jax.devices()[1]
a = scipy.sparse.diags_array([-np.ones(8), 2.5 * np.ones(9), -np.ones(8)], offsets=[-1, 0, 1]).tocsr()
matrix = sparse.CSR(*[jax.device_put(each, device) for each in (a.data, a.indices, a.indptr)], a.shape)
b = jax.device_put(np.arange(9.0), device)
M = ilu(matrix)
assert {each.device for each in jax.tree.leaves(M)} == {device}
iterate = lambda b: solve(matrix, b, method="cg", preconditioner=M, positive_definite=True).x
for function in (M, M.transposed, jax.jit(lambda b: M(b)), jax.jit(iterate)):
    x = function(b)
    assert x.device == device
    np.testing.assert_allclose(a @ np.asarray(x), np.arange(9.0), atol=1e-12)
"""


def test_jax_on_its_second_device() -> None:
    environment = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", SECOND_DEVICE], env=environment, check=True)
