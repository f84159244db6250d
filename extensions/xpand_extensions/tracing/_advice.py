"""Replacements for code that cannot be traced: the parts of error messages that differ by library."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Advice:
    """Replacements for code that needs the values of traced arrays of one library."""

    functions: str
    """In place of compiled functions, and of conversions to the library's own arrays."""
    index: str
    """In place of an index into an array of the library."""
    numbers: str
    """In place of functions of Python numbers."""
    buffer: str
    """In place of an array of the library that traced elements are written to."""


STANDARD: Final = Advice(
    functions=(
        "write `xp.sin(x)`, where `xp = xpand.array_namespace(x, …)` is called with all arrays of the expression, or "
        "use `stop_gradient` or `pure_callback`"
    ),
    # Arrays of NumPy and Dask convert their index themselves, so `table[x]` cannot be traced.
    index="to index a constant array with it, write `xp.asarray(table)[x]` in place of `table[x]`",
    numbers="use the functions of `xpand.array_namespace(x)` in place of Python's",
    buffer=(
        "make the buffer with `xp.zeros` of `xp = xpand.array_namespace(x)`, or put the elements together with "
        "`xp.stack`"
    ),
)
"""Replacements by functions of the standard, for libraries whose plug-in has no others."""
