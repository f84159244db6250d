"""Support: the compiled operations of a graph, and the reasons why others are not compiled."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from .....tracing._branches import given_to
from .....tracing._compile import users_of
from .....tracing._flow import split
from .....tracing._graph import Equation, Graph, Variable
from .....tracing._keys import ARRAY
from .....tracing.rules import ELEMENTWISE
from ._equations import RULES, VIEWS
from ._expansions import expanded
from ._indexing import words_of
from ._matrices import SYSTEMS
from ._products import PRODUCTS, depends_on_order, may_be_symmetric
from ._reductions import REDUCTIONS, order_of_sums
from ._scalars import is_compiled
from ._values import Order, all_are

Orders: TypeAlias = tuple[Order, ...]
FLOW: Final = frozenset({"cond", "scan", "while_loop"})


class Facts(NamedTuple):
    """Properties of operations that their code assumes, by the `id` of their equations."""

    loops: set[int]
    """The loops whose results are `DENSE` only if there is a step."""
    orders: dict[int, Orders]
    """The memory orders of operands of products and reductions whose values depend on the order."""

    def join(self, other: "Facts") -> bool:
        """Add the facts of a body. Return whether they agree with its other uses."""
        self.loops.update(other.loops)
        is_same = all(self.orders.get(key, orders) == orders for key, orders in other.orders.items())
        if is_same:
            self.orders.update(other.orders)
        return is_same

    def cover(self, other: "Facts") -> bool:
        """Return whether code for these facts is also right for others."""
        return other.loops <= self.loops and other.orders == self.orders


class Memory(NamedTuple):
    """The variables of a graph that may share memory."""

    bases: dict[Variable, Variable]
    """The base of each view."""
    new: set[Variable]
    """Arrays that share memory with no earlier array."""

    def add(self, equation: Equation) -> None:
        """Add the results of an equation."""
        arrays = [x for x in equation.inputs if isinstance(x, Variable)]
        if equation.op.name in VIEWS:
            self.bases.update(dict.fromkeys(equation.outputs, self.bases.get(arrays[0], arrays[0])))
        elif equation.op.name in PRODUCTS or (equation.op.name in ELEMENTWISE and len(equation.inputs) > 1):
            self.new.update(equation.outputs)

    def differs(self, x: Any, y: Any) -> bool:
        """Return whether two variables certainly share no memory."""
        x, y = self.bases.get(x, x), self.bases.get(y, y)
        return x is not y and (x in self.new or y in self.new)


class Support(NamedTuple):
    """The operations of a graph that are not compiled, and the order of its arrays in memory."""

    reasons: dict[int, str]
    """The reasons why operations are not compiled, by the `id` of their equation."""
    orders: dict[Variable, Order]
    """The memory order of arrays in NumPy."""
    facts: Facts


def support_of(graph: Graph, given: Sequence[Order] | None = None) -> Support:
    """Find the operations to compile. By default, inputs are dense, which a call of the program checks."""
    orders: dict[Variable, Order] = dict.fromkeys(graph.inputs, Order.DENSE)
    orders.update((x, order_of(value)) for x, value in graph.constants.items())
    if given is not None:
        orders.update((x, _known(x, each)) for x, each in zip(graph.inputs, given, strict=True))
    reasons: dict[int, str] = {}
    facts, memory = Facts(set(), {}), Memory({}, set())
    for equation in graph.equations:
        of_inputs = [orders[x] if isinstance(x, Variable) else Order.DENSE for x in equation.inputs]
        found = _order(equation, of_inputs, facts)
        if equation.op.name in PRODUCTS and not isinstance(found, str) and depends_on_order(equation):
            facts.orders[id(equation)] = tuple(of_inputs)
            if may_be_symmetric(equation, of_inputs) and not memory.differs(*equation.inputs):
                found = "product that may be symmetric"
        elif equation.op.name in REDUCTIONS and not isinstance(found, str):
            facts.orders[id(equation)] = (order_of_sums(of_inputs[0]),)
        memory.add(equation)
        if isinstance(found, str):
            reasons[id(equation)] = found
            moves = equation.op.name in VIEWS
            found = Order.OTHER if moves else Order.DENSE
        each = found if isinstance(found, list) else [found] * len(equation.outputs)
        orders.update((x, _known(x, order)) for x, order in zip(equation.outputs, each, strict=True))
    return Support(reasons, orders, facts)


def order_of(x: Any) -> Order:
    """Return the memory order of an array's elements."""
    x = np.asarray(x)
    if x.flags.c_contiguous and x.flags.aligned:
        return Order.DENSE
    if x.ndim > 1 and x.mT.flags.c_contiguous and x.flags.aligned:
        return Order.COLUMNS
    steps = [step for length, step in zip(x.shape, x.strides) if length > 1 and step]
    found = Order.FORWARD if all(step > 0 for step in steps) else Order.OTHER
    if not all(length > 1 and step for length, step in zip(x.shape[-2:], x.strides[-2:])):
        found |= Order.NEUTRAL
    strides = list(map(abs, steps))
    return found | (Order.ROWS if strides == sorted(strides, reverse=True) else Order.OTHER)


