"""Solves systems of the bank on a library, and checks the results.

The tests use a sample of the bank; `make test-bank` uses all of it (`whole_bank.py`).
"""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import xpand
from tests.libraries import Library
from tests.systems import UNSOLVABLE, LinearSystem, Unsolvable
from xpand_extensions import sparse
from xpand_extensions.linear_solve import SolveResult, Status, solve

KRYLOV = ["cg-adaptive", "bicg", "bicgstab", "bicgstab(2)", "cgs", "qmr", "gmres", "gcrot"]
SQUARE = [*KRYLOV, "lsqr", "lsmr", "lu", "qr", "auto"]
SYMMETRIC = [*SQUARE, "minres"]
DEFINITE = [*SYMMETRIC, "cg", "cholesky"]
SINGULAR = [*KRYLOV, "lsqr", "lsmr", "lstsq", "minres", "cg"]
RECTANGULAR = ["lsqr", "lsmr", "lstsq", "auto"]
TRIANGULAR = ["lower", "upper"]
ALL_METHODS = [*DEFINITE, "lstsq", *TRIANGULAR]

DTYPES = {"float64": ("float64", "complex128", 1e-8), "float32": ("float32", "complex64", 1.2e-5)}
"""By precision: the real and the complex data type, and the tolerance."""

MAY_FAIL = {"float64": ("cg-adaptive", "bicgstab"), "float32": ("cg-adaptive", "bicgstab", "cgs", "qmr")}
"""Methods that may fail for matrices that aren't definite.

Conjugate gradients need definite ones. bicgstab may divide by zero, even for a rotation. In float32, the recursions of
cgs and qmr break for some orders of the unknowns.
"""

ALLOWED = {Status.MAX_STEPS, Status.STAGNATED, Status.DIVERGED, Status.BREAKDOWN, Status.SINGULAR}
"""Statuses that are right for a system without a solution."""


def methods_of(system: LinearSystem) -> list[str]:
    """Return the methods that can solve a system."""
    if not system.is_square:
        return RECTANGULAR
    if system.is_singular:
        return SINGULAR
    triangles = [method for method, keep in zip(TRIANGULAR, (np.tril, np.triu)) if _equal(system.matrix, keep)]
    general = DEFINITE if system.is_definite else SYMMETRIC if system.is_symmetric else SQUARE
    return [*general, "lstsq", *triangles]


def _equal(matrix: np.ndarray, keep: Any) -> bool:
    return bool(np.array_equal(keep(matrix), matrix))


def typed(system: LinearSystem, precision: str) -> np.ndarray:
    real, complex_, _ = DTYPES[precision]
    return system.matrix.astype(complex_ if system.is_complex else real)


