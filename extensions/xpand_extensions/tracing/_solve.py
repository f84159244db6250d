"""Linear systems solved by functions of their users' as an operation, whose derivative is that of the equation.

Of `A x = b` an interpreter of derivatives follows the residual `b - A x` with `x` held constant, whose derivative is
`db - dA x`, and solves for that of `x`. The operation's arrays are those of `b` and then the further arguments.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xpand._typing import Array

from ._batching import Batching, batched
from ._bodies import Body, closed
from ._core import Op, Trace, TracedArray, aval_of, bare, bind
from ._fit import alike, zeros
from ._forward import Forward
from ._reverse import Linearize, opaque, transposed
from ._staging import Staging
from ._tape import Opaque, Part, Sum, Tape

Arrays: TypeAlias = tuple[Array, ...]
Function: TypeAlias = Callable[..., Arrays]


class System:
    """A linear system: functions of the arrays of a solution, or of a right-hand side, and of further arguments."""

    __slots__ = ("columns", "count", "matvec", "rows", "solve", "symmetric", "transpose_solve")

    def __init__(
        self,
        matvec: Function,
        solve: Function,
        transpose_solve: Function | None,
        symmetric: bool,
        rows: list[Any],
        count: list[int],
        columns: list[Any] | None = None,
    ) -> None:
        """Take the functions, of which those that solve may return more arrays after those of the solution.

        `rows` are the types of the arrays of a right-hand side. `count` holds the number of those of a solution, and
        `columns` are their types, once there is one.
        """
        self.matvec, self.solve, self.transpose_solve, self.symmetric = matvec, solve, transpose_solve, symmetric
        self.rows, self.count, self.columns = rows, count, columns

    def transposed(self, namespace: Any) -> "System":
        """Return the transposed system."""
        if self.symmetric:
            return self
        if self.transpose_solve is None:
            raise TypeError(
                "custom_linear_solve: reverse mode needs the solver of the transposed system; give it as "
                "`transpose_solve`, or say symmetric=True where the system equals its transposed"
            )
        columns = self.columns
        assert columns is not None, "the system has been solved"

        def matvec(ys: Arrays, *args: Array) -> Arrays:
            turned = transposed(namespace, lambda *xs: self.matvec(xs, *args), columns)
            return tuple(map(namespace.wrap, turned(*ys)))

        return System(matvec, self.transpose_solve, self.solve, False, columns, [len(self.rows)], self.rows)

    def __repr__(self) -> str:
        return f"{len(self.rows)} arrays"


def solved(namespace: Any, system: System, arrays: Sequence[Any], has_closures: bool) -> list[Any]:
    """Solve a system as an operation; arrays that its functions bring along become further arguments."""
    if has_closures:
        system, constants, _ = staged(namespace, system, list(map(aval_of, arrays)))
        arrays = (*arrays, *constants)
    return list(map(namespace.wrap, solve(namespace, system, arrays)))


def solve(namespace: Any, system: System, arrays: Sequence[Any]) -> list[Any]:
    """Apply the operation."""
    op = namespace.operation("custom_linear_solve", _run)
    found = list(map(bare, bind(op, arrays, {"system": system})))
    if system.columns is None:
        system.columns = list(map(aval_of, found[: system.count[0]]))
    return found


def _run(*arrays: Array, system: System) -> Arrays:
    rows = len(system.rows)
    return tuple(map(bare, system.solve(arrays[:rows], *arrays[rows:])))


def staged(namespace: Any, system: System, avals: Sequence[Any]) -> tuple[System, list[TracedArray], tuple[Any, ...]]:
    """Make graphs of the functions of a system.

    Returns:
        The system; followed arrays that the functions bring along, which become arguments; the types of all results.
    """
    args = list(avals[len(system.rows) :])
    constants: list[TracedArray] = []

    def graph_of(function: Function, first: Sequence[Any]) -> tuple[Function, list[Any]]:
        of_arrays = lambda *x: (tuple(function(x[: len(first)], *x[len(first) :])), ())
        body, found = closed(namespace, "custom_linear_solve", of_arrays, [*first, *args])
        start = len(args) + len(constants)
        end = start + len(found)
        constants.extend(found)
        return lambda x, *given: _called(body, [*given[start:end], *x, *given[: len(args)]]), body.avals

    solve, outs = graph_of(system.solve, system.rows)
    columns = system.columns = outs[: system.count[0]]
    matvec, _ = graph_of(system.matvec, columns)
    transpose_solve = None if system.transpose_solve is None else graph_of(system.transpose_solve, columns)[0]
    found = System(matvec, solve, transpose_solve, system.symmetric, system.rows, system.count, columns)
    return found, constants, tuple(outs)


def _called(body: Body, arrays: Sequence[Any]) -> Arrays:
    """Run a graph: compiled, where no array is followed."""
    arrays = list(map(bare, arrays))
    run = body.graph.run if any(isinstance(x, TracedArray) for x in arrays) else body.program
    return tuple(map(body.graph.namespace.wrap, run(*arrays)))


def _check(trace: Trace, arrays: Sequence[Any], *, own: bool = False) -> None:
    """Check that functions given arrays of lower levels, or `own` ones, returned such: others are brought along."""
    if any(isinstance(x, TracedArray) and x._trace.level + (not own) > trace.level for x in arrays):
        raise TypeError(
            f"custom_linear_solve: a function uses an array from outside that `{trace.what}` follows; hand it over "
            "as one of `args`"
        )


def solve_stage(trace: Staging, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    system, constants, avals = staged(trace.namespace, params["system"], list(map(aval_of, args)))
    inputs = [trace.atom(x) for x in (*args, *constants)]
    return trace.equation(op, inputs, {"system": system}, avals)


def _residual(trace: Any, system: System, xs: Sequence[Any], args: Sequence[Any]) -> Arrays:
    """Multiply by the matrix as the trace follows it, at a solution that it doesn't follow."""
    wrap = trace.namespace.wrap
    found = system.matvec(tuple(map(wrap, xs)), *map(wrap, args))
    _check(trace, found, own=True)
    return found


