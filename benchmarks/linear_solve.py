"""Krylov methods compared with SciPy's, and systems solved together compared with a loop of single solves."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from xpand_extensions import sparse
from xpand_extensions.linear_solve import multilevel, solve

from ._measure import Budget, Call, Row
from .namespaces import libraries

BUDGETS: Final = {"numpy": Budget(ratio=1.0), "torch": Budget(ratio=1.2), "jax": Budget(ratio=1.0)}
"""Compared with `scipy.sparse.linalg.cg`."""

KRYLOV: Final = Budget(ratio=1.1)
"""Compared with SciPy's methods for systems that are not symmetric."""

BATCHED: Final = {"numpy": Budget(ratio=0.5), "torch": Budget(ratio=0.2), "jax": Budget(ratio=0.2)}
"""Compared with a loop of single solves."""

BATCHED_REASON: Final = (
    "a single system stays in the second cache, and takes 13 µs for each step; the vectors of 64 systems, 2 MB each, "
    "do not, and a step passes over them eight times; so xpand, too, solves the systems one by one"
)
"""Why systems together are over the budget on NumPy and PyTorch. The times are for one system of 4096 unknowns."""

BATCHED_ON_JAX: Final = (
    "a single solution is compiled too, and takes 15 µs a step with its call; the vectors of 64 systems, 2 MB each, "
    "pass 12 times through the third cache, which takes 4.7 µs for each at 84 GB/s"
)
"""Why they are over the budget on JAX."""

BUILT: Final = Budget(ratio=0.2)
"""With a preconditioner built before, compared with plain conjugate gradients."""

BUILT_REASON: Final = (
    "a plain step multiplies by shifts of five diagonals, and takes a quarter of its time on NumPy; the coarse "
    "matrices of the preconditioner have rows of many entries, and gain less"
)
"""Why a preconditioner built before is over the budget on JAX."""

WITH_SETUP: Final = Budget(ratio=1.0)
"""With a preconditioner built each time, compared with plain conjugate gradients."""

DIRECT: Final = {"numpy": Budget(ratio=3.0), "torch": Budget(ratio=5.0)}
"""Compared with the library's own solution of a small dense system, without a status."""

DIRECT_REASON: Final = "the condition number, the residual and its status take twice as long as the solution"

SMALL: Final[dict[str, int]] = {"side": 6, "systems": 2, "side_of_many": 4, "side_of_large": 16}
"""The sizes with which the tests run every row."""


def rows(side: int = 256, systems: int = 64, side_of_many: int = 64, side_of_large: int = 512) -> Iterator[Row]:
    a, b = _poisson(side), np.random.default_rng(0).normal(size=side * side)
    theirs = Call(scipy.sparse.linalg.cg, a, b, rtol=1e-8)
    for library in libraries():
        matrix = _matrix(library.xp, a)
        ours = Call(solve, matrix, library.xp.asarray(b), method="cg", rtol=1e-8)
        topic = f"cg to 1e-8 on {side}x{side}"
        yield Row(topic, library.name, ours, {"scipy.sparse.linalg.cg": theirs}, BUDGETS[library.name])
    a = _convection(side)
    for method, solver in (("gmres(30)", scipy.sparse.linalg.gmres), ("bicgstab", scipy.sparse.linalg.bicgstab)):
        options = {"restart": 30, "maxiter": 10_000} if method == "gmres(30)" else {}
        theirs = Call(solver, a, b, rtol=1e-6, **options)
        ours = Call(solve, _matrix(np, a), b, method=method, rtol=1e-6, max_steps=10_000)
        topic = f"{method} with convection to 1e-6 on {side}x{side}"
        yield Row(topic, "numpy", ours, {f"scipy.sparse.linalg.{solver.__name__}": theirs}, KRYLOV)
    many = np.random.default_rng(1).normal(size=(systems, side_of_many**2))
    for library in libraries():
        matrix, right = _matrix(library.xp, _poisson(side_of_many)), library.xp.asarray(many)
        topic = f"cg of {systems} systems of {side_of_many}x{side_of_many} at once"
        loop = {"a loop of single solves": Call(_one_by_one, matrix, right)}
        reason = BATCHED_ON_JAX if library.name == "jax" else BATCHED_REASON
        yield Row(
            topic, library.name, Call(solve, matrix, right, axis=-1, method="cg"), loop, BATCHED[library.name], reason
        )
        weights = np.linspace(1.0, 2.0, systems)[:, None]
        batch = matrix.with_values(library.xp.asarray(weights) * matrix.values[None, :])
        topic = f"cg of {systems} matrices of one pattern, {side_of_many}x{side_of_many}, at once"
        loop = {"a loop of single solves": Call(_matrix_by_matrix, batch, right)}
        yield Row(
            topic, library.name, Call(solve, batch, right, axis=-1, method="cg"), loop, BATCHED[library.name], reason
        )
    large = np.random.default_rng(2).normal(size=side_of_large**2)
    for library in libraries():
        matrix, right = _matrix(library.xp, _poisson(side_of_large)), library.xp.asarray(large)
        plain = {"plain cg": Call(solve, matrix, right, method="cg", rtol=1e-8)}
        built = Call(solve, matrix, right, method="cg", rtol=1e-8, preconditioner=multilevel(matrix))
        topic = f"cg with multilevel to 1e-8 on {side_of_large}x{side_of_large}"
        reason = BUILT_REASON if library.name == "jax" else ""
        yield Row(f"{topic}, built", library.name, built, plain, BUILT, reason)
        yield Row(f"{topic}, with setup", library.name, Call(_with_setup, matrix, right), plain, WITH_SETUP)
    few = np.random.default_rng(3).normal(size=(11, 10))
    for library in libraries():
        if library.name in DIRECT:
            dense, right = library.xp.asarray(few[:10] + 5 * np.eye(10)), library.xp.asarray(few[10])
            own = {"linalg.solve": Call(library.xp.linalg.solve, dense, right)}
            ours = Call(solve, dense, right)
            yield Row("a dense system of 10 unknowns", library.name, ours, own, DIRECT[library.name], DIRECT_REASON)


def _one_by_one(a: Any, b: Any) -> list[Any]:
    return [solve(a, b[i, :], method="cg").x for i in range(b.shape[0])]


def _matrix_by_matrix(a: Any, b: Any) -> list[Any]:
    return [solve(a.with_values(a.values[i, :]), b[i, :], method="cg").x for i in range(b.shape[0])]


def _with_setup(a: Any, b: Any) -> Any:
    return solve(a, b, method="cg", rtol=1e-8, preconditioner=multilevel(a))


def _poisson(side: int) -> Any:
    line = scipy.sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(side, side))
    one = scipy.sparse.eye_array(side)
    return scipy.sparse.csr_array(scipy.sparse.kron(line, one) + scipy.sparse.kron(one, line))


def _convection(side: int) -> Any:
    flow = scipy.sparse.diags_array([-0.2, 0.2], offsets=[-1, 1], shape=(side, side))
    return scipy.sparse.csr_array(_poisson(side) + scipy.sparse.kron(flow, scipy.sparse.eye_array(side)))


def _matrix(xp: Any, a: Any) -> Any:
    parts = [xp.asarray(each) for each in (a.data, a.indices, a.indptr)]
    return sparse.CSR(*parts, a.shape)
