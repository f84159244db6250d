"""The traced namespace over NumPy: the standard, and NumPy's names beyond it."""

from ast import literal_eval
from functools import partial
from typing import Any

from xpand_extensions.tracing._functions import FUNCTIONS, parsed
from xpand_extensions.tracing._namespace import TracedNamespace

from ._functions import apply_entry, entry_of
from ._table import NO_VALUE, find


class Namespace(TracedNamespace):
    """The namespace of traced arrays over NumPy. Code written for NumPy finds NumPy's names in it."""

    def __getattr__(self, name: str) -> Any:
        function = None if name.startswith("_") else find(name)
        if function is None:
            return super().__getattr__(name)
        entry = entry_of(function)
        return function if entry is None else partial(apply_entry, self, entry)

    def with_options(self, name: str, arrays: tuple[Any, ...], params: dict[str, Any], options: dict[str, Any]) -> Any:
        """Call a function of the standard with options that only NumPy has, such as `out=None`.

        Raises:
            TypeError: Traced arrays do not support an option.
        """
        given = {key: x for key, x in options.items() if x is not None and x is not NO_VALUE}
        defaults = parsed(FUNCTIONS[name]).static
        params = {key: x for key, x in params.items() if (text := defaults[key]) is None or x != literal_eval(text)}
        entry = entry_of(find(name)) if given else None
        if entry is not None:
            return apply_entry(self, entry, *arrays, **params, **given)
        if given:
            raise TypeError(f"{name}: takes no option {next(iter(given))!r} for traced arrays")
        function: Any = self
        for part in name.split("."):
            function = getattr(function, part)
        return function(*arrays, **params)
