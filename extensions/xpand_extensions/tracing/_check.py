"""Check a graph: each variable is defined once, before it is used, and has the type that its operation returns.

Each operation must get the right number of arrays, and parameters of the right names. Facades check their own
operations.
"""

from collections.abc import Sequence
from typing import Any, Final

from xpand import trees

from ._core import Aval, TracedArray, aval_of
from ._facades import FacadeOp
from ._functions import FUNCTIONS, Signature, parsed
from ._graph import Equation, Graph, GraphError, Names, Variable, described, graphs_within, written_type
from ._staging import avals_of, avals_of_result

_SIGNATURES: Final[dict[str, Signature]] = {name: parsed(signature) for name, signature in FUNCTIONS.items()}
_NUMBERS: Final = (bool, int, float, complex)


def check(graph: Graph) -> None:
    """Check a graph, and the graphs of its loops and branches.

    Raises:
        GraphError: It isn't well-formed.
    """
    names = Names(graph)
    defined: set[Variable] = set()

    def define(variable: Variable) -> None:
        if variable in defined:
            raise GraphError(f"graph: {names[variable]} is defined twice")
        defined.add(variable)

    def use(x: Any, where: str) -> None:
        if isinstance(x, Variable) and x not in defined:
            raise GraphError(f"graph: {names[x]} is used {where} before it is defined")

    for variable in (*graph.inputs, *graph.constants):
        define(variable)
    for variable, value in graph.constants.items():
        aval = aval_of(value)
        if not isinstance(aval, Aval) or (variable.shape, variable.dtype) != (aval.shape, aval.dtype):
            is_found = written_type(aval) if isinstance(aval, Aval) else type(aval).__name__
            raise GraphError(f"graph: the constant {names[variable]} is {is_found}, not {written_type(variable.aval)}")
    for equation in graph.equations:
        for x in equation.inputs:
            use(x, f"by {equation.op}")
        for _, inner in graphs_within(equation.params):
            check(inner)
        found = _results(equation, graph.constants)
        if len(found) != len(equation.outputs):
            raise GraphError(f"graph: {equation.op} returns {len(found)} arrays, not {len(equation.outputs)}")
        for variable, aval in zip(equation.outputs, found):
            define(variable)
            if (variable.shape, variable.dtype) != (aval.shape, aval.dtype):
                returned, declared = written_type(aval), written_type(variable.aval)
                raise GraphError(f"graph: {equation.op} returns {returned}, and {names[variable]} is {declared}")
    for x in graph.outputs:
        use(x, "as an output")


def _results(equation: Equation, constants: dict[Variable, Any]) -> list[Aval]:
    """Return the abstract values of the results of an operation."""
    op, inputs, params = equation.op, equation.inputs, equation.params
    given = described(op, inputs, constants.items())
    signature = _SIGNATURES.get(op.name)
    may_be_left_out = len(signature.arrays) if signature is not None and signature.extra else len(inputs)
    try:
        for position, x in enumerate(inputs):
            if not isinstance(x, (Variable, *_NUMBERS)) and (x is not None or position < may_be_left_out):
                raise TypeError(f"it takes arrays and numbers, got {x!r}")
        if isinstance(op, FacadeOp):
            _check_facade(op, inputs, constants, params)
        elif signature is not None:
            _check_call(op.name, signature, len(inputs), params)
        found = avals_of_result(op, given, params)
    except (ArithmeticError, AttributeError, LookupError, StopIteration, TypeError, ValueError) as error:
        raise GraphError(f"graph: {op} takes no such inputs or parameters: {error}") from error
    return [found] if isinstance(found, Aval) else list(found)


def _check_facade(op: FacadeOp, inputs: Sequence[Any], constants: dict[Variable, Any], params: dict[str, Any]) -> None:
    """Call the facade to check its arguments.

    Its results are ignored, since the facade may normalize its arguments before it makes the operation.
    """
    (template,) = params.values()
    if len(inputs) != len(template.names) or not all(isinstance(x, Variable) for x in inputs):
        raise TypeError(f"it takes {len(template.names)} arrays")
    # Pass constants, such as indices, with their values, so that the facade checks the values too.
    known = {variable: x for variable, x in constants.items() if not isinstance(x, TracedArray)}
    given = [known.get(x, x.aval) for x in inputs]
    avals_of(op.namespace, given, lambda *arrays: trees.leaves(template.call(op.operation.facade, arrays)))


def _check_call(name: str, signature: Signature, given: int, params: dict[str, Any]) -> None:
    """Check the call of a function of the standard.

    Raises:
        TypeError: The arguments don't fit the signature.
    """
    count = len(signature.arrays) + len(signature.extra)
    if not signature.is_sequence and given != count:
        raise TypeError(f"it takes {count} arrays, got {given}")
    needed = {parameter for parameter, default in signature.static.items() if default is None}
    if not needed <= params.keys() <= signature.static.keys():
        raise TypeError(
            f"its parameters are {', '.join(signature.static) or 'none'}, got {', '.join(params) or 'none'}"
        )
