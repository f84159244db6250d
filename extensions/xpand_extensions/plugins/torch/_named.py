"""Named arrays as nodes of PyTorch's trees."""

from xpand.torch._private import register_node as register_nodes

__all__ = ["register_nodes"]
