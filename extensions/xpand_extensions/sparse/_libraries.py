"""Find the plug-in for a library's own sparse arrays, and the names of their formats.

A plug-in package lists in `SPARSE` the root modules of its library's sparse arrays. Its module `sparse._native` has
`format_of` and `from_native`.
"""

from functools import cache
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Final

from xpand.extend import import_module, untraced

from .. import plugins
from .._dispatch import third_party_plugins
from ._containers import Sparse

_NUMBERS: Final = frozenset({bool, int, float, complex, type(None)})
_found: Final[dict[type, ModuleType | None]] = {}
_MAX_TYPES: Final = 4096  # the table must stay bounded if a program keeps making classes


def native_format(x: Any) -> str | None:
    """Return the format of a library's own sparse array, or None for other objects."""
    cls = type(x)
    module = _found[cls] if cls in _found else module_of(cls)
    if module is None:
        return None
    found: str | None = module.format_of(x)
    return found


def container_of(x: Any) -> Sparse:
    """Make a container from a library's own sparse array."""
    module = module_of(type(x))
    assert module is not None, "it has a format"
    found: Sparse = module.from_native(x)
    return found


def module_of(cls: type) -> ModuleType | None:
    """Return the plug-in module for a class of sparse arrays, or None if there is none."""
    if cls not in _found:
        if len(_found) > _MAX_TYPES:
            _found.clear()
        name = _module_name(cls)
        _found[cls] = None if name is None else import_module(name)
    return _found[cls]


@untraced
def _module_name(cls: type) -> str | None:
    package = None if cls in _NUMBERS else _packages().get(cls.__module__.partition(".")[0])
    return None if package is None else f"{package}.sparse._native"


@cache
def _packages() -> dict[str, str]:
    """Map the root modules of sparse arrays to plug-in packages."""
    own = [f"{plugins.__name__}.{each.name}" for each in iter_modules(plugins.__path__)]
    found: dict[str, str] = {}
    for package in (*own, *third_party_plugins().values()):
        for root in getattr(import_module(package), "SPARSE", ()):
            found.setdefault(root, package)
    return found
