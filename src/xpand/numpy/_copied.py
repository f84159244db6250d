"""Copies NumPy's names into a namespace."""

from types import ModuleType
from typing import Any


def copy_names(module: ModuleType, names: dict[str, Any]) -> None:
    """Copy the loaded public names of a module of NumPy, except those that `names` already has."""
    for name, value in vars(module).items():
        if not name.startswith("_"):
            names.setdefault(name, value)
