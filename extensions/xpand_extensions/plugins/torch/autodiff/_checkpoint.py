"""Checkpointed functions on PyTorch, also under torch.func, where `torch.utils.checkpoint` doesn't work."""

from collections.abc import Sequence
from functools import partial

import torch
import torch.utils.checkpoint

from xpand.extend import Array
from xpand.torch import _private as private
from xpand_extensions._captures import with_own_cells
from xpand_extensions.autodiff.checkpoint_policies import AnyPolicy, check_no_offload, everything_saveable

from ._closures import captured_by, outer_errors, with_arguments
from ._levels import Arrays, Function, Rule, call, is_floating, merged
from ._products import jvp, vjp


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
    # All other policies recompute everything. Recorded results could only be found again by the order of operations,
    # which may differ: under torch.func, the forward pass is not differentiated, and some functions depend on that.
    check_no_offload(policy)

    def checkpointed(*xs: Array) -> Arrays:
        if torch.compiler.is_dynamo_compiling():
            function(*xs)  # the function can't record the structure of its results inside of a graph
            return _by_hooks(function, xs)
        later = with_own_cells(function)
        # `torch.utils.checkpoint` doesn't work below the levels of torch.func, nor in every version for forward mode
        # and vmap.
        if private.are_hooks_allowed() and not private.are_levels_active():
            try:
                return _by_hooks(later, xs)
            except RuntimeError as error:
                if "saved tensor hooks" not in str(error):  # which it can't have where it differentiates itself
                    raise
        outer = captured_by("checkpoint", later)
        with outer_errors("checkpoint"):
            return _recomputed(with_arguments("checkpoint", later, outer), (*xs, *outer))

    return checkpointed


def checkpoint_name(x: Array, /, name: str) -> Array:
    return x  # no policy asks for names here


def _by_hooks(function: Function, xs: Arrays) -> Arrays:
    found: Arrays = torch.utils.checkpoint.checkpoint(function, *xs, use_reentrant=False)
    return found


def _recomputed(function: Function, xs: Arrays) -> Arrays:
    def pull(residuals: Arrays, cotangents: Arrays) -> Arrays:
        return pulled_back(function, residuals, cotangents)

    def push(residuals: Arrays, tangents: Arrays) -> Arrays:
        return pushed_forward(function, residuals, tangents)[1]

    return call(Rule(function, lambda *arrays: (_recomputed(function, arrays), arrays), pull, push), xs)


def pulled_back(function: Function, primals: Arrays, cotangents: Arrays) -> Arrays:
    """Pull back cotangents of a function's results to its arguments, in JAX's convention, with zeros for integers."""
    floating = filter(is_floating, primals)
    back = vjp(partial(_of_floating, function, primals), *floating, has_aux=True)[1](*cotangents)
    return merged(list(map(is_floating, primals)), back, (torch.zeros_like(x) for x in primals if not is_floating(x)))


def pushed_forward(function: Function, primals: Arrays, tangents: Arrays) -> tuple[Arrays, Arrays]:
    """Return a function's results, and the tangents of them."""
    given = tuple(t for x, t in zip(primals, tangents) if is_floating(x))
    floating = tuple(filter(is_floating, primals))
    outs, found, _ = jvp(partial(_of_floating, function, primals), floating, given, has_aux=True)
    return outs, found


def _of_floating(function: Function, primals: Arrays, *floating: Array) -> tuple[Arrays, Arrays]:
    others = [x for x in primals if not is_floating(x)]
    return function(*merged(list(map(is_floating, primals)), floating, others)), ()
