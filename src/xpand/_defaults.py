"""The default namespace, for calls without arrays, and the choice of a namespace for given values.

There is one default per process. `use` overrides it for a block of code, not for other threads or asynchronous tasks.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import ModuleType
from typing import Any, Final

from ._namespace import LIBRARIES, array_namespace, describe, library_name, namespace
from ._settings import Setting
from .typing import Namespace, StandardNamespace

_DEFAULT: Final[Setting[StandardNamespace]] = Setting("xpand_default_namespace")
"""Without a value: NumPy, imported at first use."""


def default_namespace() -> StandardNamespace:
    """Return the namespace for calls without arrays.

    This is the namespace of the innermost `use` block, else that of `set_default_namespace`, else `xpand.numpy`.

    >>> default_namespace().__name__
    'xpand.numpy'
    """
    return _DEFAULT.current() or namespace("numpy")


def set_default_namespace(xp: Namespace | str | None) -> None:
    """Set the default namespace of the process.

    Args:
        xp: A namespace, a library's name such as "torch", or None for NumPy again.

    Raises:
        TypeError: `xp` is neither a name nor a namespace.
        ValueError: No library of this name is known.
        ModuleNotFoundError: The library is not installed.

    >>> set_default_namespace("numpy")
    """
    _DEFAULT.set(None if xp is None else _as_namespace(xp, "set_default_namespace"))


def use(xp: Namespace | str) -> AbstractContextManager[StandardNamespace]:
    """Make a namespace the default inside a `with` block, for this thread or task only.

    The call has no effect without `with`. To set the default of the process, use `set_default_namespace`.

    Args:
        xp: A namespace, or a library's name such as "torch".

    Raises:
        TypeError, ValueError, ModuleNotFoundError: As `set_default_namespace`.

    >>> with use("numpy") as xp:
    ...     default_namespace() is xp
    True
    """
    return _using(_as_namespace(xp, "use"))


@contextmanager
def _using(chosen: StandardNamespace) -> Iterator[StandardNamespace]:
    with _DEFAULT.block(chosen):
        yield chosen


def choose_namespace(*values: Any) -> StandardNamespace:
    """Choose the namespace to compute with, given arrays and plain values.

    If there are arrays of a library other than NumPy, that library is chosen. Otherwise, the default namespace is
    chosen: every library accepts Python scalars, (nested) lists and tuples of them, None, and NumPy arrays.

    Raises:
        TypeError: There are arrays of two libraries other than NumPy, or a value that no library accepts.

    Source: PhiML's `choose_backend`.

    >>> choose_namespace([1, 2], 3.0) is default_namespace()
    True
    """
    numpy: StandardNamespace | None = None
    chosen: StandardNamespace | None = None
    chosen_by: Any = None
    for value in _leaves(values):
        if value is None or (isinstance(value, (bool, int, float, complex)) and type(value).__module__ == "builtins"):
            continue
        try:
            xp = array_namespace(value)
        except TypeError:
            raise TypeError(
                f"choose_namespace: no library takes a value of type {describe(value)}; pass arrays, numbers, None, "
                "or lists and tuples of them"
            ) from None
        if library_name(xp) == "numpy":
            numpy = xp
        elif chosen is None:
            chosen, chosen_by = xp, value
        elif xp is not chosen:
            raise TypeError(
                f"choose_namespace: no library can serve both {describe(chosen_by)} and {describe(value)}; convert "
                "one to the other's library first"
            )
    if chosen is not None:
        return chosen
    default = default_namespace()
    # Every wrapped library accepts NumPy arrays. Other libraries may not.
    return default if numpy is None or library_name(default) in LIBRARIES else numpy


def _leaves(values: tuple[Any, ...] | list[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _leaves(value)
        else:
            yield value


def namespace_or_default(xp: Namespace | str | None, function: str) -> StandardNamespace:
    """Return the namespace for the option `xp=`: a namespace, a library's name, or None for the default.

    Raises:
        TypeError, ValueError, ModuleNotFoundError: As `set_default_namespace`.
    """
    return default_namespace() if xp is None else _as_namespace(xp, function)


def _as_namespace(xp: Namespace | str, function: str) -> StandardNamespace:
    if isinstance(xp, str):
        return namespace(xp)
    if not isinstance(xp, ModuleType) and not hasattr(xp, "__array_namespace_info__"):
        raise TypeError(f"{function}: xp must be a namespace or a library's name such as 'torch', got {describe(xp)}")
    # `use(torch)` means the conforming namespace, not the library's own.
    for library in LIBRARIES.values():
        if getattr(xp, "__name__", "") == library.native:
            return namespace(library.name)
    if not hasattr(xp, "__array_namespace_info__"):
        raise ValueError(
            f"{function}: the module {xp.__name__!r} is no array API namespace; pass one, or a library's name such as "
            f"{', '.join(map(repr, LIBRARIES))}"
        )
    return xp
