"""Whether a library computes nothing before it is asked to."""

from xpand import array_namespace, extend
from xpand.extend import Array


def is_lazy(x: Array) -> bool:
    """Return whether an array's library is lazy, also where a transformation traces the array.

    No loop over its arrays sees how far it has come, inside of transformations and outside.
    """
    traced = getattr(type(x), "_namespace", None)
    return extend.is_lazy(array_namespace(x) if traced is None else traced.base)
