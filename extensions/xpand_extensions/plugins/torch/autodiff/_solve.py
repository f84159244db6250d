"""Linear systems and roots with implicit derivatives, on PyTorch."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import torch

from xpand._typing import Array
from xpand_extensions._captures import solved_directly, with_own_cells

from ._closures import captured_by, check_arguments, outer_error, outer_errors, with_arguments
from ._levels import Rule, call, is_floating, is_traced_anywhere
from ._linear import linear_transpose, linearize
from ._products import jvp, vjp

Arrays: TypeAlias = tuple[Array, ...]
Function: TypeAlias = Callable[..., Arrays]


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
    count: list[int] = []
    name = "custom_linear_solve"
    outer: list[Array] = []
    if not torch.compiler.is_dynamo_compiling():
        outer = captured_by(name, matvec, solve, transpose_solve)
        arrays = (*b, *args, *outer)
        found = solved_directly(is_traced_anywhere, arrays, lambda: solve(b, *args))
        if found is not None:
            return found  # type: ignore[no-any-return]
        if not any(map(is_traced_anywhere, arrays)):
            raise outer_error(name)
        matvec, solve, transpose_solve = map(with_own_cells, (matvec, solve, transpose_solve))

    def flat(b: Arrays, *args: Array) -> Arrays:
        xs, aux = solve(b, *args)
        if not count:  # once: the compiler lets nothing be changed when it is called again
            count.append(len(xs))
        return (*xs, *aux)

    def flat_of_transposed(xs: Arrays, *args: Array) -> Arrays:
        assert transpose_solve is not None, "there is one"
        found, aux = transpose_solve(xs, *args)
        return (*found, *aux)

    system = _System(
        with_arguments(name, matvec, outer),
        with_arguments(name, flat, outer),
        None if transpose_solve is None else with_arguments(name, flat_of_transposed, outer),
        symmetric,
        len(b),
        count,
    )
    with outer_errors(name):
        outs = system(*b, *args, *outer)
    if not torch.compiler.is_dynamo_compiling():
        check_arguments(name, system.matvec, outs[: count[0]], (*args, *outer))
    return outs[: count[0]], outs[count[0] :]


class _System(NamedTuple):
    """A linear system: functions of the arrays of a solution, or of a right-hand side, and of further arguments.

    Those that solve may return more arrays after those of the solution, whose number `size` holds once there is one.
    """

    matvec: Function
    solve: Function
    transpose_solve: Function | None
    symmetric: bool
    rows: int
    size: list[int]

    def __call__(self, *arrays: Array) -> Arrays:
        """Solve, for a right-hand side and further arguments."""
        if torch.compiler.is_dynamo_compiling():
            return self.compiled(arrays)
        return call(Rule(self.solved, self.forward, self.pull, self.push), arrays)

    def solved(self, *arrays: Array) -> Arrays:
        return self.solve(arrays[: self.rows], *arrays[self.rows :])

    def forward(self, *arrays: Array) -> tuple[Arrays, Arrays]:
        outs = self(*arrays)
        return outs, (*outs[: self.size[0]], *arrays[self.rows :])

    def compiled(self, arrays: Arrays) -> Arrays:
        with torch.no_grad():
            outs = self.solved(*arrays)
        if not torch.is_grad_enabled():
            return outs
        columns, b, args = self.size[0], arrays[: self.rows], arrays[self.rows :]
        products = self.matvec(outs[:columns], *args)
        xs = self.attached(outs[:columns], tuple(map(torch.sub, b, products)), args)
        return (*xs, *outs[columns:])

    def attached(self, xs: Arrays, rhs: Arrays, given: Arrays) -> Arrays:
        """Return a solution with the derivative in a right-hand side of the system of its derivatives.

        For PyTorch's compiler, which knows one level of derivatives. What is left to it, the right-hand side, may use
        arrays in closures, which it traces; in the operation itself it would take them for constants.
        """
        if not any(x.requires_grad for x in rhs):
            return xs
        ends = len(xs), len(xs) + len(rhs)

        def forward(*arrays: Array) -> Any:
            return tuple(x.clone() for x in arrays[: ends[0]]), arrays[ends[1] :]

        def pull(residuals: Arrays, cotangents: Arrays) -> Any:
            back = self.transposed(cotangents).solved(*cotangents, *residuals)[: self.rows]
            return (*map(torch.zeros_like, cotangents), *back, *map(torch.zeros_like, residuals))

        def push(residuals: Arrays, tangents: Arrays) -> Any:
            return self.solved(*tangents[ends[0] : ends[1]], *residuals)[: ends[0]]

        return call(Rule(forward, forward, pull, push), (*xs, *rhs, *(x.detach() for x in given)))

    def transposed(self, like: Arrays) -> "_System":
        """Return the transposed system, for solutions like some."""
        if self.symmetric:
            return self
        if self.transpose_solve is None:
            raise TypeError(
                "custom_linear_solve: reverse mode needs the solver of the transposed system; give it as "
                "`transpose_solve`, or say symmetric=True where the system equals its transposed"
            )
        kinds = [(tuple(x.shape), x.dtype, x.device) for x in like]  # not the arrays: their levels end before

        def matvec(ys: Arrays, *args: Array) -> Arrays:
            zeros = [torch.zeros(shape, dtype=dtype, device=device) for shape, dtype, device in kinds]
            return linear_transpose(lambda *xs: self.matvec(xs, *args), *zeros)(*ys)

        return _System(matvec, self.transpose_solve, self.solve, False, len(kinds), [self.rows])

    def push(self, residuals: Arrays, tangents: Arrays) -> Arrays:
        columns = self.size[0]
        xs, args = residuals[:columns], residuals[columns:]
        rhs, along = tangents[: self.rows], tangents[self.rows :]
        product, floating = _of_floating(self.matvec, xs, args)
        if floating:
            given = tuple(t for x, t in zip(args, along) if is_floating(x))
            _, changes, _ = jvp(product, floating, given, has_aux=True)
            rhs = tuple(t - change for t, change in zip(rhs, changes))
        outs = self(*rhs, *args)
        return (*outs[:columns], *map(torch.zeros_like, outs[columns:]))

    def pull(self, residuals: Arrays, cotangents: Arrays) -> Arrays:
        columns = self.size[0]
        xs, args = residuals[:columns], residuals[columns:]
        back = self.transposed(xs)(*cotangents[:columns], *args)[: self.rows]
        product, floating = _of_floating(self.matvec, xs, args)
        found = iter(vjp(product, *floating, has_aux=True)[1](*map(torch.neg, back)) if floating else ())
        return (*back, *(next(found) if is_floating(x) else torch.zeros_like(x) for x in args))


def _of_floating(function: Function, xs: Arrays, args: Arrays) -> tuple[Function, Arrays]:
    """Make a function at a solution one of the further arguments that have derivatives."""

    def of_floating(*floating: Array) -> Any:
        given = iter(floating)
        return function(xs, *(next(given) if is_floating(x) else x for x in args)), ()

    return of_floating, tuple(filter(is_floating, args))


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
    name = "custom_root"
    outer: list[Array] = []
    if not torch.compiler.is_dynamo_compiling():
        outer = captured_by(name, f, solve, tangent_solve)
        arrays = (*initial_guess, *args, *outer)
        found = solved_directly(is_traced_anywhere, arrays, lambda: solve(initial_guess, *args))
        if found is not None:
            return found  # type: ignore[no-any-return]
        if not any(map(is_traced_anywhere, arrays)):
            raise outer_error(name)
        f, solve, tangent_solve = map(with_own_cells, (f, solve, tangent_solve))

    def flat(xs: Arrays, *args: Array) -> Arrays:
        found, aux = solve(xs, *args)
        return (*found, *aux)

    count = len(initial_guess)
    root = _Root(
        with_arguments(name, f, outer),
        with_arguments(name, flat, outer),
        with_arguments(name, tangent_solve, outer),
        count,
        len(args) + len(outer),
        len(outer),
    )
    with outer_errors(name):
        outs = root(*initial_guess, *args, *outer)
    if not torch.compiler.is_dynamo_compiling():
        check_arguments(name, root.f, outs[:count], (*args, *outer))
    return outs[:count], outs[count:]


class _Root(NamedTuple):
    """An equation and its solver: functions of the arrays of a solution and of further arguments.

    `solve` may return more arrays after those of the solution. `tangent_solve` takes a linear function, a right-hand
    side, and the last `outer` of the further arguments.
    """

    f: Function
    solve: Function
    tangent_solve: Function
    rows: int
    args: int
    outer: int

    def __call__(self, *arrays: Array) -> Arrays:
        """Find the root, from an initial guess and further arguments."""
        if torch.compiler.is_dynamo_compiling():
            return self.compiled(arrays)
        return call(Rule(self.solved, self.forward, self.pull, self.push), arrays)

    def solved(self, *arrays: Array) -> Arrays:
        return self.solve(arrays[: self.rows], *arrays[self.rows :])

    def forward(self, *arrays: Array) -> tuple[Arrays, Arrays]:
        outs = self(*arrays)
        return outs, (*outs[: self.rows], *arrays[self.rows :], *outs[self.rows :])

    def compiled(self, arrays: Arrays) -> Arrays:
        with torch.no_grad():
            outs = self.solved(*arrays)
        if not torch.is_grad_enabled():
            return outs
        xs, args = outs[: self.rows], arrays[self.rows :]
        rhs = tuple(map(torch.neg, self.f(xs, *args)))
        return (*self.system.attached(xs, rhs, (*xs, *args)), *outs[self.rows :])

    def parted(self, residuals: Arrays) -> tuple[Arrays, Arrays, Arrays]:
        """Take apart what is kept: the solution, the further arguments, and the auxiliary data."""
        end = self.rows + self.args
        return residuals[: self.rows], residuals[self.rows : end], residuals[end:]

    @property
    def system(self) -> _System:
        """The linear system of the Jacobian, whose further arguments are the solution and those of the root."""
        return _System(self.along, self.tangent, self.transposed_tangent, False, self.rows, [self.rows])

    def derivative(self, given: Arrays) -> Function:
        """Return the derivative of the equation in the solution, a linear function.

        By reverse mode: PyTorch 2.13's forward mode, mapped over and compiled, takes arrays to be on two devices.
        """
        of_solution = lambda *xs: (self.f(xs, *given[self.rows :]), ())
        push: Function = linearize(of_solution, *given[: self.rows], has_aux=True)[1]
        return push

    def along(self, tangents: Arrays, *given: Array) -> Arrays:
        return self.derivative(given)(*tangents)

    def tangent(self, ys: Arrays, *given: Array) -> Arrays:
        outer = given[len(given) - self.outer :]
        derivative = self.derivative(given)
        return self.tangent_solve(lambda vs: derivative(*vs), ys, *outer)

    def transposed_tangent(self, cotangents: Arrays, *given: Array) -> Arrays:
        zeros = map(torch.zeros_like, cotangents)
        back: Arrays = vjp(lambda *ys: (self.tangent(ys, *given), ()), *zeros, has_aux=True)[1](*cotangents)
        return back

    def push(self, residuals: Arrays, tangents: Arrays) -> Arrays:
        xs, args, aux = self.parted(residuals)
        residual, floating = _of_floating(self.f, xs, args)
        no_tangents = tuple(map(torch.zeros_like, aux))
        if not floating:
            return (*map(torch.zeros_like, xs), *no_tangents)
        given = tuple(t for x, t in zip(args, tangents[self.rows :]) if is_floating(x))
        changes = jvp(residual, floating, given, has_aux=True)[1]
        return (*self.system(*map(torch.neg, changes), *xs, *args), *no_tangents)

    def pull(self, residuals: Arrays, cotangents: Arrays) -> Arrays:
        xs, args, _ = self.parted(residuals)
        back = self.system.transposed(xs)(*cotangents[: self.rows], *xs, *args)
        residual, floating = _of_floating(self.f, xs, args)
        found = iter(vjp(residual, *floating, has_aux=True)[1](*map(torch.neg, back)) if floating else ())
        return (
            *map(torch.zeros_like, xs),
            *(next(found) if is_floating(x) else torch.zeros_like(x) for x in args),
        )
