"""The traced namespace over NumPy: the standard, and NumPy's names beyond it."""

from functools import partial
from typing import Any

from xpand_extensions.tracing._namespace import TracedNamespace

from ._functions import apply_entry, entry_of
from ._table import find


class Namespace(TracedNamespace):
    """The namespace of traced arrays over NumPy. Code written for NumPy finds NumPy's names in it."""

    def __getattr__(self, name: str) -> Any:
        function = None if name.startswith("_") else find(name)
        if function is None:
            return super().__getattr__(name)
        entry = entry_of(function)
        return function if entry is None else partial(apply_entry, self, entry)
