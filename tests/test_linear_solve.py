"""`solve` against NumPy and SciPy: the bank of systems by every method, what has no solution, batches, trees, forms."""

import pickle
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse.linalg

import xpand
from tests.bank import (
    ALL_METHODS,
    ALLOWED,
    DEFINITE,
    DTYPES,
    KRYLOV,
    RECTANGULAR,
    all_unsolvable,
    check_claims,
    check_unsolved,
    methods_of,
    must_converge,
    solved,
)
from tests.libraries import EAGER_LIBRARIES, LIBRARIES, Library, unless
from tests.systems import (
    MILD,
    SYSTEMS,
    UNSOLVABLE,
    LinearSystem,
    Unsolvable,
    convection_diffusion,
    neumann,
    poisson,
    vector,
)
from xpand_extensions import linear_solve, sparse
from xpand_extensions.autodiff import vjp
from xpand_extensions.jit import jit
from xpand_extensions.linear_solve import ConvergenceError, LinearOperator, SolveResult, Status, jacobi
from xpand_extensions.vmap import vmap

solve = partial(linear_solve.solve, throw=False)  # what is tested is the status


def some(library: Library, methods: Sequence[str], on_jax: Sequence[str]) -> Sequence[str]:
    """Choose methods: on JAX, which compiles each for a second, few; all tests together have them all."""
    return on_jax if library.id == "jax" else methods


# The bank


@pytest.mark.parametrize("precision", DTYPES)
@pytest.mark.parametrize("method", ALL_METHODS)
def test_bank(method: str, precision: str) -> None:
    """On NumPy every system that the method is for; those that are well conditioned are solved."""
    numpy = LIBRARIES[0]
    systems = [system for system in SYSTEMS if method in methods_of(system)]
    results = [solved(numpy, system, method, precision) for system in systems]
    least = 0.7 if method == "cg-adaptive" else 0.85
    assert sum(bool(result.converged) for result in results) >= least * len(systems)


def test_the_bank_is_large_enough() -> None:
    assert len(SYSTEMS) >= 200
    assert len({system.name for system in SYSTEMS}) == len(SYSTEMS)
    for system in MILD:
        if system.matrix.size:
            np.testing.assert_allclose(np.linalg.solve(system.matrix, system.b), system.solution, rtol=1e-8, atol=1e-10)


FEW = [system for system in MILD if system.matrix.shape[0] in (0, 1, 4, 12) and system.condition < 200][::8]


@pytest.mark.parametrize(
    "library", [library for library in EAGER_LIBRARIES if library.id not in ("numpy", "jax")], ids=str
)
def test_bank_on_libraries(library: Library) -> None:
    """Every system by one of the methods that it is for, in turn, so that each method has its turn on each library.

    The two devices of the strict library, which takes long, have every other system.
    """
    seen = set()
    place, step = LIBRARIES.index(library), 2 if library.id.startswith("strict") else 1
    for i, system in enumerate(SYSTEMS[place % step :: step]):
        methods = methods_of(system)
        method = methods[(i + place) % len(methods)]
        solved(library, system, method, "float32" if i % 3 == 0 else "float64")
        seen.add(method)
    assert seen >= set(DEFINITE)


def test_bank_on_jax() -> None:
    """A few systems of each kind: each call is compiled, for seconds."""
    library = next(library for library in LIBRARIES if library.id == "jax")
    for system in FEW:
        for method in methods_of(system)[len(system.name) % 3 :: 8]:
            if must_converge(system, method, "float64"):
                solved(library, system, method, "float64")
    (nothing,) = (system for system in SYSTEMS if not system.matrix.size)
    solved(library, nothing, "gcrot", "float64")


