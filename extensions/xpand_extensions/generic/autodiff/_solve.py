"""Linear systems and roots with implicit derivatives on any library, by tracing."""

from collections.abc import Callable
from typing import Any, TypeAlias

from xpand import array_namespace
from xpand.extend import Array

from ... import autodiff
from ..._captures import captured, solved_directly, with_own_cells
from ..._dispatch import forwards_to
from ...autodiff._implicit import LinearSystem, Root, flat_solver, tangent_solver
from ...tracing import traced_namespace
from ...tracing._core import TracedArray, aval_of, bare
from ...tracing._solve import Equation, calculus_of, solved

Arrays: TypeAlias = tuple[Array, ...]
Function: TypeAlias = Callable[..., Any]


@forwards_to(autodiff.custom_linear_solve)
def custom_linear_solve(
    matvec: Function, /, b: Arrays, *, solve: Function, transpose_solve: Any, args: Arrays, symmetric: bool, **rest: Any
) -> tuple[Arrays, Arrays]:
    def equation(matvec: Function, solve: Function, transpose_solve: Function | None) -> LinearSystem:
        size: list[int] = []
        back = transpose_solve and flat_solver(transpose_solve)
        calculus = calculus_of(traced_namespace(array_namespace(*b, *args)))
        return LinearSystem(calculus, matvec, flat_solver(solve, size), back, symmetric, list(map(aval_of, b)), size)

    return _solved(equation, (matvec, solve, transpose_solve), b, args)


@forwards_to(autodiff.custom_root)
def custom_root(
    f: Function, /, initial_guess: Arrays, *, solve: Function, tangent_solve: Any, args: Arrays, **options: Any
) -> tuple[Arrays, Arrays]:
    def equation(f: Function, solve: Function, tangent_solve: Function) -> Root:
        calculus = calculus_of(traced_namespace(array_namespace(*initial_guess, *args)))
        of_tangents = tangent_solver(calculus, f, tangent_solve)
        return Root(calculus, f, flat_solver(solve), of_tangents, list(map(aval_of, initial_guess)))

    return _solved(equation, (f, solve, tangent_solve), initial_guess, args)


def _solved(
    equation: Callable[..., Equation], functions: tuple[Any, Any, Any], first: Arrays, args: Arrays
) -> tuple[Arrays, Arrays]:
    """Solve an equation with its second function, the solver."""
    arrays = (*first, *args)
    outer = captured(_is_traced, *functions)
    found = solved_directly(_is_traced, functions, first, args, outer)
    if found is not None:
        return found
    made = equation(*map(with_own_cells, functions))  # derivatives call them again
    has_closures = bool(outer) or not any(map(_is_traced, arrays))  # including those that were not found
    outs = solved(traced_namespace(array_namespace(*arrays)), made, arrays, has_closures)
    return tuple(outs[: made.size[0]]), tuple(outs[made.size[0] :])


def _is_traced(x: Array) -> bool:
    return isinstance(bare(x), TracedArray)
