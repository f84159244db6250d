"""Whether a derivative follows an array, and the points at which PyTorch's derivatives aren't those of other libraries.

Where a function has no derivative, PyTorch has rules of its own: 0 for the absolute value and for norms at 0, 1 for
`clip` at a bound. Elsewhere in this package such functions take another form for arrays that a derivative follows, and
for no others. Its values are those of the plain function, to the bit.
"""

from __future__ import annotations

import torch
from torch._C import _functorch as levels
from torch.autograd import forward_ad

from .._namespace import is_concrete
from .._typing import Array

_are_levels_active = torch._C._are_functorch_transforms_active
unobserved = torch._C.DisableTorchFunction
"""What looks at operations would take arrays below the levels of torch.func for arrays from outside."""


def is_followed(x: Array) -> bool:
    """Tell whether a derivative with respect to `x` may be asked for: by forward mode, of any array is assumed."""
    if x.requires_grad or forward_ad._current_level >= 0:
        return True
    return _are_levels_active() and _is_followed_below(x)


def _is_followed_below(x: Array) -> bool:
    if torch.compiler.is_dynamo_compiling():  # which can't see below the levels of torch.func
        return True
    with unobserved():
        while levels.is_functorch_wrapped_tensor(x):
            x = levels.get_unwrapped(x)
            if x.requires_grad:
                return True
    return False


def is_followed_backwards(x: Array) -> bool:
    """Tell whether a derivative by reverse mode may be asked for, at any level."""
    return bool(x.requires_grad) or (_are_levels_active() and _is_followed_below(x))


def is_followed_in_both(x: Array) -> bool:
    """Tell whether derivatives may be asked for by forward mode and by reverse mode."""
    return forward_ad._current_level >= 0 and is_followed_backwards(x)


def is_followed_twice(x: Array) -> bool:
    """Tell whether two levels of torch.func or more follow `x` by reverse mode."""
    if not _are_levels_active() or torch.compiler.is_dynamo_compiling():
        return False
    count = int(x.requires_grad)
    with unobserved():
        while count < 2 and levels.is_functorch_wrapped_tensor(x):
            x = levels.get_unwrapped(x)
            count += x.requires_grad
    return count > 1


def any_is_followed(*arrays: Array | None) -> bool:
    """Tell it of any of several arrays; None is none."""
    return any(x is not None and is_followed(x) for x in arrays)


def is_nowhere(condition: Array) -> bool:
    """Tell whether an array of truths is known to be false throughout: all members of what is mapped."""
    if torch.compiler.is_dynamo_compiling() or condition.device.type != "cpu":  # to ask would be to wait
        return False
    with unobserved():
        while levels.is_functorch_wrapped_tensor(condition):
            condition = levels.get_unwrapped(condition)
        return is_concrete(condition) and not bool(condition.any())


def shared(x: Array) -> Array:
    """Return `x` with half of its derivative: it is one of two equal values, as PyTorch and JAX share among them."""
    return torch.maximum(x, x.detach())


def absolute(x: Array) -> Array:
    """Compute the absolute value of real numbers, whose derivative at either zero is 1."""
    zero = x == 0
    if is_nowhere(zero):
        return torch.abs(x)
    # Adding a zero makes a positive one of either. Elsewhere the derivative depends on `x`, as autograd asks for it.
    return torch.where(zero, x + 0.0, torch.abs(x))


def with_derivatives(plain: Array, other: Array) -> Array:
    """Return the values of one array with the derivatives of another, which has the same but for rounding."""
    return plain.detach() - (other.detach() - other)


def product_of_few(count: Array, one: Array, two: Array, three: Array) -> Array:
    """Return products of up to three numbers by the sums of their first, second and third powers (Newton's identities).

    Of more than three it is 0: where they are zeros, so are the first three derivatives of their product.
    """
    of_two, of_three = (one * one - two) / 2, (one**3 - 3 * one * two + 2 * three) / 6
    of_few = torch.where(count == 2, of_two, torch.where(count == 3, of_three, 0.0))
    return torch.where(count == 1, one, of_few)
