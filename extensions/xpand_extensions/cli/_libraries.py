"""The installed array libraries, which `xpand info` lists and `xpand tour` runs on."""

import os
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final, Literal

from xpand import is_cupy_array, is_torch_array, library_name, namespace, to_device, wrapped_libraries
from xpand.extend import Array, Namespace
from xpand_extensions._dispatch import third_party_plugins
from xpand_extensions.jit import jit
from xpand_extensions.jit._calls import compilers_of

STRICT: Final = "array_api_strict"
"""The standard's reference implementation: not wrapped, because it conforms by itself, and always worth a column."""

_EXTRAS: Final = {STRICT: "strict"}
"""Libraries whose extra has another name than their own."""

DOUBLE_PRECISION: Final = {"JAX_ENABLE_X64": "1"}
"""Settings that some libraries read when they are imported, without which they have no 64-bit types."""


@dataclass(frozen=True)
class Library:
    """An array library, with its import error if there is one."""

    name: str
    xp: Namespace | None = None
    error: str | None = None
    """Why an installed library can't be used."""

    @property
    def status(self) -> Literal["ready", "missing", "broken"]:
        """Whether the library can be used."""
        return "broken" if self.error else "missing" if self.xp is None else "ready"

    @property
    def version(self) -> str | None:
        """The version that the library reports."""
        root = None if self.xp is None else sys.modules.get(library_name(self.xp))
        return getattr(root, "__version__", None)

    @property
    def devices(self) -> list[str]:
        """The devices that the library reports."""
        return (
            [] if self.xp is None else [str(d) for d in self.xp.__array_namespace_info__().devices() if d is not None]
        )

    @property
    def compilers(self) -> dict[str, str]:
        """The names of the compilers of `jit`, each with what is missing for it, or ""."""
        return {} if self.xp is None else dict(compilers_of(jit.native(self.xp.asarray(0))))

    @property
    def how_to_add(self) -> str:
        """The command that installs the library."""
        extra = _EXTRAS.get(self.name, self.name)
        known = self.name in wrapped_libraries() or self.name in _EXTRAS
        return f"pip install 'xpand[{extra}]'" if known else f"pip install {self.name}"


def known_names() -> list[str]:
    """Name the libraries that can be expected: those wrapped, those plugged in, and the reference implementation."""
    return list(dict.fromkeys((*wrapped_libraries(), STRICT, *third_party_plugins())))


def find(name: str) -> Library:
    """Import a library's namespace, and keep the error where that fails.

    Raises:
        ValueError: The name is that of no array library.
    """
    known = name in known_names()
    if known and find_spec(name) is None:
        return Library(name)
    try:
        library = Library(name, namespace(name))
        _ = library.devices  # without its driver a library can be imported but not used
    except Exception as error:  # every error of a broken installation is shown to the user, not hidden
        if isinstance(error, ValueError) and not known:
            raise
        return Library(name, error=f"{type(error).__name__}: {error}")
    return library


def enable_double_precision() -> None:
    """Set the switches for 64-bit types, unless the user has; in vain for one that is imported already."""
    for variable, value in DOUBLE_PRECISION.items():
        os.environ.setdefault(variable, value)


def to_numpy(x: Array) -> Array:
    """Bring an array of any library to a NumPy array, which waits for the computation, or starts it."""
    if is_torch_array(x) or is_cupy_array(x):
        x = to_device(x, "cpu")
    return namespace("numpy").asarray(x)


class UsageError(Exception):
    """The command can't be carried out as given; the message says why, and how to fix it."""
