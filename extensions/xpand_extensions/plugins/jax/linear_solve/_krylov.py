"""Krylov methods on JAX: compiled as a whole; once for each kind of system, where that consists of arrays alone."""

from functools import partial
from typing import Any

import jax

from xpand import is_concrete, trees
from xpand.extend import Array, checks
from xpand_extensions.generic.linear_solve._krylov_run import run
from xpand_extensions.linear_solve._factorization import Factorization
from xpand_extensions.linear_solve._krylov import Found
from xpand_extensions.sparse._containers import Sparse

from ..sparse._layouts import arranged
from ._columns import Columns


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
    given = (b, x0, rtol, atol)
    found, structure = trees.flatten(system)
    positions = tuple([i for i, x in enumerate(found) if checks.is_array(x)])
    arrays = [found[i] for i in positions]
    static = tuple([(i, x) for i, x in enumerate(found) if i not in positions])
    options: dict[str, Any] = {"method": method, "order": order, "stops": stops}
    if not all(map(is_concrete, (*given, *arrays))):
        return Found(*run(*given, system=system, arranged=_fast, loop_of=Columns, **options))
    if system.is_of_arrays:
        compiled: Found = _compiled(given, arrays, structure, static, method, order, stops)
        return compiled
    # A function may have changed since it was compiled last: captured values can't be seen.
    again = jax.jit(partial(_solve, structure=structure, static=static, **options))
    result: Found = again(given, arrays)
    return result


def _solve(
    given: tuple[Array, ...],
    arrays: list[Array],
    structure: trees.Structure,
    static: tuple[tuple[int, Any], ...],
    method: str,
    order: int,
    stops: tuple[int, ...],
) -> Found:
    leaves = list(arrays)
    for i, x in static:
        leaves.insert(i, x)
    system = trees.unflatten(structure, leaves)
    return Found(*run(*given, system=system, method=method, order=order, stops=stops, arranged=_fast, loop_of=Columns))


def _fast(system: Any) -> Any:
    """Bring matrices, those of the preconditioner too, into the layouts that are fastest for many products."""
    return trees.map(arranged, system, is_leaf=lambda x: isinstance(x, (Sparse, Factorization)))


_compiled = jax.jit(_solve, static_argnums=(2, 3, 4, 5, 6))
