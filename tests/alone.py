"""`pytest --libraries numpy --alone`: run tests without the other libraries, also where they are not installed.

Test modules import at the top what some of their tests need. With `--alone`, they get a placeholder for a library that
the run excludes or that is not installed. A test that uses it is skipped; the other tests of the module run.
"""

import builtins
import importlib.util
import sys
from collections.abc import Iterable
from functools import wraps
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Final

import pytest

LIBRARIES: Final = frozenset({"torch", "jax", "dask"})
_FOLDERS: Final = tuple(Path(__file__).parents[1] / name for name in ("tests", "docs"))
collecting = True
"""Whether test modules are imported now. Afterwards, each use of a placeholder skips a test."""


class Unwanted(MetaPathFinder):
    """Skips tests, and modules other than those of tests, that import an excluded library."""

    def __init__(self, packages: Iterable[str]) -> None:
        self.packages = frozenset(packages)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        if fullname in self.packages:
            skip(fullname)


class Placeholder(ModuleType):
    """Stands for a library, a module or an object of it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Placeholder(f"{self.__name__}.{name}") if collecting else skip(self.__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not collecting:
            skip(self.__name__)
        decorated = args[0] if args else None
        if not isinstance(decorated, FunctionType):
            return self
        return wraps(decorated)(lambda *args, **kwargs: skip(self.__name__))

    def __or__(self, other: Any) -> Any:
        """Return the placeholder of a type in an annotation."""
        return self

    __ror__ = __or__

    def _skip(self, *args: Any, **kwargs: Any) -> Any:
        skip(self.__name__)

    __array__ = __enter__ = __getitem__ = __iter__ = __len__ = __mro_entries__ = __truediv__ = _skip


def skip(name: str) -> Any:
    """Skip the running test, or the test module that is being imported."""
    needed = name.removeprefix("tests.").partition(".")[0]
    pytest.skip(f"it needs {needed}, which this run does without", allow_module_level=True)


def exclude(wanted: Iterable[str]) -> None:
    """Exclude all libraries but some, and replace them and missing packages in test modules by placeholders."""
    unwanted = Unwanted(LIBRARIES.difference(wanted))
    sys.meta_path.insert(0, unwanted)
    original = builtins.__import__

    def imported(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        importer = Path(str((globals or {}).get("__file__")))
        if not collecting or level or not any(folder in importer.parents for folder in _FOLDERS):
            return original(name, globals, locals, fromlist, level)
        package, *parts = name.split(".")
        if package == "xpand_extensions" and (of := unwanted.packages.intersection(parts)):
            return Placeholder(f"{min(of)}.{name}")  # a plug-in
        if package not in unwanted.packages:
            try:
                found = original(name, globals, locals, fromlist, level)
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] != package:
                    raise
            else:
                if package == "tests" and not all(hasattr(found, each) for each in fromlist or ()):
                    skip(name)  # that module has been skipped
                return found
        return Placeholder(name if fromlist else package)

    builtins.__import__ = imported
    find_spec = importlib.util.find_spec
    absent = lambda name: name.partition(".")[0] in unwanted.packages
    importlib.util.find_spec = lambda name, package=None: None if absent(name) else find_spec(name, package)
