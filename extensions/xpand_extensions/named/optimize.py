"""Minima and roots of functions of named arrays.

Points are trees of named arrays, and so is the `x` of the result. Options, methods and errors are those of the
functions of the same names in `xpand.optimize`.

`batch` names the axes of independent problems, which every array of `x0` has. One call of the function computes all
problems. Fields of the result other than `x` and `fun`, such as `status`, are arrays without names; their axes are
those of `batch`, in its order.

>>> import numpy as np
>>> from xpand import named as hax
>>> target = hax.named(np.asarray([[1.0, 2.0], [3.0, 4.0]]), ("place", "feature"))
>>> found = hax.optimize.minimize(lambda x: ((x - target) ** 2.0).sum("feature"), 0.0 * target, batch="place")
>>> found.x.array.round(3), found.converged
(array([[1., 2.],
       [3., 4.]]), array([ True,  True]))
"""

from collections.abc import Callable
from typing import Any

from xpand import trees
from xpand.extend import describe

from .. import optimize as _optimize
from . import _axis
from ._array import NamedArray, interned, make
from ._axis import AxisSelection
from ._derivatives import is_named
from ._plans import aligned, rest_of, selected
from ._shapes import broadcast_to, permuted, reordered

__all__ = ["bisect", "bracketed_root", "brentq", "fixed_point", "least_squares", "minimize", "root"]
__dir__ = __all__.copy

Function = Callable[..., Any]
Result = _optimize.OptimizeResult


def minimize(
    f: Function,
    x0: trees.Tree,
    *,
    batch: AxisSelection = (),
    bounds: tuple[Any, Any] | None = None,
    gradient: Function | None = None,
    **options: Any,
) -> Result:
    """Find a local minimum of a function: see `xpand.optimize.minimize`.

    Args:
        f: Takes a tree like `x0`, and `args`. Returns a named array with the axes of `batch`.
        x0: The starting point.
        batch: The axes of independent problems.
        bounds: A pair of the lower and the upper bounds. Each is a number, None, or a tree of named arrays that
            broadcast by name to those of `x0`.
        gradient: Takes the arguments of `f` and returns a tree like `x0`. By default, it is computed by
            differentiation.
        **options: Options of the positional function, such as `method` and `args`.

    Raises:
        ValueError: An array lacks an axis of `batch`, or the result of `f` has other axes.
    """
    x0, names = _starting("minimize", x0, batch)
    if bounds is not None:
        options["bounds"] = tuple([_bound(x0, each) for each in bounds])
    if gradient is not None:
        options["gradient"] = _like("minimize", gradient, x0, "gradient")

    def value(x: trees.Tree, *args: Any) -> Any:
        return _values("minimize", f(x, *args), names)

    found = _optimize.minimize(value, x0, batch_ndim=len(names), **options)
    return _named(found, fun=names)


def least_squares(f: Function, x0: trees.Tree, *, batch: AxisSelection = (), **options: Any) -> Result:
    """Minimize the sum of squares of residuals: see `xpand.optimize.least_squares`.

    `f` returns a tree of residuals: named arrays with the axes of `batch`, and any other axes.
    """
    x0, names = _starting("least_squares", x0, batch)

    def residuals(x: trees.Tree, *args: Any) -> Any:
        return _starting("least_squares", f(x, *args), names)[0]

    return _named(_optimize.least_squares(residuals, x0, batch_ndim=len(names), **options))


def root(f: Function, x0: trees.Tree, *, batch: AxisSelection = (), **options: Any) -> Result:
    """Find a root of a function from a tree to a tree like it: see `xpand.optimize.root`."""
    x0, names = _starting("root", x0, batch)
    return _named(_optimize.root(_like("root", f, x0), x0, batch_ndim=len(names), **options))


def fixed_point(f: Function, x0: trees.Tree, *, batch: AxisSelection = (), **options: Any) -> Result:
    """Find a point that a function maps to itself: see `xpand.optimize.fixed_point`."""
    x0, names = _starting("fixed_point", x0, batch)
    return _named(_optimize.fixed_point(_like("fixed_point", f, x0), x0, batch_ndim=len(names), **options))


