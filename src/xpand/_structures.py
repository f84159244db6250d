"""Compare structures of trees, also in code that PyTorch compiles."""

from typing import Any


def same_structure(one: Any, other: Any) -> bool:
    """Return whether two structures of optree's are equal.

    torch.compile has structures of its own, and PyTorch 2.11 can't compare two that are nested: these are taken apart.
    """
    if type(one) is not type(other) or not hasattr(one, "_metadata"):
        return bool(one == other)
    if one.type is not other.type or one.num_children != other.num_children or one._metadata != other._metadata:
        return False
    return all(same_structure(x, y) for x, y in zip(one.children(), other.children()))