@pytest.mark.parametrize("system", [each for each in SYSTEMS if not each.is_square], ids=str)
@pytest.mark.parametrize("method", RECTANGULAR)
def test_rectangular(system: LinearSystem, method: str) -> None:
    """Least squares, by SciPy: also where there is no solution, and of low rank the least one."""
    for b in (system.b, vector(len(system.b), seed=5)):
        result = solve(system.matrix, b, method=method, rtol=1e-12)
        expected = np.linalg.lstsq(system.matrix, b)[0]
        np.testing.assert_allclose(result.x, expected, rtol=1e-7, atol=1e-9)
        assert bool(result.converged)
        np.testing.assert_allclose(result.residual, b - system.matrix @ expected, atol=1e-8)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_rectangular_on_libraries(library: Library) -> None:
    for a in (SYSTEMS[-1].matrix[:, :0], np.random.default_rng(0).normal(size=(5, 3))):
        for matrix in (a, a.T):
            if 0 in matrix.shape:
                continue
            b = vector(matrix.shape[0])
            for method in some(library, ("lsqr", "lsmr"), ["lsqr" if matrix is a else "lsmr"]):
                result = solve(library.asarray(matrix), library.asarray(b), method=method, rtol=1e-12)
                library.assert_equal(result.x, np.linalg.lstsq(matrix, b)[0], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("method", [*KRYLOV, "cg", "minres"])
def test_complex_systems_by_the_standard_alone(method: str) -> None:
    """Each method takes as many steps as there are unknowns, or few more."""
    strict = next(library for library in LIBRARIES if library.id == "strict")
    rng = np.random.default_rng(0)
    a = rng.normal(size=(6, 6)) + 1j * rng.normal(size=(6, 6))
    definite = method in ("cg", "cg-adaptive", "minres")
    a = a @ a.conj().T + 3 * np.eye(6) if definite else a + 5 * np.eye(6)
    b = rng.normal(size=6) + 1j * rng.normal(size=6)
    result = solve(strict.asarray(a), strict.asarray(b), method=method, rtol=1e-10)
    strict.assert_equal(result.x, np.linalg.solve(a, b), rtol=1e-7)
    assert int(result.iterations) <= 8


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("method", ["cgs", "qmr"])
def test_scipy_takes_the_same_steps(method: str, is_complex: bool) -> None:
    """Plain, and with a preconditioner whose adjoint isn't itself."""
    a = convection_diffusion(0.5, 8, 8) + (0.3j * np.diag(np.linspace(0, 1, 64)) if is_complex else 0)
    b, diagonal = vector(64, a.dtype), np.diag(a) * np.linspace(1.0, 2.0, 64) + (0.5j if is_complex else 0)
    take = getattr(scipy.sparse.linalg, method)
    identity = scipy.sparse.linalg.LinearOperator(a.shape, matvec=lambda r: r, rmatvec=lambda r: r, dtype=a.dtype)
    given = scipy.sparse.linalg.LinearOperator(
        a.shape, matvec=lambda r: r / diagonal, rmatvec=lambda r: r / diagonal.conj(), dtype=a.dtype
    )
    for preconditioner, options in (
        (None, {}),
        (lambda r: r / diagonal, {"M": given} if method == "cgs" else {"M1": given, "M2": identity}),
    ):
        steps: list[Any] = []
        expected, _ = take(a, b, rtol=1e-10, callback=lambda x, steps=steps: steps.append(x), **options)
        result = solve(a, b, method=method, rtol=1e-10, preconditioner=preconditioner)
        assert abs(int(result.iterations) - len(steps)) <= 1
        np.testing.assert_allclose(result.x, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("method", ["cg", "bicgstab", "bicgstab(2)", "bicgstab(4)", "gmres(5)", "gmres(40)"])
def test_steps_in_place_are_those_of_a_batch(method: str, dtype: str) -> None:
    """One system on NumPy is solved in place; a batch of a few unknowns by the steps for all libraries."""
    random = np.random.default_rng(0)
    a = np.eye(30) * 4.0 + random.normal(size=(30, 30)) / 8.0
    a = np.asarray(a @ a.T if method == "cg" else a, dtype=dtype)
    b = np.asarray(random.normal(size=(9, 30)), dtype=dtype)
    few = 0.5 / np.diagonal(a)
    for options in ({}, {"preconditioner": lambda r: few * r}, {"x0": np.ones_like(b)}):
        options = {"method": method, "rtol": 1e-10 if dtype == "float64" else 1e-5, "max_steps": 60, **options}
        steps = solve(a, b, axis=-1, throw=False, **options)
        for i in range(3):
            if "x0" in options:
                options["x0"] = np.ones_like(b[i])
            alone = solve(a, b[i], throw=False, **options)
            assert alone.x.dtype == np.dtype(dtype)
            assert int(alone.status) == int(steps.status[i])
            assert abs(int(alone.iterations) - int(steps.iterations[i])) <= 1
            np.testing.assert_allclose(alone.x, steps.x[i], rtol=1e-2 if dtype == "float32" else 1e-7, atol=1e-5)
    # The same points on the way, while rounding errors are small.
    few_steps = solve(a, b[0], method=method, max_steps=(1, 2, 3), throw=False)
    of_batch = solve(a, b, axis=-1, method=method, max_steps=(1, 2, 3), throw=False)
    np.testing.assert_allclose(few_steps.x, of_batch.x[:, 0], rtol=1e-2, atol=1e-4 if dtype == "float32" else 1e-10)


@pytest.mark.parametrize("method", ["bicgstab", "bicgstab(2)", "gmres(4)"])
def test_ends_of_steps_in_place(method: str) -> None:
    turn, nilpotent = np.asarray([[0.0, 1.0], [-1.0, 0.0]]), np.asarray([[0.0, 1.0], [0.0, 0.0]])
    for a, b in (
        (np.eye(3), np.ones(3)),
        (np.eye(3), np.zeros(3)),
        (turn, np.asarray([1.0, 0.0])),
        (nilpotent, np.asarray([0.0, 1.0])),
        (np.eye(2) * np.nan, np.ones(2)),
        (np.diag([1.0, 1e300]), np.asarray([1.0, 1e300])),
        (1e-200 * np.eye(2), np.asarray([1e-150, 2e-150])),
    ):
        alone = solve(a, b, method=method, max_steps=20, throw=False)
        steps = solve(a, np.stack([b] * 9), axis=-1, method=method, max_steps=20, throw=False)
        assert int(alone.status) == int(steps.status[0]), (a, b)
        np.testing.assert_allclose(alone.x, steps.x[0], rtol=1e-9)


@pytest.mark.parametrize("is_complex", [False, True])
def test_what_was_found_before_a_restart_is_kept(is_complex: bool) -> None:
    """`gcrot` needs a fraction of the steps of `gmres` that forgets as soon, and about as many products as SciPy's."""
    a = poisson(20, 20) + (0.1j * np.diag(np.linspace(0, 1, 400)) if is_complex else 0)
    b, products = vector(400, a.dtype), []
    forgets, keeps = (solve(a, b, method=method) for method in ("gmres(5)", "gcrot(5)"))
    assert bool(forgets.converged)
    assert bool(keeps.converged)
    assert int(keeps.iterations) < 0.5 * int(forgets.iterations)
    counted = scipy.sparse.linalg.LinearOperator(a.shape, matvec=lambda x: products.append(x) or a @ x, dtype=a.dtype)
    expected, _ = scipy.sparse.linalg.gcrotmk(counted, b, rtol=1e-8, m=5)
    assert int(keeps.function_evaluations) < 1.2 * len(products)
    np.testing.assert_allclose(keeps.x, expected, rtol=1e-4, atol=1e-5)
    scaled = solve(a, b, method="gcrot(5)", preconditioner=lambda r: r / np.linspace(1.0, 2.0, 400))
    np.testing.assert_allclose(scaled.x, expected, rtol=1e-4, atol=1e-5)
    # A cycle without progress ends it: what one step of rotation finds is orthogonal to what is sought.
    stuck = solve(np.roll(np.eye(12), 1, axis=0), np.eye(12)[0], method="gcrot(3)")
    assert Status(int(stuck.status)) == Status.STAGNATED
    assert int(stuck.iterations) == 3


def test_scipy_needs_as_many_steps() -> None:
    a, b, steps = poisson(20, 20), vector(400), []
    expected, _ = scipy.sparse.linalg.cg(a, b, rtol=1e-8, callback=steps.append)
    result = solve(a, b, method="cg")
    assert abs(int(result.iterations) - len(steps)) <= 2
    np.testing.assert_allclose(result.x, expected, rtol=1e-5, atol=1e-6)


# Systems without a solution


@pytest.mark.parametrize("system", UNSOLVABLE, ids=str)
def test_unsolvable(system: Unsolvable) -> None:
    """No method says that it has converged; what isn't finite is named so, and a direct method names the matrix."""
    for method in DEFINITE:
        if method.startswith("ls") and system.is_finite:
            continue
        result = solve(system.matrix, system.b, method=method)
        status = Status(int(result.status))
        check_unsolved(system, method, int(status))
        with pytest.raises(ConvergenceError) as error:
            solve(system.matrix, system.b, method=method, throw=True)
        assert int(error.value.result.status) == status


@pytest.mark.parametrize(
    "library", [library for library in EAGER_LIBRARIES if library.id not in ("numpy", "jax")], ids=str
)
def test_unsolvable_on_libraries(library: Library) -> None:
    """Each by every third method, in turn."""
    for i, system in enumerate(UNSOLVABLE):
        for method in DEFINITE[(i + LIBRARIES.index(library)) % 3 :: 3]:
            with np.errstate(all="ignore"):  # which the strict library's arrays don't know of
                result = solve(library.asarray(system.matrix), library.asarray(system.b), method=method)
            check_unsolved(system, method, int(library.to_numpy(result.status)))


@pytest.mark.parametrize("method", DEFINITE)
def test_unsolvable_at_once(method: str) -> None:
    """As a batch, under `vmap`, or under `jit`; on JAX, which compiles each, by one method."""
    a, b = all_unsolvable()
    one = lambda a, b: solve(a, b, axis=-1, method=method).status
    way = (one, vmap(one), jit(one))[DEFINITE.index(method) % 3]
    with np.errstate(all="ignore"):  # what is compiled warns of infinities as NumPy does
        codes = way(a, b).tolist()
    if method == "cg":
        jax = next(library for library in LIBRARIES if library.id == "jax")
        on_jax = jax.to_numpy(jit(one)(jax.asarray(a), jax.asarray(b))).tolist()
        for system, code in zip(UNSOLVABLE, on_jax, strict=True):
            check_unsolved(system, method, code)
    for system, code in zip(UNSOLVABLE, codes, strict=True):
        check_unsolved(system, method, code)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_one_that_fails_leaves_the_others_alone(library: Library) -> None:
    a = np.stack([poisson(6), neumann(6), poisson(6), np.full((6, 6), np.nan), poisson(6)])
    b = np.stack([vector(6, seed=i) for i in range(5)])
    b[4] = 0.0
    for method in some(library, ("cg", "gmres", "bicgstab(2)", "minres"), ("bicgstab(2)", "minres")):
        result = solve(library.asarray(a), library.asarray(b), axis=-1, method=method)
        status = library.to_numpy(result.status).tolist()
        assert (status[0], status[2:]) == (Status.CONVERGED, [Status.CONVERGED, Status.NON_FINITE, Status.CONVERGED])
        assert Status(status[1]) in ALLOWED
        for i in (0, 2):
            np.testing.assert_allclose(library.to_numpy(result.x)[i], np.linalg.solve(a[i], b[i]), rtol=1e-6, atol=1e-8)
        assert not library.to_numpy(result.x)[4].any()
        assert int(library.to_numpy(result.iterations)[4]) == 0


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_what_is_exact_at_once(library: Library) -> None:
    a, x = poisson(5), vector(5)
    for method in some(library, ("cg", "bicgstab(2)", "gmres", "minres"), ("gmres",)):
        result = solve(library.asarray(a), library.asarray(a @ x), x0=library.asarray(x), method=method)
        assert int(library.to_numpy(result.iterations)) == 0
        library.assert_equal(result.x, x)
        zero = solve(library.asarray(a), library.asarray(np.zeros(5)), x0=library.asarray(x), method=method)
        library.assert_equal(zero.x, np.zeros(5))
        assert bool(library.to_numpy(zero.converged))


@pytest.mark.parametrize("scale", [1e-200, 1e-160, 1e160, 1e250])
def test_squares_that_the_data_type_cannot_hold(scale: float) -> None:
    a, x = poisson(7), vector(7)
    for method in ("cg", "gmres", "bicgstab(2)", "minres", "lu"):
        result = solve(a, a @ x * scale, method=method)
        assert bool(result.converged), (method, result.message)
        np.testing.assert_allclose(result.x, x * scale, rtol=1e-6)
    small = solve(a.astype("float32"), (a @ x * 1e-30).astype("float32"), method="cg")
    np.testing.assert_allclose(small.x, x * 1e-30, rtol=1e-3)


@pytest.mark.parametrize("library", [x for x in LIBRARIES if x.id in ("numpy", "torch", "strict")], ids=str)
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_matrices_that_the_data_type_can_hardly_hold(library: Library, scale: float) -> None:
    a, x = poisson(7), vector(7)
    for method in ("cg", *KRYLOV[1:2], *KRYLOV[3:], "minres", "lsqr", "lsmr", "lu", "qr"):
        for b in (a @ x * scale, a @ x):
            result = solve(library.asarray(a * scale), library.asarray(b), method=method, throw=False)
            if method not in ("lu", "qr") and not bool(result.converged):
                continue  # iterative methods report matrices whose squares overflow or underflow as failures
            assert bool(result.converged), (method, result.message)
            np.testing.assert_allclose(library.to_numpy(result.x) * scale, x * np.max(b) / np.max(a @ x), rtol=1e-6)
            size = np.max(np.abs(b))
            missing = (b - (a * scale) @ library.to_numpy(result.x)) / size
            assert np.linalg.norm(missing) <= 1.01e-8 * np.linalg.norm(b / size)


def test_sums_of_squares_that_are_infinite() -> None:
    a, x = poisson(7) * 1e300, vector(7)
    result = solve(a, a @ x, method="lstsq")
    assert bool(result.converged)
    np.testing.assert_allclose(result.x, x, rtol=1e-6)


def test_matrices_of_a_batch_each_have_their_own_size() -> None:
    a, x = poisson(7), vector(7)
    scales = np.asarray([1e-30, 1.0, 1e15, 1e30])
    stack, b = a * scales[:, None, None], a @ x * scales[:, None]
    for matrix in (
        stack,
        sparse.from_dense(a, batch_ndim=0).with_values(sparse.from_dense(a).values * scales[:, None]),
    ):
        for method in ("cg", "gmres", "lsmr", "bicgstab(2)"):
            result = solve(matrix, b, axis=-1, method=method)
            assert result.status.tolist() == [Status.CONVERGED] * 4, (method, result.message)
            np.testing.assert_allclose(result.x, np.broadcast_to(x, (4, 7)), rtol=1e-6)
        result = solve(matrix, b, axis=-1, method="cg", preconditioner=jacobi(matrix))
        np.testing.assert_allclose(result.x, np.broadcast_to(x, (4, 7)), rtol=1e-6)
    x = jit(lambda a, b: solve(a, b, axis=-1, method="bicgstab(2)").x)(stack, b)
    np.testing.assert_allclose(x, np.broadcast_to(vector(7), (4, 7)), rtol=1e-6)


@pytest.mark.parametrize("method", [*KRYLOV, "cg", "minres", "lsqr", "lsmr"])
def test_no_verdict_but_of_what_is_returned(method: str) -> None:
    a, b = poisson(6), vector(6)
    # The solution is too large for the data type: it is no solution.
    result = solve((a * 1e-10).astype(np.float32), (b * 1e30).astype(np.float32), method=method)
    assert Status(int(result.status)) == Status.DIVERGED
    assert np.isfinite(result.x).all()
    # It is so small that digits of it are lost.
    result = solve(a * 1e100, b * 1e-220, method=method)
    assert Status(int(result.status)) == Status.DIVERGED
    # Squares of the matrix, or of the first residual, are infinite.
    start = vector(6, seed=3)
    for given in ((a * 1e300, b, start), (a, b, start * 1e200)):
        result = solve(*given[:2], x0=given[2], method=method)
        assert Status(int(result.status)) != Status.CONVERGED
        assert np.isfinite(result.x).all()
    assert bool(solve(a, b * 1e-300, x0=start * 1e-300, method=method).converged)
    assert bool(solve(a, b * 1e-305, atol=1e10, method=method).converged)
    assert bool(solve(a, b, atol=np.inf, method=method).converged)
    for broken in (np.where(np.eye(6) > 0, np.nan, a), np.where(np.eye(6) > 0, np.inf, a)):
        for side in (b, 0 * b):
            assert Status(int(solve(broken, side, method=method).status)) == Status.NON_FINITE


def test_least_squares_of_functions_that_return_next_to_nothing() -> None:
    a, b = poisson(6), vector(6)
    for method in ("lsqr", "lsmr"):
        result = solve(lambda x: 1e-300 * (a @ x), b, method=method, symmetric=True)
        assert not bool(result.converged)


def test_a_tolerance_out_of_reach_is_not_called_met() -> None:
    a, x = poisson(30), vector(30)
    for method in ("cg", "bicgstab(2)", "cgs", "qmr", "gmres", "gcrot(5)", "minres", "bicg"):
        result = solve(a, a @ x, method=method, rtol=1e-18)
        expected = Status.MAX_STEPS if method in ("qmr", "minres") else Status.STAGNATED
        assert Status(int(result.status)) == expected, method
        np.testing.assert_allclose(result.x, x, rtol=1e-8, atol=1e-9)
    assert Status(int(solve(a, a @ x, method="lu", rtol=0.0).status)) == Status.STAGNATED


# Forms of systems


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_batches_are_as_if_alone(library: Library) -> None:
    a = np.stack([poisson(8) + shift * np.eye(8) for shift in (0.0, 1.0, 50.0)])
    b = np.stack([[vector(8, seed=i + 3 * j) for i in range(3)] for j in range(2)])
    for method in some(
        library, ("cg", "gmres(3)", "gcrot(3)", "bicgstab", "cgs", "qmr", "minres", "lsqr"), ("gcrot(3)",)
    ):
        result = solve(library.asarray(a), library.asarray(b), axis=-1, method=method)
        assert tuple(result.status.shape) == (2, 3)
        for i, j in ((0, 0), (1, 2), (0, 1)):
            alone = solve(library.asarray(a[j]), library.asarray(b[i, j]), method=method)
            assert int(library.to_numpy(result.iterations)[i, j]) == int(library.to_numpy(alone.iterations))
            assert int(library.to_numpy(result.function_evaluations)[i, j]) == int(
                library.to_numpy(alone.function_evaluations)
            )
            np.testing.assert_allclose(
                library.to_numpy(result.x)[i, j], library.to_numpy(alone.x), rtol=1e-10, atol=1e-12
            )


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_sparse_matrices(library: Library) -> None:
    csr = scipy.sparse.csr_array(poisson(5, 5) + 0.2 * np.diag(np.ones(24), 1))
    b, expected = vector(25), np.linalg.solve(csr.toarray(), vector(25))
    parts = [library.asarray(x) for x in (csr.data, csr.indices, csr.indptr)]
    a = sparse.CSR(*parts, csr.shape)
    for matrix in (a, sparse.tocoo(a), sparse.tocsc(a)):
        for method in some(library, ("auto", "gmres"), ["auto" if matrix is a else "gmres"]):
            result = solve(matrix, library.asarray(b), method=method)
            library.assert_equal(result.x, expected, rtol=1e-5, atol=1e-6)
    many = solve(a, library.asarray(np.stack([b, 2 * b])), axis=-1, method="bicgstab")
    library.assert_equal(many.x, np.stack([expected, 2 * expected]), rtol=1e-5, atol=1e-6)
    assert result.method == "gmres(30)"


def test_native_sparse_matrices() -> None:
    a, b = scipy.sparse.csr_array(poisson(6)), vector(6)
    np.testing.assert_allclose(solve(a, b, positive_definite=True).x, np.linalg.solve(a.toarray(), b), rtol=1e-6)


def laplace(tree: Any, shift: Any) -> Any:
    """Minus the Laplacian in one dimension on two arrays that share no border, shifted."""

    def one(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        zero = xp.zeros_like(x[..., :1])
        left = xp.concat([zero, x[..., :-1]], axis=-1)
        right = xp.concat([x[..., 1:], zero], axis=-1)
        return (shift + 2.0) * x - left - right

    return {"a": one(tree["a"]), "b": (one(tree["b"][0]),)}


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)], ids=str)
@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_functions_of_trees(library: Library, batch: tuple[int, ...]) -> None:
    a, b = vector(5 * 6).reshape(6, 5), vector(3 * 6).reshape(6, 3)
    a, b = (x[: int(np.prod(batch))].reshape(*batch, -1) for x in (a, b))
    right = {"a": library.asarray(a), "b": (library.asarray(b),)}
    shift = library.asarray(0.5)
    on_jax = [("bicg", "gmres", "minres")[len(batch)]]
    for method in some(library, ("cg", "bicg", "gmres", "minres"), on_jax):
        result = solve(laplace, right, method=method, args=(shift,), symmetric=True, batch_ndim=len(batch))
        assert tuple(result.status.shape) == batch
        for found, given in ((result.x["a"], a), (result.x["b"][0], b)):
            matrix = poisson(given.shape[-1]) + 0.5 * np.eye(given.shape[-1])
            library.assert_equal(found, np.linalg.solve(matrix, given[..., None])[..., 0], rtol=1e-5, atol=1e-6)
        assert set(result.residual) == {"a", "b"}


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_functions_on_grids_and_their_transposed(library: Library) -> None:
    """Of an array of two axes; the transposed is given, or made."""
    weights = library.asarray(np.eye(4) * 3 + vector(16).reshape(4, 4) * 0.3)
    b = vector(12).reshape(4, 3)
    expected = np.linalg.solve(library.to_numpy(weights), b)
    forward = lambda x: weights @ x
    backward = lambda y: library.xp.matrix_transpose(weights) @ y
    # The strict library's arrays take no traced ones beside them, so it can't trace what closes over an array.
    made = [] if library.id.startswith("strict") else [forward]
    for operator in [*made, LinearOperator(forward, transposed=backward)]:
        for method in some(library, ("bicg", "lsqr", "bicgstab(2)"), ["bicg" if operator is forward else "lsqr"]):
            result = solve(operator, library.asarray(b), method=method, rtol=1e-10)
            library.assert_equal(result.x, expected, rtol=1e-7, atol=1e-8)


