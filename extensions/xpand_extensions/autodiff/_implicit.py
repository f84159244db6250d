"""Derivatives of the solutions of equations by the implicit function theorem, for all libraries.

A linear system `A(p) x = b` and a root `f(x, p) = 0` share one rule. With `x` held constant, the tangent of `b - A(p)
x`, or of `-f(x, p)`, is the right-hand side of a linear system for the tangent of `x`. Its matrix is `A` itself, or the
Jacobian of `f`. Libraries differ in how they apply an operation with such a derivative.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

from xpand.extend import Array

Arrays: TypeAlias = tuple[Array, ...]
Function: TypeAlias = Callable[..., Arrays]
Change: TypeAlias = Callable[[Function, Sequence[Any]], Function]
"""Takes a function and specs of the arrays of its first argument, a tuple; returns the function in another form."""


class Calculus(NamedTuple):
    """The derivatives of a library that equations need."""

    linearize: Callable[[Function, Arrays], Function]
    """Takes a function and its arguments; returns its derivative, a function of tangents."""
    transpose: Callable[[Function, Sequence[Any], bool], Function]
    """Takes a linear function, specs of its arguments, and whether to check that it is linear even if the check takes
    longer than the transpose; returns the transpose.
    """
    wrap: Callable[[Array], Array]
    """Prepares an array for functions that may also take traced ones."""


class LinearSystem:
    """A linear system: functions of the arrays of a solution or of a right-hand side, and of further arguments.

    A solution has the arrays of a right-hand side. Solvers may return more arrays after them.
    """

    __slots__ = ("calculus", "function", "results", "rows", "solve", "symmetric", "transpose_solve")
    name: ClassVar[str] = "custom_linear_solve"
    in_first: ClassVar[bool] = True
    """Whether the solution depends on the first arrays, the right-hand side."""

    def __init__(
        self,
        calculus: Calculus,
        function: Function,
        solve: Function,
        transpose_solve: Function | None,
        symmetric: bool,
        rows: Sequence[Any],
    ) -> None:
        """Store the functions; `rows` are specs of the arrays of a right-hand side."""
        self.calculus, self.function, self.solve, self.transpose_solve = calculus, function, solve, transpose_solve
        self.symmetric, self.rows = symmetric, rows
        self.results: list[Any] = []
        """The specs of all returned arrays, once they are known."""

    def change(self, xs: Arrays, first: Arrays, args: Arrays) -> Arrays:
        """Return the right-hand side of the system of derivatives, as a function of `first` and `args`."""
        return tuple(b - product for b, product in zip(first, self.function(xs, *args)))

    def of_tangents(self, xs: Sequence[Any], args: Sequence[Any]) -> "tuple[LinearSystem, Sequence[Any]]":
        """Return the system of the tangents of a solution, and its further arguments."""
        return self, args

    def transposed(self) -> "LinearSystem":
        """Return the transposed system."""
        if self.symmetric:
            return self
        if self.transpose_solve is None:
            raise TypeError(
                "custom_linear_solve: reverse mode needs the solver of the transposed system; give it as "
                "`transpose_solve`, or pass symmetric=True if the system equals its transpose"
            )

        def function(ys: Arrays, *args: Array) -> Arrays:
            given = tuple(map(self.calculus.wrap, args))
            return self.calculus.transpose(lambda *xs: self.function(xs, *given), self.rows, True)(*ys)

        return LinearSystem(self.calculus, function, self.transpose_solve, self.solve, False, self.rows)

    def changed(self, change: Change, solve: Function, rows: Sequence[Any]) -> "LinearSystem":
        """Return the system with its functions in another form; `solve` and `rows` already have that form."""
        function = change(self.function, self.rows)
        transpose_solve = self.transpose_solve and change(self.transpose_solve, self.rows)
        return LinearSystem(self.calculus, function, solve, transpose_solve, self.symmetric, rows)

    def __repr__(self) -> str:
        return f"{len(self.rows)} arrays"


class Root:
    """A root: functions of the arrays of a solution or of an initial guess, and of further arguments."""

    __slots__ = ("calculus", "function", "results", "rows", "solve", "tangent_solve")
    name: ClassVar[str] = "custom_root"
    in_first: ClassVar[bool] = False
    """Whether the solution depends on the first arrays, the initial guess."""

    def __init__(
        self, calculus: Calculus, function: Function, solve: Function, tangent_solve: Function, rows: Sequence[Any]
    ) -> None:
        """Store the functions of an equation.

        `solve` returns the arrays of the solution, and may return more after them. `tangent_solve` takes a right-hand
        side and the solution as one tuple, and solves the system of the Jacobian. `rows` are specs of the arrays of a
        solution.
        """
        self.calculus, self.function, self.solve, self.tangent_solve = calculus, function, solve, tangent_solve
        self.rows = rows
        self.results: list[Any] = []
        """The specs of all returned arrays, once they are known."""

    def change(self, xs: Arrays, first: Arrays, args: Arrays) -> Arrays:
        """Return the right-hand side of the system of derivatives, as a function of `args`."""
        return tuple(-residual for residual in self.function(xs, *args))

    def of_tangents(self, xs: Sequence[Any], args: Sequence[Any]) -> tuple[LinearSystem, Sequence[Any]]:
        """Return the linear system of the Jacobian, and its further arguments: the solution and the arguments of the
        root.
        """
        count, calculus = len(self.rows), self.calculus

        def function(tangents: Arrays, *given: Array) -> Arrays:
            return calculus.linearize(lambda *xs: self.function(xs, *given[count:]), given[:count])(*tangents)

        def solve(ys: Arrays, *given: Array) -> Arrays:
            ys, given = (tuple(map(calculus.wrap, arrays)) for arrays in (ys, given))
            return self.tangent_solve((*ys, *given[:count]), *given[count:])

        def transpose_solve(cotangents: Arrays, *given: Array) -> Arrays:
            wrapped = tuple(map(calculus.wrap, given))
            return calculus.transpose(lambda *ys: solve(ys, *wrapped), self.rows, False)(*cotangents)

        return LinearSystem(calculus, function, solve, transpose_solve, False, self.rows), (*xs, *args)

    def changed(self, change: Change, solve: Function, rows: Sequence[Any]) -> "Root":
        """Return the root with its functions in another form; `solve` and `rows` already have that form."""
        tangent_solve = change(self.tangent_solve, [*self.rows, *self.rows])
        return Root(self.calculus, change(self.function, self.rows), solve, tangent_solve, rows)

    def __repr__(self) -> str:
        return f"{len(self.rows)} arrays"


def flat_solver(solve: Callable[..., tuple[Arrays, Arrays]]) -> Function:
    """Return a solver with all arrays in one tuple."""

    def flat(first: Arrays, *args: Array) -> Arrays:
        found, aux = solve(first, *args)
        return (*found, *aux)

    return flat


def tangent_solver(
    calculus: Calculus, function: Function, tangent_solve: Callable[..., Arrays], captured: int = 0
) -> Function:
    """Convert the user's `tangent_solve` to that of a `Root`.

    Args:
        calculus: The derivatives of the library.
        function: The function of the root.
        tangent_solve: Takes the Jacobian as a function of a tuple, a right-hand side, and the arrays that it captured.
        captured: The number of captured arrays, which are the last arguments.
    """

    def of_both(both: Arrays, *args: Array) -> Arrays:
        count = len(both) // 2
        derivative = calculus.linearize(lambda *xs: function(xs, *args), both[count:])
        return tangent_solve(lambda vs: derivative(*vs), both[:count], *args[len(args) - captured :])

    return of_both
