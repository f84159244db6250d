"""Linear systems solved by a user's solver as an operation, which is differentiated implicitly.

For `A x = b` an interpreter of derivatives traces the residual `b - A x` with constant `x`, whose derivative is
`db - dA x`, and solves for the derivative of `x`. The arrays of the operation are `b` and the further arguments.
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

    __slots__ = ("aux_types", "columns", "count", "matvec", "rows", "solve", "symmetric", "transpose_solve")

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
        self.aux_types: list[Any] | None = None
        """The types of further arrays, once there are some."""

    def note(self, outs: Sequence[Any]) -> None:
        """Note the types of all that is returned."""
        if self.aux_types is None:
            self.columns = list(map(aval_of, outs[: self.count[0]]))
            self.aux_types = list(map(aval_of, outs[self.count[0] :]))

    def transposed(self, namespace: Any) -> "System":
        """Return the transpose of the system."""
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
            wrapped = list(map(namespace.wrap, args))
            turned = transposed(namespace, lambda *xs: self.matvec(xs, *wrapped), columns)
            return tuple(map(namespace.wrap, turned(*ys)))

        return System(matvec, self.transpose_solve, self.solve, False, columns, [len(self.rows)], self.rows)

    def __repr__(self) -> str:
        return f"{len(self.rows)} arrays"


def solved(namespace: Any, system: System, arrays: Sequence[Any], has_closures: bool) -> list[Any]:
    """Solve a system as an operation; captured arrays become further arguments."""
    if has_closures:
        system, constants, _ = staged(namespace, system, list(map(aval_of, arrays)))
        arrays = (*arrays, *constants)
    return list(map(namespace.wrap, solve(namespace, system, arrays)))


def solve(namespace: Any, system: System, arrays: Sequence[Any]) -> list[Any]:
    """Apply the operation."""
    op = namespace.operation("custom_linear_solve", _run)
    found = list(map(bare, bind(op, arrays, {"system": system})))
    system.note(found)
    return found


def _run(*arrays: Array, system: System) -> Arrays:
    rows = len(system.rows)
    return tuple(map(bare, system.solve(arrays[:rows], *arrays[rows:])))


def staged(namespace: Any, system: System, avals: Sequence[Any]) -> tuple[System, list[TracedArray], tuple[Any, ...]]:
    """Make graphs of the functions of a system.

    Returns:
        The system; captured traced arrays, which become arguments; the types of all results.
    """
    graphs = Graphs(namespace, "custom_linear_solve", avals[len(system.rows) :])
    solve, outs = graphs.of(system.solve, system.rows)
    system.note(outs)
    columns = system.columns
    assert columns is not None, "they are noted"
    matvec, _ = graphs.of(system.matvec, columns)
    transpose_solve = None if system.transpose_solve is None else graphs.of(system.transpose_solve, columns)[0]
    found = System(matvec, solve, transpose_solve, system.symmetric, system.rows, system.count, columns)
    return found, graphs.constants, tuple(outs)


class Graphs:
    """Functions staged as graphs, with captured traced arrays as further arguments."""

    def __init__(self, namespace: Any, what: str, args: Sequence[Any]) -> None:
        """Take the abstract values of the trailing arguments that all functions share."""
        self.namespace, self.what, self.args = namespace, what, args
        self.constants: list[TracedArray] = []

    def of(self, function: Function, first: Sequence[Any]) -> tuple[Function, list[Any]]:
        """Stage a function; return its graph and the types of its results."""
        of_arrays = lambda *x: (tuple(function(x[: len(first)], *x[len(first) :])), ())
        body, found = closed(self.namespace, self.what, of_arrays, [*first, *self.args])
        count = len(self.args)
        start = count + len(self.constants)
        end = start + len(found)
        self.constants.extend(found)
        return lambda x, *given: _called(body, [*given[start:end], *x, *given[:count]]), body.avals


def _called(body: Body, arrays: Sequence[Any]) -> Arrays:
    """Run a graph: compiled, where no array is traced."""
    arrays = list(map(bare, arrays))
    run = body.graph.run if any(isinstance(x, TracedArray) for x in arrays) else body.program
    return tuple(map(body.graph.namespace.wrap, run(*arrays)))


def check(trace: Trace, op: Op, arrays: Sequence[Any], *, own: bool = False) -> None:
    """Check that functions of arrays of lower levels, or `own` ones, returned such: others were captured."""
    if any(isinstance(x, TracedArray) and x._trace.level + (not own) > trace.level for x in arrays):
        raise TypeError(
            f"{op.name}: a function uses an array from outside that `{trace.what}` traces; hand it over as one of "
            "`args`"
        )


def solve_stage(trace: Staging, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    system, constants, avals = staged(trace.namespace, params["system"], list(map(aval_of, args)))
    inputs = [trace.atom(x) for x in (*args, *constants)]
    return trace.equation(op, inputs, {"system": system}, avals)


def traced_call(trace: Any, op: Op, function: Function, xs: Sequence[Any], args: Sequence[Any]) -> Arrays:
    """Call a function of traced arguments at a solution that is held constant."""
    wrap = trace.namespace.wrap
    found = function(tuple(map(wrap, xs)), *map(wrap, args))
    check(trace, op, found, own=True)
    return found


def solve_shapes(namespace: Any, *avals: Any, system: System) -> Any:
    return shapes_of(namespace, "custom_linear_solve", system.solve, system.rows, avals)


def shapes_of(namespace: Any, what: str, solve: Function, rows: Sequence[Any], avals: Sequence[Any]) -> tuple[Any, ...]:
    """Return the types of all results of a solver, by staging it."""
    return tuple(Graphs(namespace, what, avals[len(rows) :]).of(solve, avals[: len(rows)])[1])


def solve_forward(trace: Forward, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, system = trace.namespace, params["system"]
    primals, tangents = trace.split(args)
    rows = len(system.rows)
    outs = solve(namespace, system, primals)
    check(trace, op, outs)
    products = traced_call(trace, op, system.matvec, outs[: len(system.columns)], args[rows:])
    rhs = [_minus(namespace, t, m._extra if trace.owns(m) else None) for t, m in zip(tangents, products)]
    return pushed(trace, system, outs, rhs, primals[rows:])


def pushed(trace: Forward, system: System, outs: Sequence[Any], rhs: Sequence[Any], given: Sequence[Any]) -> Any:
    """Give results the tangents that solve a system for the tangents of a right-hand side, None for zero."""
    if all(t is None for t in rhs):
        return tuple(outs)
    found = linear(trace.namespace, system, given)[1](*rhs)
    return (*map(trace.pair, outs, found), *outs[len(found) :])


def _minus(namespace: Any, t: Any, m: Any) -> Any:
    if t is None or m is None:
        return t if m is None else -m
    t, m = alike(namespace, [t, m])
    return bare(t - m)


def solve_linearize(trace: Linearize, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, system = trace.namespace, params["system"]
    rows = len(system.rows)
    primals = [trace.plain(x) for x in args]
    outs = solve(namespace, system, primals)
    check(trace, op, outs)
    products = traced_call(trace, op, system.matvec, outs[: len(system.columns)], args[rows:])
    nodes = [difference(trace, b, m) for b, m in zip(args, products)]
    return linearized(trace, system, outs, nodes, primals[rows:])


def difference(trace: Linearize, b: Any, m: Any) -> Any:
    """Record the tangent of a difference; None for zero."""
    terms = [(x._extra, sign) for x, sign in ((b, 1), (m, -1)) if trace.owns(x)]
    return Sum(tuple(m.shape), m.dtype, terms) if terms else None


def linearized(
    trace: Linearize, system: System, outs: Sequence[Any], nodes: Sequence[Any], given: Sequence[Any]
) -> Any:
    """Record results whose tangents solve a system for those of a right-hand side."""
    if all(node is None for node in nodes):
        return tuple(outs)
    count = system.count[0]
    back, pushforward = linear(trace.namespace, system, given)
    return (*opaque(trace, outs[:count], nodes, back, pushforward), *outs[count:])


def linear(namespace: Any, system: System, given: Sequence[Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the pullback for cotangents of a solution and the pushforward for tangents of a right-hand side."""

    def back(*cotangents: Any) -> list[Any]:
        return solve(namespace, system.transposed(namespace), [*cotangents, *given])[: len(system.rows)]

    def pushforward(*tangents: Any) -> list[Any]:
        b = [zeros(namespace, x) if t is None else t for t, x in zip(tangents, system.rows)]
        return solve(namespace, system, [*b, *given])[: system.count[0]]

    return back, pushforward


