"""The table of NumPy's functions: for each, the function of the standard and of xpand that replaces it.

An entry has NumPy's own names and defaults for its parameters. It may leave out parameters that it does not support:
other values of them than the default are then an error. `out` is written to after the call, if an entry leaves it out.
"""

import inspect
from collections.abc import Callable
from itertools import takewhile
from sys import maxsize
from typing import Any, Final, NamedTuple

import numpy as np

Implementation = Callable[..., Any]
"""A function of the traced namespace and NumPy's arguments."""

NO_VALUE: Final = inspect.signature(np.max).parameters["initial"].default
"""NumPy's default for arguments whose absence differs from None."""

_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

_VARIADIC: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Entry(NamedTuple):
    """A function of NumPy that traced arrays support."""

    function: Implementation
    name: str
    """The name in NumPy, such as `linalg.norm`."""
    names: tuple[str, ...]
    """The names of NumPy's arguments by position."""
    options: dict[str, Any]
    """The parameters of the implementation, with their defaults."""
    takes_all: bool
    """Whether the function takes any number of arguments by position, which are then passed unchanged."""
    passes_options: bool
    """Whether the function passes further options to a function that it calls."""
    direct: int
    """How many arguments the implementation takes by position in NumPy's order."""

    @property
    def defaults(self) -> dict[str, Any]:
        """NumPy's defaults."""
        return {name: x.default for name, x in signature_of(find(self.name), self.function).parameters.items()}


ENTRIES: Final[dict[Any, Entry]] = {}
"""The entries of NumPy's functions."""


def find(name: str) -> Any:
    """Return NumPy's function of a name such as `linalg.norm`; None if this version of NumPy does not have it."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def full_name(func: Any) -> str:
    """Return the name of a function of NumPy below `numpy`."""
    return f"{func.__module__}.{func.__name__}".removeprefix("numpy.")


def signature_of(func: Any, implementation: Implementation) -> inspect.Signature:
    """Return NumPy's signature; that of the implementation for functions in C, which have none before NumPy 2.4."""
    try:
        return inspect.signature(func)
    except ValueError:
        return inspect.Signature(_parameters(implementation))


def implements(*names: str) -> Callable[[Implementation], Implementation]:
    """Enter an implementation of functions of NumPy in the table."""

    def enter(implementation: Implementation) -> Implementation:
        for name in names:
            func = find(name)
            if func is not None:
                ENTRIES[func] = _entry(name, func, implementation)
        return implementation

    return enter


def with_signature(name: str, implementation: Implementation) -> Implementation:
    """Give NumPy's own signature to an implementation that passes all options on."""
    parameters = signature_of(find(name), implementation).parameters.values()
    options = [x.replace(kind=inspect.Parameter.KEYWORD_ONLY) for x in parameters if x.name != "like"]
    namespace = inspect.Parameter("xp", inspect.Parameter.POSITIONAL_ONLY)
    implementation.__signature__ = inspect.Signature([namespace, *options])  # type: ignore[attr-defined]
    return implementation


def _entry(name: str, func: Any, implementation: Implementation) -> Entry:
    parameters = signature_of(func, implementation).parameters.values()
    own = _parameters(implementation)
    takes_all = any(x.kind is inspect.Parameter.VAR_POSITIONAL for x in own)
    positional = tuple(x.name for x in parameters if x.kind in _POSITIONAL)
    options = {x.name: x.default for x in own if x.kind not in _VARIADIC}
    passes_options = any(x.kind is inspect.Parameter.VAR_KEYWORD for x in own)
    taken = [x.name for x in own if x.kind in _POSITIONAL]
    direct = (
        maxsize if takes_all else sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(positional, taken)))
    )
    return Entry(implementation, name, positional, options, takes_all, passes_options, direct)


def _parameters(implementation: Implementation) -> list[inspect.Parameter]:
    """Return the parameters of an implementation after the namespace."""
    return list(inspect.signature(implementation).parameters.values())[1:]
