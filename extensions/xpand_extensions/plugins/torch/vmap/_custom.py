"""Functions with custom rules for batches on PyTorch."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch

from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private

from ..autodiff._checkpoint import pushed_forward
from ..autodiff._levels import Arrays, Rule, call

Batches: TypeAlias = "Callable[..., tuple[Arrays, tuple[bool, ...]]]"


def custom_vmap(function: Callable[..., Any], /) -> "_CustomVmap":
    return _CustomVmap(function)


class _CustomVmap:
    """A function of arrays with a custom rule for batches."""

    def __init__(self, function: Callable[..., Arrays]) -> None:
        self.function = function

    def def_vmap(self, rule: Batches) -> None:
        """Take the rule."""
        self.rule = rule

    def __call__(self, *xs: Array) -> Arrays:
        """Call the function."""
        if torch.compiler.is_dynamo_compiling() and not private.are_levels_active():
            return self.function(*xs)  # nothing maps here
        return call(_with_batches(self.function, self.rule), xs)


def _with_batches(function: Callable[..., Arrays], batches: Batches) -> Rule:
    """Return the operation; its derivative by forward mode is a function with a rule for batches, too."""

    def forward(*xs: Array) -> tuple[Arrays, Arrays]:
        return call(_with_batches(function, batches), xs), xs

    def push(xs: Arrays, tangents: Arrays) -> Arrays:
        count = len(xs)

        def pushed(*arrays: Array) -> Arrays:
            return pushed_forward(function, arrays[:count], arrays[count:])[1]

        def of_batches(size: int, batched: Sequence[bool], *arrays: Array) -> tuple[Arrays, tuple[bool, ...]]:
            # A tangent has the axis if and only if its primal has it.
            either = tuple(map(max, batched[:count], batched[count:]))
            given = [
                x if has or not wants else x.expand(size, *x.shape)
                for x, has, wants in zip(arrays, batched, 2 * either)
            ]
            which: tuple[bool, ...] = ()

            def outputs(*xs: Array) -> Arrays:
                nonlocal which
                outs: Arrays
                outs, which = batches(size, either, *xs)
                return outs

            return pushed_forward(outputs, tuple(given[:count]), tuple(given[count:]))[1], which

        return call(_with_batches(pushed, of_batches), (*xs, *tangents))

    return Rule(function, forward, _no_reverse_mode, push, batches=lambda lanes, *args: batches(lanes.size, *args))


def _no_reverse_mode(residuals: Arrays, cotangents: Arrays) -> Arrays:
    raise TypeError(
        "custom_vmap: a function with a rule for batches has no derivative by reverse mode (grad, vjp, jacrev, "
        "linearize); put `custom_vjp` around it"
    )
