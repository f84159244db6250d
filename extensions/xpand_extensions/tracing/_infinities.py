"""Derivatives may be infinite or undefined, which is a result: NumPy need not warn."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any, Final

DERIVATIVES_TAKEN: Final[ContextVar[int]] = ContextVar("xpand_derivatives_taken", default=0)
"""The number of derivatives taken: tracing a function compares it to see whether the function took any."""


def without_warnings() -> AbstractContextManager[Any]:
    """Silence NumPy's warnings in this context; where it is set to raise or to call a function, it still does.

    Entered once per call, since it takes longer than many operations.
    """
    DERIVATIVES_TAKEN.set(DERIVATIVES_TAKEN.get() + 1)
    numpy = sys.modules.get("numpy")  # NumPy may compute for another library
    if numpy is None:
        return nullcontext()
    context: AbstractContextManager[Any] = numpy.errstate(
        **{kind: "ignore" for kind, reaction in numpy.geterr().items() if reaction == "warn"}
    )
    return context


def run_without_warnings(run: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that NumPy doesn't warn in it."""

    def call(*args: Any) -> Any:
        with without_warnings():
            return run(*args)

    return call
