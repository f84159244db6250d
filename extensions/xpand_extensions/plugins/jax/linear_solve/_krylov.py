"""Krylov methods on JAX, with matrices in the layouts that are fastest there.

Conjugate gradients for many systems of one matrix store the vectors as columns: the values of one unknown of all
systems are adjacent. Sums over unknowns use whole vector registers, and the shifts of a product by diagonals move whole
rows. For few systems the rows would be too short. Different matrices would have to be transposed, too.
"""

from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp

from xpand import is_concrete, trees
from xpand.extend import Array
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.generic.linear_solve._krylov_pieces import BROKEN, Step, flags, ratio
from xpand_extensions.generic.linear_solve._krylov_run import Carry, Loop, run
from xpand_extensions.generic.linear_solve._krylov_symmetric import CG
from xpand_extensions.jit._reused import split
from xpand_extensions.linear_solve import _krylov as facade
from xpand_extensions.linear_solve._factorization import Factorization
from xpand_extensions.linear_solve._krylov import Found
from xpand_extensions.linear_solve._operators import Matrix
from xpand_extensions.sparse._containers import Sparse

from .._programs import call_compiled
from ..sparse._layouts import Diagonals, arranged

_MANY: Final = 32
"""The number of systems from which columns are faster. With 64 systems of 64x64 cells, they take five sixths of the
time."""


@forwards_to(facade.krylov)
def krylov(b: Array, x0: Array, rtol: Array, atol: Array, /, *, system: Any, **options: Any) -> Found:
    def solve(b: Array, x0: Array, rtol: Array, atol: Array, system: Any) -> Found:
        return Found(*run(b, x0, rtol, atol, system=system, arranged=_fast, loop_of=Columns, **options))

    of_arrays, arrays, _ = split(solve, (b, x0, rtol, atol, system))
    found: Found = call_compiled(of_arrays, *arrays) if all(map(is_concrete, arrays)) else of_arrays(*arrays)
    return found


def _fast(system: Any) -> Any:
    """Convert matrices, including the preconditioner's, to the layouts that are fastest for many products."""
    return trees.map(arranged, system, is_leaf=lambda x: isinstance(x, (Sparse, Factorization)))


class Columns(Loop):
    """A loop that stores the vectors of many systems as columns, if all have one matrix, stored by diagonals."""

    def steps(self, carry: Carry, stop: int) -> Carry:
        """Take steps until all systems need a check, or `stop` is reached."""
        if not self._has_columns():
            return super().steps(carry, stop)
        found = super().steps(carry._replace(state=_turned(carry.state)), stop)
        return found._replace(state=_turned(found.state))

    def step_active(self, step: Callable[..., Step], state: Any, active: Array) -> Step:
        """Take a step with the active systems."""
        if not self._has_columns():
            return super().step_active(step, state, active)

        def select(new: Array, old: Array) -> Array:
            return jnp.where(active, new, old)

        x, r, p, before, now = state
        p = select(r + ratio(now, before) * p, p)
        q = _product(self.system.operator.values, p)
        curvature = jnp.sum(p * q, axis=0)
        length = ratio(now, curvature)
        x, r = select(x + length * p, x), select(r - length * q, r)
        rr = jnp.sum(r * r, axis=0)
        broken = flags((curvature == 0) | (now == 0), BROKEN)
        return Step(type(state)(x, r, p, select(now, before), rr), jnp.sqrt(rr), broken)

    def _has_columns(self) -> bool:
        system, b = self.system, self.b
        if self.method is not CG or system.is_preconditioned or system.basis is not None or system.is_transposed:
            return False
        a = system.operator.values if isinstance(system.operator, Matrix) else None
        is_many = b.ndim == 2 and b.shape[0] >= _MANY
        return is_many and isinstance(a, Diagonals) and a.ndim == 2 and a.data.dtype == b.dtype and jnp.isrealobj(b)


def _turned(state: Any) -> Any:
    return state._replace(x=state.x.T, r=state.r.T, p=state.p.T)


def _product(a: Diagonals, x: Array) -> Array:
    zero = jnp.zeros((), dtype=x.dtype)
    shifted = [jax.lax.pad(x, zero, [(-each, each, 0), (0, 0, 0)]) for each in a.offsets]
    return sum(a.data[i, :, None] * y for i, y in enumerate(shifted))
