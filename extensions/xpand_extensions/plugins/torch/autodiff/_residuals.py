"""Convert linear functions to graphs of their captured arrays on PyTorch."""

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from torch.fx import GraphModule

from xpand import UnsupportedError
from xpand.extend import Array
from xpand.torch import _private as private
from xpand_extensions._transforms import ArraySpec
from xpand_extensions.autodiff._linear import LinearFunction, flatten, unflatten_linear


def residuals(function: Callable[..., Any], /, *specs: ArraySpec) -> tuple[list[Array], Callable[..., Any]]:
    from ..jit._trace import graph_of, tracing  # its import takes a second

    if private.are_levels_active():
        # The graph is recorded below the levels of torch.func, where the arrays are unwrapped.
        raise UnsupportedError(
            "vjp, linearize, linear_transpose: on PyTorch, the function that they return can't be returned from `vmap` "
            "or a derivative; call it inside, and return its result"
        )
    with tracing():
        module = graph_of(lambda *xs: tuple(function(*xs)), [like.zeros() for like in specs])
    arrays = _with_inputs_for_constants(module)
    return arrays, partial(_of_residuals, module)


def _of_residuals(module: GraphModule, arrays: Sequence[Array], *given: Array) -> tuple[Array, ...]:
    return tuple(module(*arrays, *given))


def _with_inputs_for_constants(module: GraphModule) -> list[Array]:
    """Convert a graph's constants to its first arguments; return them."""
    graph = module.graph
    nodes: dict[str, Any] = {}
    first = next(iter(graph.nodes))
    for node in [node for node in graph.nodes if node.op == "get_attr"]:
        name = str(node.target)
        if name not in nodes:
            with graph.inserting_before(first):
                nodes[name] = graph.placeholder(name.replace(".", "_"))
        node.replace_all_uses_with(nodes[name])
        graph.erase_node(node)
    arrays = [operator.attrgetter(name)(module) for name in nodes]
    for name in nodes:
        delattr(module, name)
    module.recompile()
    return arrays


private.register_node(LinearFunction, flatten, unflatten_linear)