def typed_system(system: LinearSystem, precision: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix in a precision, and the right-hand side computed from the solution in this precision."""
    a = typed(system, precision)
    return a, a @ system.solution.astype(a.dtype)


def on_host(library: Library, result: SolveResult) -> SolveResult:
    leaves, structure = xpand.trees.flatten(result)
    if library.id == "dask":  # compute the steps once, not for each array
        leaves = sys.modules["dask"].compute(*leaves)
    found: SolveResult = xpand.trees.unflatten(structure, [library.to_numpy(x) for x in leaves])
    return found


def solved(
    library: Library,
    system: LinearSystem,
    method: str,
    precision: str,
    *,
    is_sparse: bool = False,
    sizes: Sequence[int] = (),
) -> SolveResult:
    """Solve one system of the bank, and check the result.

    `sizes` are the allowed sizes: a square system is enlarged to the next one, by independent unknowns. The result does
    not contain these.
    """
    a, b = typed_system(system, precision)
    m, n = a.shape
    if system.is_square:
        m = n = min([size for size in sizes if size >= n], default=n)
    right = np.concatenate([b, np.zeros(m - len(b), b.dtype)])
    matrix = matrix_on(library, _padded(a, m, n), is_sparse)
    result = solve(matrix, library.asarray(right), method=method, rtol=DTYPES[precision][2], throw=False)
    library.assert_equal(result.x, library.to_numpy(result.x))
    result = _own(on_host(library, result), system)
    check(system, result, method, precision)
    return result


def _own(result: SolveResult, system: LinearSystem) -> SolveResult:
    """Return the part of a result that belongs to the system before it was enlarged."""
    m, n = system.matrix.shape
    return result._replace(x=result.x[:n], residual=result.residual[:m])


def matrix_on(library: Library, a: np.ndarray, is_sparse: bool) -> Any:
    """Return the matrix on a library, dense or as CSR."""
    if not is_sparse:
        return library.asarray(a)
    rows, columns = np.nonzero(a)
    starts = np.searchsorted(rows, np.arange(len(a) + 1))
    parts = [library.asarray(x) for x in (a[rows, columns], columns, starts)]
    return sparse.CSR(*parts, a.shape, is_sorted=True, is_unique=True)


def solved_together(
    library: Library, systems: Sequence[LinearSystem], method: str, precision: str, *, steps: int
) -> list[SolveResult]:
    """Solve systems as one batch.

    Smaller systems are enlarged by independent unknowns, which the results do not contain.
    """
    rows, columns = (max(system.matrix.shape[axis] for system in systems) for axis in (0, 1))
    pairs = [typed_system(system, precision) for system in systems]
    a = np.stack([_padded(pair[0], rows, columns) for pair in pairs])
    b = np.stack([np.concatenate([pair[1], np.zeros(rows - len(pair[1]), a.dtype)]) for pair in pairs])
    options = {"rtol": DTYPES[precision][2], "max_steps": steps, "throw": False}
    result = solve(library.asarray(a), library.asarray(b), axis=-1, method=method, **options)
    result = on_host(library, result)
    return [_own(xpand.trees.map(lambda x, i=i: x[i], result), system) for i, system in enumerate(systems)]


def _padded(a: np.ndarray, rows: int, columns: int) -> np.ndarray:
    m, n = a.shape
    whole = np.zeros((rows, columns), a.dtype)
    whole[:m, :n] = a
    if m == n:  # keeps the condition number
        whole[range(m, rows), range(n, columns)] = np.max(np.abs(a)) if a.size else 1.0
    return whole


def check(system: LinearSystem, result: SolveResult, method: str, precision: str, *, is_bounded: bool = False) -> None:
    """Check the claims of a result, and that a well-conditioned system is solved, unless steps are bounded."""
    a, b = typed_system(system, precision)
    assert result.x.dtype == a.dtype
    check_claims(system, result, a, b, DTYPES[precision][2])
    if not is_bounded and must_converge(system, method, precision):
        assert bool(result.converged), f"{system} by {method}: {result.message}"


def must_converge(system: LinearSystem, method: str, precision: str) -> bool:
    """Return whether a method must solve a system."""
    if not system.is_square or method == "lstsq":
        return True
    if system.is_singular:
        return method in ("cg", "minres", "gmres", "lsqr", "lsmr")
    is_for_it = system.is_definite or method not in MAY_FAIL[precision]
    return is_for_it and system.condition < (1e3 if precision == "float64" else 100)


def check_claims(system: LinearSystem, result: SolveResult, a: np.ndarray, b: np.ndarray, rtol: float) -> None:
    """Check with NumPy that the claims of a result are true: its residual, and whether it converged."""
    if not np.isfinite(result.x).all():
        assert not bool(result.converged)
        return
    wide, x = a.astype(np.complex128), np.asarray(result.x).astype(np.complex128)
    residual = b - wide @ x
    missing = float(np.linalg.norm(residual))
    noise = 50 * np.finfo(a.dtype).eps * (np.linalg.norm(wide) * np.linalg.norm(x) + np.linalg.norm(b))
    assert float(result.residual_norm) == pytest.approx(missing, rel=1e-3, abs=noise)
    if not bool(result.converged):
        return
    is_met = missing <= 1.01 * rtol * float(np.linalg.norm(b)) + noise
    if result.method.startswith("ls"):
        normal = float(np.linalg.norm(wide.conj().T @ residual))
        assert is_met or normal <= 1.1 * rtol * np.linalg.norm(wide) * missing + np.linalg.norm(wide) * noise
        if not system.is_square:  # the solution of minimal norm: apart from their rank, they are well-conditioned
            least = np.linalg.lstsq(wide, b, rcond=100 * np.finfo(a.dtype).eps)[0]
            assert np.linalg.norm(x - least) <= 300 * rtol * np.linalg.norm(least)
        return
    assert is_met
    if system.condition < 1e4:
        scale = float(np.linalg.norm(system.solution)) if system.solution.size else 0.0
        bound = 3 * (rtol * system.condition + 1e-14) * scale + 10 * system.condition * noise
        assert np.linalg.norm(x - system.solution) <= bound


# The second bank


def check_unsolved(system: Unsolvable, method: str, code: int) -> None:
    """Check the status for a system without a solution. Least squares may converge."""
    status = Status(code)
    if not system.is_finite:
        assert status == Status.NON_FINITE, f"{system}, {method}: {status!r}"
    elif method in ("lu", "auto", "qr"):
        assert status == Status.SINGULAR, f"{system}, {method}: {status!r}"
    else:
        assert status in ALLOWED or method.startswith("ls"), f"{system}, {method}: {status!r}"


def all_unsolvable() -> tuple[np.ndarray, np.ndarray]:
    """Return the second bank as one batch, with further equations that make all systems the same size."""
    size = max(len(system.b) for system in UNSOLVABLE)
    a, b = np.stack([np.eye(size)] * len(UNSOLVABLE)), np.ones((len(UNSOLVABLE), size))
    for i, system in enumerate(UNSOLVABLE):
        n = len(system.b)
        a[i, :n, :n], b[i, :n] = system.matrix, system.b
    return a, b
