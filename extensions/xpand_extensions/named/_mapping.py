"""Maps and loops of functions over named axes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xpand import trees
from xpand.extend import describe, is_array

from .. import control_flow, vmap as _vmap
from ..vmap import vmap as positional_vmap
from . import _axis, _reductions
from ._array import NamedArray, interned, make
from ._axis import AxisSelection, AxisSelector
from ._derivatives import is_named
from ._plans import array_of, rest_of

__all__ = ["fold", "map", "pmax", "pmean", "pmin", "psum", "scan", "vmap"]


def vmap(
    function: Callable[..., Any],
    axis: AxisSelection,
    *,
    default: Any = "zero",
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
) -> Callable[..., Any]:
    """Vectorize a function over a named axis of its arguments.

    Args:
        function: Takes and returns trees of arrays, named or not. Inside, named arrays lack the axis.
        axis: The axis, or several. Its size is needed if no argument has it. Named arrays with the axis are mapped over
            it; the others are the same for all batch elements.
        default: The mapped axis of arrays without names: an integer, None for arrays that are the same for all, or a
            function from a leaf to one of these. By default the first; arrays without axes are the same for all.
        args: For each positional argument, the axis in place of `default`.
        kwargs: For keyword arguments, likewise.

    Returns:
        A function of the same arguments. The axis is the first of its results. Inside, collectives such as `psum` find
        the axis by its name.

    Raises:
        ValueError: No argument has the axis, and its size isn't given; or sizes differ.

    Source: Haliax's `vmap`.

    >>> import numpy as np
    >>> from xpand import named as hax
    >>> x = hax.named(np.asarray([[1.0, 2.0], [3.0, 4.0]]), ("batch", "feature"))
    >>> vmap(lambda row: row - row.mean(), "batch")(x)
    NamedArray({'batch': 2, 'feature': 2}, array([[-0.5,  0.5],
           [-0.5,  0.5]]))
    """
    names = _axis.pairs("vmap", axis)
    _axis.different("vmap", [name for name, _ in names])
    options = dict(kwargs or {})
    for each in reversed(names):
        function = _mapped(function, each, default, tuple(args), options)
    return function


def _mapped(
    function: Callable[..., Any],
    axis: tuple[str, int | None],
    default: Any,
    args_axes: tuple[Any, ...],
    kwargs_axes: Mapping[str, Any],
) -> Callable[..., Any]:
    name, size = axis

    def mapped(*args: Any, **kwargs: Any) -> Any:
        given = [(arg, args_axes[i] if i < len(args_axes) else default) for i, arg in enumerate(args)]
        given += [(kwargs[key], kwargs_axes.get(key, default)) for key in sorted(kwargs)]  # in the order of trees
        selectors = [selector for arg, selector in given for _ in trees.leaves(arg, is_leaf=is_named)]
        leaves, structure = trees.flatten((args, kwargs), is_leaf=is_named)
        _check_size(name, size, leaves)
        in_axes = tuple([_axis_of(leaf, name, selector) for leaf, selector in zip(leaves, selectors)])

        def lane(*leaves: Any) -> Any:
            args, kwargs = trees.unflatten(structure, [_without(x, name) for x in leaves])
            return function(*args, **kwargs)

        found = positional_vmap(lane, in_axes=in_axes, axis_name=name, axis_size=size)(*leaves)
        return trees.map(lambda x: _with("vmap", name, x), found, is_leaf=is_named)

    return mapped


def _axis_of(leaf: Any, name: str, selector: Any) -> int | None:
    if is_named(leaf):
        return leaf.names.index(name) if name in leaf.names else None
    if callable(selector):
        found: int | None = selector(leaf)
        return found
    if selector != "zero":
        return selector if is_array(leaf) else None
    return 0 if is_array(leaf) and len(leaf.shape) else None


def _check_size(name: str, size: int | None, leaves: Sequence[Any]) -> None:
    sizes = {leaf.shape[name] for leaf in leaves if is_named(leaf) and name in leaf.names}
    if not sizes and size is None and not any(is_array(leaf) and len(leaf.shape) for leaf in leaves):
        found = [_axis.written(leaf.shape.items()) for leaf in leaves if is_named(leaf)]
        raise ValueError(
            f"vmap: no argument has the axis {name!r}; the arrays have the axes {', '.join(found) or 'none'}; rename "
            f"one of these axes, or give the size of a new one, Axis({name!r}, size)"
        )
    if len(sizes | ({size} if size is not None else set())) > 1:
        given = "" if size is None else f", but {size} is given"
        raise ValueError(f"vmap: axis {name!r} has the sizes {sorted(sizes)} in the arguments{given}")


def _without(x: Any, name: str) -> Any:
    """Remove the name of the mapped or scanned axis, which a positional transformation has removed from the array."""
    return make(x.array, rest_of(x.names, (name,))) if is_named(x) and name in x.names else x


def _with(function: str, name: str, x: Any) -> Any:
    """Add the name of the mapped or scanned axis to a result, as its first axis."""
    if not is_named(x):
        return x
    if name in x.names:
        raise ValueError(
            f"{function}: the function returns an array with the axes {x.names}, but {name!r} is also the axis that is "
            "mapped over; rename the array's axis"
        )
    return make(x.array, interned((name, *x.names)))


def scan(
    f: Callable[..., Any],
    axis: AxisSelector,
    *,
    reverse: bool = False,
    unroll: int | bool = 1,
    is_scanned: Callable[[Any], bool] | None = None,
) -> Callable[..., tuple[Any, Any]]:
    """Return a function that loops along a named axis with a carry, and stacks the results of the steps.

    Args:
        f: Takes the carry and the arguments at one position of the axis; returns the next carry and a result.
        axis: The axis. Its size is needed if no argument has it.
        reverse: Whether to start at the end.
        unroll: As in `control_flow.scan`.
        is_scanned: Selects the leaves of the arguments to scan: by default named arrays with the axis, and other arrays
            along their first axis, if they have axes. The other leaves are the same in each step.

    Returns:
        A function of the initial carry and the arguments. It returns the last carry, and the results stacked along the
        axis, which is their first.

    Raises:
        ValueError: No argument has the axis, and its size isn't given; or sizes differ.

    Source: Haliax's `scan`.

    >>> import numpy as np
    >>> from xpand import named as hax
    >>> x = hax.named(np.asarray([1.0, 2.0, 3.0]), "time")
    >>> zero = hax.named(np.asarray(0.0), ())
    >>> last, sums = scan(lambda total, x: (total + x, total + x), "time")(zero, x)
    >>> sums
    NamedArray({'time': 3}, array([1., 3., 6.]))
    """
    name, size = _axis.selector("scan", axis)

    def scanned(init: Any, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        leaves, structure = trees.flatten((args, kwargs), is_leaf=is_named)
        chosen = [_is_scanned(leaf, name, is_scanned) for leaf in leaves]
        moved = [
            leaf.rearrange((name, ...)) if is_named(leaf) else leaf for leaf, scanned in zip(leaves, chosen) if scanned
        ]
        sizes = {array_of(x).shape[0] for x in moved} | ({size} if size is not None else set())
        if len(sizes) != 1:
            raise ValueError(
                f"scan: axis {name!r} has the sizes {sorted(sizes)} in the arguments"
                if sizes
                else f"scan: no argument has the axis {name!r}; give its size, Axis({name!r}, size)"
            )

        def step(carry: Any, moved: Any) -> Any:
            parts = iter(moved)
            values = [_without(next(parts), name) if scanned else leaf for leaf, scanned in zip(leaves, chosen)]
            positional, keywords = trees.unflatten(structure, values)
            pair = f(carry, *positional, **keywords)
            if not isinstance(pair, tuple) or len(pair) != 2:
                raise TypeError(f"scan: f must return a pair of the carry and a result, got {describe(pair)}")
            return pair

        carry, stacked = control_flow.scan(step, init, moved, length=sizes.pop(), reverse=reverse, unroll=unroll)
        return carry, trees.map(lambda x: _with("scan", name, x), stacked, is_leaf=is_named)

    return scanned


def _is_scanned(leaf: Any, name: str, is_scanned: Callable[[Any], bool] | None) -> bool:
    has_axis = name in leaf.names if is_named(leaf) else is_array(leaf) and len(leaf.shape) > 0
    return has_axis and (is_scanned is None or bool(is_scanned(leaf)))


def fold(
    f: Callable[..., Any],
    axis: AxisSelector,
    *,
    reverse: bool = False,
    unroll: int | bool = 1,
    is_scanned: Callable[[Any], bool] | None = None,
) -> Callable[..., Any]:
    """Return a function that loops along a named axis, and returns the last carry.

    `f` returns the next carry. Arguments and errors are those of `scan`.

    Source: Haliax's `fold`.

    >>> import numpy as np
    >>> from xpand import named as hax
    >>> x = hax.named(np.asarray([1.0, 2.0, 3.0]), "time")
    >>> float(fold(lambda total, x: total + x, "time")(hax.named(np.asarray(0.0), ()), x))
    6.0
    """
    step = lambda *args, **kwargs: (f(*args, **kwargs), None)
    loop = scan(step, axis, reverse=reverse, unroll=unroll, is_scanned=is_scanned)
    return lambda init, *args, **kwargs: loop(init, *args, **kwargs)[0]


def map(
    f: Callable[..., Any],
    axis: AxisSelector,
    *,
    reverse: bool = False,
    unroll: int | bool = 1,
    is_mapped: Callable[[Any], bool] | None = None,
) -> Callable[..., Any]:
    """Return a function that calls `f` for each position of an axis in turn, and stacks the results.

    Unlike `vmap`, this needs the memory of one call only. Arguments and errors are those of `scan`.

    Source: Haliax's `map`.

    >>> import numpy as np
    >>> from xpand import named as hax
    >>> map(lambda x: 2 * x, "time")(hax.named(np.asarray([1.0, 2.0]), "time"))
    NamedArray({'time': 2}, array([2., 4.]))
    """
    loop = scan(
        lambda _, *args, **kwargs: (None, f(*args, **kwargs)),
        axis,
        reverse=reverse,
        unroll=unroll,
        is_scanned=is_mapped,
    )
    return lambda *args, **kwargs: loop(None, *args, **kwargs)[1]


# --- collectives: over an axis of the array, of `vmap`, or of a mesh -------------------------------------------------


def psum(x: Any, axis: AxisSelector) -> Any:
    """Sum over an axis of the arrays, or over the lanes of a mapped axis of that name.

    Args:
        x: A tree of arrays, named or not.
        axis: The axis. Named arrays with the axis are summed over it. For the others, it is an axis of `vmap`,
            `jax.shard_map` or `pmap`.

    Raises:
        NameError: An array lacks the axis, and no axis of that name is mapped over.

    Source: `jax.lax.psum`.

    >>> import numpy as np
    >>> from xpand import named as hax
    >>> x = hax.named(np.asarray([1.0, 2.0]), "batch")
    >>> float(psum(x, "batch"))
    3.0
    >>> hax.vmap(lambda x: x / psum(x, "batch"), "batch")(x).array.round(2)
    array([0.33, 0.67])
    """
    return _collective("psum", "sum", x, axis)


def pmean(x: Any, axis: AxisSelector) -> Any:
    """Compute the mean over an axis. Arguments and errors are those of `psum`."""
    return _collective("pmean", "mean", x, axis)


def pmax(x: Any, axis: AxisSelector) -> Any:
    """Compute the maximum over an axis. Arguments and errors are those of `psum`."""
    return _collective("pmax", "max", x, axis)


def pmin(x: Any, axis: AxisSelector) -> Any:
    """Compute the minimum over an axis. Arguments and errors are those of `psum`."""
    return _collective("pmin", "min", x, axis)


def _collective(function: str, reduction: str, tree: Any, axis: AxisSelector) -> Any:
    name, _ = _axis.selector(function, axis)

    def combined(x: Any) -> Any:
        if isinstance(x, NamedArray) and name in x.names:
            return getattr(_reductions, reduction)(x, axis)
        try:
            return getattr(_vmap, function)(x, name)
        except NameError as error:
            if not isinstance(x, NamedArray):
                raise
            raise NameError(
                f"{function}: no axis {name!r}: the array has the axes {_axis.written(x.shape.items())}, and no "
                "axis of that name is mapped over"
            ) from error

    return trees.map(combined, tree, is_leaf=is_named)
