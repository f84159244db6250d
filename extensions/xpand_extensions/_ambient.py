"""Ambient state: what the function of a call may read besides its arguments. It is part of the keys of programs.

It consists of the settings (precision, default namespace, mapping of named axes to a mesh) and of the names and sizes
of mapped axes. A library's own state, such as its default device, mesh or gradient mode, is part of the keys of its
`jit`. NumPy's `errstate` applies to each call of a program.
"""

import threading
from collections.abc import Hashable, Mapping
from typing import Any, ClassVar, Final

from xpand._settings import Setting as Setting, current_values


class Bound(threading.local):
    """The mapped axes of a thread."""

    ever: ClassVar[bool] = False
    """Whether any thread has bound a name so far. Otherwise, keys need not read the variables of this thread."""
    axes: Mapping[Hashable, Any] = {}
    """By name, the mapped axes around the call, see `vmap._names`."""
    lookups = 0
    """The number of times that names were looked up."""


BOUND: Final = Bound()


def ambient() -> Hashable:
    """Return the ambient state as a part of a key. It is None most of the time."""
    if not Setting.any_active and not (Bound.ever and BOUND.axes):
        return None
    return tuple([(name, axis.size) for name, axis in BOUND.axes.items()]), current_values()
