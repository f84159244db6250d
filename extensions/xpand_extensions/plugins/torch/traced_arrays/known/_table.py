"""The table of known functions: PyTorch's signatures for functions of the standard."""

import inspect
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import torch

from xpand_extensions.tracing._core import EVALUATION, TracedArray

from .._interpreters import Recorded

Known = Callable[..., Any]


class Entry(NamedTuple):
    """A known function, the least and most arguments by position, and the names of arguments."""

    function: Known
    least: int
    most: int
    names: frozenset[str] | None
    """None if it takes all names."""
    is_arithmetic: bool
    """Whether it computes, so that PyTorch's own graph may record it instead."""


KNOWN: Final[dict[Any, Entry]] = {}
"""For a function or method of PyTorch, a function of the traced namespace and the arguments.

It returns `NotImplemented` for options that the standard doesn't have: PyTorch's own function is called then.
"""

_T: Final = torch.Tensor
_POSITIONAL: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def known(*functions: Any, is_arithmetic: bool = False) -> Callable[[Known], Known]:
    """Enter a function in the table."""

    def add(function: Known) -> Known:
        parameters = list(inspect.signature(function).parameters.values())[1:]
        positional = [x for x in parameters if x.kind in _POSITIONAL]
        has_rest = any(x.kind is inspect.Parameter.VAR_POSITIONAL for x in parameters)
        least = sum(x.default is inspect.Parameter.empty for x in positional)
        takes_all = any(x.kind is inspect.Parameter.VAR_KEYWORD for x in parameters)
        by_name = [x.name for x in parameters if x.kind is not inspect.Parameter.VAR_POSITIONAL]
        names = None if takes_all else frozenset(by_name)
        entry = Entry(function, least, 1_000_000 if has_rest else len(positional), names, is_arithmetic)
        KNOWN.update(dict.fromkeys(functions, entry))
        return function

    return add


def arithmetic(*functions: Any) -> Callable[[Known], Known]:
    """Enter a function that computes in the table."""
    return known(*functions, is_arithmetic=True)


def both(*names: str) -> list[Any]:
    """Return the functions and the methods of some names."""
    return [getattr(owner, name) for name in names for owner in (torch, _T) if hasattr(owner, name)]


def is_real_floating(x: Any) -> bool:
    """Return whether an argument is an array of real floating-point numbers."""
    return isinstance(x, torch.Tensor) and x.dtype.is_floating_point


def apply_known(namespace: Any, func: Any, args: Any, kwargs: Any) -> Any:
    """Apply a function if it is in the table and its arguments are; return `NotImplemented` otherwise."""
    entry = KNOWN.get(func)
    if entry is None:
        return NotImplemented
    function, least, most, names, is_arithmetic = entry
    count = len(args)
    if count > most or count + len(kwargs) < least or (kwargs and names is not None and not names.issuperset(kwargs)):
        return NotImplemented
    if is_arithmetic:
        # A call that extends a graph of PyTorch is differentiated together with it.
        for x in args:
            graphed = x._graphed if type(x) is namespace.array_type else None
            if graphed is not None and graphed[0] is x._extra:
                return NotImplemented
    return function(namespace, *args, **kwargs)


def several(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return integers that were passed separately, or as one tuple or list."""
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else args


def is_recorded(*arrays: Any) -> bool:
    """Return whether PyTorch's own graph records a call with these arrays: in reverse mode of tensors with values."""
    return all(
        isinstance(x._trace, Recorded) and not isinstance(x._value, TracedArray)
        for x in arrays
        if isinstance(x, TracedArray) and x._trace is not EVALUATION
    )


def is_traced(x: Any) -> bool:
    """Return whether an argument is a traced array."""
    return isinstance(x, TracedArray)
