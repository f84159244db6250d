"""Rules that are found when they are needed: they are made of what the rules are needed for."""

import importlib
from collections.abc import Callable
from typing import Any


def late(module: str, name: str) -> Callable[..., Any]:
    """Return a function that calls the one of a name in a module of `tracing`."""

    def rule(*args: Any, **params: Any) -> Any:
        return getattr(importlib.import_module(f"..{module}", __package__), name)(*args, **params)

    return rule
