"""Find the results of a simplified graph that must be copied, so that no result shares more memory than before.

The caller may write to a result. `x * 1` is a new array, but its simplification `x` is not. `sin(x)` written twice
gives two arrays; computed once, it gives one. `zeros(3)` is a new array at each call, but the constant that replaces it
is shared by all calls. The same holds for a loop without steps that returns its initial values.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from ._creation import CREATION
from ._functions import FUNCTIONS
from ._graph import Equation, Graph, Variable

VIEWS: Final = frozenset(
    {
        "broadcast_to",
        "expand_dims",
        "flip",
        "getitem",
        "imag",
        "linalg.diagonal",
        "matrix_transpose",
        "moveaxis",
        "permute_dims",
        "real",
        "reshape",
        "squeeze",
        "stop_gradient",
        "to_device",
        "unstack",
    }
)
"""Operations whose result may be their first array, or a view of it."""

MAY_RETURN: Final = frozenset({"ceil", "clip", "conj", "diff", "floor", "linalg.matrix_power", "round", "trunc"})
"""Functions of the standard that return their argument in some libraries if there is nothing to do."""

_NEW: Final = (frozenset((*FUNCTIONS, *CREATION)) | {"setitem"}) - VIEWS - MAY_RETURN - {"broadcast_arrays"}
"""Operations that always return a new array. Loops, branches and facade operations may return an argument."""


def to_be_copied(before: Graph, after: Graph) -> set[int]:
    """Return the positions of the outputs to be copied, given a graph and its simplification."""
    copied: set[int] = set()
    left = {out: equation for equation in after.equations for out in equation.outputs}
    old_edges = _edges(before, lambda equation: _as_before(equation, left.get(equation.outputs[0])))
    new_edges = _edges(after, lambda equation: set(equation.inputs))
    folded = after.constants.keys() - before.constants.keys()
    given = {*before.inputs, *before.constants}
    distinct: list[tuple[set[Variable], set[Variable]]] = []
    for position, (old, new) in enumerate(zip(before.outputs, after.outputs)):
        if not isinstance(new, Variable):
            continue
        mine, found = _sources(old, old_edges), _sources(new, new_edges)
        with_another = any(found & theirs and not mine & were for were, theirs in distinct)
        if new in after.constants or found & folded or (found - mine) & given or with_another:
            copied.add(position)
        else:
            distinct.append((mine, found))
    return copied


def _as_before(equation: Equation, later: Equation | None) -> set[Any]:
    """Return the inputs of an equation that are only at their old positions in the simplified graph."""
    if later is None:
        return set()
    pairs = list(zip(equation.inputs, later.inputs))
    return {x for x, y in pairs if x is y} - {y for x, y in pairs if x is not y}


def _edges(graph: Graph, returned: Callable[[Equation], set[Any]]) -> dict[Variable, list[Variable]]:
    """Return, for each variable, the inputs of its equation that it may share memory with; omit variables without any.

    Args:
        graph: The graph.
        returned: Returns the inputs that an equation may return, if it returns an input at all.
    """
    edges: dict[Variable, list[Variable]] = {}
    for equation in graph.equations:
        for out in equation.outputs:
            found = list(_shared(equation, out, returned))
            if found:
                edges[out] = found
    return edges


def _sources(variable: Variable, edges: dict[Variable, list[Variable]]) -> set[Variable]:
    """Return a variable and all variables that it may share memory with."""
    found, left = {variable}, [variable]
    while left:
        for x in edges.get(left.pop(), ()):
            if x not in found:
                found.add(x)
                left.append(x)
    return found


def _shared(equation: Equation, out: Variable, returned: Callable[[Equation], set[Any]]) -> Iterator[Variable]:
    """Yield the inputs that a result may be identical to, or a view of."""
    name, arrays = equation.op.name, [x for x in equation.inputs if isinstance(x, Variable)]
    if name in VIEWS or (name == "astype" and not equation.params.get("copy", True)):
        yield from arrays[:1]
    elif name == "broadcast_arrays":
        yield arrays[equation.outputs.index(out)]
    elif name not in _NEW:
        alike = returned(equation)
        yield from (x for x in arrays if x in alike and x.dtype == out.dtype and x.aval.size >= out.aval.size)
