"""Krylov methods on NumPy: conjugate gradients of one system in place, by BLAS."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from scipy.linalg import blas
from scipy.sparse import _sparsetools as kernels

from xpand._typing import Array

from ..._linear_solve_krylov import Found
from ..._linear_solve_operators import Matrix
from ..._sparse_containers import CSR
from ...generic._krylov_cg import CG
from ...generic._krylov_pieces import BLOWN, BROKEN, GOING, MET, NOT_FINITE
from ...generic._krylov_run import Carry, Loop, run

_ROUTINES: Final = {
    np.dtype(np.float32): (blas.saxpy, blas.sdot),
    np.dtype(np.float64): (blas.daxpy, blas.ddot),
}


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
) -> Found:
    options: dict[str, Any] = {"system": system, "method": method, "order": order, "stops": stops}
    # What overflows or divides by zero is a system that fails, and says so in its status.
    with np.errstate(all="ignore"):
        if b.ndim == 1 or method != "cg" or 0 in b.shape or not _is_one_matrix(system):
            return Found(*run(b, x0, rtol, atol, loop_of=InPlace, **options))
        # One after the other: what a step works on stays in the cache, and no member waits for another.
        batch = b.shape[:-1]
        each = [
            run(b[i], x0[i], tolerance, least, loop_of=InPlace, **options)
            for i, tolerance, least in zip(
                np.ndindex(batch), np.broadcast_to(rtol, batch).flat, np.broadcast_to(atol, batch).flat
            )
        ]
        return Found(*[_stacked(rows, batch, len(stops) > 1) for rows in zip(*each)])


def _is_one_matrix(system: Any) -> bool:
    return isinstance(system.operator, Matrix) and system.operator.values.ndim == 2 and not system.is_preconditioned


def _stacked(rows: tuple[Any, ...], batch: tuple[int, ...], is_trajectory: bool) -> Any:
    axis = 1 if is_trajectory else 0
    found = np.stack(rows, axis=axis)
    return found.reshape(*found.shape[:axis], *batch, *found.shape[axis + 1 :])


def _product(system: Any, b: Array) -> Callable[[Array], Array]:
    """Return the product; of a CSR by the kernel alone, into the same array each time."""
    a = system.operator.values if isinstance(system.operator, Matrix) else None
    if not isinstance(a, CSR) or a.ndim != 2 or a.dtype != b.dtype or system.basis is not None or system.is_transposed:
        multiply: Callable[[Array], Array] = system.product
        return multiply
    values, indices, indptr, (m, n) = a.values, a.indices, a.indptr, a.shape
    out = np.empty(m, dtype=b.dtype)

    def product(x: Array) -> Array:
        out.fill(0)
        kernels.csr_matvec(m, n, indptr, indices, values, x, out)
        return out

    return product


class InPlace(Loop):
    """The loop, with steps that make no arrays but the product."""

    def steps(self, carry: Carry, stop: int) -> Carry:
        """Take steps until the system has reason to be looked at, or has taken so many."""
        routines = _ROUTINES.get(self.b.dtype)
        if routines is None or self.method is not CG or self.b.ndim > 1 or self.b.size == 0:
            return super().steps(carry, stop)
        axpy, dot = routines
        product, precondition = _product(self.system, self.b), self.system.precondition
        is_preconditioned = self.system.is_preconditioned
        tolerance, limit = float(self.tolerance), float(self.limit)
        x, r, p = (np.array(each) for each in carry.state[:3])
        rz, taken, flag = float(carry.state.rz), int(carry.steps), int(carry.flag)
        while flag == GOING and taken < stop:
            q = product(p)
            curvature = float(dot(p, q))
            length = rz / curvature if curvature else 0.0
            axpy(p, x, a=length)
            axpy(q, r, a=-length)
            square = float(dot(r, r))
            z = precondition(r) if is_preconditioned else r
            new = float(dot(r, z)) if is_preconditioned else square
            p *= new / rz if rz else 0.0
            p += z
            rz, taken = new, taken + 1
            size = square**0.5
            if size <= tolerance:
                flag = MET
            elif not size <= limit:
                flag = BLOWN if taken > 1 or np.isfinite(size) else NOT_FINITE
            elif not (curvature and new):
                flag = BROKEN
        state = type(carry.state)(x, r, p, np.asarray(rz, dtype=x.dtype))
        calls = carry.calls + np.int32(taken - int(carry.steps))
        return carry._replace(
            state=state, steps=np.asarray(taken, np.int32), flag=np.asarray(flag, np.int32), calls=calls
        )
