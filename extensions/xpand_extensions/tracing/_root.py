"""Roots found by a user's solver as an operation, which is differentiated implicitly.

For `f(x) = 0` an interpreter of derivatives traces `f(x)` with constant `x`, and solves the linear system of the
Jacobian for the derivative of `x`. The arrays of the operation are the initial guess and the further arguments.
"""

from collections.abc import Sequence
from typing import Any

from xpand._typing import Array

from ._batching import Batching
from ._core import Op, aval_of, bare, bind
from ._forward import Forward, jvp
from ._reverse import Linearize, transposed
from ._solve import (
    Arrays,
    Function,
    Graphs,
    System,
    check,
    difference,
    linearized,
    of_batch,
    pushed,
    shapes_of,
    traced_call,
)
from ._staging import Staging


class Root:
    """An equation and its solver: functions of the arrays of a solution and of further arguments."""

    __slots__ = ("f", "rows", "solve", "tangent_solve")

    def __init__(self, f: Function, solve: Function, tangent_solve: Function, rows: list[Any]) -> None:
        """Take the functions; `solve` may return more arrays after those of the solution.

        `tangent_solve` solves the system of the Jacobian: a function of a right-hand side, of the solution at which
        the Jacobian is taken, and of the further arguments. `rows` are the types of the arrays of a solution.
        """
        self.f, self.solve, self.tangent_solve, self.rows = f, solve, tangent_solve, rows

    def system(self, namespace: Any) -> System:
        """Return the linear system of the Jacobian, whose further arguments are the solution and those of the root."""
        rows = self.rows

        def matvec(tangents: Arrays, *given: Array) -> Arrays:
            of_solution = lambda *xs: (self.f(xs, *given[len(rows) :]), ())
            found = jvp(namespace, of_solution, given[: len(rows)], tangents)[1]
            return tuple(map(namespace.wrap, found))

        def transpose_solve(cotangents: Arrays, *given: Array) -> Arrays:
            wrapped = list(map(namespace.wrap, given))
            turned = transposed(namespace, lambda *ys: self.tangent_solve(ys, *wrapped), rows)
            return tuple(map(namespace.wrap, turned(*cotangents)))

        return System(matvec, self.tangent_solve, transpose_solve, False, rows, [len(rows)], rows)

    def __repr__(self) -> str:
        return f"{len(self.rows)} arrays"


def found_root(namespace: Any, root: Root, arrays: Sequence[Any], has_closures: bool) -> list[Any]:
    """Find a root as an operation; captured arrays become further arguments."""
    if has_closures:
        root, constants, _ = _staged(namespace, root, list(map(aval_of, arrays)))
        arrays = (*arrays, *constants)
    return list(map(namespace.wrap, _find(namespace, root, arrays)))


def _find(namespace: Any, root: Root, arrays: Sequence[Any]) -> list[Any]:
    op = namespace.operation("custom_root", _run)
    return list(map(bare, bind(op, arrays, {"root": root})))


def _run(*arrays: Array, root: Root) -> Arrays:
    rows = len(root.rows)
    return tuple(map(bare, root.solve(arrays[:rows], *arrays[rows:])))


def _staged(namespace: Any, root: Root, avals: Sequence[Any]) -> tuple[Root, list[Any], tuple[Any, ...]]:
    """Stage the functions of an equation; return the graphs, the captured arrays, and the types of all results."""
    rows = root.rows
    graphs = Graphs(namespace, "custom_root", avals[len(rows) :])
    solve, outs = graphs.of(root.solve, rows)
    f, _ = graphs.of(root.f, rows)
    both = lambda x, *args: root.tangent_solve(x[: len(rows)], *x[len(rows) :], *args)
    solve_both, _ = graphs.of(both, [*rows, *rows])

    def tangent_solve(ys: Arrays, *given: Array) -> Arrays:
        return solve_both((*ys, *given[: len(rows)]), *given[len(rows) :])

    return Root(f, solve, tangent_solve, rows), graphs.constants, tuple(outs)


def root_stage(trace: Staging, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    root, constants, avals = _staged(trace.namespace, params["root"], list(map(aval_of, args)))
    inputs = [trace.atom(x) for x in (*args, *constants)]
    return trace.equation(op, inputs, {"root": root}, avals)


def root_shapes(namespace: Any, *avals: Any, root: Root) -> Any:
    return shapes_of(namespace, "custom_root", root.solve, root.rows, avals)


def root_forward(trace: Forward, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, root = trace.namespace, params["root"]
    primals, _ = trace.split(args)
    rows = len(root.rows)
    outs = _find(namespace, root, primals)
    check(trace, op, outs)
    residual = traced_call(trace, op, root.f, outs[:rows], args[rows:])
    rhs = [-r._extra if trace.owns(r) else None for r in residual]
    return pushed(trace, root.system(namespace), outs, rhs, [*outs[:rows], *primals[rows:]])


def root_linearize(trace: Linearize, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, root = trace.namespace, params["root"]
    primals = [trace.plain(x) for x in args]
    rows = len(root.rows)
    outs = _find(namespace, root, primals)
    check(trace, op, outs)
    nodes = [difference(trace, None, r) for r in traced_call(trace, op, root.f, outs[:rows], args[rows:])]
    return linearized(trace, root.system(namespace), outs, nodes, [*outs[:rows], *primals[rows:]])


def root_batch(trace: Batching, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, root = trace.namespace, params["root"]
    rows = len(root.rows)
    arrays = [*map(trace.lifted, args[:rows]), *map(trace.plain, args[rows:])]
    axes = [0 if trace.owns(x) else None for x in args[rows:]]
    mapped = Root(
        of_batch(trace, root.f, axes),
        of_batch(trace, root.solve, axes),
        of_batch(trace, root.tangent_solve, [*[0] * rows, *axes]),
        list(map(aval_of, arrays[:rows])),
    )
    outs = _find(namespace, mapped, arrays)
    check(trace, op, outs)
    return tuple(namespace.array(trace, x) for x in outs)
