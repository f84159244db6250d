"""NumPy's conversions, replaced on request by ones that collect traced numbers.

This is the only place where attributes of NumPy are replaced. It happens only inside `convert.collecting_traced()`.
"""

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any, Final

import numpy as np

from ._collect import first_traced
from ._functions import apply_entry, entry_of
from ._namespace import Namespace

NAMES: Final = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray")
"""The functions that are replaced."""

Conversion = Callable[..., Any]


class Replacement:
    """The replaced functions, and how many contexts need them now."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._originals: dict[str, Conversion] = {}
        self._replaced: dict[str, Conversion] = {}

    @property
    def is_active(self) -> bool:
        """Whether a context is active, in any thread."""
        return self._users > 0

    def enter(self) -> None:
        """Replace the functions, unless another context has done so."""
        with self._lock:
            if not self._users:
                self._originals = {name: getattr(np, name) for name in NAMES}
                self._replaced = {name: _collecting(self, f) for name, f in self._originals.items()}
                for name, function in self._replaced.items():
                    setattr(np, name, function)
            self._users += 1

    def exit(self) -> None:
        """Restore NumPy's functions, unless another context still needs the replacements."""
        with self._lock:
            self._users -= 1
            if not self._users:
                for name, original in self._originals.items():
                    if getattr(np, name) is self._replaced[name]:  # not replaced again by somebody else
                        setattr(np, name, original)


REPLACEMENT: Final = Replacement()


def _collecting(replacement: Replacement, original: Conversion) -> Conversion:
    """Let a conversion of NumPy return a traced array of what it cannot convert because of traced numbers."""
    entry = entry_of(original)
    assert entry is not None

    @wraps(original)
    def convert(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except (TypeError, ValueError):
            # Code that has imported the function in the context may call it afterwards.
            traced = first_traced(args[0] if args else kwargs.get(entry.names[0])) if replacement.is_active else None
            if traced is None or not isinstance(traced._namespace, Namespace):
                raise
        return apply_entry(traced._namespace, entry, args, kwargs)

    return convert