def test_rectangular_functions() -> None:
    a = np.random.default_rng(1).normal(size=(6, 4))
    operator = LinearOperator(lambda x: a @ x, transposed=lambda y: a.T @ y)
    result = solve(operator, vector(6), method="lsqr", x0=np.zeros(4), rtol=1e-12)
    np.testing.assert_allclose(result.x, np.linalg.lstsq(a, vector(6))[0], rtol=1e-8)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_preconditioners(library: Library) -> None:
    """As functions: fewer steps, the same solution; none for systems of one step."""
    scales = np.logspace(0, 3, 30)
    a = poisson(30) + np.diag(scales)
    b = vector(30)
    inverse = library.asarray(1 / np.diag(a))
    methods = some(library, ["cg", "cg-adaptive", "bicgstab(2)", "gmres", "minres"], ["cg-adaptive", "minres"])
    # The transposed of what closes over one of the strict library's arrays can't be made.
    for method in methods if library.id.startswith("strict") else [*methods, "bicg"]:
        plain = solve(library.asarray(a), library.asarray(b), method=method)
        better = solve(library.asarray(a), library.asarray(b), method=method, preconditioner=lambda r: inverse * r)
        assert int(library.to_numpy(better.iterations)) < int(library.to_numpy(plain.iterations))
        library.assert_equal(better.x, np.linalg.solve(a, b), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("shape", [(9,), (4, 4)], ids=str)
@unless(lambda library, shape: library.lazy or (library.id == "jax" and len(shape) > 1))
def test_null_spaces(library: Library, shape: tuple[int, ...]) -> None:
    """A singular system with a solution: of all solutions the one without a constant part."""
    a = neumann(*shape)
    b = vector(len(a))
    b -= b.mean()
    expected = np.linalg.pinv(a) @ b
    ones = library.asarray(np.ones(len(a)))
    for method in some(library, ("cg", "minres", "gmres", "bicgstab(2)"), ("bicgstab(2)",)):
        for nullspace in ("constant", ones, [ones]):
            result = solve(library.asarray(a), library.asarray(b), method=method, nullspace=nullspace)
            library.assert_equal(result.x, expected, rtol=1e-5, atol=1e-6)
            assert bool(library.to_numpy(result.converged))
    wrong = solve(library.asarray(a), library.asarray(b + 1.0), method="cg", nullspace="constant")
    assert Status(int(library.to_numpy(wrong.status))) == Status.SINGULAR
    # A part outside of the range that is below the absolute tolerance is none.
    near = solve(library.asarray(a), library.asarray(b + 1e-6), method="cg", nullspace="constant", atol=1e-4)
    assert Status(int(library.to_numpy(near.status))) == Status.CONVERGED
    start = solve(library.asarray(a), library.asarray(b), method="cg", nullspace="constant", x0=ones)
    library.assert_equal(start.x, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", ["bicg", "qmr", "gmres", "bicgstab(2)"])
def test_complex_null_spaces(method: str) -> None:
    """The transposed system has the conjugate null space, in methods that use it and in derivatives."""
    rng = np.random.default_rng(0)
    unitary, _ = np.linalg.qr(rng.normal(size=(5, 5)) + 1j * rng.normal(size=(5, 5)))
    a = (unitary * [1.0, 2.0, 3.0, 4.0, 0.0]) @ unitary.conj().T
    b = a @ (rng.normal(size=5) + 1j * rng.normal(size=5))
    solved = lambda b: solve(a, b, method=method, nullspace=unitary[:, 4], rtol=1e-10)
    assert bool(solved(b).converged)
    np.testing.assert_allclose(solved(b).x, np.linalg.pinv(a) @ b, rtol=1e-8, atol=1e-8)
    weights = rng.normal(size=5) + 1j * rng.normal(size=5)
    _, pull = vjp(lambda b: solved(b).x, b)
    expected = np.linalg.pinv(a).conj().T @ weights
    (found,) = pull(weights.conj())
    np.testing.assert_allclose(np.conj(found), expected, rtol=1e-7, atol=1e-7)


class Scaling:
    """A Hermitian preconditioner that states its transpose."""

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = matrix

    def __call__(self, r: Any) -> Any:
        return self.matrix @ r

    def transposed(self, r: Any) -> Any:
        return self.matrix.T @ r


@pytest.mark.parametrize("method", ["bicg", "qmr"])
def test_transposes_of_hermitian_preconditioners(method: str) -> None:
    """They follow from the property of the system, and equal those that are given."""
    rng = np.random.default_rng(0)
    a, m = (rng.normal(size=(8, 8)) + 1j * rng.normal(size=(8, 8)) for _ in range(2))
    a, m = a @ a.conj().T + np.diag(np.logspace(0, 2, 8)), m @ m.conj().T + 10.0 * np.eye(8)
    b = rng.normal(size=8) + 1j * rng.normal(size=8)
    given, known = Scaling(m), Scaling(m).__call__
    results = [solve(a, b, method=method, symmetric=True, preconditioner=each) for each in (given, known)]
    assert int(results[0].iterations) == int(results[1].iterations)
    for result in results:
        np.testing.assert_allclose(result.x, np.linalg.solve(a, b), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("method", ["cg", "bicgstab(2)", "cgs", "qmr", "gmres", "gcrot", "minres", "bicg"])
def test_what_is_named_as_null_space_is_not_believed(method: str) -> None:
    a, b = poisson(8), vector(8)
    b = b - b.mean()
    # Not singular: constants are no null space, so the solution without a part along them solves nothing.
    result = solve(a, b, method=method, nullspace="constant")
    assert Status(int(result.status)) == Status.BREAKDOWN
    np.testing.assert_allclose(result.residual, b - a @ result.x, atol=1e-12)
    both = solve(a, b, method=method, nullspace="constant", max_steps=(1, 100))
    assert both.status.tolist() == [Status.MAX_STEPS, Status.BREAKDOWN]
    singular, ones = neumann(8), np.ones(8)
    for named in ([ones, ones], [0 * ones, ones], [ones, -3.0 * ones, 0 * ones]):
        result = solve(singular, b, method=method, nullspace=named)
        assert bool(result.converged), result.message
        np.testing.assert_allclose(singular @ result.x, b, atol=1e-7)
        np.testing.assert_allclose(result.x.sum(), 0.0, atol=1e-7)
    assert bool(solve(singular, b, method=method, nullspace=0 * ones, x0=np.linspace(0, 1, 8)).converged)


@pytest.mark.parametrize("method", ["cg", "gmres", "bicgstab(2)", "minres"])
@unless(lambda method, eager_library: eager_library.id == "jax" and method != "cg")
def test_functions_with_an_offset_say_so(eager_library: Library, method: str) -> None:
    xp, b = eager_library.xp, eager_library.asarray(vector(6))
    matrix = eager_library.asarray(poisson(6))
    affine = lambda x: xp.matmul(matrix, x) + 1.0
    with pytest.raises(ConvergenceError, match="solve: A must be linear.*matrix_from_function.*did not conv") as raised:
        linear_solve.solve(affine, b, method=method)
    assert int(eager_library.to_numpy(raised.value.result.status)) != Status.CONVERGED
    zero = affine(0.0 * b)
    found = linear_solve.solve(lambda x: affine(x) - zero, b - zero, method=method)
    eager_library.assert_equal(affine(found.x), eager_library.to_numpy(b), rtol=1e-6)
    if eager_library.id == "numpy":  # what fails for another reason is not said to have an offset
        with pytest.raises(ConvergenceError, match="^solve: method"):
            linear_solve.solve(lambda x: xp.matmul(matrix, x), b, method=method, max_steps=1)


def test_slow_restarts_are_no_stagnation() -> None:
    """A cycle of ten steps gains less than a thousandth, later ones gain more: SciPy converges after 1105 steps."""
    random, n = np.random.default_rng(90), 26
    q, _ = np.linalg.qr(random.normal(size=(n, n)))
    a = q * random.uniform(0.01, 1, size=n) @ q.T + 0.5 * np.diag(random.normal(size=n - 1), 1)
    b = random.normal(size=n)
    expected, info = scipy.sparse.linalg.gmres(a, b, restart=10, rtol=1e-8, maxiter=200)
    assert info == 0
    result = solve(a, b, method="gmres(10)", max_steps=2000)
    assert bool(result.converged), result.message
    assert int(result.iterations) < 1500
    np.testing.assert_allclose(result.x, expected, rtol=1e-5, atol=1e-5)


def test_consistent_singular_systems_without_a_word() -> None:
    for system in SYSTEMS:
        if system.is_singular:
            for method in ("cg", "minres", "gmres"):
                result = solve(system.matrix, system.b, method=method)
                check_claims(system, result, system.matrix, system.b, 1e-8)
                assert bool(result.converged), (str(system), result.message)


# Steps, tolerances, results


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_trajectories(library: Library) -> None:
    a, b = library.asarray(poisson(12)), library.asarray(vector(12))
    for method in some(library, ("cg", "gmres(5)", "bicgstab", "lu"), ("bicgstab",)):
        stops = (0, 2, 40, 1)
        result = solve(a, b, method=method, max_steps=stops)
        assert tuple(result.x.shape) == (4, 12)
        assert tuple(result.residual_norm.shape) == (4,)
        for row, stop in list(enumerate(stops))[1:3] if library.id == "jax" else enumerate(stops):
            one = solve(a, b, method=method, max_steps=stop)
            np.testing.assert_allclose(library.to_numpy(result.x)[row], library.to_numpy(one.x), rtol=1e-9, atol=1e-12)
            assert int(library.to_numpy(result.status)[row]) == int(library.to_numpy(one.status))
            assert int(library.to_numpy(result.iterations)[row]) == int(library.to_numpy(one.iterations))
    if library.id == "jax":
        return
    single = solve(a, b, method="cg", max_steps=[3])
    assert tuple(single.x.shape) == (1, 12)
    assert solve(a, b, method="cg", max_steps=(1, 100), throw=True).method == "cg"


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_tolerances(library: Library) -> None:
    a, b = library.asarray(poisson(6, 6)), np.stack([vector(36), vector(36, seed=1) * 100])
    each = solve(a, library.asarray(b), axis=-1, method="cg", rtol=library.asarray([1e-2, 1e-10]))
    norms = library.to_numpy(each.residual_norm) / np.linalg.norm(b, axis=1)
    assert 1e-8 < norms[0] <= 1e-2
    assert norms[1] <= 1e-10
    loose = solve(a, library.asarray(b), axis=-1, method="cg", rtol=0.0, atol=1e-3)
    assert (library.to_numpy(loose.residual_norm) <= 1e-3).all()
    nothing = solve(a, library.asarray(b), axis=-1, method="cg", atol=1e6)
    assert not library.to_numpy(nothing.iterations).any()


def test_calls_are_counted() -> None:
    count = 0

    def a(x: np.ndarray) -> np.ndarray:
        nonlocal count
        count += 1
        return poisson(9) @ x

    for method in (
        "cg",
        "cg-adaptive",
        "minres",
        "gmres",
        "gmres(4)",
        "gcrot",
        "gcrot(4)",
        "cgs",
        "bicgstab",
        "bicgstab(3)",
    ):
        count = 0
        result = solve(a, vector(9), method=method)
        assert int(result.function_evaluations) == count, method


def test_results(library: Library) -> None:
    result = solve(library.asarray(np.eye(3)), library.asarray(np.ones(3)), method="lu")
    assert isinstance(result, SolveResult)
    assert result.method.startswith("lu")
    copied = xpand.trees.map(lambda x: x, result)
    assert copied.method == result.method
    if library.id == "numpy":
        again = pickle.loads(pickle.dumps(result))
        assert (again.method, again.message) == (result.method, result.message)
    if library.lazy:
        assert "not known yet" in result.message
    else:
        assert result.message == f"{result.method}: converged"


def test_phiml_names() -> None:
    a, b = poisson(6), vector(6)
    names = {
        "CG": "cg",
        "CG-adaptive": "cg-adaptive",
        "biCG": "bicg",
        "biCG-stab": "bicgstab(1)",
        "biCG-stab(0)": "bicg",
        "biCG-stab(2)": "bicgstab(2)",
        "scipy-CG": "cg",
        "scipy-GMres": "gmres(30)",
        "scipy-biCG-stab": "bicgstab(1)",
        "scipy-CGS": "cgs",
        "scipy-QMR": "qmr",
        "scipy-GCrotMK": "gcrot(20)",
        "scipy-direct": "lu (numpy)",
    }
    for name, expected in names.items():
        assert solve(a, b, method=name).method == expected


def test_integers_and_mixed_types(library: Library) -> None:
    a = library.asarray(poisson(4), "float32")
    x = solve(a, library.asarray(np.ones(4)), method="lu").x
    assert x.dtype == library.xp.float64
    with pytest.raises(TypeError, match="must have a floating-point data type"):
        solve(a, library.asarray(np.arange(4)))
    with pytest.raises(TypeError, match="must have a floating-point data type"):
        solve(library.asarray(np.eye(4, dtype=int)), library.asarray(np.ones(4)))


def test_dask_plans_as_many_steps_as_it_may_take() -> None:
    import dask.array as da

    a, b = da.from_array(poisson(4), chunks=2), da.from_array(vector(4), chunks=2)
    for method in ("cg", "gmres(4)"):
        result = solve(a, b, method=method, max_steps=4)
        np.testing.assert_allclose(np.asarray(result.x), np.linalg.solve(poisson(4), vector(4)), rtol=1e-6)
        assert int(np.asarray(result.status)) == 0
    with pytest.raises(xpand.UnsupportedError, match="give max_steps"):
        solve(da.ones((200, 200)), da.ones(200), method="cg")
    # Unknown values can't raise.
    assert not xpand.is_concrete(solve(a, b, method="cg", max_steps=1, throw=True).status)


@pytest.mark.parametrize("method", ["bicgstab(4)", "bicgstab(6)", "gmres(30)", "gcrot(20)"])
def test_orders_above_the_number_of_unknowns(method: str) -> None:
    rng = np.random.default_rng(0)
    for size in (1, 3, 5):
        a = rng.normal(size=(60, size, size)) + (2.0 + size) * np.eye(size)
        b = np.ones((60, size, 1))
        np.testing.assert_allclose(solve(a, b, method=method).x, np.linalg.solve(a, b), rtol=1e-6)
        np.testing.assert_allclose(solve(a[0], b[0], method=method).x, np.linalg.solve(a[0], b[0]), rtol=1e-6)


# Bad input


def bad_calls(library: Library) -> list[tuple[Any, type[Exception], str]]:
    a, b = library.asarray(poisson(4)), library.asarray(vector(4))
    tall, nan = library.asarray(np.ones((4, 3))), float("nan")
    diagonal = sparse.eye(4, xp=library.xp, device=library.device)
    two = library.asarray(np.ones(2))
    return [
        (
            lambda: solve(a, two),
            ValueError,
            r"solve: b must have the shape \(4,\) or \(..., 4, k\) for A of shape \(4, 4\), got \(2,\)",
        ),
        (lambda: solve(a, library.asarray(np.ones((2, 4)))), ValueError, "vectors along the last axis pass `axis=-1`"),
        (lambda: solve(a, library.asarray(np.ones((4, 2))), axis=-1), ValueError, "for columns leave `axis` out"),
        (lambda: solve(a, b, axis=1), ValueError, "solve: axis must be -2, .* or -1, .* got 1"),
        (lambda: solve(a, b, axis="rows"), TypeError, "solve: axis must be -2 or -1, got 'rows'"),
        (lambda: solve(lambda x: x, b, axis=-1), ValueError, "solve: axis is for matrices"),
        (
            lambda: solve(library.asarray(np.ones((3, 4, 4))), library.asarray(np.ones((2, 4))), axis=-1),
            ValueError,
            "broadcast",
        ),
        (
            lambda: solve(library.asarray(np.ones((3, 4, 4))), library.asarray(np.ones((2, 4, 1)))),
            ValueError,
            "broadcast",
        ),
        (lambda: solve(b, b), ValueError, r"solve: A must hold matrices"),
        (lambda: solve(tall, b, method="cg"), ValueError, "solve: method='cg' needs a square A, got 4 rows and 3"),
        (lambda: solve(tall, b, method="lu"), ValueError, "needs a square A"),
        *[
            (partial(solve, diagonal, b, method=each), ValueError, f"solve: method='{each}' is for dense matrices")
            for each in ("cholesky", "qr", "lstsq")
        ],
        (lambda: solve(a, [1.0] * 4), TypeError, "solve: b must be an array"),
        (lambda: solve("matrix", b), TypeError, "A must be an array"),
        (lambda: solve([a, a], b), TypeError, r"A must be an array, a sparse container, .* `sparse.stack`"),
        (lambda: solve(a, b, x0=two), ValueError, r"solve: x0 must have the shape \(..., 4\)"),
        (lambda: solve(a, b, rtol=-1.0), ValueError, "solve: rtol must be at least 0, got -1.0"),
        (lambda: solve(a, b, atol=-1e-3), ValueError, "solve: atol must be at least 0"),
        (lambda: solve(a, b, rtol=nan), ValueError, "solve: rtol must be at least 0, got nan"),
        (lambda: solve(a, b, rtol="small"), TypeError, "solve: rtol must be a number"),
        (lambda: solve(a, b, rtol=two), ValueError, "rtol"),
        (lambda: solve(a, b, method="cgg"), ValueError, "did you mean 'cg'"),
        (lambda: solve(a, b, method="gmress"), ValueError, "did you mean 'gmres'"),
        (lambda: solve(a, b, method="gmres(0)"), ValueError, "must keep one direction or more"),
        (lambda: solve(a, b, method="gcrot(0)"), ValueError, "must keep one direction or more"),
        (lambda: solve(a, b, method="cg(3)"), ValueError, "solve: method must be one of"),
        (lambda: solve(a, b, method=None), TypeError, "solve: method must be one of"),
        (lambda: solve(a, b, max_steps=-1), ValueError, "max_steps must be at least 0"),
        (lambda: solve(a, b, max_steps=[]), ValueError, "max_steps must be a number of steps"),
        (lambda: solve(a, b, max_steps=1.5), TypeError, "max_steps must be an integer"),
        (lambda: solve(a, b, throw="yes"), TypeError, "throw must be True or False"),
        (lambda: solve(a, b, symmetric=1), TypeError, "symmetric must be True or False"),
        (lambda: solve(a, b, args=(1,)), ValueError, "args are for A that is a function"),
        (lambda: solve(a, b, batch_ndim=1), ValueError, "batch_ndim is for A that is a function"),
        (lambda: solve(lambda x: x, b, batch_ndim=2), ValueError, "must have batch_ndim=2 axes or more"),
        (lambda: solve(lambda x: x, b, args=[1]), TypeError, "args must be a tuple"),
        (lambda: solve(lambda x: x[:2], b), ValueError, r"solve: A must return an array of the shape of b, \(4,\)"),
        (lambda: solve(lambda x: (x, x), b), TypeError, "solve: A must return a tree like b"),
        (lambda: solve(lambda x: x, b, x0=two), ValueError, "solve: x0 must be an array of the shape of b"),
        (lambda: solve(lambda x: x, b, method="lu"), ValueError, "solve: method='lu' needs a matrix, got a function"),
        (lambda: solve(lambda x: x, ()), TypeError, "solve: b must hold an array"),
        (lambda: solve(a, b, method="cg", preconditioner=3), TypeError, "preconditioner must be a function"),
        (lambda: solve(a, b, method="lu", preconditioner=lambda r: r), ValueError, "preconditioner is not for"),
        (lambda: solve(a, b, method="lsqr", nullspace="constant"), ValueError, "nullspace is not for"),
        (lambda: solve(a, b, method="cg", preconditioner=lambda r: r[:1]), ValueError, "preconditioner must return"),
        (lambda: solve(a, b, method="cg", nullspace="linear"), ValueError, "nullspace must be one of 'constant'"),
        (lambda: solve(a, b, method="cg", nullspace=two), ValueError, "nullspace must be 'constant', or a vector"),
        (lambda: LinearOperator(3), TypeError, "LinearOperator: function must be a function"),
        (lambda: LinearOperator(lambda x: x, transposed=3), TypeError, "transposed must be a function"),
        (lambda: LinearOperator(lambda x: x, symmetric=1), TypeError, "symmetric must be True or False"),
    ]


def test_bad_input(library: Library) -> None:
    for call, error, message in bad_calls(library):
        if library.lazy and "must return" in message:
            continue  # lazily the function is called when the steps are planned, all of them
        with pytest.raises(error, match=message):
            call()


def test_two_libraries_and_two_devices() -> None:
    import array_api_strict as strict
    import torch

    with pytest.raises(TypeError, match="solve: takes arrays of one library"):
        solve(np.eye(2), torch.ones(2, dtype=torch.float64))
    with pytest.raises(ValueError, match="solve: takes arrays on one device"):
        solve(strict.eye(2), strict.ones(2, device=strict.Device("device1")))


def test_names_are_public() -> None:
    for name in linear_solve.__all__:
        assert hasattr(linear_solve, name)
    assert len(LIBRARIES) > len(EAGER_LIBRARIES)
