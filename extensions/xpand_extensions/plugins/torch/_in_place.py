"""Errors of in-place writes that PyTorch can't differentiate or map, in terms of the user's code."""

from collections.abc import Callable
from typing import Any, Final

import torch

_CAUSES: Final = {
    "modified by an inplace operation": "an element that is needed for the derivative is overwritten",
    "leaf Variable that requires grad is being used in an in-place operation": "into the argument itself",
    "would mutate a captured Tensor": "into an array from outside of the function",
    "vmap: inplace arithmetic": "into an array that all lanes share",
}
"""Causes of failing writes, by a part of PyTorch's error message."""


def with_errors(name: str, transformed: Callable[..., Any], *args: Any) -> Any:
    """Call a function made by one of PyTorch's transformations, called `name` in errors.

    Raises:
        TracedError: It writes in place where PyTorch's transformations can't.
    """
    if torch.compiler.is_dynamo_compiling():
        return transformed(*args)
    try:
        return transformed(*args)
    except RuntimeError as error:
        cause = next((cause for text, cause in _CAUSES.items() if text in str(error)), None)
        if cause is None:
            raise
        from xpand_extensions._where import location_of
        from xpand_extensions.tracing._core import TracedError

        position = location_of(error)
        position = f", at {position}" if position else ""
        raise TracedError(
            f"PyTorch's {name} can't trace a write in place: {cause}{position}; write into a copy (`y = y.clone()` "
            "before `y[i] = v`), or make a new array, with `scatter.at(y)[i].set(v)`, `xp.stack` or `xp.where`"
        ) from error
