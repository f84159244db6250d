"""Solutions of equations as operations. Their derivative is implicit (`autodiff._implicit`).

The arrays of the operation are those of a right-hand side or an initial guess, then the further arguments.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from xpand.extend import Array

from ..autodiff._implicit import Arrays, Calculus, Function, LinearSystem, Root
from ._batching import Batching, batched_all
from ._bodies import closed
from ._core import Op, Trace, TracedArray, aval_of, bare, bind, is_traced
from ._fit import zeros
from ._forward import Forward, jvp
from ._reverse import Linearize, opaque, transposed
from ._staging import Staging
from ._tape import Opaque, Part, Tape

Equation: TypeAlias = LinearSystem | Root


def calculus_of(namespace: Any) -> Calculus:
    """Return the functions for derivatives that equations need."""

    def linearize(function: Function, xs: Arrays) -> Function:
        pair = lambda *given: (function(*given), ())
        return lambda *tangents: tuple(map(namespace.wrap, jvp(namespace, pair, xs, tangents)[1]))

    def transpose(function: Function, templates: Sequence[Any], is_checked: bool) -> Function:
        pull = transposed(namespace, function, templates)
        return lambda *cotangents: tuple(map(namespace.wrap, pull(*cotangents)))

    return Calculus(linearize, transpose, namespace.wrap)


def solved(namespace: Any, equation: Equation, arrays: Sequence[Any], has_closures: bool) -> list[Any]:
    """Solve an equation as an operation. Traced arrays that its functions capture become further arguments."""
    if has_closures:
        equation, constants = _staged(namespace, equation, list(map(aval_of, arrays)))
        arrays = (*arrays, *constants)
    return list(map(namespace.wrap, _solve(namespace, equation, arrays)))


def _solve(namespace: Any, equation: Equation, arrays: Sequence[Any]) -> list[Any]:
    """Apply the operation."""
    op = namespace.operation(equation.name, _run)
    found = list(map(bare, bind(op, arrays, {"equation": equation})))
    equation.results = equation.results or list(map(aval_of, found))
    return found


def _run(*arrays: Array, equation: Equation) -> Arrays:
    count = len(equation.rows)
    return tuple(map(bare, equation.solve(arrays[:count], *arrays[count:])))


def _staged(namespace: Any, equation: Equation, avals: Sequence[Any]) -> tuple[Equation, list[TracedArray]]:
    """Stage the functions of an equation. Traced arrays that they capture become further arguments."""
    count = len(equation.rows)
    constants: list[TracedArray] = []

    def staged(function: Function, first: Sequence[Any]) -> tuple[Function, list[Any]]:
        of_arrays = lambda *x: (tuple(function(x[: len(first)], *x[len(first) :])), ())
        body, found = closed(namespace, equation.name, of_arrays, [*first, *avals[count:]])
        start, end = (len(avals) - count + len(constants) + extra for extra in (0, len(found)))
        constants.extend(found)
        run = lambda x, *given: tuple(
            map(namespace.wrap, body.run(*given[start:end], *x, *given[: len(avals) - count]))
        )
        return run, body.avals

    solve, equation.results = staged(equation.solve, avals[:count])
    changed = equation.changed(lambda function, first: staged(function, first)[0], solve, equation.rows)
    changed.results = equation.results
    return changed, constants


def _check(trace: Trace, op: Op, arrays: Sequence[Any], given: Sequence[Any], *, own: bool = False) -> None:
    """Check that functions did not return captured arrays: none of a higher level, and of this level only if `own`.

    `given` are the arguments: if the library itself differentiates results, it differentiates an argument.
    """
    bridge = trace.namespace.bridge
    if any(isinstance(x, TracedArray) and x._trace.level + (not own) > trace.level for x in arrays) or (
        bridge is not None
        and any(map(bridge.is_differentiated, map(trace.plain, arrays)))
        and not any(map(bridge.is_differentiated, given))
    ):
        raise TypeError(
            f"{op.name}: a function uses an array that is differentiated or mapped over, but is not its argument; pass "
            "it as one of `args`"
        )


def implicit_stage(trace: Staging, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    equation, constants = _staged(trace.namespace, params["equation"], list(map(aval_of, args)))
    if any(is_traced(x) and x._trace.level > trace.level for x in constants):
        return tuple(_solve(trace.namespace, equation, (*args, *constants)))  # differentiate or map it
    inputs = [trace.atom(x) for x in (*args, *constants)]
    return trace.equation(op, inputs, {"equation": equation}, tuple(equation.results))


def implicit_shapes(namespace: Any, *avals: Any, equation: Equation) -> Any:
    """Return the types of all results of a solver by staging it."""
    return tuple(_staged(namespace, equation, avals)[0].results)


def _linearized(
    trace: Any, op: Op, args: Sequence[Any], primals: Sequence[Any], equation: Equation
) -> tuple[list[Any], list[Any], Callable[..., Any], Callable[..., Any]]:
    """Solve an equation, and trace its change with the solution held constant.

    Returns:
        The results, the tangents of the right-hand side of the system of derivatives (None for zero), the pullback for
        cotangents of the solution, and the pushforward for tangents of the right-hand side.
    """
    namespace, count = trace.namespace, len(equation.rows)
    outs = _solve(namespace, equation, primals)
    _check(trace, op, outs, primals)
    xs, given = outs[:count], tuple(map(namespace.wrap, args))
    change = list(map(bare, equation.change(tuple(map(namespace.wrap, xs)), given[:count], given[count:])))
    _check(trace, op, change, primals, own=True)
    rhs = [x._extra if trace.owns(x) else None for x in change]
    return outs, rhs, *_linear(namespace, *equation.of_tangents(xs, primals[count:]))


def _linear(
    namespace: Any, system: LinearSystem, given: Sequence[Any]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the pullback for cotangents of a solution and the pushforward for tangents of a right-hand side."""
    count = len(system.rows)

    def pullback(*cotangents: Any) -> list[Any]:
        return _solve(namespace, system.transposed(), [*cotangents, *given])[:count]

    def pushforward(*tangents: Any) -> list[Any]:
        b = [zeros(namespace, x) if t is None else t for t, x in zip(tangents, system.rows)]
        return _solve(namespace, system, [*b, *given])[:count]

    return pullback, pushforward


