"""Derivatives of functions of named arrays. They are named arrays, too.

The functions take the same arguments as those in `autodiff`. Arguments and results are trees of arrays, named or not.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeAlias

from xpand import trees
from xpand.extend import Array, describe, is_array

from .. import autodiff
from . import _axis
from ._array import NamedArray, interned, make
from ._axis import AxisSelector

__all__ = ["grad", "hessian", "jacfwd", "jacrev", "value_and_grad"]

Function: TypeAlias = Callable[..., Any]
Renames: TypeAlias = Mapping[AxisSelector, AxisSelector]


def grad(function: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False, **options: Any) -> Function:
    """Return a function that computes the gradient of a scalar function, with the axes of the arguments.

    Args:
        function: Returns a named array without axes, an array of shape `()`, or a number.
        argnums: The positional arguments to differentiate with respect to.
        has_aux: Whether the function returns a pair, of the output and of auxiliary data.
        **options: Those of `autodiff.grad`.

    Raises:
        TypeError: The output is not a scalar, or an argument can't be differentiated.

    >>> import numpy as np
    >>> from xpand_extensions import named as hax
    >>> x = hax.named(np.asarray([1.0, 2.0]), "feature")
    >>> grad(lambda x: (x * x).sum())(x)
    NamedArray({'feature': 2}, array([2., 4.]))
    """
    return autodiff.grad(_with_scalar("grad", function, has_aux), argnums, has_aux, **options)


def value_and_grad(
    function: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False, **options: Any
) -> Function:
    """Return a function that computes the value of a scalar function and its gradient.

    Arguments and errors are those of `grad`. The value is an array of shape `()` without names.

    >>> import numpy as np
    >>> from xpand_extensions import named as hax
    >>> x = hax.named(np.asarray([1.0, 2.0]), "feature")
    >>> value, gradient = value_and_grad(lambda x: (x * x).sum())(x)
    >>> float(value), gradient
    (5.0, NamedArray({'feature': 2}, array([2., 4.])))
    """
    return autodiff.value_and_grad(_with_scalar("value_and_grad", function, has_aux), argnums, has_aux, **options)


def jacfwd(
    function: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    rename: Renames | None = None,
    **options: Any,
) -> Function:
    """Return a function that computes the Jacobian of a function by forward mode, for fewer arguments than outputs.

    Args:
        function: Takes and returns trees of named arrays; arrays without names must have shape `()`.
        argnums: The positional arguments to differentiate with respect to.
        has_aux: Whether the function returns a pair, of the output and of auxiliary data.
        rename: New names for axes of the arguments in the Jacobian, needed if the output has an axis of the same name.
        **options: Options of `autodiff.jacfwd`.

    Returns:
        A function that returns a named array for each output and argument, with the axes of the output, then those of
        the argument.

    Raises:
        ValueError: An output and an argument have an axis of the same name, and `rename` gives no other name.
        TypeError: An array with axes but without names, or arguments that can't be differentiated.

    >>> import numpy as np
    >>> from xpand_extensions import named as hax
    >>> x = hax.named(np.asarray([1.0, 2.0]), "i")
    >>> jacfwd(lambda x: x * x, rename={"i": "j"})(x)
    NamedArray({'i': 2, 'j': 2}, array([[2., 0.],
           [0., 4.]]))
    """
    return _jacobian("jacfwd", autodiff.jacfwd, function, argnums, has_aux, (rename,), options)


def jacrev(
    function: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    rename: Renames | None = None,
    **options: Any,
) -> Function:
    """Return a function that computes the Jacobian of a function by reverse mode, for fewer outputs than arguments.

    Arguments, results and errors are those of `jacfwd`.

    >>> import numpy as np
    >>> from xpand_extensions import named as hax
    >>> x = hax.named(np.asarray([1.0, 2.0]), "i")
    >>> jacrev(lambda x: (x**3).sum())(x)
    NamedArray({'i': 2}, array([ 3., 12.]))
    """
    return _jacobian("jacrev", autodiff.jacrev, function, argnums, has_aux, (rename,), options)


def hessian(
    function: Function,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    *,
    rename: Renames | None = None,
    **options: Any,
) -> Function:
    """Return a function that computes the Hessian of a function.

    Arguments and errors are those of `jacfwd`. The argument's axes occur twice in the result; `rename` renames them the
    second time.

    >>> import numpy as np
    >>> from xpand_extensions import named as hax
    >>> x = hax.named(np.asarray([1.0, 2.0]), "i")
    >>> hessian(lambda x: (x**3).sum(), rename={"i": "j"})(x)
    NamedArray({'i': 2, 'j': 2}, array([[ 6.,  0.],
           [ 0., 12.]]))
    """
    return _jacobian("hessian", autodiff.hessian, function, argnums, has_aux, (None, rename), options)


def _with_scalar(name: str, function: Function, has_aux: bool) -> Function:
    """Make a function return an array instead of a named array without axes."""

    @wraps(function)
    def unwrapped(*args: Any, **kwargs: Any) -> Any:
        output = function(*args, **kwargs)
        value, rest = (output[0], output[1:]) if has_aux and isinstance(output, tuple) and output else (output, ())
        if isinstance(value, NamedArray):
            if value.names:
                raise TypeError(
                    f"{name}: the function must return a scalar, got a NamedArray with the axes "
                    f"{_axis.written(value.shape.items())}; sum over them, or use `jacrev` for all derivatives"
                )
            value = value.array
        return (value, *rest) if has_aux and isinstance(output, tuple) and output else value

    return unwrapped


def is_named(x: Any) -> bool:
    """Return whether an object is a named array; used as `is_leaf` for trees."""
    return isinstance(x, NamedArray)


def unwrapped_tree(tree: trees.Tree) -> trees.Tree:
    """Replace the named arrays of a tree by their arrays."""
    return trees.map(lambda x: x.array if isinstance(x, NamedArray) else x, tree, is_leaf=is_named)


def _jacobian(
    name: str,
    transformation: Callable[..., Function],
    function: Function,
    argnums: int | Sequence[int],
    has_aux: bool,
    renames: tuple[Renames | None, ...],
    options: Mapping[str, Any],
) -> Function:
    new_names = [_renames(name, each) for each in renames]

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        outputs: list[trees.Tree] = []

        def positional(*arrays: Any) -> Any:
            rewrapped = [
                trees.map(lambda x, array: make(array, x.names) if is_named(x) else array, arg, each, is_leaf=is_named)
                for arg, each in zip(args, arrays)
            ]
            output = function(*rewrapped, **kwargs)
            if has_aux and not (isinstance(output, tuple) and len(output) == 2):
                raise TypeError(
                    f"{name}: with has_aux=True the function must return a pair of the output and auxiliary data, got "
                    f"{describe(output)}"
                )
            value = output[0] if has_aux else output
            # Take only names from the traced output.
            outputs[:] = [trees.map(lambda x: x.names if is_named(x) else None, value, is_leaf=is_named)]
            return (unwrapped_tree(value), output[1]) if has_aux else unwrapped_tree(value)

        found = transformation(positional, argnums, has_aux, **options)(*map(unwrapped_tree, args))
        derivatives, aux = found if has_aux else (found, None)
        output_names, structure = trees.flatten(outputs[0], is_leaf=_is_names)
        chosen: Any = args[argnums] if isinstance(argnums, int) else tuple([args[i] for i in argnums])
        parts = structure.flatten_up_to(derivatives)
        named = [
            _level(name, names, part, [chosen] * len(new_names), new_names) for names, part in zip(output_names, parts)
        ]
        result = trees.unflatten(structure, named)
        return (result, aux) if has_aux else result

    return jacobian


def _is_names(x: Any) -> bool:
    return x is None or (isinstance(x, tuple) and all(isinstance(name, str) for name in x))


def _renames(function: str, renames: Renames | None) -> dict[str, str]:
    if renames is None:
        return {}
    if not isinstance(renames, Mapping):
        raise TypeError(
            f"{function}: rename must be a dictionary from names of axes to new ones, got {describe(renames)}"
        )
    return {_axis.selector(function, old)[0]: _axis.selector(function, new)[0] for old, new in renames.items()}


def _level(
    function: str,
    names: tuple[str, ...] | None,
    tree: trees.Tree,
    arguments: Sequence[trees.Tree],
    new_names: Sequence[Mapping[str, str]],
) -> trees.Tree:
    """Name the arrays of a tree of derivatives: first the given axes, then those of each argument."""
    if not arguments:
        _check_all_named(function, names, tree)
        return tree if names is None else make(tree, interned(names))
    leaves, structure = trees.flatten(arguments[0], is_leaf=is_named)
    results = []
    for leaf, part in zip(leaves, structure.flatten_up_to(tree)):
        own = leaf.names if is_named(leaf) else None
        if own is None and is_array(leaf) and len(leaf.shape):
            raise TypeError(
                f"{function}: the argument has an array with {len(leaf.shape)} axes without names; name them with "
                "`named(array, axes)`"
            )
        renamed = tuple([new_names[0].get(name, name) for name in own or ()])
        shared = [name for name in renamed if name in (names or ())]
        if shared:
            raise ValueError(
                f"{function}: the axes {', '.join(map(repr, shared))} of the argument are also axes of the output, "
                f"{names}; give them other names in the derivative, such as "
                f"rename={{{shared[0]!r}: {shared[0] + '2'!r}}}"
            )
        both = None if names is None and own is None else (*(names or ()), *renamed)
        results.append(_level(function, both, part, arguments[1:], new_names[1:]))
    return trees.unflatten(structure, results)


def _check_all_named(function: str, names: tuple[str, ...] | None, array: Array) -> None:
    if names is not None and len(names) != len(array.shape):
        raise TypeError(
            f"{function}: the output has {len(array.shape) - len(names)} axes without names, next to {names}; name the "
            "axes of all arrays that the function returns"
        )
