"""Registration of container classes as nodes of the libraries' own trees, as containers of their arrays are made."""

from typing import Any, Final

from xpand.extend import library_of, untraced

from .._dispatch import import_if_present, plugin_package

_SEEN: Final[set[tuple[type, str]]] = set()
_MAX_TYPES: Final = 4096  # classes made without end must not make the set grow without end


def make_known(values: Any, capability: str = "sparse") -> None:
    """Have the library of an array know the classes of a capability, where it has trees of its own."""
    if (type(values), capability) not in _SEEN:
        _look(type(values), capability)


@untraced
def _look(cls: type, capability: str) -> bool:
    library = library_of(cls)
    package = None if library is None else plugin_package(library)
    # The module registers them as it is imported: once.
    if package is not None:
        import_if_present(f"{package}.{capability}._trees")
    if len(_SEEN) < _MAX_TYPES:
        _SEEN.add((cls, capability))
    return True
