"""Functions whose intermediate values are computed again for the derivative, instead of being kept."""

from functools import wraps
from typing import Any

from ._autodiff_arguments import check_callable
from ._autodiff_products import Function
from ._dispatch import pluggable
from ._transforms import Flat, arrays_of


@pluggable(capability="autodiff")
def checkpoint(function: Function, /, *, prevent_cse: bool = True) -> Function:
    """Make the function that keeps only its arguments for reverse mode, and is computed again when that needs more.

    Args:
        function: Takes trees of arrays and numbers and returns one. Arrays from outside that it uses are differentiated
            too.
        prevent_cse: Whether a compiler is kept from merging the two computations, which it might find to be the same;
            JAX alone needs that, and not in the body of a `scan`.

    Returns:
        A function of the same arguments, with the same values and derivatives. Reverse mode takes about one more
        evaluation of it, and the memory of its arguments instead of that of all its steps; nested, that of the largest
        part.

    Raises:
        TypeError: By the function returned: arguments that are neither arrays nor numbers.

    Source: `jax.checkpoint`; A. Griewank and A. Walther, ACM Trans. Math. Softw. 26 (2000) 19.

    >>> import torch
    >>> layer = checkpoint(lambda x: torch.sin(torch.sin(x)))
    >>> torch.func.grad(layer)(torch.tensor(0.0))
    tensor(1.)
    """
    check_callable("checkpoint", function)

    @wraps(function)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = arrays_of("checkpoint", "the arguments", (args, kwargs))
        flat = Flat("checkpoint", lambda given, named: function(*given, **named), structure, False)
        outs = checkpoint.native(*leaves)(lambda *xs: flat(*xs)[0], prevent_cse=prevent_cse)(*leaves)
        return flat.output(outs)

    return checkpointed