def solve_forward(trace: Forward, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, system = trace.namespace, params["system"]
    primals, tangents = trace.split(args)
    count = len(system.rows)
    outs = solve(namespace, system, primals)
    _check(trace, outs)
    columns = len(system.columns)
    products = _residual(trace, system, outs[:columns], args[count:])
    rhs = [_minus(namespace, t, m._extra if trace.own(m) else None) for t, m in zip(tangents, products)]
    if all(t is None for t in rhs):
        return tuple(outs)
    given = [zeros(namespace, x) if t is None else t for t, x in zip(rhs, system.rows)]
    found = solve(namespace, system, [*given, *primals[count:]])
    return (*map(trace.pair, outs, found[:columns]), *outs[columns:])


def _minus(namespace: Any, t: Any, m: Any) -> Any:
    if t is None or m is None:
        return t if m is None else -m
    t, m = alike(namespace, [t, m])
    return bare(t - m)


def solve_linearize(trace: Linearize, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, system = trace.namespace, params["system"]
    count = len(system.rows)
    primals = [trace.plain(x) for x in args]
    outs = solve(namespace, system, primals)
    _check(trace, outs)
    columns = len(system.columns)
    products = _residual(trace, system, outs[:columns], args[count:])
    nodes = [_difference(trace, b, m) for b, m in zip(args, products)]
    if all(node is None for node in nodes):
        return tuple(outs)
    back, forth = _linear(namespace, system, primals[count:])
    return (*opaque(trace, outs[:columns], nodes, back, forth), *outs[columns:])


def _difference(trace: Linearize, b: Any, m: Any) -> Any:
    terms = [(x._extra, sign) for x, sign in ((b, 1), (m, -1)) if trace.own(x)]
    return Sum(tuple(b.shape), b.dtype, terms) if terms else None


def _linear(namespace: Any, system: System, given: Sequence[Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Make what pulls cotangents of a solution back, and what pushes tangents of a right-hand side."""
    rows, columns = system.rows, system.columns
    assert columns is not None, "the types of the solution are known"

    def back(*cotangents: Any) -> list[Any]:
        return solve(namespace, system.transposed(namespace), [*cotangents, *given])[: len(rows)]

    def forth(*tangents: Any) -> list[Any]:
        b = [zeros(namespace, x) if t is None else t for t, x in zip(tangents, rows)]
        return solve(namespace, system, [*b, *given])[: len(columns)]

    return back, forth


def solve_tape(trace: Tape, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, system = trace.namespace, params["system"]
    count = len(system.rows)
    given = [bare(x) for x in args[count:]]
    if any(map(trace.own, given)):
        raise trace.nonlinear(op)
    if system.columns is None:  # a system is known by its solution, and here is none: by one of shapes alone
        staged(namespace, system, list(map(aval_of, args)))
    back, forth = _linear(namespace, system, given)
    whole = Opaque(system.columns, [x._extra if trace.own(x) else None for x in args[:count]], back, forth)
    return tuple(trace.array(Part(aval, whole, i)) for i, aval in enumerate(system.columns))


def solve_batch(trace: Batching, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, system = trace.namespace, params["system"]
    count = len(system.rows)
    axes = [0 if trace.own(x) else None for x in args[count:]]
    arrays = [*map(trace.lifted, args[:count]), *map(trace.plain, args[count:])]
    mapped = _mapped(trace, system, axes, list(map(aval_of, arrays[:count])))
    outs = solve(namespace, mapped, arrays)
    _check(trace, outs)
    return tuple(namespace.array(trace, x) for x in outs)


def _mapped(trace: Batching, system: System, axes: Sequence[int | None], rows: list[Any]) -> System:
    """Make the system of all members of a batch, which differ in some of the further arguments."""
    namespace = trace.namespace

    def of_all(function: Function) -> Function:
        def mapped(x: Arrays, *given: Array) -> Arrays:
            each = lambda *arrays: function(arrays[: len(x)], *arrays[len(x) :])
            outs, which = batched(namespace, each, (*x, *given), [*[0] * len(x), *axes], trace.size)
            return tuple(
                namespace.wrap(y) if is_mapped else namespace.broadcast_to(y, (trace.size, *y.shape))
                for y, is_mapped in zip(outs, which)
            )

        return mapped

    transpose_solve = None if system.transpose_solve is None else of_all(system.transpose_solve)
    return System(of_all(system.matvec), of_all(system.solve), transpose_solve, system.symmetric, rows, system.count)
