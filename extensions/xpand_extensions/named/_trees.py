"""Named arrays as nodes of trees: of optree, and of the libraries that have trees of their own."""

from collections.abc import Callable
from typing import Any, Final

from xpand import trees
from xpand.extend import imported_libraries

from .._dispatch import import_if_present, plugin_package

_registered: Final[set[str]] = set()


def register_nodes(cls: type, flatten: Callable[..., Any], unflatten: Callable[..., Any]) -> None:
    """Make a class nodes of trees, with each library that has been imported since the last call.

    A library without a module `_named` in its plug-in package has no trees of its own.
    """
    for library in ("optree", *imported_libraries()):
        if library in _registered:
            continue
        _registered.add(library)
        if library == "optree":
            trees.register(cls, flatten, unflatten)
            continue
        package = plugin_package(library)
        module = None if package is None else import_if_present(f"{package}._named")
        if module is not None:
            module.register_nodes(cls, flatten, unflatten)
