"""Lazy libraries: they compute nothing until values are requested."""

from xpand import array_namespace, extend
from xpand.extend import Array


def is_lazy(x: Array) -> bool:
    """Return whether an array's library is lazy, also for traced arrays.

    A loop over lazy arrays cannot report its progress, inside or outside of transformations.
    """
    traced = getattr(type(x), "_namespace", None)
    return extend.is_lazy(array_namespace(x) if traced is None else traced.base)
