"""Bind operations to their static parameters once, as functions that are faster to call."""

import inspect
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from xpand import is_writeable_array, trees
from xpand.extend import is_lazy

from ._facades import FacadeOp, Template
from ._graph import Equation
from ._keys import ARRAY, passes_over


def specialised(equation: Equation) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return the function for an operation of a graph, and the parameters that must still be passed to it."""
    op, params = equation.op, equation.params
    if isinstance(op, FacadeOp):
        return _bound(op.implementation, params["template"]), {}
    if op.name == "getitem" and not (is_lazy(op.namespace.base) and any(map(passes_over, params["key"]))):
        found = _item(params["key"])
        return (found, {}) if found is not None else (op.function, params)
    if op.name == "setitem" and len(equation.inputs) == 2:
        base = op.namespace.base
        if not is_lazy(base) and is_writeable_array(base.zeros((1,), dtype=base.float32)):
            return _writer(base.asarray, params["key"]), {}
    return op.function, params


def _item(key: tuple[Any, ...]) -> Callable[..., Any] | None:
    """Return the function that indexes with a key; None where arrays are nested in the key."""
    if ARRAY not in [part for part in key if isinstance(part, str)]:
        return operator.itemgetter(key[0] if len(key) == 1 else key)
    return operator.getitem if len(key) == 1 else None


def _writer(asarray: Callable[..., Any], key: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the function that sets the elements of a key in a copy."""

    def write(x: Any, value: Any) -> Any:
        x = asarray(x, copy=True)
        x[key] = value
        return x

    return write


class _Placeholder:
    """The placeholder of an array."""

    def __init__(self, number: int) -> None:
        self.number = number


def _bound(function: Callable[..., Any], template: Template) -> Callable[..., Any]:
    """Return a call as a function of its arrays alone."""
    filled = template.fill([_Placeholder(i) for i in range(len(template.names))])
    in_order = {name: filled[name] for name in template.signature.parameters if name in filled}
    bound = inspect.BoundArguments(template.signature, in_order)
    scope: dict[str, Any] = {"function": function}
    given = [(f"{name}=", x) for name, x in bound.kwargs.items()]
    texts = [(name, _text(x, scope)) for name, x in [*(("", x) for x in bound.args), *given]]
    if any(text is None for _, text in texts):
        return partial(_called, function, template)
    arrays = ", ".join(f"a{i}" for i in range(len(template.names)))
    exec(f"def call({arrays}): return function({', '.join(f'{name}{text}' for name, text in texts)})", scope)
    call: Callable[..., Any] = scope.pop("call")  # whose scope would keep it, and what it is bound to
    return call


def _called(function: Callable[..., Any], template: Template, *arrays: Any) -> Any:
    return template.call(function, arrays)


def _text(x: Any, scope: dict[str, Any]) -> str | None:
    """Write an argument as source; None for a tree of arrays, which can't be written."""
    if isinstance(x, _Placeholder):
        return f"a{x.number}"
    if not any(isinstance(leaf, _Placeholder) for leaf in trees.leaves(x)):
        name = f"c{len(scope)}"
        scope[name] = x
        return name
    if type(x) not in (list, tuple):
        return None
    parts = [_text(part, scope) for part in x]
    if any(part is None for part in parts):
        return None
    inside = "".join(f"{part}, " for part in parts)
    return f"[{inside}]" if type(x) is list else f"({inside})"