def solve_tape(trace: Tape, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, system = trace.namespace, params["system"]
    rows = len(system.rows)
    given = [bare(x) for x in args[rows:]]
    if any(map(trace.owns, given)):
        raise trace.nonlinear(op)
    if system.aux_types is None:  # what it returns is known by solving it, and here is nothing but shapes
        staged(namespace, system, list(map(aval_of, args)))
    back, pushforward = linear(namespace, system, given)
    whole = Opaque(system.columns, [x._extra if trace.owns(x) else None for x in args[:rows]], back, pushforward)
    parts = [trace.array(Part(aval, whole, i)) for i, aval in enumerate(system.columns)]
    return (*parts, *(zeros(namespace, aval) for aval in system.aux_types))


def solve_batch(trace: Batching, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, system = trace.namespace, params["system"]
    rows = len(system.rows)
    arrays = [*map(trace.lifted, args[:rows]), *map(trace.plain, args[rows:])]
    axes = [0 if trace.owns(x) else None for x in args[rows:]]
    mapped = System(
        of_batch(trace, system.matvec, axes),
        of_batch(trace, system.solve, axes),
        None if system.transpose_solve is None else of_batch(trace, system.transpose_solve, axes),
        system.symmetric,
        list(map(aval_of, arrays[:rows])),
        system.count,
    )
    outs = solve(namespace, mapped, arrays)
    check(trace, op, outs)
    return tuple(namespace.array(trace, x) for x in outs)


def of_batch(trace: Batching, function: Function, axes: Sequence[int | None]) -> Function:
    """Vectorize a function over batch elements, which may share some of the further arguments."""
    namespace, size = trace.namespace, trace.size

    def mapped(x: Arrays, *given: Array) -> Arrays:
        each = lambda *arrays: function(arrays[: len(x)], *arrays[len(x) :])
        outs, which = batched(namespace, each, (*x, *given), [*[0] * len(x), *axes], size)
        return tuple(
            namespace.wrap(y) if is_mapped else namespace.broadcast_to(y, (size, *y.shape))
            for y, is_mapped in zip(outs, which)
        )

    return mapped
