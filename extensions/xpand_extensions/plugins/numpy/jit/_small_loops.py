"""Loops and steps on a few numbers as Python code: an operation takes 500 ns in NumPy, and 15 ns in Python.

Elements of small arrays become Python variables. Values equal NumPy's bit by bit: Python uses the processor's
arithmetic, too, and functions such as `exp` are NumPy's own. If NumPy would warn, Python raises or does nothing. So the
code checks that all numbers are finite and all integers fit. If they don't, NumPy runs the loop again.
"""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ....tracing._compile import Step, program
from ....tracing._graph import Equation, Graph, Variable
from ._small_code import TYPES, RefusedError, Writer, indented, written

LOOPS: Final = frozenset({"scan", "while_loop"})
OPERATION, CALL, LINE, LOOP, STEP = 0.6, 0.5, 0.03, 5.0, 2.0
"""Microseconds for an operation of NumPy, and in this code for a call of NumPy, a number, a loop and a single step."""
GAIN: Final = 0.6
"""A loop is accepted if its expected time is less than this part of NumPy's time."""
MOST: Final = 5000
"""The maximum number of values in the code of a loop. Python takes 10 µs to compile a line."""
IGNORING: Final = "ignoring"
"""The attribute with the same program for callers that ignore underflow, without a check of the setting."""
PLAIN: Final = frozenset({np.ndarray, *TYPES.values()})
"""The classes of arrays without further data."""


def accepts(equation: Equation) -> bool:
    """Return whether an operation is a loop that Python code runs."""
    if equation.op.name not in LOOPS or equation.effects:
        return False
    fixed = tuple([None if isinstance(x, Variable) else repr(x) for x in equation.inputs])
    body = equation.params["body"]  # not in the key, since the cache belongs to the body
    key = (accepts, fixed, *(x for x in equation.params.values() if x is not body))
    found: bool = body.made(key, lambda: _gains(equation))
    return found


def _gains(equation: Equation) -> bool:
    try:
        writer, _ = written(equation, {x: "x" for x in equation.inputs if isinstance(x, Variable)})
    except RefusedError:
        return False
    steps = equation.params.get("length", 10)
    mine, of_numpy = CALL * writer.calls + LINE * writer.numbers, OPERATION * writer.operations
    return bool(writer.numbers <= MOST and LOOP + steps * mine < GAIN * steps * of_numpy)


def function_of(graph: Graph, step: Step) -> Callable[..., Any]:
    """Make the function of the inputs and constants of a graph that is one accepted loop. `step` runs it by NumPy."""
    (equation,) = graph.equations
    given = [*graph.inputs, *graph.constants]
    again = program(Graph(graph.namespace, given, {}, [equation], graph.outputs), [step])
    names = {x: f"i{number}" for number, x in enumerate(given)}
    writer, results = written(equation, names)
    found = dict(zip(equation.outputs, results))
    return _function(writer, names, [found[x] for x in graph.outputs], again)


def step_of_numbers(graph: Graph, again: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function on a few numbers that is equivalent to the program `again` of a graph with several results.

    Return `again` itself if it is faster. Results without axes are NumPy scalars.
    """
    writer = Writer()
    names = {x: f"i{number}" for number, x in enumerate(graph.inputs)}
    try:
        if len(graph.outputs) < 2 or any(each.effects or each.op.name in LOOPS for each in graph.equations):
            return again
        results = writer.graph(graph, [writer.read(x, name) for x, name in names.items()])
        writer.check()
    except RefusedError:
        return again
    of_numpy = OPERATION * len([each for each in graph.equations if any(x.shape for x in each.outputs)])
    mine = STEP + CALL * writer.calls + LINE * writer.numbers
    if writer.numbers > MOST or mine > GAIN * of_numpy or (writer.calls and writer.reverses):
        return again
    return _function(writer, names, [writer.array(x) for x in results], again)


def _function(
    writer: Writer, names: dict[Variable, str], results: list[str], again: Callable[..., Any]
) -> Callable[..., Any]:
    """Make the function from the lines of a writer. `again` is the program by NumPy."""
    lines, arguments = writer.blocks[0].lines, ", ".join(names.values())
    if writer.calls:  # calls would warn even if NumPy repeats the loop
        lines = ['with errstate(all="ignore"):', *indented(lines)]
    left = [f"type({name}) not in plain" for name in names.values()]
    if writer.calls:  # last bits of functions such as `exp` depend on the direction in which NumPy reads arrays
        left += [f"min({name}.strides) < 0" for x, name in names.items() if x.shape]
    text = [
        f"def {IGNORING}({arguments}):",
        f"    if {' or '.join(left) or False}:",
        f"        return again({arguments})",
        "    try:",
        *indented(indented(lines)),
        "    except (ArithmeticError, ValueError):",
        f"        return again({arguments})",
        f"    return ({''.join(f'{each}, ' for each in results)})",
        f"def run({arguments}):",
        '    if geterr()["under"] != "ignore":',
        f"        return again({arguments})",
        f"    return {IGNORING}({arguments})",
    ]
    writer.scope.update(
        again=again, array=np.array, errstate=np.errstate, geterr=np.geterr, plain=PLAIN, sqrt=math.sqrt
    )
    exec("\n".join(text), writer.scope)
    run: Callable[..., Any] = writer.scope.pop("run")
    setattr(run, IGNORING, writer.scope[IGNORING])
    return run
