"""Linear systems and roots with implicit derivatives, on PyTorch."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias

import torch

from xpand.extend import LibraryArray as Array
from xpand_extensions import autodiff
from xpand_extensions._captures import solved_directly, with_own_cells
from xpand_extensions._dispatch import forwards_to
from xpand_extensions._transforms import ArraySpec
from xpand_extensions.autodiff._implicit import Calculus, LinearSystem, Root, flat_solver, tangent_solver

from ._closures import captured_by, check_arguments, outer_error, outer_errors, with_arguments
from ._levels import Arrays, Function, Rule, call, is_traced_anywhere
from ._products import linear_transpose, linearize, pulled_back, pushed_forward, vjp

Equation: TypeAlias = LinearSystem | Root


def _derivative(function: Function, xs: Arrays) -> Function:
    # Use reverse mode: with PyTorch 2.13, forward mode under vmap in compiled code raises an error about two devices.
    push: Function = linearize(lambda *xs: (function(*xs), ()), *xs, has_aux=True)[1]
    return push


def _transpose(function: Function, templates: Sequence[Any], is_checked: bool) -> Function:
    if is_checked:
        return linear_transpose(function, *_zeros(templates))
    pull: Function = vjp(lambda *xs: (function(*xs), ()), *_zeros(templates), has_aux=True)[1]
    return pull


_CALCULUS: Final = Calculus(_derivative, _transpose, lambda x: x)


@forwards_to(autodiff.custom_linear_solve)
def custom_linear_solve(
    matvec: Function, /, b: Arrays, *, solve: Function, transpose_solve: Any, args: Arrays, symmetric: bool, **rest: Any
) -> tuple[Arrays, Arrays]:
    def equation(outer: int, matvec: Function, solve: Function, transpose_solve: Any) -> LinearSystem:
        back = None if transpose_solve is None else flat_solver(transpose_solve)
        return LinearSystem(_CALCULUS, matvec, flat_solver(solve), back, symmetric, _specs(b))

    return _solved("custom_linear_solve", equation, (matvec, solve, transpose_solve), b, args)


@forwards_to(autodiff.custom_root)
def custom_root(
    f: Function, /, initial_guess: Arrays, *, solve: Function, tangent_solve: Any, args: Arrays, **options: Any
) -> tuple[Arrays, Arrays]:
    def equation(outer: int, f: Function, solve: Function, tangent_solve: Function) -> Root:
        of_tangents = tangent_solver(_CALCULUS, f, tangent_solve, outer)
        return Root(_CALCULUS, f, flat_solver(solve), of_tangents, _specs(initial_guess))

    return _solved("custom_root", equation, (f, solve, tangent_solve), initial_guess, args)


def _solved(
    name: str, equation: Callable[..., Equation], functions: tuple[Any, Any, Any], first: Arrays, args: Arrays
) -> tuple[Arrays, Arrays]:
    """Solve an equation.

    Args:
        name: The function of xpand, for errors.
        equation: Takes the number of captured arrays and the functions; returns the equation.
        functions: The function of the equation, its solver, and the solver of derivatives.
        first: The right-hand side or the initial guess.
        args: The further arguments of the functions.
    """
    if torch.compiler.is_dynamo_compiling():
        outs = _compiled(equation(0, *functions), (*first, *args))
        return outs[: len(first)], outs[len(first) :]
    outer = captured_by(name, *functions)
    arrays = (*first, *args, *outer)
    found = solved_directly(is_traced_anywhere, functions, first, args, outer)
    if found is not None:
        return found
    if not any(map(is_traced_anywhere, arrays)):
        raise outer_error(name)
    later = [f and with_arguments(name, with_own_cells(f), outer) for f in functions]
    made = equation(len(outer), *later)
    with outer_errors(name):
        outs = _solve(made, *arrays)
    xs, aux = outs[: len(first)], outs[len(first) :]
    check_arguments(name, made.function, xs, (*args, *outer))
    return xs, aux


def _solve(equation: Equation, *arrays: Array) -> Arrays:
    """Solve an equation for the first arrays and further arguments."""
    run, forward = partial(_run, equation), partial(_forward, equation)
    return call(Rule(run, forward, partial(_pull, equation), partial(_push, equation)), arrays)


def _run(equation: Equation, *arrays: Array) -> Arrays:
    count = len(equation.rows)
    return equation.solve(arrays[:count], *arrays[count:])


def _forward(equation: Equation, *arrays: Array) -> tuple[Arrays, Arrays]:
    outs = _solve(equation, *arrays)
    equation.results = _specs(outs)
    count = len(equation.rows)
    return outs, (*outs[:count], *arrays[count:])


def _push(equation: Equation, residuals: Arrays, tangents: Arrays) -> Arrays:
    count = len(equation.rows)
    rhs = pushed_forward(*_change(equation, residuals), tangents)[1]
    system, given = equation.of_tangents(residuals[:count], residuals[count:])
    return (*_solve(system, *rhs, *given)[:count], *_zeros(equation.results[count:]))


def _pull(equation: Equation, residuals: Arrays, cotangents: Arrays) -> Arrays:
    count = len(equation.rows)
    system, given = equation.of_tangents(residuals[:count], residuals[count:])
    back = _solve(system.transposed(), *cotangents[:count], *given)[:count]
    return pulled_back(*_change(equation, residuals), back)


def _change(equation: Equation, residuals: Arrays) -> tuple[Function, Arrays]:
    """Return the right-hand side of the system of derivatives as a function of all arguments, and the arguments.

    Its derivative does not depend on the first ones, the right-hand side or the initial guess: these are zeros.
    """
    count = len(equation.rows)
    change = lambda *arrays: equation.change(residuals[:count], arrays[:count], arrays[count:])
    return change, (*_zeros(equation.rows), *residuals[count:])


def _compiled(equation: Equation, arrays: Arrays) -> Arrays:
    """Solve an equation in torch.compile, which supports first derivatives by reverse mode only."""
    with torch.no_grad():
        outs = _run(equation, *arrays)
    if not torch.is_grad_enabled():
        return outs
    count = len(equation.rows)
    xs = outs[:count]
    system, given = equation.of_tangents(xs, arrays[count:])
    return (*_attached(system, xs, equation.change(xs, arrays[:count], arrays[count:]), given), *outs[count:])


def _attached(system: LinearSystem, xs: Arrays, rhs: Arrays, given: Sequence[Array]) -> Arrays:
    """Return a solution, whose derivative is the solution of a linear system with the derivative of `rhs`.

    `rhs` may depend on captured arrays. torch.compile differentiates it outside this operation; inside, captured arrays
    would be constants.
    """
    if not any(x.requires_grad for x in rhs):
        return xs
    ends = len(xs), len(xs) + len(rhs)

    def forward(*arrays: Array) -> Any:
        return tuple(x.clone() for x in arrays[: ends[0]]), arrays[ends[1] :]

    def pull(residuals: Arrays, cotangents: Arrays) -> Any:
        back = _run(system.transposed(), *cotangents, *residuals)[: len(rhs)]
        return (*map(torch.zeros_like, cotangents), *back, *map(torch.zeros_like, residuals))

    def push(residuals: Arrays, tangents: Arrays) -> Any:
        return _run(system, *tangents[ends[0] : ends[1]], *residuals)[: ends[0]]

    return call(Rule(forward, forward, pull, push), (*xs, *rhs, *(x.detach() for x in given)))


def _specs(arrays: Sequence[Array]) -> list[ArraySpec]:
    """Return the specs of arrays. The arrays' levels of torch.func may finish before the specs are needed."""
    return list(map(ArraySpec.of, arrays))


def _zeros(specs: Sequence[ArraySpec]) -> Arrays:
    return tuple([x.zeros() for x in specs])
