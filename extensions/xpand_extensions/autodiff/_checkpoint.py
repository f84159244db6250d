"""Functions whose intermediate values are computed again for the derivative, instead of being kept."""

from collections.abc import Sequence
from functools import wraps
from typing import Any

from xpand import _arguments, trees
from xpand._typing import Array

from .._captures import OfArrays
from .._dispatch import pluggable
from .._transformed import transformation
from .._transforms import arrays_beside_numbers, as_array, unflatten
from ._arguments import argnums_of, check_callable, places_of
from ._products import Function


@transformation
@pluggable
def checkpoint(
    function: Function,
    /,
    *,
    prevent_cse: bool = True,
    policy: None = None,
    static_argnums: int | Sequence[int] = (),
) -> Function:
    """Make the function that keeps only its arguments for reverse mode, and is computed again when that needs more.

    Args:
        function: Takes trees of arrays and numbers and returns one. Arrays from outside that it uses are differentiated
            too.
        prevent_cse: Whether a compiler is kept from merging the two computations, which it might find to be the same;
            JAX alone needs that, and not in the body of a `scan`.
        policy: None. JAX's policies, which say what is kept nevertheless, are its compiler's: to keep more, let several
            functions be computed again, and what is between them not.
        static_argnums: The numbers of arguments that are values for the function's own Python code, anything. Of the
            others Python numbers are weakly typed.

    Returns:
        A function of the same arguments, with the same values and derivatives. Reverse mode takes about one more
        evaluation of it, and the memory of its arguments instead of that of all its steps; nested, that of the largest
        part.

    Raises:
        TypeError: A policy; by the function returned: arguments that are neither arrays nor numbers, nor static.
        ValueError: By the function returned: `static_argnums` names an argument that isn't there.

    Source: `jax.checkpoint`; A. Griewank and A. Walther, ACM Trans. Math. Softw. 26 (2000) 19.

    >>> import torch
    >>> layer = checkpoint(lambda x: torch.sin(torch.sin(x)))
    >>> torch.func.grad(layer)(torch.tensor(0.0))
    tensor(1.)
    """
    check_callable("checkpoint", function)
    if policy is not None:
        raise TypeError(
            f"checkpoint: policy must be None, got {getattr(policy, '__name__', policy)}; everything inside is "
            "computed again: to keep a value, end one function there and begin another"
        )

    numbers = argnums_of("checkpoint", static_argnums, "static_argnums")

    @wraps(function)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        static = sorted(places_of("checkpoint", numbers, len(args), "static_argnums"))
        held = [(place, args[place]) for place in static]
        args = tuple([x for place, x in enumerate(args) if place not in static])
        # PyTorch's compiler reads no dictionaries in trees, an empty one neither.
        given = (args, kwargs) if kwargs else (args,)
        leaves, structure = arrays_beside_numbers("checkpoint", "the arguments", given, [value for _, value in held])
        result: list[trees.Structure] = []

        def of_arrays(users: "tuple[Function]", *xs: Array) -> tuple[Array, ...]:
            traced, *named = unflatten(structure, xs)
            given = list(traced)
            for place, value in held:
                given.insert(place, value)
            found, of_result = trees.flatten(users[0](*given, **(named[0] if named else {})))
            if not result:  # once: PyTorch's compiler lets nothing be changed when it is called again
                result.append(of_result)
            like = next((x for x in (*found, *xs) if _arguments.is_array(x)), None)
            return tuple(as_array("checkpoint: the function returned", x, like) for x in found)

        # Without arrays there is nothing to keep: what the function closes over is kept anyway.
        flat = OfArrays(of_arrays, function)
        native = checkpoint.native(*leaves)(flat, prevent_cse=prevent_cse) if leaves else flat
        outs = native(*leaves)
        return trees.unflatten(result[0], outs)

    return checkpointed
