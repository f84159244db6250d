"""The names that a namespace takes from NumPy as they are."""

from types import ModuleType
from typing import Any


def copy_names(module: ModuleType, names: dict[str, Any]) -> None:
    """Copy the public names of a module of NumPy that are loaded and not there yet."""
    for name, value in vars(module).items():
        if not name.startswith("_"):
            names.setdefault(name, value)
