"""Functions that recompute intermediate values for the derivative instead of saving them."""

from collections.abc import Sequence
from functools import wraps
from typing import Any

from xpand import trees
from xpand.extend import Array, checks, describe

from .._captures import OfArrays
from .._dispatch import pluggable
from .._signatures import keeps_signature
from .._transforms import arrays_and_numbers, as_array, unflatten
from ._arguments import argnums_of, positions_of
from ._products import Function
from .checkpoint_policies import AnyPolicy, Policy


@keeps_signature
@pluggable
def checkpoint(
    function: Function,
    /,
    *,
    prevent_cse: bool = True,
    policy: AnyPolicy | None = None,
    static_argnums: int | Sequence[int] = (),
) -> Function:
    """Return a function that saves only its arguments for reverse mode, and recomputes intermediate values.

    Args:
        function: Takes trees of arrays and numbers and returns one. Captured arrays are differentiated, too.
        prevent_cse: Whether to prevent a compiler from merging the two computations. Only JAX needs this, but not in
            the body of a `scan`.
        policy: Which values to save besides the arguments: one of `checkpoint_policies`, or a function like these.
            None: no other values. A policy changes memory and time, but not values. Libraries other than JAX recompute
            all values, unless the policy is `everything_saveable`.
        static_argnums: The positions of arguments of any type that only the function's Python code uses. Python numbers
            among the other arguments are weakly typed.

    Returns:
        A function of the same arguments, with the same values and derivatives. Reverse mode evaluates it about once
        more, and saves its arguments instead of all intermediate values. Nested checkpoints need the memory of the
        largest part.

    Raises:
        TypeError: The policy is not a function. The returned function raises it if arguments are neither arrays,
            numbers nor static.
        UnsupportedError: The returned function raises it for a policy that moves values to another memory, on libraries
            other than JAX.
        ValueError: The returned function raises it if it has no argument for a position in `static_argnums`.

    Source: `jax.checkpoint`; A. Griewank and A. Walther, ACM Trans. Math. Softw. 26 (2000) 19.

    >>> import torch
    >>> layer = checkpoint(lambda x: torch.sin(torch.sin(x)))
    >>> torch.func.grad(layer)(torch.tensor(0.0))
    tensor(1.)
    """
    checks.function("checkpoint", function)
    if not (policy is None or isinstance(policy, Policy) or callable(policy)):
        raise TypeError(
            f"checkpoint: policy must be one of `checkpoint_policies`, a function of an operation, or None, got "
            f"{describe(policy)}"
        )
    numbers = argnums_of("checkpoint", static_argnums, "static_argnums")

    @wraps(function)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        static = sorted(positions_of("checkpoint", numbers, len(args), "static_argnums"))
        constants = [(position, args[position]) for position in static]
        args = tuple([x for position, x in enumerate(args) if position not in static])
        # PyTorch's compiler can't read dictionaries in trees, not even empty ones.
        given = (args, kwargs) if kwargs else (args,)
        leaves, structure = arrays_and_numbers("checkpoint", "the arguments", given, [value for _, value in constants])
        result: list[trees.Structure] = []

        def of_arrays(users: "tuple[Function]", *xs: Array) -> tuple[Array, ...]:
            traced, *named = unflatten(structure, xs)
            given = list(traced)
            for position, value in constants:
                given.insert(position, value)
            found, of_result = trees.flatten(users[0](*given, **(named[0] if named else {})))
            if not result:  # only once: PyTorch's compiler forbids a change in a second call
                result.append(of_result)
            like = next((x for x in (*found, *xs) if checks.is_array(x)), None)
            return tuple(as_array("checkpoint: the function returned", x, like) for x in found)

        # Without arrays there is nothing to recompute: captured arrays are saved anyway.
        flat = OfArrays(of_arrays, function)
        native = checkpoint.native(*leaves)(flat, prevent_cse=prevent_cse, policy=policy) if leaves else flat
        outs = native(*leaves)
        return trees.unflatten(result[0], outs)

    return checkpointed


@pluggable
def checkpoint_name(x: trees.Tree, /, name: str) -> trees.Tree:
    """Name a value, so that a policy of `checkpoint` can select it.

    Args:
        x: A tree of arrays, of any library.
        name: The name.

    Returns:
        The same tree.

    Raises:
        TypeError: `name` is not a string.

    Source: `jax.ad_checkpoint.checkpoint_name`.

    >>> import numpy as np
    >>> from xpand import array_namespace
    >>> from xpand_extensions.autodiff import checkpoint_policies
    >>> def layer(x):
    ...     xp = array_namespace(x)
    ...     return xp.sin(checkpoint_name(xp.exp(x), "exponential"))
    >>> saving = checkpoint(layer, policy=checkpoint_policies.save_only_these_names("exponential"))
    >>> float(saving(np.asarray(0.0))) == float(np.sin(1.0))
    True
    """
    if not isinstance(name, str):
        raise TypeError(f"checkpoint_name: name must be a string, got {describe(name)}")
    return trees.map(lambda leaf: checkpoint_name.native(leaf)(leaf, name) if checks.is_array(leaf) else leaf, x)
