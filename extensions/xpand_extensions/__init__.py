"""What the array API standard leaves out, on every array library.

Each capability is a module: `from xpand_extensions import scatter`. Its functions take arrays of any library, check
their arguments, and hand them to that library's own implementation or to one in terms of the standard alone.
"""

from typing import TYPE_CHECKING

from ._dispatch import Pluggable, UnsupportedError, pluggable

__all__ = ["Pluggable", "UnsupportedError", "capabilities", "check_plugin", "pluggable"]

if TYPE_CHECKING:
    from ._capabilities import capabilities, check_plugin


def __getattr__(name: str) -> object:
    # The table is for tools; a program that computes never loads it.
    if name in ("capabilities", "check_plugin"):
        from . import _capabilities

        return getattr(_capabilities, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