def bracketed_root(f: Function, a: Any, b: Any, **options: Any) -> Result:
    """Find a root between two points for each element: see `xpand.optimize.bracketed_root`.

    Args:
        f: Takes a named array with the axes of both ends, and `args`. Returns one with the same axes.
        a: One end of each interval: a named array or a number.
        b: The other end. Both broadcast by name.
        **options: Options of the positional function, such as `method` and `args`.

    >>> import numpy as np
    >>> from xpand import named as hax
    >>> squares = hax.named(np.asarray([4.0, 9.0]), "i")
    >>> bracketed_root(lambda x: x * x - squares, 0.0, squares).x.array.round(6)
    array([2., 3.])
    """
    return _bracketed(_optimize.bracketed_root, f, a, b, options)


def bisect(f: Function, a: Any, b: Any, **options: Any) -> Result:
    """Find a root between two points by bisection: see `bracketed_root`."""
    return _bracketed(_optimize.bisect, f, a, b, options)


def brentq(f: Function, a: Any, b: Any, **options: Any) -> Result:
    """Find a root between two points by Brent's method: see `bracketed_root`."""
    return _bracketed(_optimize.brentq, f, a, b, options)


def _bracketed(positional: Callable[..., Result], f: Function, a: Any, b: Any, options: dict[str, Any]) -> Result:
    name = positional.__name__
    names, ends = aligned(name, (a, b))

    def value(x: Any, *args: Any) -> Any:
        return _values(name, f(make(x, names), *args), names)

    found = positional(value, *ends, **options)
    return _named(found, x=names, fun=names)


def _starting(function: str, tree: trees.Tree, batch: AxisSelection) -> tuple[trees.Tree, tuple[str, ...]]:
    """Return a tree with the axes of the batch first, and their names."""
    names = tuple([name for name, _ in _axis.pairs(function, batch)])

    def moved(x: Any) -> Any:
        if not isinstance(x, NamedArray):
            return x
        selected(function, x, batch)
        return permuted(x, (*names, *rest_of(x.names, names)))

    return trees.map(moved, tree, is_leaf=is_named), interned(names)


def _like(function: str, f: Function, x0: trees.Tree, parameter: str = "f") -> Function:
    """Make a function return arrays with the order of axes of `x0`."""

    def ordered(*args: Any) -> Any:
        def order(x: Any, y: Any) -> Any:
            both = is_named(x) and is_named(y)
            return reordered(function, y, x.names, f"{parameter} must return an array with") if both else y

        return trees.map(order, x0, f(*args), is_leaf=is_named)

    return ordered


def _bound(x0: trees.Tree, bound: Any) -> Any:
    if not any(is_named(leaf) for leaf in trees.leaves(bound, is_leaf=is_named)):
        return bound
    return trees.map(lambda x, y: broadcast_to(y, x.axes) if is_named(x) else y, x0, bound, is_leaf=is_named)


def _values(function: str, found: Any, names: tuple[str, ...]) -> Any:
    """Return the array of values with the axes of the batch."""
    if isinstance(found, NamedArray):
        return reordered(function, found, names, "f must return an array with").array
    if names:
        raise TypeError(f"{function}: f must return a NamedArray with the axes {names}, got {describe(found)}")
    return found


def _named(found: Result, **names: tuple[str, ...]) -> Result:
    """Name the axes of fields that are arrays. Arrays of a trajectory have the axis "step" as the first."""
    fields: dict[str, Any] = {field: make(getattr(found, field), interned(own)) for field, own in names.items()}
    path = found.trajectory
    if path is not None:
        along = lambda x: make(x.array, interned(("step", *x.names))) if is_named(x) else x
        path = _named(path, **{field: ("step", *own) for field, own in names.items()})
        rest = {field: getattr(path, field) for field in ("x", "fun") if field not in names}
        path = path._replace(**{key: trees.map(along, each, is_leaf=is_named) for key, each in rest.items()})
    return found._replace(**fields, trajectory=path)
