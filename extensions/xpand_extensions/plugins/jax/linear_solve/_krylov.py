"""Krylov methods on JAX, with matrices in the layouts that are fastest there."""

from typing import Any

from xpand import is_concrete, trees
from xpand.extend import Array
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.generic.linear_solve._krylov_run import run
from xpand_extensions.jit._reused import split
from xpand_extensions.linear_solve import _krylov as facade
from xpand_extensions.linear_solve._factorization import Factorization
from xpand_extensions.linear_solve._krylov import Found
from xpand_extensions.sparse._containers import Sparse

from .._programs import call_compiled
from ..sparse._layouts import arranged
from ._columns import Columns


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