def _known(x: Variable, order: Order) -> Order:
    """Add to an order what is true for all arrays of a shape: one element is dense, and one axis is a row."""
    is_matrix, long = len(x.shape) > 1, sum(length > 1 for length in x.shape)
    if x.aval.size <= 1 or (long == 1 and (Order.DENSE in order or Order.COLUMNS in order)):
        order |= Order.DENSE | Order.COLUMNS if is_matrix else Order.DENSE
    return order | (Order.EVEN if Order.FORWARD in order else Order.ROWS) if long == 1 else order


def _order(equation: Equation, orders: Sequence[Order], facts: Facts) -> Order | list[Order] | str:
    """Return the order of the results, or of each one, or the reason why the operation is not compiled."""
    name = equation.op.name
    if equation.effects:
        return "side effects"
    graph = expanded(equation)
    if graph is not None:
        given = [order for order, x in zip(orders, equation.inputs) if isinstance(x, Variable)]
        return _joined(_within("steps", graph, given), facts)
    if name not in FLOW and name not in RULES:
        return "no native code for it"
    if not all(is_compiled(x.dtype) for x in (*equation.inputs, *equation.outputs) if isinstance(x, Variable)):
        return "data type"
    if name in FLOW:
        if not all(isinstance(x, (Variable, bool, int, float, complex)) for x in equation.inputs):
            return "number"
        found: Order | str = _flow[name](equation, orders, facts)
        return found
    if len(equation.outputs) != 1 and name not in SYSTEMS:
        return "several results"
    return RULES[name].order(equation, orders)


def _within(name: str, graph: Graph, given: Sequence[Order]) -> tuple[list[Order], Facts] | str:
    """Return the orders of the results of a body, or the first reason why it isn't compiled."""
    found = support_of(graph, given)
    for equation in graph.equations:
        if id(equation) in found.reasons:
            reason = found.reasons[id(equation)]
            return f"{equation.op.name} in its {name}: {reason}"
    if not all(isinstance(x, Variable) for x in graph.outputs):
        return f"a number is a result of its {name}"
    return [found.orders[x] for x in graph.outputs], found.facts


def _joined(found: tuple[list[Order], Facts] | str, facts: Facts) -> list[Order] | str:
    if isinstance(found, str):
        return found
    return found[0] if facts.join(found[1]) else "order of the elements in memory"


def _repeated(params: Any, fixed: Any, init: Any, rows: Any, facts: Facts) -> tuple[list[Order], list[Order]] | str:
    """Return the orders of a loop's carry before the first step, and of the results of its body."""
    while True:
        found = _within("body", params["body"].graph, [*fixed, *init, *rows])
        if isinstance(found, str):
            return found
        both = [x & y for x, y in zip(init, found[0])]
        if both == init:
            results = _joined(found, facts)
            return results if isinstance(results, str) else (init, results)
        init = both


def _scan(equation: Equation, orders: Sequence[Order], facts: Facts) -> Order | str:
    params = equation.params
    fixed, init, rows = split(list(orders), params["constants"], params["carry"])
    found = _repeated(params, fixed, init, [x.of_part for x in rows], facts)
    if isinstance(found, str):
        return found
    (init, results), carry = found, params["carry"]
    carried = results[:carry] if params["length"] else init
    # Stacked values have been written to a new array.
    is_known = all_are(Order.DENSE, carried) and all_are(Order.ROWS, results[carry:])
    return Order.DENSE if is_known else "order of the elements in memory"


def _while(equation: Equation, orders: Sequence[Order], facts: Facts) -> Order | str:
    params = equation.params
    of_test, of_body, init = split(list(orders), params["tested"], params["constants"])
    if not (params["limit"] is None or type(params["limit"]) is int):
        return "several limits"
    found = _repeated(params, of_body, init, (), facts)
    if isinstance(found, str):
        return found
    init, results = found
    test = _joined(_within("condition", params["test"].graph, [*of_test, *init]), facts)
    if isinstance(test, str):
        return test
    if np.dtype(params["test"].graph.outputs[0].dtype).kind != "b" or params["test"].graph.outputs[0].shape:
        return "condition that is no boolean"
    if not all_are(Order.DENSE, results):
        return "order of the elements in memory"
    if not all_are(Order.DENSE, init):
        facts.loops.add(id(equation))
    return Order.DENSE


def _cond(equation: Equation, orders: Sequence[Order], facts: Facts) -> Order | str:
    index = equation.inputs[0]
    if not isinstance(index, Variable) or np.dtype(index.dtype).kind not in "bi":
        return "index that is neither a boolean nor a signed integer"
    for i, body in enumerate(equation.params["bodies"]):
        given = given_to(i, equation.params["counts"], list(orders[1:]))
        found = _joined(_within("branch", body.graph, given), facts)
        if isinstance(found, str):
            return found
        if not all_are(Order.DENSE, found):
            return "order of the elements in memory"
    return Order.DENSE


_flow: Final[dict[str, Any]] = {"cond": _cond, "scan": _scan, "while_loop": _while}


def left(graph: Graph) -> dict[int, str]:
    """Return the reasons why operations of a graph are left to the library, also views that the library uses."""
    reasons = dict(support_of(graph).reasons)
    users = users_of(graph)
    for equation in reversed(graph.equations):
        using = [user for x in equation.outputs for user in users.get(x, ())]
        is_view = equation.op.name in VIEWS and ARRAY not in words_of(equation) and id(equation) not in reasons
        if is_view and any(user is None or id(user) in reasons for user in using):
            reasons[id(equation)] = "a view that the library makes without a copy"
    return reasons
