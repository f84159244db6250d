"""Named arrays as nodes of JAX's trees."""

from jax.tree_util import register_pytree_node as register_nodes

__all__ = ["register_nodes"]
