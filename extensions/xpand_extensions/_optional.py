"""Packages that only some functions need, and the extras that install these packages."""

import importlib
from types import ModuleType
from typing import Final

from xpand.extend import import_module, untraced

_PACKAGES: Final = {
    "matplotlib": ("matplotlib", "plot"),
    "opt_einsum": ("opt_einsum", "einsum"),
    "pyamg": ("PyAMG", "amg"),
    "rich": ("rich", "cli"),
    "scipy": ("SciPy", "scipy"),
    "xarray": ("xarray", "xarray"),
}
"""Name and extra of each package, by its root module."""

_missing: dict[str, str] = {}
"""For each module that can't be imported, the missing root module."""


def import_optional(name: str, needed_for: str) -> ModuleType:
    """Import an optional package, or a module of xpand that needs one.

    Args:
        name: The module's full name.
        needed_for: The function that needs the package, for the error: "einsum of three or more operands".

    Raises:
        ModuleNotFoundError: The package isn't installed; the message names its extra.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        root = _optional_root(error)
        if root is None:
            raise
        raise not_installed(root, needed_for) from error


def import_if_usable(name: str) -> ModuleType | None:
    """Import a module that exists; return None if it needs an optional package that isn't installed."""
    return import_module(name) if missing_package(name) is None else None


@untraced
def missing_package(name: str) -> str | None:
    """Import a module that exists; return the root module of a missing optional package that it needs, or None."""
    if name not in _missing:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            root = _optional_root(error)
            if root is None:
                raise
            _missing[name] = root
    return _missing.get(name)


def not_installed(root: str, needed_for: str) -> ModuleNotFoundError:
    """Make the error for an optional package that isn't installed."""
    title, extra = _PACKAGES[root]
    return ModuleNotFoundError(
        f"{needed_for}: needs {title}, which is not installed; `pip install 'xpand[{extra}]'` adds it", name=root
    )


def _optional_root(error: ModuleNotFoundError) -> str | None:
    root = (error.name or "").partition(".")[0]
    # A missing submodule of an installed package is a broken installation.
    return root if root == error.name and root in _PACKAGES else None
