"""Which libraries know the containers as nodes of trees of their own: those of whose arrays one has been made."""

from typing import Any, Final

from xpand._imports import untraced
from xpand._namespace import library_of

from .._dispatch import import_if_present, plugin_package

_SEEN: Final[set[type]] = set()
_MAX_TYPES: Final = 4096  # classes made without end must not make the set grow without end


def make_known(values: Any) -> None:
    """Have the library of an array know the containers, where it has trees of its own."""
    if type(values) not in _SEEN:
        _look(type(values))


@untraced
def _look(cls: type) -> bool:
    library = library_of(cls)
    package = None if library is None else plugin_package(library)
    # The module registers them as it is imported: once.
    if package is not None:
        import_if_present(f"{package}.sparse._trees")
    if len(_SEEN) < _MAX_TYPES:
        _SEEN.add(cls)
    return True
