"""Namespaces of libraries whose arrays have a spec, which says where to compute them, such as Cubed."""

from functools import partial
from inspect import signature
from typing import Any, Final

from .typing import LibraryNamespace, StandardNamespace

_CREATION: Final = ("arange", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros")


class _Namespace:
    """A namespace whose creation functions make arrays of one spec. Arrays of two specs cannot be combined."""

    def __init__(self, xp: LibraryNamespace, spec: Any) -> None:
        self.__name__, self.base, self.spec = xp.__name__, xp, spec
        for name in _CREATION:
            setattr(self, name, partial(getattr(xp, name), spec=spec))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.base, name)

    def __repr__(self) -> str:
        return f"<namespace {self.__name__!r} with {self.spec}>"


_MADE: Final[list[_Namespace]] = []


def with_spec(xp: LibraryNamespace, spec: Any) -> StandardNamespace:
    """Return the namespace for arrays of a spec. If new arrays have this spec anyway, return `xp` itself."""
    if "spec" not in signature(xp.asarray).parameters or xp.asarray(0).spec == spec:
        return xp
    found = next((each for each in _MADE if each.base is xp and each.spec == spec), None)
    if found is None:
        found = _Namespace(xp, spec)
        _MADE.append(found)
    result: Any = found  # type checkers expect a module
    return result
