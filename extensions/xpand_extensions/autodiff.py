"""Derivatives: where they stop."""

from xpand import _arguments, trees

from ._dispatch import pluggable

__all__ = ["stop_gradient"]


@pluggable
def stop_gradient(x: trees.Tree, /) -> trees.Tree:
    """Return the same values, as constants for differentiation: no gradient flows through them.

    Args:
        x: An array of any library, or a tree of arrays. Leaves that are no arrays stay as they are.

    Returns:
        The same tree. Its arrays may share memory with those given.

    Source: `jax.lax.stop_gradient`; PhiML's `stop_gradient_tree`.

    >>> import numpy as np
    >>> stop_gradient({"x": np.asarray([1.0, 2.0])})
    {'x': array([1., 2.])}
    """

    def stop(leaf: trees.Tree) -> trees.Tree:
        return stop_gradient.native(leaf)(leaf) if _arguments.is_array(leaf) else leaf

    return trees.map(stop, x)
