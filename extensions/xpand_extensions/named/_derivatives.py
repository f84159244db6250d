"""Derivatives of functions of named arrays. They are named arrays, too.

The functions take the same arguments as those in `autodiff`. Arguments and results are trees of arrays, named or not.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, Final, TypeAlias

from xpand import trees
from xpand.extend import describe, is_array

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
    >>> from xpand import named as hax
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
    >>> from xpand import named as hax
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
    >>> from xpand import named as hax
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
    >>> from xpand import named as hax
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
    >>> from xpand import named as hax
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


_UNNAMED: Final[Any] = None
"""The names of arrays without names, while a derivative is computed."""


def _wrapped(tree: trees.Tree) -> trees.Tree:
    """Make each leaf a named array."""
    return trees.map(lambda x: x if is_named(x) else make(x, _UNNAMED), tree, is_leaf=is_named)


def _unwrapped(tree: trees.Tree) -> trees.Tree:
    return trees.map(lambda x: x.array if x.names is _UNNAMED else x, tree, is_leaf=is_named)


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
        def wrapped(*args: Any) -> Any:
            output = function(*map(_unwrapped, args), **kwargs)
            if not has_aux:
                return _wrapped(output)
            if not isinstance(output, tuple) or len(output) != 2:
                raise TypeError(
                    f"{name}: with has_aux=True the function must return a pair of the output and auxiliary data, got "
                    f"{describe(output)}"
                )
            return _wrapped(output[0]), output[1]

        for i in argnums if isinstance(argnums, (tuple, list)) else (argnums,):
            for leaf in trees.leaves(args[i], is_leaf=is_named):
                if is_array(leaf) and len(leaf.shape):
                    raise TypeError(
                        f"{name}: the argument has an array with {len(leaf.shape)} axes without names; name them with "
                        "`named(array, axes)`"
                    )
        found = transformation(wrapped, argnums, has_aux, **options)(*map(_wrapped, args))
        if has_aux:
            return _joined(name, found[0], None, [{}, *new_names]), found[1]
        return _joined(name, found, None, [{}, *new_names])

    return jacobian


def _renames(function: str, renames: Renames | None) -> dict[str, str]:
    if renames is None:
        return {}
    if not isinstance(renames, Mapping):
        raise TypeError(
            f"{function}: rename must be a dictionary from names of axes to new ones, got {describe(renames)}"
        )
    return {_axis.selector(function, old)[0]: _axis.selector(function, new)[0] for old, new in renames.items()}


def _joined(
    function: str, tree: trees.Tree, names: tuple[str, ...] | None, renames: Sequence[Mapping[str, str]]
) -> trees.Tree:
    """Join the names of nested named arrays: those of an output, whose array is a tree of those of the arguments."""

    def joined(x: NamedArray) -> trees.Tree:
        own = tuple([renames[0].get(name, name) for name in x.names or ()])
        if shared := [name for name in own if name in (names or ())]:
            raise ValueError(
                f"{function}: the axes {', '.join(map(repr, shared))} of the argument are also axes of the output, "
                f"{names}; give them other names in the derivative, such as "
                f"rename={{{shared[0]!r}: {shared[0] + '2'!r}}}"
            )
        both = None if names is None and x.names is _UNNAMED else (*(names or ()), *own)
        if len(renames) > 1:
            return _joined(function, x.array, both, renames[1:])
        if both is None:
            return x.array
        if extra := len(x.array.shape) - len(both):
            raise TypeError(
                f"{function}: the output has {extra} axes without names, next to {both}; name the axes of all arrays "
                "that the function returns"
            )
        return make(x.array, interned(both))

    return trees.map(joined, tree, is_leaf=is_named)
