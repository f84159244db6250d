"""The private names of PyTorch that xpand uses. No other module uses any.

Each is looked up when this module is imported, or at its first use if PyTorch takes seconds to load it. If a release of
PyTorch lacks one, a function or a class that raises `UnsupportedError` takes its place, and everything else works. Each
docstring ends with the most similar public name, or says that there is none. `tests/test_private_torch.py` shows what
breaks without each name.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache, reduce
from importlib import import_module
from typing import Any, Final, NoReturn, TypeVar

import torch
from torch.autograd import forward_ad

from .._errors import UnsupportedError
from ..typing import LibraryArray as Array

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

TESTED: Final = ("2.11.0", "2.13.0", "2.15.0")
"""The releases of PyTorch with which all names were tested."""


def _look_up(path: str) -> Any:
    """Return the object "module:name"; the name may have dots. Raise ImportError or AttributeError if it is missing."""
    module, _, name = path.partition(":")
    return reduce(getattr, name.split("."), import_module(module))


def _error(path: str) -> UnsupportedError:
    return UnsupportedError(
        f"this needs `{path.replace(':', '.')}`, a private name that PyTorch {torch.__version__} lacks; install a "
        f"release of PyTorch with which xpand was tested: {', '.join(TESTED)}"
    )


def missing(path: str) -> Any:
    """Make a function that replaces a missing one, and raises UnsupportedError."""

    def raises(*args: Any, **kwargs: Any) -> NoReturn:
        raise _error(path)

    return raises


def missing_class(path: str) -> Any:
    """Make a class that replaces a missing one; its constructor, `isinstance` and `apply` raise UnsupportedError."""

    class Kind(type):
        def __instancecheck__(cls, instance: object) -> bool:
            raise _error(path)

    raises = missing(path)
    return Kind(path.rpartition(".")[2], (), {"__new__": raises, "apply": staticmethod(raises)})


def _function(path: str, instead: Callable[[str], Any] = missing) -> Any:
    try:
        return _look_up(path)
    except (ImportError, AttributeError):
        return instead(path)


def _class(path: str) -> Any:
    return _function(path, missing_class)


def _late(path: str, *modules: str) -> Callable[[], Any]:
    """Make a function that loads and returns an object. `modules` are further modules that the object needs.

    PyTorch takes seconds to load these objects.
    """

    @cache
    def load() -> Any:
        with warnings.catch_warnings():  # PyTorch's own modules use deprecated functions
            warnings.simplefilter("ignore")
            try:
                for module in modules:
                    import_module(module)
                return _look_up(path)
            except (ImportError, AttributeError) as error:
                raise _error(path) from error

    return load


def _needs(*paths: str) -> Callable[[F], F]:
    """Replace a function by one that raises UnsupportedError if a private name that it uses is missing."""

    def decorate(function: F) -> F:
        for path in paths:
            try:
                _look_up(path)
            except (ImportError, AttributeError):
                return missing(path)
        return function

    return decorate


# ---------------------------------------------------------------------------------------------------------------------
# Transformations, storages, modes and trees of PyTorch

are_levels_active: Callable[[], bool] = _function("torch._C:_are_functorch_transforms_active")
"""Return whether a transformation of torch.func is running. Public: none."""


@_needs("torch.autograd.forward_ad:_current_level")
def in_forward_mode() -> bool:
    """Return whether forward mode is running. Public: none; `unpack_dual` looks at one array."""
    return forward_ad._current_level >= 0


@_needs("torch._C:_storage_Use_Count", "torch:UntypedStorage._cdata")
def count_uses(storage: Any) -> int:
    """Count the tensors and objects that use a storage. Public: none."""
    return torch._C._storage_Use_Count(storage._cdata)


count_modes: Callable[[], int] = _function("torch._C:_len_torch_dispatch_stack")
"""Count the active modes that handle operations, such as traces. Public: none."""


@cache
def _watch() -> Any:
    class Watch(_look_up("torch.utils._python_dispatch:TorchDispatchMode")):  # type: ignore[misc]
        is_random = False

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.is_random |= torch.Tag.nondeterministic_seeded in func.tags
            return func(*args, **(kwargs or {}))

    return Watch


@_needs("torch.utils._python_dispatch:TorchDispatchMode")
def watched(function: Callable[[], T]) -> tuple[T, bool]:
    """Call a function; return its result, and whether it draws random numbers.

    Public: none, though PyTorch's documentation derives modes from this class.
    """
    with _watch()() as watch:
        return function(), watch.is_random


count_function_modes: Callable[[], int] = _function("torch._C:_len_torch_function_stack")
"""Count the active modes that handle functions, such as a default device. Public: none."""


@_needs("torch._C:_get_dispatch_mode", "torch._C:_TorchDispatchModeKey.FAKE", "torch._C:_TorchDispatchModeKey.PROXY")
def is_graph_mode_active() -> bool:
    """Return whether this thread makes a graph, or uses tensors without values.

    Public: none; `torch.compiler.is_compiling` is True in all threads while one of them compiles.
    """
    mode, key = torch._C._get_dispatch_mode, torch._C._TorchDispatchModeKey
    return mode(key.FAKE) is not None or mode(key.PROXY) is not None


def register_node(cls: type, flatten: Callable[..., Any], unflatten: Callable[..., Any]) -> None:
    """Register a class as a container in PyTorch's trees. Public: none, though PyTorch's documentation uses this one.

    Called on import. If the name is missing, PyTorch's own transformations raise for the containers.
    """

    def split(x: Any) -> tuple[list[Any], Any]:
        # None is a leaf for PyTorch, and leaves must be tensors.
        children, static = flatten(x)
        return [each for each in children if each is not None], ([each is not None for each in children], static)

    def joined(children: Any, context: Any) -> Any:
        is_there, static = context
        found = iter(children)
        return unflatten(static, [next(found) if each else None for each in is_there])

    with suppress(ImportError, AttributeError):
        register = _look_up("torch.utils._pytree:register_pytree_node")
        register(cls, split, joined, serialized_type_name=f"{cls.__module__}.{cls.__name__}")


lookup_backend = _late("torch._dynamo:lookup_backend", "torch._inductor.compile_fx")
"""Return the function that returns TorchInductor as a function of a graph and its tensors.

Public: `torch.compile(backend="inductor")`. Its calls check again what the key of a program says, in 20 to 75 µs.
"""
