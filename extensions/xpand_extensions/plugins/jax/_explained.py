"""What to do where JAX says that a value is not known."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import jax

_ASKED: Final = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)


def explained(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function to be traced, by the transformation `name`, that says what to write instead where it asks."""

    @wraps(function)
    def traced(*args: Any) -> Any:
        try:
            return function(*args)
        except _ASKED as error:
            if not getattr(error, "__notes__", ()):
                error.add_note(_note(name, error))
            raise

    return traced


def _note(name: str, error: BaseException) -> str:
    from xpand_extensions.tracing._where import place_of

    return (
        f"{name}: the values of arrays are not known at {place_of(error)}; use `xp.where`, or `cond`, `switch`, "
        "`while_loop` of `xpand_extensions.control_flow` in place of Python's control flow, operations of xpand with "
        "`size` where sizes depend on values, and declare what is no array static"
    )
