"""Simplify graphs: fold constants, merge equal operations, and remove unused ones."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from xpand import is_concrete
from xpand.extend import checks, without_numpy_warnings

from ._core import TracedArray, bare
from ._facades import Template
from ._fit import broadcast
from ._functions import BINARY
from ._graph import Equation, Graph, Variable
from ._indexing import unchanged

BROADCASTING: Final = frozenset((*BINARY, "where"))
"""Operations that broadcast their arrays."""
FOLDED: Final = 100_000
"""The largest number of elements of a constant that is folded."""


def simplified(graph: Graph) -> Graph:
    """Return an equivalent graph with fewer operations."""
    return without_unused(_forward(graph))


def without_unused(graph: Graph) -> Graph:
    """Remove the operations and constants that no output depends on."""
    used = {x for x in graph.outputs if isinstance(x, Variable)}
    equations = []
    for equation in reversed(graph.equations):
        if equation.effects or any(x in used for x in equation.outputs):
            prune = equation.op.overrides.get("prune")
            equation = equation if prune is None else prune(equation, used)
            equations.append(equation)
            used.update(x for x in equation.inputs if isinstance(x, Variable))
    constants = {x: value for x, value in graph.constants.items() if x in used}
    return Graph(graph.namespace, graph.inputs, constants, equations[::-1], graph.outputs)


def _forward(graph: Graph) -> Graph:
    """Fold operations on constants, merge equal operations, and remove operations that return an input unchanged."""
    known: dict[Variable, Any] = {}  # the variable or number that replaces a variable
    constants = dict(graph.constants)
    seen: dict[Any, Equation] = {}
    spread: dict[Variable, Variable] = {}  # the origin of a broadcast variable
    equations = []
    for equation in graph.equations:
        equation = equation.with_inputs([known.get(x, x) if isinstance(x, Variable) else x for x in equation.inputs])
        equation = _unspread(equation, spread)
        same = _stands_for(equation, constants)
        if same is not None:
            known[equation.outputs[0]] = same
            continue
        if _is_known(equation, constants):
            given = [constants[x] if isinstance(x, Variable) else x for x in equation.inputs]
            # An operation that fails or warns is left to the program, which may not reach it.
            with suppress(Exception), without_numpy_warnings("raise"):
                found = equation.op.function(*given, **equation.params)
                constants.update(zip(equation.outputs, [found] if equation.op.result is None else found))
                continue
        key = _key(equation)
        duplicate = seen.get(key) if key is not None else None
        if duplicate is not None:
            known.update(zip(equation.outputs, duplicate.outputs))
            continue
        if key is not None:
            seen[key] = equation
        if equation.op.name == "broadcast_to":
            spread[equation.outputs[0]] = equation.inputs[0]
        equations.append(equation)
    outputs = [known.get(x, x) if isinstance(x, Variable) else x for x in graph.outputs]
    return Graph(graph.namespace, graph.inputs, constants, equations, outputs)


def _unspread(equation: Equation, spread: dict[Variable, Variable]) -> Equation:
    """Return an elementwise equation with inputs before explicit broadcasting; the operation broadcasts itself."""
    if equation.op.name not in BROADCASTING or not any(x in spread for x in equation.inputs):
        return equation
    inputs = list(equation.inputs)
    for i, x in enumerate(inputs):
        if isinstance(x, Variable) and x in spread:
            others = [y for j, y in enumerate(inputs) if j != i and isinstance(y, Variable)]
            # Require equal data types, since libraries promote arrays without axes differently.
            alike = all(y.dtype == x.dtype for y in others[equation.op.name == "where" and i > 0 :])
            if alike and broadcast(spread[x].shape, *(y.shape for y in others)) == equation.outputs[0].shape:
                inputs[i] = spread[x]
    return equation.with_inputs(inputs)


def _is_known(equation: Equation, constants: dict[Variable, Any]) -> bool:
    """Return whether an operation can be folded."""
    return (
        all(
            not isinstance(x, Variable) or (x in constants and not isinstance(constants[x], TracedArray))
            for x in equation.inputs
        )
        and all(x.aval.size <= FOLDED for x in equation.outputs)
        and not equation.effects
    )


def _key(equation: Equation) -> Any:
    """Return a key that equal operations share, or None if equality is unknown."""
    inputs = tuple(x if isinstance(x, Variable) else (type(x), repr(x)) for x in equation.inputs)
    if equation.effects:
        return None
    key = (equation.op, inputs, tuple((name, _hashable(value)) for name, value in equation.params.items()))
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _hashable(value: Any) -> Any:
    if isinstance(value, (float, complex)):
        return type(value), repr(value)  # 0.0 and -0.0 compare equal but are different constants
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
    """Return the input that an operation returns unchanged, or None."""
    rule = _SAME.get(equation.op.name)
    found = None if rule is None else rule(equation, constants)
    if not isinstance(found, Variable):
        return None
    out = equation.outputs[0].aval
    return found if (found.shape, found.dtype) == (out.shape, out.dtype) else None


def _is_one(x: Any, constants: dict[Variable, Any], xp: Any) -> bool:
    """Return whether all elements of an operand are known to be one."""
    if not isinstance(x, Variable):
        return type(x) in (int, float) and x == 1
    value = bare(constants.get(x))
    if value is None or x.aval.size > FOLDED or isinstance(value, TracedArray) or not is_concrete(value):
        return False
    return checks.kind_of(value) in ("signed", "unsigned", "real") and bool(xp.all(value == 1))


def _neutral(equation: Equation, constants: dict[Variable, Any]) -> Any:
    """Return the other operand if one operand is the number one, which changes nothing."""
    left, right = equation.inputs
    if equation.op.namespace.is_complex(equation.outputs[0].dtype):
        return None  # a complex product with one turns infinities into NaN
    xp = equation.op.namespace.base
    if _is_one(right, constants, xp):
        return left
    return right if equation.op.name == "multiply" and _is_one(left, constants, xp) else None


_SAME: Final[dict[str, Callable[..., Any]]] = {
    **dict.fromkeys(
        ["astype", "broadcast_to", "gradient_if", "positive", "reshape"],
        lambda equation, constants: equation.inputs[0],
    ),
    # A library's own function hides the array from the library's own derivatives.
    "stop_gradient": lambda equation, constants: equation.inputs[0] if equation.op.function is unchanged else None,
    **dict.fromkeys(["divide", "multiply"], _neutral),
    "where": lambda equation, constants: equation.inputs[1] if equation.inputs[1] == equation.inputs[2] else None,
}
"""Functions that return the input that an operation returns unchanged. (Adding zero changes the sign of -0.0.)"""
