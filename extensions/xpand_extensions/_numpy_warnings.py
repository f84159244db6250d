"""Warnings of NumPy, with which other libraries may compute, too."""

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any


def numpy_silenced() -> AbstractContextManager[Any]:
    """Silence NumPy's warnings in this context. Errors and calls that users have set with `np.errstate` remain."""
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return nullcontext()
    reactions = numpy.geterr()
    if "warn" not in reactions.values():
        return nullcontext()
    context: AbstractContextManager[Any] = numpy.errstate(
        **{kind: "ignore" for kind, reaction in reactions.items() if reaction == "warn"}
    )
    return context
