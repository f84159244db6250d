"""Checkpointed functions on PyTorch, also under torch.func, where `torch.utils.checkpoint` does not work."""

from collections.abc import Sequence

import torch
import torch.utils.checkpoint

from xpand.extend import Array
from xpand.torch import _private as private
from xpand_extensions._captures import with_own_cells
from xpand_extensions.autodiff.checkpoint_policies import AnyPolicy, check_no_offload, everything_saveable

from ._closures import captured_by, outer_errors, with_arguments
from ._levels import Arrays, Function, Rule, call
from ._products import pulled_back, pushed_forward


def checkpoint(
    function: Function,
    /,
    *,
    prevent_cse: bool = True,
    policy: AnyPolicy | None = None,
    static_argnums: int | Sequence[int] = (),
) -> Function:
    if policy is everything_saveable:
        return function
    # All other policies recompute all values. Saved values could only be found again by the order of the operations,
    # which may differ: under torch.func the forward pass is not differentiated, and some functions depend on that.
    check_no_offload(policy)

    def checkpointed(*xs: Array) -> Arrays:
        if torch.compiler.is_dynamo_compiling():
            # Call the function once outside the checkpoint: it records the structure of its results, which
            # torch.compile forbids inside.
            function(*xs)
            return _by_hooks(function, xs)
        later = with_own_cells(function)
        # `torch.utils.checkpoint` doesn't work below the levels of torch.func, nor in every version for forward mode
        # and vmap.
        if private.are_hooks_allowed() and not private.are_levels_active():
            try:
                return _by_hooks(later, xs)
            except RuntimeError as error:
                if "saved tensor hooks" not in str(error):  # PyTorch forbids them in functions that differentiate
                    raise
        outer = captured_by("checkpoint", later)
        with outer_errors("checkpoint"):
            return _recomputed(with_arguments("checkpoint", later, outer), (*xs, *outer))

    return checkpointed


def checkpoint_name(x: Array, /, name: str) -> Array:
    return x  # policies that use names recompute all values on PyTorch


def _by_hooks(function: Function, xs: Arrays) -> Arrays:
    found: Arrays = torch.utils.checkpoint.checkpoint(function, *xs, use_reentrant=False)
    return found


def _recomputed(function: Function, xs: Arrays) -> Arrays:
    def pull(residuals: Arrays, cotangents: Arrays) -> Arrays:
        return pulled_back(function, residuals, cotangents)

    def push(residuals: Arrays, tangents: Arrays) -> Arrays:
        return pushed_forward(function, residuals, tangents)[1]

    return call(Rule(function, lambda *arrays: (_recomputed(function, arrays), arrays), pull, push), xs)
