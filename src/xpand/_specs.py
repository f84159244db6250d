"""Namespaces of libraries whose arrays say by a spec where they are computed, as Cubed's do."""

from functools import partial
from inspect import signature
from typing import Any, Final

from .typing import Namespace

_CREATION: Final = ("arange", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros")


class _Namespace:
    """A namespace whose creation functions make arrays of one spec.

    Cubed's arrays say by a spec where they are computed, and those of two specs don't go together.
    """

    def __init__(self, xp: Namespace, spec: Any) -> None:
        self.__name__, self.base, self.spec = xp.__name__, xp, spec
        for name in _CREATION:
            setattr(self, name, partial(getattr(xp, name), spec=spec))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.base, name)

    def __repr__(self) -> str:
        return f"<namespace {self.__name__!r} with {self.spec}>"


_MADE: Final[list[_Namespace]] = []


def with_spec(xp: Namespace, spec: Any) -> Namespace:
    """Return the namespace for arrays of a spec: the library's own where it is the spec of new arrays."""
    if "spec" not in signature(xp.asarray).parameters or xp.asarray(0).spec == spec:
        return xp
    found = next((each for each in _MADE if each.base is xp and each.spec == spec), None)
    if found is None:
        found = _Namespace(xp, spec)
        _MADE.append(found)
    itself: Any = found  # type checkers expect a module
    return itself
