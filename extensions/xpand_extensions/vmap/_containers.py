"""Map over batches of sparse matrices: over their values, and over their patterns where each lane has its own."""

from collections.abc import Sequence

from xpand import array_namespace, is_concrete, trees
from xpand.extend import Array, checks

from .._transforms_patterns import Container, is_container


def with_fitting_plans(tree: trees.Tree) -> trees.Tree:
    """Remove the data computed from the patterns of a batch, which isn't that of a lane."""
    return trees.map(
        lambda x: x._of(x._values, x.pattern, x._static()) if isinstance(x, Container) and _own(x) else x,
        tree,
        is_leaf=is_container,
    )


def in_of_containers(tree: trees.Tree, axes: Sequence[int | None], leaves: Sequence[Array]) -> tuple[int | None, ...]:
    """Return the axis to map over for each array of a tree; the arrays of a container share one of its batch axes.

    Raises:
        ValueError: An axis that is none of the batch, or axes for the parts of a container.
    """
    found: list[int | None] = []
    for x in trees.leaves(tree, is_leaf=is_container):
        axis = axes[len(found)]
        if not isinstance(x, Container):
            found.append(
                None if axis is None else checks.axis("vmap", axis, getattr(leaves[len(found)], "ndim", 0), "in_axes")
            )
            continue
        count = len(trees.leaves(x))
        if any(each is not axis and each != axis for each in axes[len(found) : len(found) + count]):
            raise ValueError(f"vmap: in_axes must have one entry for all of a sparse container, got several for {x!r}")
        pattern_axis: int | None = None
        if axis is not None:
            axis = _batch_axis("in_axes", axis, x, x.batch_ndim)
            pattern_axis = axis if _own(x) else None
        found += [axis] + [pattern_axis] * (count - 1)
    return tuple(found)


def out_of_containers(
    tree: trees.Tree, positions: Sequence[int | None], same: Sequence[Array]
) -> tuple[list[Array], list[int | None]]:
    """Return the arrays of a result, and the position of the mapped axis in each.

    All lanes share a pattern that is concrete, or is one of the arrays that are the same in all calls.

    Raises:
        ValueError: An axis that can't be one of the batch.
    """
    arrays: list[Array] = []
    found: list[int | None] = []
    for x in trees.leaves(tree, is_leaf=is_container):
        position = positions[len(found)]
        if not isinstance(x, Container):
            arrays.append(x)
            found.append(position)
            continue
        parts = trees.leaves(x.pattern)
        if position is not None:
            position = _batch_axis("out_axes", position, x, x.batch_ndim + 1)
        pattern_axis = position
        if all(each.ndim == 1 and _is_same(each, same) for each in parts):
            pattern_axis = None
        elif position is not None and not _own(x):
            parts = [_over(each, x.values.shape[: x.batch_ndim]) for each in parts]
        arrays += [x.values, *parts]
        found += [position] + [pattern_axis] * len(parts)
    return arrays, found


def _own(x: Container) -> bool:
    """Tell whether each batch element has a pattern of its own."""
    return any(each.ndim > 1 for each in x.pattern)


def _batch_axis(name: str, axis: int, x: Container, count: int) -> int:
    where = axis + x.ndim + (name == "out_axes") if axis < 0 else axis
    if not 0 <= where < count:
        raise ValueError(
            f"vmap: {name} has {axis} for {x!r}, of which only batch axes can be mapped, and these come first: takes "
            f"{f'0 to {count - 1}' if count else 'None'}"
        )
    return where


def _is_same(x: Array, same: Sequence[Array]) -> bool:
    return is_concrete(x) or any(x is each for each in same)


def _over(x: Array, batch: tuple[int, ...]) -> Array:
    return array_namespace(x).broadcast_to(x, (*batch, *x.shape)) if batch else x
