"""Whether a library computes nothing before it is asked to."""

from xpand import array_namespace, is_concrete
from xpand._typing import Array
from xpand_extensions.tracing._namespace import TracedNamespace


def is_lazy(x: Array) -> bool:
    """Tell whether an array's library is lazy, also where a transformation follows the array.

    No loop over its arrays sees how far it has come, inside of transformations and outside.
    """
    xp = array_namespace(x)
    return not is_concrete((xp.base if isinstance(xp, TracedNamespace) else xp).zeros((), dtype=xp.bool))
