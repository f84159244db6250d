"""PyTorch's own function where it is exact, another one elsewhere."""

from collections.abc import Callable

import torch

from xpand import is_concrete
from xpand.extend import Array


def corrected(
    native: Callable[[Array], Array],
    other: Callable[[Array], Array],
    where: Callable[[Array], Array],
    ordinary: float,
) -> Callable[[Array], Array]:
    """Combine two functions; `ordinary` is a number for which `where` is False.

    With concrete values, the other function computes only its own elements. Otherwise both compute all elements, with
    `ordinary` in place of the other function's elements, so that derivatives stay finite.
    """

    def run(x: Array, /) -> Array:
        if x.device.type == "cpu" and not x.requires_grad and is_concrete(x):
            chosen = where(x)
            result = native(x)
            if chosen.any():
                result[chosen] = other(x[chosen])
            return result
        chosen = where(x)
        return torch.where(chosen, other(torch.where(chosen, x, ordinary)), native(torch.where(chosen, ordinary, x)))

    return run