def implicit_forward(trace: Forward, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    outs, rhs, _, pushforward = _linearized(trace, op, args, trace.split(args)[0], params["equation"])
    if all(t is None for t in rhs):
        return tuple(outs)
    found = pushforward(*rhs)
    return (*map(trace.pair, outs, found), *outs[len(found) :])


def implicit_linearize(trace: Linearize, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    equation = params["equation"]
    outs, nodes, pullback, pushforward = _linearized(trace, op, args, [trace.plain(x) for x in args], equation)
    if all(node is None for node in nodes):
        return tuple(outs)
    count = len(equation.rows)
    return (*opaque(trace, outs[:count], nodes, pullback, pushforward), *outs[count:])


def implicit_tape(trace: Tape, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, system = trace.namespace, params["equation"]
    rows = len(system.rows)
    given = [bare(x) for x in args[rows:]]
    if any(map(trace.owns, given)):
        raise trace.nonlinear(op)
    if not system.results:  # known only after solving; here shapes are enough
        _staged(namespace, system, list(map(aval_of, args)))
    pullback, pushforward = _linear(namespace, system, given)
    whole = Opaque(system.rows, [x._extra if trace.owns(x) else None for x in args[:rows]], pullback, pushforward)
    parts = [trace.array(Part(aval, whole, i)) for i, aval in enumerate(system.rows)]
    return (*parts, *(zeros(namespace, aval) for aval in system.results[rows:]))


def implicit_batch(trace: Batching, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, equation = trace.namespace, params["equation"]
    rows = len(equation.rows)
    arrays = [*map(trace.lifted, args[:rows]), *map(trace.plain, args[rows:])]
    axes = [0 if trace.owns(x) else None for x in args[rows:]]
    over: Callable[[Function], Function] = lambda function: partial(_of_batch, trace, function, axes)
    types = list(map(aval_of, arrays[:rows]))
    mapped = equation.changed(lambda function, first: over(function), over(equation.solve), types)
    outs = _solve(namespace, mapped, arrays)
    _check(trace, op, outs, arrays)
    return tuple(namespace.array_type(trace, x) for x in outs)


def _of_batch(trace: Batching, function: Function, axes: Sequence[int | None], first: Arrays, *args: Array) -> Arrays:
    """Call a function for all lanes of a batch, which may share further arguments."""
    namespace, size, count = trace.namespace, trace.size, len(first)
    each = lambda *arrays: function(arrays[:count], *arrays[count:])
    outs = batched_all(namespace, each, (*first, *args), [*[0] * count, *axes], size)
    return tuple(map(namespace.wrap, outs))
