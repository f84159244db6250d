"""Compare structures of trees, also inside torch.compile."""

from typing import Any


def same_structure(one: Any, other: Any) -> bool:
    """Return whether two structures of optree are equal.

    torch.compile replaces them by its own structures, and PyTorch 2.11 cannot compare nested ones. These are compared
    part by part.
    """
    if type(one) is not type(other) or not hasattr(one, "_metadata"):
        return bool(one == other)
    if one.type is not other.type or one.num_children != other.num_children or one._metadata != other._metadata:
        return False
    return all(same_structure(x, y) for x, y in zip(one.children(), other.children()))
