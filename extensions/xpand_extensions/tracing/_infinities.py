"""Derivatives may be infinite, or not exist: these are results, of which NumPy need not warn."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any, Final

DERIVATIVES_TAKEN: Final[ContextVar[int]] = ContextVar("xpand_derivatives_taken", default=0)
"""How often one was taken: what has traced a function sees by it whether the function took any."""


def without_warnings() -> AbstractContextManager[Any]:
    """Have NumPy not warn in this context; where it was told to raise, or to call something, it still does.

    Once for a whole call, since it takes longer than many an operation.
    """
    DERIVATIVES_TAKEN.set(DERIVATIVES_TAKEN.get() + 1)
    numpy = sys.modules.get("numpy")  # below other libraries, too
    if numpy is None:
        return nullcontext()
    context: AbstractContextManager[Any] = numpy.errstate(
        **{kind: "ignore" for kind, reaction in numpy.geterr().items() if reaction == "warn"}
    )
    return context


def run_without_warnings(run: Callable[..., Any]) -> Callable[..., Any]:
    """Make the function that calls another one of which NumPy need not warn."""

    def call(*args: Any) -> Any:
        with without_warnings():
            return run(*args)

    return call
