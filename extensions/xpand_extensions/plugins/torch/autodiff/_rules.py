"""Functions with rules for their derivatives, on PyTorch."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch

from xpand._typing import Array

from ._levels import Rule, call, conjugated, is_floating

Arrays: TypeAlias = "tuple[Array, ...]"


def custom_jvp(function: Callable[..., Any], /, nondiff_argnums: Sequence[int] = ()) -> "_Forward":
    return _Forward(function)


def custom_vjp(function: Callable[..., Any], /, nondiff_argnums: Sequence[int] = ()) -> "_Reverse":
    return _Reverse(function)


class _Forward:
    """A function with a rule for forward mode, whose transposed serves reverse mode."""

    def __init__(self, function: Callable[..., Arrays]) -> None:
        self.function = function

    def defjvp(self, rule: Callable[[Arrays, Arrays], tuple[Arrays, Arrays]]) -> None:
        self.rule = rule

    def __call__(self, *xs: Array) -> Arrays:
        return call(Rule(self.function, self.forward, self.pull, self.push), xs)

    def forward(self, *xs: Array) -> tuple[Arrays, Arrays]:
        """Return the output as the rule computes it: derivatives of a level below see that."""
        return self.rule(xs, tuple(map(torch.zeros_like, xs)))[0], xs

    def push(self, kept: Arrays, tangents: Arrays) -> Arrays:
        return self.rule(kept, tangents)[1]

    def pull(self, kept: Arrays, cotangents: Arrays) -> Arrays:
        def of_floating(*tangents: Array) -> Arrays:
            given = iter(tangents)
            found = self.rule(kept, tuple(next(given) if is_floating(x) else torch.zeros_like(x) for x in kept))[1]
            return tuple(x for x in found if is_floating(x))

        zeros = [torch.zeros_like(x) for x in kept if is_floating(x)]
        transposed = torch.func.vjp(of_floating, *zeros)[1]
        back = iter(transposed(tuple(conjugated(x) for x in cotangents if is_floating(x))))
        return tuple(conjugated(next(back)) if is_floating(x) else torch.zeros_like(x) for x in kept)


class _Reverse:
    """A function with a rule for reverse mode."""

    def __init__(self, function: Callable[..., Arrays]) -> None:
        self.function = function

    def defvjp(self, forward: Callable[..., tuple[Arrays, Arrays]], backward: Callable[..., Arrays]) -> None:
        self.forward, self.backward = forward, backward

    def __call__(self, *xs: Array) -> Arrays:
        return call(Rule(self.function, self.forward, self.backward, _no_forward_mode), xs)


def _no_forward_mode(kept: Arrays, tangents: Arrays) -> Arrays:
    raise TypeError(
        "custom_vjp: a function with a rule for reverse mode has no forward mode; give it a rule with `custom_jvp`, "
        "which serves both"
    )
