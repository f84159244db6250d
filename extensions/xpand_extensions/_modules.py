"""Modules that can be called: `from xpand_extensions import jit` gives the module, and `jit(f)` calls its function."""

import inspect
import sys
from types import ModuleType
from typing import Any


class CallableModule(ModuleType):
    """A module that is called like its function of the same name."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self._function(*args, **kwargs)

    @property
    def _function(self) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function)


def make_callable(module: str) -> None:
    """Make a module that is being imported callable as its function of the same name."""
    sys.modules[module].__class__ = CallableModule
