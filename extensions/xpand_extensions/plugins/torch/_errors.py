"""Errors of PyTorch's transformations, explained in terms of the user's code."""

from collections.abc import Callable
from typing import Any, Final

import torch

from xpand.torch import _private as private

_SHARED: Final = "into an array that all lanes share"
_WRITES: Final = {
    "modified by an inplace operation": "an element that the derivative needs is overwritten",
    "leaf Variable that requires grad is being used in an in-place operation": "into the argument itself",
    "would mutate a captured Tensor": "into an array that the function captures",
    "vmap: inplace arithmetic": _SHARED,
    "`self` not being vmapped over": _SHARED,
}
"""The causes of errors at writes in place, by a part of PyTorch's message."""

_MAPPED_VALUES: Final = {
    "vmap: It looks like you're": "Python code",
    "vmap: We do not support batching operators that can support dynamic shape": "a shape",
}
"""The operations that need values of mapped arrays, by the start of PyTorch's message."""

_TO_NUMPY: Final = (
    "Can't call numpy() on Tensor that requires grad",
    ".numpy() is not supported for tensor subclasses",
    "Cannot access data pointer of Tensor that doesn't have storage",
)
"""The starts of PyTorch's messages when NumPy's functions convert a traced tensor."""


def with_errors(name: str, transformed: Callable[..., Any], *args: Any) -> Any:
    """Call a transformed function; `name` is the name of the transformation in errors.

    Raises:
        TracedError: The function writes in place where PyTorch can't trace it, or passes a traced tensor to NumPy.
        TypeError: The function needs values of tensors that have none.
    """
    if torch.compiler.is_dynamo_compiling():
        return transformed(*args)
    try:
        return transformed(*args)
    except (
        RuntimeError,
        TypeError,
        private.DataDependentOutputException,
        private.DynamicOutputShapeException,
    ) as error:
        explained = _written(name, error) or _converted(name, error) or _without_value(name, error)
        if explained is None:
            raise
        raise explained from error


def _written(name: str, error: Exception) -> Exception | None:
    cause = next((cause for text, cause in _WRITES.items() if text in str(error)), None)
    if cause is None:
        return None
    # A clone of a shared array would be shared, too.
    of_each = "of each lane (`y = y + torch.zeros_like(x, dtype=y.dtype)`, of a mapped `x`,"
    copy = of_each if cause == _SHARED else "(`y = y.clone()`"
    return _traced_error(
        error,
        f"PyTorch's {name} can't trace a write in place: {cause}",
        f"write into a copy {copy} before `y[i] = v`), or make a new array, with `scatter.at(y)[i].set(v)`, "
        "`xp.stack` or `xp.where`",
    )


def _converted(name: str, error: Exception) -> Exception | None:
    if not str(error).startswith(_TO_NUMPY):
        return None
    return _traced_error(
        error,
        f"conversion to NumPy: {name} traces this tensor, so NumPy's functions can't compute with it",
        "write `xp.sin(x)` in place of `np.sin(x)`, where `xp = xpand.array_namespace(x)`, and turn NumPy's constants "
        "into tensors with `xp.asarray`; `stop_gradient(x)` has values, but no derivative",
    )


def _traced_error(error: Exception, problem: str, advice: str) -> Exception:
    from xpand_extensions._where import location_of
    from xpand_extensions.tracing._core import TracedError

    position = location_of(error)
    explained = TracedError(f"{problem}, at {position}; {advice}" if position else f"{problem}; {advice}")
    explained.where = ""  # otherwise the message would also name the line that called the transformation
    return explained


def _without_value(name: str, error: Exception) -> TypeError | None:
    array, advice = "a traced array", "declare arguments that are not arrays in static_argnums, and "
    what = next((what for text, what in _MAPPED_VALUES.items() if str(error).startswith(text)), None)
    if what is not None:
        name, array, advice = "vmap", "an array that is mapped over", "and "
    elif isinstance(error, private.DynamicOutputShapeException):
        what = "a shape"
    elif isinstance(error, private.DataDependentOutputException):
        what = "Python code"
    elif "unsupported format string passed to FakeTensor" in str(error):
        what = "a text"
    else:
        return None
    from xpand_extensions._where import location_of

    return TypeError(
        f"{name}: {what} depends on the values of {array}, at {location_of(error)}; write `xp.where`, or "
        f"`control_flow.cond` and `while_loop`, in place of `if` and `while`, {advice}use operations whose shapes do "
        "not depend on values, such as those of xpand with `size`"
    )
