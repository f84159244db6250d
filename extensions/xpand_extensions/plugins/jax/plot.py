"""The nodes of JAX's graphs."""

from collections.abc import Iterator
from typing import Any

from ..._drawing import Drawing, Node


def drawing(made: Any, title: str, /, *, xp: Any = None) -> Drawing:
    jaxpr = getattr(made, "jaxpr", made)
    nodes = [Node("input", "input", (), x.aval.str_short()) for x in jaxpr.invars]
    nodes += [Node("constant", "constant", (), x.aval.str_short()) for x in jaxpr.constvars]
    numbers = {x: i for i, x in enumerate([*jaxpr.invars, *jaxpr.constvars])}
    parts = []
    for equation in jaxpr.eqns:
        inputs = tuple([numbers[x] for x in equation.invars if not _is_literal(x)])
        numbers.update(dict.fromkeys(equation.outvars, len(nodes)))
        name = equation.params.get("name", equation.primitive.name)
        types = ", ".join(x.aval.str_short() for x in equation.outvars)
        nodes.append(Node(str(name), "operation", inputs, types))
        parts += [drawing(inner, f"{key} of {name}") for key, inner in _inner(equation.params)]
    for x in jaxpr.outvars:
        inputs = () if _is_literal(x) else (numbers[x],)
        nodes.append(Node(str(x) if _is_literal(x) else "output", "output", inputs))
    return Drawing(title, nodes, parts)


def _is_literal(x: Any) -> bool:
    return hasattr(x, "val")


def _inner(params: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in params.items():
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if hasattr(each, "eqns"):
                yield key, each
