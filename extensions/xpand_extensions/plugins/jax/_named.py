"""Named arrays on JAX: nodes of its trees, and shardings over its meshes."""

from collections.abc import Sequence
from typing import Any

import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from jax.tree_util import register_pytree_node as register_nodes

from xpand.extend import Array

__all__ = ["current_mesh", "has_shardings", "mesh_sizes", "register_nodes", "sharded", "sharding"]


def current_mesh() -> Any:
    """Return the mesh of `jax.set_mesh`; None if there is none."""
    abstract = jax.sharding.get_abstract_mesh()
    if abstract.empty:
        return None
    try:
        return jax.sharding.get_mesh()
    except ValueError:  # inside of jit
        return abstract


def has_shardings(x: Any) -> bool:
    """Return whether an object is an array of JAX, concrete or traced."""
    return isinstance(x, jax.Array)


def mesh_sizes(mesh: Any) -> dict[str, int]:
    """Return the sizes of the axes of a mesh by name."""
    return dict(mesh.shape)


def sharding(mesh: Any, axes: Sequence[Any]) -> Any:
    """Return the sharding of an array whose axes are split over the given axes of a mesh."""
    explicit = [name for name, kind in zip(mesh.axis_names, mesh.axis_types) if kind == AxisType.Explicit]
    if explicit:
        raise ValueError(
            f"shard: the mesh has axes of type Explicit, {explicit}; named arrays need Auto: "
            "jax.make_mesh(shape, names, axis_types=(jax.sharding.AxisType.Auto,) * len(names))"
        )
    return NamedSharding(mesh, PartitionSpec(*axes))


def sharded(x: Array, mesh: Any, axes: Sequence[Any]) -> Array:
    """Split an array over the devices of a mesh."""
    return jax.lax.with_sharding_constraint(x, sharding(mesh, axes))
