"""Functions that return their own derivative, and closure conversion."""

from functools import wraps
from typing import Any

from xpand import trees
from xpand.extend import Array, checks, same_structure

from .._captures import OfArrays, captured
from .._dispatch import pluggable, untraceable
from .._transforms import ArraySpec, arrays_of, as_array
from .._where import clean_tracebacks
from ._products import Function
from ._rule_calls import pair
from ._rules import custom_vjp


def custom_gradient(function: Function, /) -> Function:
    """Give a function a custom derivative for reverse mode, which it returns with its output: a decorator.

    Args:
        function: Takes trees of arrays and returns a pair: the output, and its pullback. The pullback takes a tree like
            the output and returns a tuple with a tree like each argument, or one tree for a single argument. It may use
            values that the function has computed.

    Returns:
        A function of the same arguments that returns the output. It has no forward mode.

    Raises:
        TypeError: The returned function raises it if `function` returns no pair, or the derivative is not like the
            arguments.

    A derivative evaluates the function once more; JAX instead saves the values that the pullback uses. Use `custom_vjp`
    to choose the saved values.

    Source: `jax.custom_gradient`.

    >>> import numpy as np
    >>> from xpand import grad
    >>> @custom_gradient
    ... def f(x):
    ...     return x**2, lambda g: (g * x,)
    >>> float(f(np.asarray(3.0))), float(grad(f)(np.asarray(3.0)))
    (9.0, 3.0)
    """
    checks.function("custom_gradient", function)
    name = getattr(function, "__name__", "the function")

    def both(*args: Any) -> tuple[Any, Any]:
        found = pair(f"custom_gradient: {name} must return a pair (output, its rule)", function(*args))
        checks.function("custom_gradient", found[1], f"the rule that {name} returns")
        return found

    @wraps(function)
    def value(*args: Any) -> Any:
        return both(*args)[0]

    def backward(args: tuple[Any, ...], cotangent: Any) -> tuple[Any, ...]:
        back = both(*args)[1](cotangent)
        return tuple(back) if isinstance(back, (tuple, list)) else (back,)

    custom = custom_vjp(value)
    custom.defvjp(lambda *args: (both(*args)[0], args), backward)
    return custom


@untraceable
@clean_tracebacks
@pluggable
def closure_convert(function: Function, /, *example_args: trees.Tree) -> tuple[Function, list[Array]]:
    """Convert captured arrays of a function that are differentiated to arguments.

    Use it for a function that is passed to another one with a custom rule, such as a solver with `custom_vjp`: there,
    only arguments have derivatives.

    Args:
        function: Takes trees of arrays and returns one.
        *example_args: Arguments of the function, if it has any: trees of arrays. On JAX and on traced arrays, the
            function is traced with them. It can then only be called with arrays of these shapes and data types.

    Returns:
        A function, and a list of arrays. The function takes the arguments followed by these arrays, or others like
        them. Integers, and arrays that no transformation traces, remain captured.

    Raises:
        TypeError: Arguments are not arrays. The returned function raises it for arguments of another structure.

    Source: `jax.closure_convert`.

    >>> import numpy as np
    >>> from xpand import grad
    >>> def f(a):
    ...     scaled, (captured,) = closure_convert(lambda x: a * x, a)
    ...     return scaled(a, 2.0 * captured)
    >>> float(grad(f)(np.asarray(3.0)))
    12.0
    """
    checks.function("closure_convert", function)
    flat, structure = trees.flatten(example_args)
    outer = [] if flat else captured(checks.is_array, function)
    if not flat and not outer:
        return function, []
    leaves = arrays_of("closure_convert", "example_args", flat)[0] if flat else []
    like = ArraySpec.of((leaves or outer)[0])
    result: list[trees.Structure] = []

    def of_arrays(users: "tuple[Function]", *arrays: Array) -> tuple[Array, ...]:
        found, of_result = trees.flatten(users[0](*trees.unflatten(structure, arrays)))
        result[:] = [of_result]
        return tuple(as_array("closure_convert: the function returned", x, like) for x in found)

    native, constants = closure_convert.native(*(leaves or outer))(OfArrays(of_arrays, function), *leaves)
    specs, count = [ArraySpec.of(x) for x in leaves], len(example_args)

    @wraps(function)
    def converted(*args: Any) -> Any:
        given, of_args = trees.flatten(args[:count])
        if len(args) != count + len(constants) or not same_structure(of_args, structure):
            raise TypeError(
                f"closure_convert: takes {count} arguments like the example_args and the {len(constants)} arrays that "
                f"were returned with the function, got {trees.structure(args)}"
            )
        arrays = [as_array("closure_convert: the arguments hold", x, like) for x, like in zip(given, specs)]
        outs = native(*arrays, *args[count:])
        return trees.unflatten(result[0], outs)

    return converted, list(constants)
