"""Krylov methods on NumPy: conjugate gradients of one system in place, by BLAS."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import repeat
from typing import Any, Final

import numpy as np
from scipy.linalg import blas
from scipy.sparse import _sparsetools as kernels

from xpand.extend import LibraryArray as Array
from xpand_extensions.generic.linear_solve._krylov_cg import CG
from xpand_extensions.generic.linear_solve._krylov_pieces import BROKEN, CONTINUE, CONVERGED, DIVERGED, NOT_FINITE
from xpand_extensions.generic.linear_solve._krylov_run import Carry, Loop, run
from xpand_extensions.linear_solve._krylov import Found, System
from xpand_extensions.linear_solve._operators import Matrix, ready
from xpand_extensions.sparse._containers import CSR, Sparse

from ..sparse._diagonals import Diagonals, Positions, by_diagonals, positions_of

_FEW_SYSTEMS: Final = 8
_FEW_UNKNOWNS: Final = 500
"""Of more systems with fewer unknowns a step costs little but the calls, which all share that are solved at once."""

_ROUTINES: Final = {
    np.dtype(np.float32): (blas.saxpy, blas.sdot, blas.sscal),
    np.dtype(np.float64): (blas.daxpy, blas.ddot, blas.dscal),
}

_MANY_STEPS: Final = 32
"""After so many a matrix is brought into diagonals, which takes about as long as they did."""
_MOST_PADDING: Final = 1.5


def krylov(
    b: Array,
    x0: Array,
    rtol: Array,
    atol: Array,
    /,
    *,
    system: Any,
    method: str,
    order: int = 0,
    stops: tuple[int, ...] = (1,),
    record: bool = False,
) -> Found:
    loop_of = partial(InPlace, layouts=Layouts())
    options: dict[str, Any] = {
        "system": system,
        "method": method,
        "order": order,
        "stops": stops,
        "record": record,
        "loop_of": loop_of,
    }
    # A system that overflows or divides by zero fails, as its status says.
    with np.errstate(all="ignore"):
        if b.ndim == 1 or method != "cg" or record or not _is_one_by_one(system, b):
            return Found(*run(b, x0, rtol, atol, **options))
        batch = b.shape[:-1]
        rtol, atol, matrices = np.broadcast_to(rtol, batch), np.broadcast_to(atol, batch), _lanes(system, batch)
        options.pop("system")
        each = [
            run(b[i], x0[i], rtol[i], atol[i], system=matrix, **options)
            for i, matrix in zip(np.ndindex(batch), matrices)
        ]
        return Found(*[_stacked(rows, batch, len(stops) > 1) for rows in zip(*each)])


def _is_one_by_one(system: Any, b: Array) -> bool:
    """Tell whether to solve one after the other: the data of a step stays in the cache, and none waits."""
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
    """Matrices by diagonals, kept for the next system: often it has the same matrix, or at least the same pattern."""

    def __init__(self) -> None:
        """Keep none yet."""
        self.pattern: tuple[Array, ...] = ()
        self.positions: Positions | None = None
        self.values: Array | None = None
        self.diagonals: Diagonals | None = None

    def has(self, a: CSR) -> bool:
        """Tell whether a matrix is the one that was asked for last."""
        return a.values is self.values and self._knows(a)

    def of(self, a: CSR) -> Diagonals | None:
        """Bring a matrix into diagonals, where a few hold all its entries."""
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
    """The product with a system's matrix; of a CSR by a kernel alone, into the same array each time."""

    def __init__(self, system: Any, b: Array, layouts: Layouts) -> None:
        """Take the system, a right-hand side, and where to keep layouts."""
        a = system.operator.values if isinstance(system.operator, Matrix) else None
        is_plain = isinstance(a, CSR) and a.ndim == 2 and a.dtype == b.dtype
        self.matrix = a if is_plain and system.basis is None and not system.is_transposed else None
        self.system, self.b, self.layouts = system, b, layouts

    def after(self, steps: int) -> Callable[[Array], Array]:
        """Return the product to use after so many steps."""
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
    """The loop, with steps that make no arrays but the product."""

    def __init__(self, *args: Any, layouts: Layouts) -> None:
        """Take the arguments of a loop, and the store of layouts."""
        super().__init__(*args)
        self.layouts = layouts

    def steps(self, carry: Carry, stop: int) -> Carry:
        """Take steps until the system has reason to be looked at, or has taken so many."""
        routines = _ROUTINES.get(self.b.dtype)
        if routines is None or self.method is not CG or self.b.ndim > 1 or self.b.size == 0:
            return super().steps(carry, stop)
        axpy, dot, scale = routines
        product, precondition = Product(self.system, self.b, self.layouts), self.system.precondition
        is_preconditioned = self.system.is_preconditioned
        tolerance, limit = float(self.tolerance), float(self.limit)
        x, r, p = (np.array(each) for each in carry.state[:3])
        rz, taken, flag = float(carry.state.rz), int(carry.steps), int(carry.flag)
        multiply = product.after(taken)
        while flag == CONTINUE and taken < stop:
            if taken == _MANY_STEPS:
                multiply = product.after(taken)
            q = multiply(p)
            curvature = float(dot(p, q))
            length = rz / curvature if curvature else 0.0
            axpy(p, x, a=length)
            axpy(q, r, a=-length)
            square = float(dot(r, r))
            z = precondition(r) if is_preconditioned else r
            new = float(dot(r, z)) if is_preconditioned else square
            scale(new / rz if rz else 0.0, p)
            axpy(z, p)
            rz, taken = new, taken + 1
            size = square**0.5
            if self.is_watched:
                self.watched(carry._replace(steps=np.asarray(taken, np.int32), size=np.asarray(size, dtype=x.dtype)))
            if size <= tolerance:
                flag = CONVERGED
            elif not size <= limit:
                flag = DIVERGED if taken > 1 or np.isfinite(size) else NOT_FINITE
            elif not (curvature and new):
                flag = BROKEN
        state = type(carry.state)(x, r, p, np.asarray(rz, dtype=x.dtype))
        calls = carry.calls + np.int32(taken - int(carry.steps))
        return carry._replace(
            state=state, steps=np.asarray(taken, np.int32), flag=np.asarray(flag, np.int32), calls=calls
        )
