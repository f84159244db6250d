"""The zeros of forward mode in graphs: PyTorch's own have no memory, which what TorchInductor compiles would read.

While a graph is traced they are ordinary zeros. In the graph they are traced, so that what is multiplied by them is
zero, as it is where nothing is compiled, and not NaN where the other factor is infinite.
"""

from typing import Any

import torch

_aten = torch.ops.aten

NOTHING = _aten._efficientzerotensor.default
"""The operation that makes a zero of forward mode."""

_LAID_OUT = _aten._new_zeros_with_same_feature_meta.default

_SHAPES = frozenset(
    {
        _aten._to_copy.default,
        _aten.alias.default,
        _aten.clone.default,
        _aten.expand.default,
        _aten.neg.default,
        _aten.permute.default,
        _aten.select.int,
        _aten.slice.Tensor,
        _aten.squeeze.dim,
        _aten.sum.default,
        _aten.sum.dim_IntList,
        _aten.unsqueeze.default,
        _aten.view.default,
    }
)
"""Operations on one tensor that make zeros of zeros."""


def plain_zeros(module: Any) -> Any:
    """Make ordinary zeros of those in a graph, and of what is multiplied by them, and leave out what nothing needs.

    What nothing needs may hold tensors without values, which are an error to use when tracing has ended.
    """
    zeros: set[Any] = set()
    for node in list(module.graph.nodes):
        if node.target is NOTHING:
            node.target = _aten.zeros.default
            zeros.add(node)
        elif node.target in _SHAPES and node.args[0] in zeros:
            zeros.add(node)
        elif _is_product_with(zeros, node):
            zeros.add(_replaced(module.graph, node))
        elif node.target is _aten.copy_.default and node.args[0].target is _LAID_OUT:
            # A derivative laid out in memory as its tensor is, whose elements may share theirs.
            node.target, node.args, node.kwargs = _aten.clone.default, (node.args[1],), {}
    module.graph.eliminate_dead_code()
    module.recompile()
    return module


def _is_product_with(zeros: set[Any], node: Any) -> bool:
    if node.target is _aten.mul.Tensor:
        return node.args[0] in zeros or node.args[1] in zeros
    return node.target is _aten.div.Tensor and node.args[0] in zeros


def _replaced(graph: Any, node: Any) -> Any:
    value = node.meta["val"]
    with graph.inserting_before(node):
        options = {"dtype": value.dtype, "layout": value.layout, "device": value.device}
        made = graph.call_function(_aten.zeros.default, (list(value.shape),), options)
    made.meta["val"] = value
    node.replace_all_uses_with(made)
    graph.erase_node(node)
    return made
