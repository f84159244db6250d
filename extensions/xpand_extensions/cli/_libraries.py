"""The installed array libraries, for `xpand info` and `xpand tour`."""

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final, Literal

from xpand import library_name, namespace, wrapped_libraries
from xpand.extend import Namespace
from xpand_extensions._dispatch import third_party_plugins
from xpand_extensions.jit import jit
from xpand_extensions.jit._calls import compilers_of

STRICT: Final = "array_api_strict"
"""The standard's reference implementation. It conforms to the standard and needs no wrapper, and is always listed."""

_EXTRAS: Final = {STRICT: "strict"}
"""Libraries whose extra has another name than their own."""


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
        """The names of the compilers of `jit`. The value of each is what is missing for it, or ""."""
        return {} if self.xp is None else dict(compilers_of(jit.native(self.xp.asarray(0))))

    @property
    def how_to_add(self) -> str:
        """The command that installs the library."""
        extra = _EXTRAS.get(self.name, self.name)
        known = self.name in wrapped_libraries() or self.name in _EXTRAS
        return f"pip install 'xpand[{extra}]'" if known else f"pip install {self.name}"


def known_names() -> list[str]:
    """List the names of known libraries: wrapped ones, those of plug-ins, and the reference implementation."""
    return list(dict.fromkeys((*wrapped_libraries(), STRICT, *third_party_plugins())))


def find(name: str) -> Library:
    """Import a library's namespace. If the import fails, store the error.

    Raises:
        ValueError: No array library has this name.
    """
    known = name in known_names()
    if known and find_spec(name) is None:
        return Library(name)
    try:
        library = Library(name, namespace(name))
        _ = library.devices  # without its driver, a library can be imported but not used
    except Exception as error:  # the user sees every error of a broken installation
        if isinstance(error, ValueError) and not known:
            raise
        return Library(name, error=f"{type(error).__name__}: {error}")
    return library


class UsageError(Exception):
    """The command can't be run as given. The message says why, and how to fix it."""
