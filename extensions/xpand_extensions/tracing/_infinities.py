"""Derivatives may be infinite, or not exist: these are results, of which NumPy need not warn."""

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def unwarned() -> AbstractContextManager[Any]:
    """Have NumPy not warn in this context; where it was told to raise, or to call something, it still does.

    Once for a whole call, since it takes longer than many an operation.
    """
    numpy = sys.modules.get("numpy")  # below other libraries, too
    if numpy is None:
        return nullcontext()
    context: AbstractContextManager[Any] = numpy.errstate(
        **{kind: "ignore" for kind, reaction in numpy.geterr().items() if reaction == "warn"}
    )
    return context
