"""Callable modules: `from xpand_extensions import jit` imports the module, and `jit(f)` calls its function."""

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """A module that can be called like its function of the same name."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self._function(*args, **kwargs)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        """Pickle the module by its name, as cloudpickle does with modules that are not callable."""
        return import_module, (self.__name__,)

    @property
    def _function(self) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function)


def make_callable(module: str) -> None:
    """Make a module callable like its function of the same name. Call this while the module is being imported."""
    sys.modules[module].__class__ = CallableModule
