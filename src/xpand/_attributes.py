"""Attributes of the package that are imported when first used: the core's modules, and the names of the extensions.

A copy of the core inside another package has no extensions: those that are installed belong to the original.
"""

from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import FrameType, ModuleType
from typing import Any, Final

_CORE: Final = "xpand"
_EXTENSIONS: Final = "xpand_extensions"
_STANDARD: Final = "the standard's functions are in `{}.array_namespace(x)` and in `{}.default_namespace()`"


def import_attribute(package: ModuleType, name: str, caller: FrameType) -> Any:
    """Import an attribute of the package, and store it there. Otherwise, raise an error that says what to write."""
    if not name.startswith("_"):
        module = f"{package.__name__}.{name}"
        spec = find_spec(module)
        if spec is not None and spec.submodule_search_locations is None:
            return import_module(module)
        if spec is not None:  # the namespace of a library, which is slow to import, or not installed
            raise _missing(package, name, f"write `import {module}`")
        if name in extension_names(package):
            value = getattr(import_module(_EXTENSIONS), name)
            setattr(package, name, value)
            return value
    raise _missing_everywhere(package, name, caller)


def attribute_names(package: ModuleType) -> list[str]:
    """Name all public attributes of the package, those that are not imported yet included."""
    modules = {module.name for module in iter_modules(package.__path__) if not module.ispkg}
    modules |= {name for name, value in vars(package).items() if isinstance(value, ModuleType)}
    public = {name for name in modules | extension_names(package) if not name.startswith("_")}
    return sorted({*package.__all__, "__version__", *public})


def extension_names(package: ModuleType) -> frozenset[str]:
    """Name the attributes that the package has from the extensions. Its own names come first."""
    if package.__name__ != _CORE or find_spec(_EXTENSIONS) is None:
        return frozenset()
    return frozenset(dir(import_module(_EXTENSIONS))) - {"extend", *package.__all__}


def _missing_everywhere(package: ModuleType, name: str, caller: FrameType) -> AttributeError | ImportError:
    standard = _STANDARD.format(package.__name__, package.__name__)
    if name.startswith("_"):
        return _missing(package, name, standard)
    if package.__name__ != _CORE:
        return _missing(
            package, name, f"{standard}; this copy of xpand has no extensions, `pip install xpand` adds them"
        )
    if find_spec(_EXTENSIONS) is None:
        advice = f"functions beyond the standard need the package `{_EXTENSIONS}`: `pip install xpand` adds it"
        return _missing(package, name, f"{standard}; {advice}")
    error = import_module(f"{_EXTENSIONS}._elsewhere").missing(f"module {_CORE!r}", None, name, caller)
    known: bool = "; write" in str(error)
    return error if known else _missing(package, name, standard)


def _missing(package: ModuleType, name: str, advice: str) -> AttributeError:
    return AttributeError(f"module {package.__name__!r} has no attribute {name!r}; {advice}", name=name)
