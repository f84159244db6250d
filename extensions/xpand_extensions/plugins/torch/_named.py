"""Named arrays as nodes of PyTorch's trees."""

from collections.abc import Callable
from typing import Any

from xpand.torch._private import register_node

__all__ = ["register_nodes"]


def register_nodes(cls: type, flatten: Callable[..., Any], unflatten: Callable[..., Any]) -> None:
    """Make a class nodes of PyTorch's trees, whose functions take children and static data in the other order."""

    def take_apart(node: Any) -> tuple[list[Any], Any]:
        children, static = flatten(node)
        return list(children), static

    register_node(cls, take_apart, lambda children, static: unflatten(static, children))
