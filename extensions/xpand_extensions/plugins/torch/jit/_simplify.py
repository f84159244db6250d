"""Simplify graphs of ATen operations before they are compiled, and find the loop invariants of a step.

TorchInductor takes 10 to 20 ms for each operation, and derivatives contain many superfluous ones: powers with exponent
one, products with ones, values of which only the shape is used, and repeated values.
"""

import operator
from collections.abc import Container, Iterable, Sequence
from typing import Any, Final

import torch
from torch.fx import Graph, GraphModule, Node

from xpand import trees

_ATEN: Final = torch.ops.aten
_FILLED: Final = {_ATEN.ones_like.default: 1, _ATEN.zeros_like.default: 0}
_OPERATION: Final = type(_ATEN.mul.Tensor)


def simplify(module: GraphModule) -> None:
    """Simplify a graph. Values and memory layouts stay the same, and no further results share memory."""
    graph = module.graph
    if not any(map(_has_effects, graph.nodes)):
        _stack_gradients(graph)
        returned = {id(x) for node in graph.find_nodes(op="output") for x in _storages(node.all_input_nodes)}
        seen: dict[Any, Node] = {}
        for node in list(graph.nodes):
            if not _is_pure(node):
                continue
            _fill(node)
            same = _operand(seen.setdefault((node.target, repr(node.args), repr(node.kwargs)), node))
            if same is not node and not any(id(x) in returned for x in _storages([node])):
                node.replace_all_uses_with(same)
    graph.eliminate_dead_code()
    module.recompile()


def _stack_gradients(graph: Graph) -> None:
    """Replace sums of gradients of elements by a stack of one sum for each element.

    Each of these gradients is an array with zeros for all other elements. Graphs compile in a third less time.
    """
    # For each gradient or sum: its shape, axis and data type, and for each element the operands of its sum.
    sums: dict[Node, tuple[Any, dict[int, Any]]] = {}
    for node in graph.nodes:
        if node.target is _ATEN.select_backward.default:
            x, sizes, dim, index = node.args
            sums[node] = (tuple(sizes), dim % len(sizes), node.meta["val"].dtype), {index % sizes[dim]: x}
        elif node.target is _ATEN.add.Tensor and not node.kwargs and _are_used_once(node, sums):
            (kind, some), (other, more) = (sums[x] for x in node.args)
            if kind == other:
                both = {i: (some[i], more[i]) for i in some if i in more}
                sums[node] = kind, {**some, **more, **both}
                for x in node.args:
                    del sums[x]
    for node, ((sizes, dim, _), terms) in sums.items():
        if len(terms) == sizes[dim] > 1 and node.meta["val"].is_contiguous():
            with graph.inserting_before(node):
                columns = [_total(graph, terms[i]) for i in range(sizes[dim])]
                stacked = graph.call_function(_ATEN.stack.default, (columns, dim))
                # In the sum, the zeros of the other gradients turn -0.0 into 0.0.
                found = graph.call_function(_ATEN.add.Tensor, (stacked, 0))
            stacked.meta["val"] = found.meta["val"] = node.meta["val"]
            node.replace_all_uses_with(found)


def _are_used_once(node: Node, among: Container[Node]) -> bool:
    """Return whether the two operands of an operation are in `among`, and no other operation uses them."""
    return len(node.all_input_nodes) == 2 and all(x in among and len(x.users) == 1 for x in node.args)


def _total(graph: Graph, term: Any) -> Node:
    """Add the operands of a sum, nested pairs of nodes, in their order."""
    if isinstance(term, Node):
        return term
    x, y = (_total(graph, each) for each in term)
    total = graph.call_function(_ATEN.add.Tensor, (x, y))
    total.meta.update(x.meta)
    return total


def _has_effects(node: Node) -> bool:
    """Return whether an operation writes to its arguments, or has another side effect except for random numbers."""
    return node.op == "call_function" and node.is_impure(impure_random=False)


def _is_pure(node: Node) -> bool:
    is_known = isinstance(node.target, _OPERATION) or node.target is operator.getitem
    return node.op == "call_function" and is_known and not node.is_impure()


def _storages(nodes: Sequence[Node]) -> list[Any]:
    """List the storages of the results of operations; those of views are the same objects."""
    found = [x for node in nodes for x in trees.leaves(node.meta.get("val")) if isinstance(x, torch.Tensor)]
    return [x.untyped_storage() for x in found if x.layout is torch.strided]


def _fill(node: Node) -> None:
    """Replace `ones_like`, `zeros_like` and the product of ones and a number by `full`."""
    value = _FILLED.get(node.target)
    if node.target is _ATEN.mul.Tensor and _is_full(node.args[0], 1) and type(node.args[1]) in (int, float):
        value = node.args[1]
    if value is None:
        return
    x = node.meta["val"]
    if x.layout is torch.strided and x.is_contiguous():
        node.target, node.args = _ATEN.full.default, (list(x.shape), value)
        node.kwargs = {"dtype": x.dtype, "device": x.device, "pin_memory": False}


def _is_full(x: Any, value: int) -> bool:
    return isinstance(x, Node) and x.target is _ATEN.full.default and x.args[1] == value


def _operand(node: Node) -> Node:
    """Return the operand that an operation would return unchanged, or the operation if there is none."""
    x, y = (*node.args, None, None)[:2]
    if node.target is _ATEN.mul.Tensor:
        x, y = (y, x) if _is_full(x, 1) else (x, y)
        same = x if _is_full(y, 1) else None
    else:
        same = x if node.target is _ATEN.pow.Tensor_Scalar and y == 1 else None
    return same if isinstance(same, Node) and _described(same) == _described(node) else node


def _described(node: Node) -> Any:
    x = node.meta["val"]
    return x.shape, x.dtype, x.stride(), x.device


def invariants(module: GraphModule, varying: int) -> tuple[GraphModule, GraphModule] | None:
    """Split a graph: separate the part that depends only on the arguments after the first `varying`.

    Returns:
        A graph of this part, which takes these arguments, and a graph that takes the first arguments and the results of
        this part; None if no operation can be separated.
    """
    graph = module.graph
    if any(map(_has_effects, graph.nodes)):
        return None
    inputs = graph.find_nodes(op="placeholder")
    changing = set(inputs[:varying])
    for node in graph.nodes:
        has_effects = node.op == "call_function" and not _is_pure(node)
        if node.op == "output" or has_effects or not changing.isdisjoint(node.all_input_nodes):
            changing.add(node)
    same = [x for x in graph.nodes if x not in changing]
    # Constants, which have no inputs, stand in both graphs: they are cheap, and compilers use their values.
    used = [x for x in same if (x.all_input_nodes or x in inputs) and not changing.isdisjoint(x.users)]
    if set(used) <= set(inputs):
        return None
    before, step = Graph(), Graph()
    known = _copied(before, inputs[varying:], same)
    before.output(tuple([known[x] for x in used]))
    _copied(step, [*inputs[:varying], *used], graph.nodes)
    return _module(module, before), _module(module, step)


def _copied(graph: Graph, inputs: Sequence[Node], nodes: Iterable[Node]) -> dict[Node, Node]:
    """Copy the nodes of another graph that depend on the given inputs only, and its constants."""
    known = {x: graph.placeholder(x.name) for x in inputs}
    for x in nodes:
        if x not in known and x.op != "placeholder" and all(y in known for y in x.all_input_nodes):
            known[x] = graph.node_copy(x, known.__getitem__)
    return known


def _module(root: GraphModule, graph: Graph) -> GraphModule:
    graph.eliminate_dead_code()
    return GraphModule(root, graph)
