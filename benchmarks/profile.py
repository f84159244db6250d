"""The cost of a call with and without an active profile."""

from collections.abc import Iterator
from typing import Any, Final

from xpand_extensions import pluggable, profile

from ._measure import Budget, Call, Row
from .namespaces import libraries

ON: Final = Budget(extra=3e-6)
OFF: Final = Budget()

_WARM: Final = 50

SMALL: Final[dict[str, int]] = {}
"""The sizes with which the tests run every row."""


def rows() -> Iterator[Row]:
    for library in libraries():
        x = library.xp.ones(4)
        # The original function, before a profile replaces it. It is restored afterwards.
        before = library.xp.square
        native = Call(before, x)
        yield Row("profile", f"{library.name}: square(x), on", Recorded(library.xp, x), {"off": native}, ON)
        with profile.profile():
            library.xp.square(x)
        yield Row("profile", f"{library.name}: square(x), off", Call(library.xp.square, x), {"before": native}, OFF)
        yield _extension(library.name, x)


@pluggable
def _same(x: Any, /) -> Any:
    return _same.native(x)(x)


@_same.default
def _itself(x: Any, /) -> Any:
    return x


def _never_recorded(x: Any, /) -> Any:
    return _same.native(x)(x)


def _extension(name: str, x: Any) -> Row:
    """Compare an extension that was recorded before with one that never was."""
    with profile.profile():
        _same(x)
    return Row(
        "profile",
        f"{name}: an extension, off",
        Call(_same, x),
        {"one never recorded": Call(_never_recorded, x)},
        OFF,
    )


class Recorded:
    """Calls of a namespace's function within a profile, timed like those of a program."""

    def __init__(self, xp: Any, x: Any) -> None:
        self.xp, self.x = xp, x

    def time(self, number: int) -> float:
        with profile.profile():
            calls = Call(self.xp.square, self.x)
            calls.time(_WARM)  # the first calls of a profile find cold caches
            return calls.time(number)
