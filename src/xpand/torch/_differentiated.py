"""Whether an array is being differentiated, for the few functions whose derivatives PyTorch gets wrong.

These functions take another form for such arrays only, with the same values. Where a function is not differentiable,
PyTorch's own derivative stands.
"""

from __future__ import annotations

import torch
from torch.func import debug_unwrap

from ..typing import LibraryArray as Array
from . import _private as private
from ._concrete import holds_at_some_level, is_concrete


def is_differentiated(x: Array) -> bool:
    """Return whether an array is being differentiated. In forward mode this is assumed of any array."""
    if x.requires_grad or private.in_forward_mode():
        return True
    return is_differentiated_in_reverse(x)


def is_differentiated_in_reverse(x: Array) -> bool:
    """Return whether an array is being differentiated by reverse mode, at any level."""
    if x.requires_grad or not private.are_levels_active():
        return bool(x.requires_grad)
    # torch.compile can't see below the levels of torch.func.
    return torch.compiler.is_dynamo_compiling() or holds_at_some_level(lambda x: bool(x.requires_grad), x)


def is_differentiated_in_both(x: Array) -> bool:
    """Return whether an array is being differentiated by forward mode and by reverse mode."""
    return private.in_forward_mode() and is_differentiated_in_reverse(x)


def is_all_false(condition: Array) -> bool:
    """Return whether a boolean array is known to be false everywhere, in all lanes of a batch."""
    if torch.compiler.is_dynamo_compiling() or condition.device.type != "cpu":  # reading it would wait
        return False
    with private.unobserved():
        condition = debug_unwrap(condition)
        return is_concrete(condition) and not bool(condition.any())


def with_derivatives(plain: Array, other: Array) -> Array:
    """Return the values of one array with the derivatives of another, which has the same but for rounding."""
    return plain.detach() - (other.detach() - other)


def product_of_few(count: Array, total: Array, squares: Array) -> Array:
    """Return products of one or two numbers from their sum and the sum of their squares (Newton's identities).

    Of more numbers return 0. Of zeros that has the right first and second derivatives.
    """
    return torch.where(count == 1, total, torch.where(count == 2, (total * total - squares) / 2, 0.0))
