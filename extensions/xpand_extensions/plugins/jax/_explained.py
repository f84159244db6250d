"""Advice for JAX's errors about values that are not concrete."""

import re
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import jax

_VALUE_ERRORS: Final = (
    jax.errors.ConcretizationTypeError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
_NEEDS_VALUE: Final = re.compile(
    r"unsupported format string passed to \w*Tracer\.__format__|Shapes must be 1D sequences of concrete values"
)
_FUNCTIONS: Final = (
    "NumPy's functions can't compute with it: write `xp.sin(x)` in place of `np.sin(x)`, where "
    "`xp = xpand.array_namespace(x, …)` is called with all arrays of the expression, or use `stop_gradient` or "
    "`pure_callback`"
)
_CONTROL_FLOW: Final = (
    "Use `xp.where`, or `cond`, `fori_loop`, `while_loop` of `xpand_extensions.control_flow`, in place of Python's "
    "`if`, `for` and `while`; operations of xpand with `size` if sizes depend on values; `stop_gradient` if only "
    "derivatives are traced; and static_argnums of `jit`, or static_broadcasted_argnums of `pmap`, for arguments that "
    "are not arrays, such as sizes"
)
_PRINT: Final = "Use `debug.print(text, x=x)` of `xpand_extensions.debug`, which prints values when the program runs"
_LEAF: Final = re.compile(r"\bleaves\[(\d+)\]")


def explained(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function`, traced by the transformation `name`, with errors in the user's terms.

    JAX's own message names functions and arguments of the plug-in. The error keeps its type.
    """

    @wraps(function)
    def traced(*args: Any) -> Any:
        try:
            return function(*args)
        except _VALUE_ERRORS as error:
            _explain(name, function, error)
            raise
        except TypeError as error:
            if _NEEDS_VALUE.search(str(error)):
                _explain(name, function, error)
            raise

    return traced


def _explain(name: str, function: Callable[..., Any], error: Exception) -> None:
    from xpand_extensions._where import location_of

    if getattr(error, "is_explained", False):  # explained by an inner transformation
        return
    message = str(error)
    argument_of = getattr(function, "argument_of", None)
    found = [] if argument_of is None else [argument_of(int(number)) for number in _LEAF.findall(message)]
    on = f" depends on the argument {' and '.join(dict.fromkeys(found))}, and" if found else ""
    advice = _FUNCTIONS if isinstance(error, jax.errors.TracerArrayConversionError) else _CONTROL_FLOW
    advice = _PRINT if "__format__" in message else advice
    error.args = (
        f"{name}: Python code asks for a value at {location_of(error)}; the value{on} is not known while the function "
        f"is traced. {advice} "
        f"(JAX: {message.partition(chr(10))[0].rstrip('.')})",
    )
    error.is_explained = True  # type: ignore[attr-defined]
