"""Graphs made simpler: what is known is computed once, what is equal is computed once, what isn't used not at all."""

import math
from collections.abc import Callable
from typing import Any, Final

from xpand import is_concrete

from ._core import TracedArray, bare
from ._facades import Template
from ._graph import Equation, Graph, Variable

FOLDED: Final = 100_000
"""Constants that are computed while compiling have at most this many elements."""


def simplified(graph: Graph) -> Graph:
    """Return a graph that computes the same with fewer operations."""
    return without_unused(_forward(graph))


def without_unused(graph: Graph) -> Graph:
    """Leave out the operations and constants that no output depends on."""
    used = {x for x in graph.outputs if isinstance(x, Variable)}
    kept = []
    for equation in reversed(graph.equations):
        if any(x in used for x in equation.outputs):
            kept.append(equation)
            used.update(x for x in equation.inputs if isinstance(x, Variable))
    constants = {x: value for x, value in graph.constants.items() if x in used}
    return Graph(graph.namespace, graph.inputs, constants, kept[::-1], graph.outputs)


def _forward(graph: Graph) -> Graph:
    """Go through the operations in order: fold those of constants, merge those that are equal, drop those that do nothing."""
    known: dict[Variable, Any] = {}  # what stands for a variable: another, or a number
    constants = dict(graph.constants)
    seen: dict[Any, Equation] = {}
    equations = []
    for equation in graph.equations:
        equation = equation.with_inputs([known.get(x, x) if isinstance(x, Variable) else x for x in equation.inputs])
        same = _stands_for(equation, constants)
        if same is not None:
            known[equation.outputs[0]] = same
            continue
        if _is_known(equation, constants):
            given = [constants[x] if isinstance(x, Variable) else x for x in equation.inputs]
            found = equation.op.function(*given, **equation.params)
            results = [found] if equation.op.result is None else found
            constants.update(zip(equation.outputs, results))
            continue
        key = _key(equation)
        twin = seen.get(key) if key is not None else None
        if twin is not None:
            known.update(zip(equation.outputs, twin.outputs))
            continue
        if key is not None:
            seen[key] = equation
        equations.append(equation)
    outputs = [known.get(x, x) if isinstance(x, Variable) else x for x in graph.outputs]
    return Graph(graph.namespace, graph.inputs, constants, equations, outputs)


def _is_known(equation: Equation, constants: dict[Variable, Any]) -> bool:
    """Tell whether an operation can be done while compiling."""
    return (
        all(
            not isinstance(x, Variable) or (x in constants and not isinstance(constants[x], TracedArray))
            for x in equation.inputs
        )
        and all(x.aval.size <= FOLDED for x in equation.outputs)
        and not equation.op.effects
    )


def _key(equation: Equation) -> Any:
    """Return what equal operations have in common; None where it can't be told."""
    inputs = tuple(x if isinstance(x, Variable) else (type(x), repr(x)) for x in equation.inputs)
    if equation.op.effects:
        return None
    key = (equation.op, inputs, tuple((name, _hashable(value)) for name, value in equation.params.items()))
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _hashable(value: Any) -> Any:
    if isinstance(value, (float, complex)):
        return type(value), repr(value)  # 0.0 and -0.0 are equal, and not the same
    if isinstance(value, Template):
        return value.names, value.structure, tuple(map(_hashable, value.static))
    if isinstance(value, list):
        return "list", *map(_hashable, value)
    if isinstance(value, dict):
        return tuple((key, _hashable(x)) for key, x in value.items())
    if isinstance(value, slice):
        return ("slice", value.start, value.stop, value.step)
    if isinstance(value, tuple):
        return tuple(map(_hashable, value))
    return (type(value), value)


def _stands_for(equation: Equation, constants: dict[Variable, Any]) -> Any:
    """Return the input that an operation returns unchanged; None where there is none."""
    rule = _SAME.get(equation.op.name)
    if rule is None:
        return None
    found = rule(equation, lambda x: _scalar(x, constants))
    if not isinstance(found, Variable):
        return None
    out = equation.outputs[0].aval
    return found if (found.shape, found.dtype) == (out.shape, out.dtype) else None


def _scalar(x: Any, constants: dict[Variable, Any]) -> Any:
    """Return the number that an operand is in every element; None where that isn't known."""
    if not isinstance(x, Variable):
        return x
    value = constants.get(x)
    if value is None or isinstance(bare(value), TracedArray) or math.prod(x.shape) != 1 or "complex" in str(x.dtype):
        return None
    return float(bare(value)) if not x.shape else None


def _neutral(number: float, both: bool) -> Callable[..., Any]:
    def rule(equation: Equation, scalar: Callable[[Any], Any]) -> Any:
        left, right = equation.inputs
        if scalar(right) == number and not isinstance(scalar(right), bool):
            return left
        return right if both and scalar(left) == number and not isinstance(scalar(left), bool) else None

    return rule


_SAME: Final[dict[str, Callable[..., Any]]] = {
    **dict.fromkeys(["astype", "broadcast_to", "positive", "reshape"], lambda equation, scalar: equation.inputs[0]),
    "divide": _neutral(1.0, False),
    "multiply": _neutral(1.0, True),
}
"""Operations that may do nothing, and what they then return. (Adding zero changes the sign of a negative zero.)"""
