"""The values of a graph that a policy of `checkpoint` saves, and the derivative computed from them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from xpand.extend import Array

from ..autodiff.checkpoint_policies import AnyPolicy
from ._bodies import Body
from ._core import aval_of
from ._graph import Equation, Graph, Variable
from ._simplify import without_unused


class Saving(NamedTuple):
    """A function split into a forward and a backward part for reverse mode."""

    forward: Body
    """Maps the arguments to the results and the saved values."""
    backward: Body
    """Maps arguments, saved values and cotangents of results to cotangents of the wanted arguments."""


def saving_of(body: Body, wanted: tuple[bool, ...], policy: AnyPolicy) -> Saving:
    """Split a function by a policy. `wanted` says, for each argument, whether its cotangent is needed."""
    found: Saving = body.made(("saving", wanted, policy), lambda: _saving_of(body, wanted, policy))
    return found


def _saving_of(body: Body, wanted: tuple[bool, ...], policy: AnyPolicy) -> Saving:
    graph = body.graph
    chosen = [each for each in graph.equations if not each.op.effects and _saves(policy, each)]
    saved = [x for each in chosen for x in each.outputs]
    # Most values that a policy allows to save aren't needed, because the backward part does not use them.
    pulled = _pulled(graph, saved, wanted).graph
    used = {x for each in pulled.equations for x in each.inputs if isinstance(x, Variable)} | set(pulled.outputs)
    saved = [x for x, given in zip(saved, pulled.inputs[len(graph.inputs) :]) if given in used]
    outputs = [*graph.outputs, *saved]
    forward = Body(Graph(graph.namespace, graph.inputs, graph.constants, graph.equations, outputs))
    return Saving(forward.with_rules(wanted), _pulled(graph, saved, wanted))


def _saves(policy: AnyPolicy, equation: Equation) -> bool:
    avals = [aval_of(x.aval if isinstance(x, Variable) else x) for x in equation.inputs]
    return bool(policy(equation.op, *avals, **equation.params))


def _pulled(graph: Graph, saved: list[Variable], wanted: tuple[bool, ...]) -> Body:
    """Return the body of reverse mode of a graph, with saved values as further inputs."""
    op = graph.namespace.operation("saved_value", _given)
    inputs = {x: Variable(x.aval) for x in saved}
    known: dict[Any, Any] = {}  # the inputs that replace saved variables
    equations = []
    for equation in graph.equations:
        equations.append(equation.with_inputs(_replaced(equation.inputs, known)))
        for x in equation.outputs:
            if x in inputs:
                known[x] = Variable(x.aval)
                equations.append(Equation(op, [x, inputs[x]], {}, [known[x]]))
    outputs = _replaced(graph.outputs, known)
    given = Graph(graph.namespace, [*graph.inputs, *inputs.values()], graph.constants, equations, outputs)
    return _with_saved(Body(given).pulled((*wanted, *(False for _ in saved))).graph)


def _given(computed: Array, saved: Array) -> Array:
    return saved


def _with_saved(graph: Graph) -> Body:
    """Use saved values instead of recomputed ones, also in the factors of derivatives."""
    known: dict[Any, Any] = {}
    equations = []
    for equation in graph.equations:
        if equation.op.name == "saved_value":
            computed, saved = equation.inputs
            known[equation.outputs[0]] = saved
            if computed not in graph.inputs:
                known[computed] = saved
        else:
            equations.append(equation)
    equations = [each.with_inputs(_replaced(each.inputs, known)) for each in equations]
    outputs = _replaced(graph.outputs, known)
    return Body(without_unused(Graph(graph.namespace, graph.inputs, graph.constants, equations, outputs)))


def _replaced(inputs: Sequence[Any], known: dict[Any, Any]) -> list[Any]:
    return [known.get(x, x) if isinstance(x, Variable) else x for x in inputs]
