"""Whether a library computes nothing before it is asked to."""

from xpand import array_namespace, extend
from xpand.extend import Array
from xpand_extensions.tracing._namespace import TracedNamespace


def is_lazy(x: Array) -> bool:
    """Tell whether an array's library is lazy, also where a transformation traces the array.

    No loop over its arrays sees how far it has come, inside of transformations and outside.
    """
    xp = array_namespace(x)
    return extend.is_lazy(xp.base if isinstance(xp, TracedNamespace) else xp)
