"""Policies of `checkpoint`: which intermediate values to save for reverse mode instead of recomputing them.

Only JAX saves single values. Other libraries recompute all values, unless the policy is `everything_saveable`. A policy
never changes values, only memory and time. A policy may also be a function `policy(op, *avals, **params)` of JAX's
primitives, which returns whether the results of an operation may be saved.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from xpand import UnsupportedError
from xpand.extend import describe

__all__ = [
    "checkpoint_dots",
    "checkpoint_dots_with_no_batch_dims",
    "dots_saveable",
    "dots_with_no_batch_dims_saveable",
    "everything_saveable",
    "nothing_saveable",
    "offload_dot_with_no_batch_dims",
    "save_and_offload_only_these_names",
    "save_any_names_but_these",
    "save_anything_except_these_names",
    "save_from_both_policies",
    "save_only_these_names",
]
__dir__ = __all__.copy


@dataclass(frozen=True)
class Policy:
    """JAX's policy of the same name."""

    name: str
    args: tuple[Any, ...] = ()

    def __repr__(self) -> str:
        return f"checkpoint_policies.{self.name}" + (f"{self.args}" if self.args else "")


AnyPolicy: TypeAlias = Policy | Callable[..., bool]

everything_saveable: Final = Policy("everything_saveable")
"""Save all values, as without `checkpoint`."""
nothing_saveable: Final = Policy("nothing_saveable")
"""Recompute all values, as without a policy."""
dots_saveable: Final = Policy("dots_saveable")
"""Save the results of products of matrices: `matmul`, `tensordot`, `vecdot`, `einsum`."""
checkpoint_dots: Final = dots_saveable
dots_with_no_batch_dims_saveable: Final = Policy("dots_with_no_batch_dims_saveable")
"""Save the results of products without batch axes, mostly products with weights."""
checkpoint_dots_with_no_batch_dims: Final = dots_with_no_batch_dims_saveable


def save_only_these_names(*names_which_can_be_saved: str) -> Policy:
    """Save the values that `checkpoint_name` has given one of these names.

    >>> save_only_these_names("a", "b")
    checkpoint_policies.save_only_these_names('a', 'b')
    """
    return Policy("save_only_these_names", _names("save_only_these_names", names_which_can_be_saved))


def save_any_names_but_these(*names_not_to_save: str) -> Policy:
    """Save only values that `checkpoint_name` has named, except those with one of these names."""
    return Policy("save_any_names_but_these", _names("save_any_names_but_these", names_not_to_save))


def save_anything_except_these_names(*names_not_to_save: str) -> Policy:
    """Save all values except those that `checkpoint_name` has given one of these names.

    The value before naming counts as another value: name values only where they are computed.
    """
    return Policy("save_anything_except_these_names", _names("save_anything_except_these_names", names_not_to_save))


def save_from_both_policies(policy_1: AnyPolicy, policy_2: AnyPolicy, /) -> Policy:
    """Save the values that either policy saves."""
    for policy in (policy_1, policy_2):
        if not (isinstance(policy, Policy) or callable(policy)):
            raise TypeError(f"save_from_both_policies: takes two policies, got {describe(policy)}")
    return Policy("save_from_both_policies", (policy_1, policy_2))


@dataclass(frozen=True, repr=False)
class Offload(Policy):
    """A policy that moves values to another memory, which only JAX has."""


def check_no_offload(policy: AnyPolicy | None) -> None:
    """Raise UnsupportedError for a policy that only JAX has."""
    if isinstance(policy, Offload):
        raise UnsupportedError(f"checkpoint: {policy!r} is not available: only JAX has several kinds of memory")


def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
    """Move the results of products without batch axes from one kind of memory to another until they are needed.

    Only for JAX, whose memories have names such as "device" and "pinned_host".
    """
    return Offload("offload_dot_with_no_batch_dims", (offload_src, offload_dst))


def save_and_offload_only_these_names(
    *,
    names_which_can_be_saved: Sequence[str],
    names_which_can_be_offloaded: Sequence[str],
    offload_src: str,
    offload_dst: str,
) -> Policy:
    """Save values of some names, and move values of other names to another kind of memory until they are needed.

    Only for JAX.
    """
    saved = _names("save_and_offload_only_these_names", names_which_can_be_saved)
    moved = _names("save_and_offload_only_these_names", names_which_can_be_offloaded)
    return Offload("save_and_offload_only_these_names", (saved, moved, offload_src, offload_dst))


def _names(function: str, names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{function}: names must be strings, as given to `checkpoint_name`, got {describe(name)}")
    return tuple(names)
