"""Krylov methods on NumPy: solve one system in place by BLAS."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import repeat
from typing import Any, Final

import numpy as np
from scipy.sparse import _sparsetools as kernels

from xpand.extend import LibraryArray as Array
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.generic.linear_solve._krylov_gmres import GMRES
from xpand_extensions.generic.linear_solve._krylov_pieces import CONTINUE, CONVERGED, DIVERGED, NOT_FINITE, Method
from xpand_extensions.generic.linear_solve._krylov_run import Carry, Loop, run
from xpand_extensions.linear_solve import _krylov as facade
from xpand_extensions.linear_solve._krylov import Found, System
from xpand_extensions.linear_solve._operators import Matrix, ready
from xpand_extensions.sparse._containers import CSR, Sparse

from ..sparse._diagonals import Diagonals, Positions, by_diagonals, positions_of
from ._krylov_steps import ROUTINES, STEPS, start_gmres

_FEW_SYSTEMS: Final = 8
_FEW_UNKNOWNS: Final = 500
"""With fewer unknowns, the time of a step is that of its calls, which systems that are solved together share."""

_MANY_STEPS: Final = 32
"""After this number of products, a matrix is converted to diagonals. The conversion takes about as long as they did."""
_MOST_PADDING: Final = 1.5


@forwards_to(facade.krylov)
def krylov(
    b: Array,
    x0: Array,
    rtol: Array,
    atol: Array,
    /,
    *,
    system: Any,
    method: str,
    stops: tuple[int, ...],
    record: bool,
    **options: Any,
) -> Found:
    options |= {"method": method, "stops": stops, "record": record, "loop_of": partial(InPlace, layouts=Layouts())}
    # Ignore overflow and division by zero: the status reports them as failures.
    with np.errstate(all="ignore"):
        if b.ndim == 1 or method != "cg" or record or not _is_one_by_one(system, b):
            return Found(*run(b, x0, rtol, atol, system=system, **options))
        batch = b.shape[:-1]
        rtol, atol, matrices = np.broadcast_to(rtol, batch), np.broadcast_to(atol, batch), _lanes(system, batch)
        each = [
            run(b[i], x0[i], rtol[i], atol[i], system=matrix, **options)
            for i, matrix in zip(np.ndindex(batch), matrices)
        ]
        return Found(*[_stacked(rows, batch, len(stops) > 1) for rows in zip(*each)])


def _is_one_by_one(system: Any, b: Array) -> bool:
    """Return whether to solve systems one by one, so that a step's data stays in the cache and no system waits."""
    return (
        isinstance(system.operator, Matrix)
        and not system.is_preconditioned
        and (system.basis is None or system.basis.ndim == 2)
        and (b.shape[-1] >= _FEW_UNKNOWNS or math.prod(b.shape[:-1]) <= _FEW_SYSTEMS)
        and 0 not in b.shape
    )


def _lanes(system: Any, batch: tuple[int, ...]) -> Iterator[Any]:
    """Return the system of each lane."""
    a, *flags = system.operator.values, system.operator.symmetric, system.operator.positive_definite
    rest = (None, system.basis, system.rows, system.columns, system.is_transposed)
    if a.ndim == 2:
        return repeat(system)
    if not isinstance(a, Sparse):
        stack = np.broadcast_to(a, (*batch, *a.shape[-2:]))
        return (System(Matrix(stack[i], *flags), *rest) for i in np.ndindex(batch))
    values = np.broadcast_to(a.values, (*batch, a.nse))
    if a.pattern[0].ndim == 1:
        return (System(Matrix(a.with_values(values[i]), *flags), *rest) for i in np.ndindex(batch))
    patterns = [np.broadcast_to(each, (*batch, each.shape[-1])) for each in a.pattern]
    lanes = (a._of(values[i], tuple([each[i] for each in patterns]), a._static()) for i in np.ndindex(batch))
    return (System(Matrix(ready(each), *flags), *rest) for each in lanes)


def _stacked(rows: tuple[Any, ...], batch: tuple[int, ...], is_trajectory: bool) -> Any:
    axis = 1 if is_trajectory else 0
    found = np.stack(rows, axis=axis)
    return found.reshape(*found.shape[:axis], *batch, *found.shape[axis + 1 :])


