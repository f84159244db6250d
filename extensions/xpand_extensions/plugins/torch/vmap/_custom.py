"""Functions with custom batching on PyTorch."""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private

from ..autodiff._levels import Arrays, Rule, call

Batches: TypeAlias = "Callable[..., tuple[Arrays, tuple[bool, ...]]]"


def custom_vmap(function: Callable[..., Any], /) -> "_CustomVmap":
    return _CustomVmap(function)


class _CustomVmap:
    """A function of arrays with a custom batching rule."""

    def __init__(self, function: Callable[..., Arrays]) -> None:
        self.function = function

    def def_vmap(self, rule: Batches) -> None:
        """Store the rule."""
        self.rule = rule

    def __call__(self, *xs: Array) -> Arrays:
        """Call the function."""
        if torch.compiler.is_dynamo_compiling() and not private.are_levels_active():
            return self.function(*xs)  # nothing maps here
        forward = lambda *xs: (self(*xs), ())
        batches = lambda lanes, *args: self.rule(lanes.size, *args)
        return call(Rule(self.function, forward, _no_derivative, _no_derivative, batches=batches), xs)


def _no_derivative(residuals: Arrays, given: Arrays) -> Arrays:
    raise TypeError(
        "custom_vmap: on PyTorch, a function with a batching rule has no derivative inside the map, in reverse or "
        "forward mode; wrap it with `custom_vjp` or `custom_jvp`"
    )
