"""Which operations of a graph are compiled, and why others are not."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from .....tracing._branches import given_to
from .....tracing._flow import split
from .....tracing._graph import Equation, Graph, Variable
from .....tracing._keys import ARRAY
from ._equations import RULES, VIEWS
from ._expansions import expanded
from ._indexing import words_of
from ._scalars import is_compiled
from ._values import Order

FLOW: Final = frozenset({"cond", "scan", "while_loop"})


class Support(NamedTuple):
    """The operations of a graph that are not compiled, and the order of its arrays in memory."""

    reasons: dict[int, str]
    """Why operations are not compiled, by the `id` of their equation."""
    orders: dict[Variable, Order]
    """The order of arrays in memory, as NumPy makes them."""
    loops: set[int]
    """The `id` of each equation of a loop whose results are `DENSE` only if there is a step."""


def support_of(graph: Graph, given: Sequence[Order] | None = None) -> Support:
    """Find the operations that are compiled; inputs are dense by default, which is checked when a program is called."""
    orders: dict[Variable, Order] = dict.fromkeys(graph.inputs, Order.DENSE)
    orders.update((x, order_of(value)) for x, value in graph.constants.items())
    if given is not None:
        orders.update((x, max(each, _least(x))) for x, each in zip(graph.inputs, given, strict=True))
    reasons: dict[int, str] = {}
    loops: set[int] = set()
    for equation in graph.equations:
        of_inputs = [orders[x] if isinstance(x, Variable) else Order.DENSE for x in equation.inputs]
        found = _order(equation, of_inputs, loops)
        if isinstance(found, str):
            reasons[id(equation)] = found
            moves = equation.op.name in VIEWS
            found = Order.OTHER if moves else Order.DENSE
        orders.update((x, max(found, _least(x))) for x in equation.outputs)
    return Support(reasons, orders, loops)


def order_of(x: Any) -> Order:
    """Return the order of an array's elements in memory."""
    x = np.asarray(x)
    if x.flags.c_contiguous and x.flags.aligned:
        return Order.DENSE
    strides = [abs(step) for length, step in zip(x.shape, x.strides) if length > 1 and step]
    return Order.ROWS if strides == sorted(strides, reverse=True) else Order.OTHER


def _least(x: Variable) -> Order:
    """Return the order that all arrays of a shape have: one element is dense, and one axis is a row."""
    if x.aval.size <= 1:
        return Order.DENSE
    return Order.ROWS if sum(length > 1 for length in x.shape) == 1 else Order.OTHER


def _order(equation: Equation, orders: Sequence[Order], loops: set[int]) -> Order | str:
    name = equation.op.name
    if equation.effects:
        return "side effects"
    if name in FLOW:
        if not all(is_compiled(x.dtype) for x in (*equation.inputs, *equation.outputs) if isinstance(x, Variable)):
            return "data type"
        if not all(isinstance(x, (Variable, bool, int, float)) for x in equation.inputs):
            return "number"
        found: Order | str = _flow[name](equation, orders, loops)
        return found
    graph = expanded(equation)
    if graph is not None:
        given = [order for order, x in zip(orders, equation.inputs) if isinstance(x, Variable)]
        within = _within("steps", graph, given, loops)
        return within if isinstance(within, str) else min(within)
    if name not in RULES:
        return "no native code for it"
    if len(equation.outputs) != 1:
        return "several results"
    return RULES[name].order(equation, orders)


def _within(name: str, graph: Graph, given: Sequence[Order], loops: set[int]) -> list[Order] | str:
    """Return the order of the results of a body, or the first reason why it isn't compiled."""
    found = support_of(graph, given)
    loops |= found.loops
    for equation in graph.equations:
        if id(equation) in found.reasons:
            reason = found.reasons[id(equation)]
            return f"{equation.op.name} in its {name}: {reason}"
    if not all(isinstance(x, Variable) for x in graph.outputs):
        return f"a number is a result of its {name}"
    return [found.orders[x] for x in graph.outputs]


def _scan(equation: Equation, orders: Sequence[Order], loops: set[int]) -> Order | str:
    params = equation.params
    fixed, init, rows = split(list(orders), params["constants"], params["carry"])
    while True:
        found = _within("body", params["body"].graph, [*fixed, *init, *rows], loops)
        if isinstance(found, str):
            return found
        lower = [min(x, y) for x, y in zip(init, found)]
        if lower == init:
            break
        init = lower
    carried = found[: len(init)] if params["length"] else init
    is_known = all(x == Order.DENSE for x in carried) and all(found[len(init) :])
    return Order.DENSE if is_known else "order of the elements in memory"


def _while(equation: Equation, orders: Sequence[Order], loops: set[int]) -> Order | str:
    params = equation.params
    of_test, of_body, init = split(list(orders), params["tested"], params["constants"])
    if not (params["limit"] is None or type(params["limit"]) is int):
        return "several limits"
    while True:
        found = _within("body", params["body"].graph, [*of_body, *init], loops)
        if isinstance(found, str):
            return found
        lower = [min(x, y) for x, y in zip(init, found)]
        if lower == init:
            break
        init = lower
    test = _within("condition", params["test"].graph, [*of_test, *init], loops)
    if isinstance(test, str):
        return test
    if np.dtype(params["test"].graph.outputs[0].dtype).kind != "b" or params["test"].graph.outputs[0].shape:
        return "condition that is no boolean"
    if not all(x == Order.DENSE for x in found):
        return "order of the elements in memory"
    if not all(x == Order.DENSE for x in init):
        loops.add(id(equation))
    return Order.DENSE


def _cond(equation: Equation, orders: Sequence[Order], loops: set[int]) -> Order | str:
    index = equation.inputs[0]
    if not isinstance(index, Variable) or np.dtype(index.dtype).kind not in "bi":
        return "index that is neither a boolean nor a signed integer"
    for i, body in enumerate(equation.params["bodies"]):
        found = _within("branch", body.graph, given_to(i, equation.params["counts"], list(orders[1:])), loops)
        if isinstance(found, str):
            return found
        if not all(x == Order.DENSE for x in found):
            return "order of the elements in memory"
    return Order.DENSE


_flow: Final[dict[str, Any]] = {"cond": _cond, "scan": _scan, "while_loop": _while}


def left(graph: Graph) -> dict[int, str]:
    """Return why operations of a graph are left to the library; views are, if the library uses them."""
    reasons = dict(support_of(graph).reasons)
    users: dict[Variable, list[Any]] = {}
    for user, inputs in (*((each, each.inputs) for each in graph.equations), (None, graph.outputs)):
        for x in inputs:
            if isinstance(x, Variable):
                users.setdefault(x, []).append(user)
    for equation in reversed(graph.equations):
        using = [user for x in equation.outputs for user in users.get(x, ())]
        is_view = equation.op.name in VIEWS and ARRAY not in words_of(equation) and id(equation) not in reasons
        if is_view and any(user is None or id(user) in reasons for user in using):
            reasons[id(equation)] = "a view that the library makes without a copy"
    return reasons