class Layouts:
    """A cache of matrices by diagonals, since the next system often has the same matrix or pattern."""

    def __init__(self) -> None:
        """Start without matrices."""
        self.pattern: tuple[Array, ...] = ()
        self.positions: Positions | None = None
        self.values: Array | None = None
        self.diagonals: Diagonals | None = None

    def has(self, a: CSR) -> bool:
        """Return whether a matrix is the last one that was used."""
        return a.values is self.values and self._knows(a)

    def of(self, a: CSR) -> Diagonals | None:
        """Convert a matrix to diagonals, if a few diagonals contain all entries."""
        if not self._knows(a):
            self.pattern, self.values, (m, n) = a.pattern, None, a.shape
            self.positions = positions_of(a.indices, a.indptr, (m, n), _MOST_PADDING)
        if a.values is not self.values:
            self.values = a.values
            self.diagonals = None if self.positions is None else by_diagonals(a.values, self.positions)
        return self.diagonals

    def _knows(self, a: CSR) -> bool:
        return bool(self.pattern) and all(mine is theirs for mine, theirs in zip(self.pattern, a.pattern))


class Product:
    """The product with a system's matrix. For a CSR, it only calls the kernel, always with the same output array."""

    def __init__(self, system: Any, b: Array, layouts: Layouts) -> None:
        """Take the system, a right-hand side, and the cache of layouts."""
        a = system.operator.values if isinstance(system.operator, Matrix) else None
        is_plain = isinstance(a, CSR) and a.ndim == 2 and a.dtype == b.dtype
        self.matrix = a if is_plain and system.basis is None and not system.is_transposed else None
        self.system, self.b, self.layouts = system, b, layouts

    def after(self, steps: int) -> Callable[[Array], Array]:
        """Return the product to use after this number of steps."""
        a = self.matrix
        if a is None:
            multiply: Callable[[Array], Array] = self.system.product
            return multiply
        m, n = a.shape
        values, indices, indptr, out = a.values, a.indices, a.indptr, np.empty(m, dtype=self.b.dtype)
        diagonals = self.layouts.of(a) if steps >= _MANY_STEPS or self.layouts.has(a) else None

        def by_rows(x: Array) -> Array:
            out.fill(0)
            kernels.csr_matvec(m, n, indptr, indices, values, x, out)
            return out

        def by_diagonals(x: Array) -> Array:
            assert diagonals is not None, "it has been found"
            out.fill(0)
            diagonals.add_product(x, out)
            return out

        return by_rows if diagonals is None else by_diagonals


class InPlace(Loop):
    """The loop, with steps that allocate only the array of the product."""

    def __init__(self, method: Method, *args: Any, layouts: Layouts) -> None:
        """Take the arguments of a loop, and the cache of layouts."""
        super().__init__(method, *args)
        self.layouts = layouts
        self.made = STEPS.get(method) if self.b.dtype in ROUTINES and self.b.ndim == 1 and self.b.size else None
        if self.made is not None and method is GMRES:
            self.method = method._replace(start=start_gmres)

    def steps(self, carry: Carry, stop: int) -> Carry:
        """Step until the system needs a check or has taken this number of steps."""
        if self.made is None:
            return super().steps(carry, stop)
        product = Product(self.system, self.b, self.layouts)
        precondition = self.system.precondition if self.system.is_preconditioned else None
        tolerance, limit = float(self.tolerance), float(self.limit)
        before = taken = int(carry.steps)
        flag = int(carry.flag)
        steps = self.made(carry.state, precondition, self.order)
        multiply = product.after(taken)
        while flag == CONTINUE and taken < stop:
            if taken == _MANY_STEPS:
                multiply = product.after(taken)
            size, flag = steps.step(multiply)
            taken += 1
            if self.is_watched:
                number, found = np.asarray(taken, np.int32), np.asarray(size, dtype=self.b.dtype)
                self.watched(carry._replace(steps=number, size=found))
            if size <= tolerance:
                flag = CONVERGED
            elif not size <= limit:
                flag = DIVERGED if taken > 1 or np.isfinite(size) else NOT_FINITE
        return carry._replace(
            state=steps.state(),
            steps=np.asarray(taken, np.int32),
            flag=np.asarray(flag, np.int32),
            calls=carry.calls + np.int32((taken - before) * self.method.cost(self.order)),
        )
