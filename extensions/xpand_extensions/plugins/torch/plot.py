"""Drawings of PyTorch's graphs."""

from types import BuiltinFunctionType, FunctionType
from typing import Any

import torch

from ..._drawing import Drawing, Kind, Node

_KINDS: dict[str, Kind] = {"placeholder": "input", "get_attr": "constant", "output": "output"}


def drawing(made: Any, title: str, /, *, xp: Any = None) -> Drawing:
    nodes: list[Node] = []
    numbers: dict[Any, int] = {}
    for node in made.graph.nodes:
        kind = _KINDS.get(node.op, "operation")
        inputs = tuple([numbers[x] for x in node.all_input_nodes])
        numbers[node] = len(nodes)
        label = kind if kind in ("input", "output") else _name(node.target)
        nodes.append(Node(label, kind, inputs, _types(node)))
    parts = [drawing(x, name) for name, x in made.named_children() if isinstance(x, torch.fx.GraphModule)]
    return Drawing(title, nodes, parts)


def _name(target: Any) -> str:
    # Python functions have a name. PyTorch's operations print as `aten.sin.default`.
    return target.__name__ if isinstance(target, (FunctionType, BuiltinFunctionType)) else str(target)


def _types(node: Any) -> str:
    value = node.meta.get("val")
    found = value if isinstance(value, (tuple, list)) else (value,)
    return ", ".join(
        f"{str(x.dtype).removeprefix('torch.')}[{','.join(map(str, x.shape))}]" for x in found if hasattr(x, "dtype")
    )
