"""Linear systems and roots with implicit derivatives on any library, by tracing."""

from collections.abc import Callable
from typing import Any, TypeAlias

from xpand import array_namespace
from xpand._typing import Array

from ..._captures import captured, solved_directly, with_own_cells
from ...autodiff._products import jvp
from ...tracing import traced_namespace
from ...tracing._core import TracedArray, aval_of, bare
from ...tracing._root import Root, found_root
from ...tracing._solve import System, solved

Arrays: TypeAlias = tuple[Array, ...]


def custom_linear_solve(
    matvec: Callable[..., Any],
    b: Arrays,
    /,
    *,
    solve: Callable[..., Any],
    transpose_solve: Callable[..., Any] | None = None,
    args: Arrays = (),
    symmetric: bool = False,
    has_aux: bool = False,
) -> tuple[Arrays, Arrays]:
    arrays = (*b, *args)
    outer = captured(_is_traced, matvec, solve, transpose_solve)
    found = solved_directly(_is_traced, (*arrays, *outer), lambda: solve(b, *args))
    if found is not None:
        return found  # type: ignore[no-any-return]
    count: list[int] = []
    # They are called again when derivatives are asked for.
    matvec, solve, transpose_solve = map(with_own_cells, (matvec, solve, transpose_solve))

    def flat(b: Arrays, *args: Array) -> Arrays:
        xs, aux = solve(b, *args)
        count[:] = [len(xs)]
        return (*xs, *aux)

    def flat_of_transposed(xs: Arrays, *args: Array) -> Arrays:
        assert transpose_solve is not None, "there is one"
        return sum(transpose_solve(xs, *args), ())

    of_transposed = None if transpose_solve is None else flat_of_transposed
    system = System(matvec, flat, of_transposed, symmetric, list(map(aval_of, b)), count)
    # Those that were not found, too.
    has_closures = bool(outer) or not any(map(_is_traced, arrays))
    outs = solved(traced_namespace(array_namespace(*arrays)), system, arrays, has_closures)
    return tuple(outs[: count[0]]), tuple(outs[count[0] :])


def custom_root(
    f: Callable[..., Any],
    initial_guess: Arrays,
    /,
    *,
    solve: Callable[..., Any],
    tangent_solve: Any = None,
    args: Arrays = (),
    has_aux: bool = False,
) -> tuple[Arrays, Arrays]:
    arrays = (*initial_guess, *args)
    outer = captured(_is_traced, f, solve, tangent_solve)
    found = solved_directly(_is_traced, (*arrays, *outer), lambda: solve(initial_guess, *args))
    if found is not None:
        return found  # type: ignore[no-any-return]
    count = len(initial_guess)
    f, solve, tangent_solve = map(with_own_cells, (f, solve, tangent_solve))

    def of_tangents(ys: Arrays, *given: Array) -> Arrays:
        along = lambda vs: jvp(lambda *xs: f(xs, *given[count:]), given[:count], tuple(vs))[1]
        found: Arrays = tangent_solve(along, ys)
        return found

    flat = lambda xs, *args: sum(solve(xs, *args), ())
    root = Root(f, flat, of_tangents, list(map(aval_of, initial_guess)))
    has_closures = bool(outer) or not any(map(_is_traced, arrays))
    outs = found_root(traced_namespace(array_namespace(*arrays)), root, arrays, has_closures)
    return tuple(outs[:count]), tuple(outs[count:])


def _is_traced(x: Array) -> bool:
    return isinstance(bare(x), TracedArray)
