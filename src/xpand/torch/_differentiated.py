"""Checks whether arrays are differentiated, and formulas for the few functions whose derivatives PyTorch gets wrong.

These functions use another formula with the same values, for differentiated arrays only. At points where a function is
not differentiable, they keep PyTorch's derivative.
"""

from __future__ import annotations

import torch
from torch.func import debug_unwrap

from ..typing import LibraryArray as Array
from . import _private as private
from ._concrete import holds_at_some_level, is_concrete


def is_differentiated(x: Array) -> bool:
    """Return whether an array is differentiated. In forward mode, return True for all arrays."""
    if x.requires_grad or private.in_forward_mode():
        return True
    return is_differentiated_in_reverse(x)


def is_differentiated_in_reverse(x: Array) -> bool:
    """Return whether reverse mode differentiates an array, at any level. In torch.compile, True under torch.func."""
    if x.requires_grad or not private.are_levels_active():
        return bool(x.requires_grad)
    # torch.compile can't see below the levels of torch.func.
    return torch.compiler.is_dynamo_compiling() or holds_at_some_level(lambda x: bool(x.requires_grad), x)


def is_differentiated_in_both(x: Array) -> bool:
    """Return whether forward mode and reverse mode may both differentiate an array."""
    return private.in_forward_mode() and is_differentiated_in_reverse(x)


def is_all_false(condition: Array) -> bool:
    """Return whether a boolean array is known to be False everywhere, in all lanes of a batch."""
    if torch.compiler.is_dynamo_compiling() or condition.device.type != "cpu":  # reading it would wait for the device
        return False
    condition = debug_unwrap(condition)
    return is_concrete(condition) and not bool(condition.any())


def with_derivatives(plain: Array, other: Array) -> Array:
    """Return the values of `plain` with the derivatives of `other`, which has the same values except for rounding."""
    return plain.detach() - (other.detach() - other)


def product_of_few(count: Array, total: Array, squares: Array) -> Array:
    """Return products of one or two numbers from their sum and the sum of their squares (Newton's identities).

    For other counts, return 0, with zero derivatives: these are right up to the second if at least three factors are 0.
    """
    return torch.where(count == 1, total, torch.where(count == 2, (total * total - squares) / 2, 0.0))
