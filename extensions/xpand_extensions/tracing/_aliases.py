"""Which results of a simplified graph have to be copied, so that none shares memory that it didn't share before.

What is returned may be written to by whoever gets it. `x * 1` is a new array, and `x`, which it is simplified to, is
not; `sin(x)` written twice are two arrays, and computed once they are one.
"""

from typing import Any, Final

from ._graph import Graph, Variable

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
"""Operations whose result may be a view of their first array, or it."""


def to_be_copied(before: Graph, after: Graph) -> set[int]:
    """Return the places of the outputs to be copied: of a graph, and what it has been simplified to."""
    copied: set[int] = set()
    sources, found = _sources(before), _sources(after)
    owners: dict[Variable, Variable] = {x: x for x in before.inputs}
    for place, (old, new) in enumerate(zip(before.outputs, after.outputs)):
        if not isinstance(new, Variable):
            continue
        source = found[new]
        mine = sources[old]
        owner = owners.setdefault(source, mine)
        if new in after.constants or owner is not mine or (source in after.constants and mine not in before.constants):
            copied.add(place)
    return copied


def _sources(graph: Graph) -> dict[Any, Variable]:
    """Return for each variable the one whose memory it may share."""
    found = {x: x for x in graph.variables()}
    for equation in graph.equations:
        first = equation.inputs[0] if equation.inputs else None
        if isinstance(first, Variable) and (
            equation.op.name in VIEWS or (equation.op.name == "astype" and not equation.params.get("copy", True))
        ):
            found.update((x, found[first]) for x in equation.outputs)
    return found
