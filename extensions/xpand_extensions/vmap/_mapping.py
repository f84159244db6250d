"""Map a function of trees over axes."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import Any, Final, TypeAlias

from xpand import array_namespace, default_namespace, is_concrete, trees
from xpand.extend import Array, MappedAxis, checks

from .._direct_calls import Direct, IndirectError, compiled_as
from .._dispatch import pluggable
from .._signatures import keeps_signature
from .._transforms import HOLE, Flat, Partial, as_array
from .._transforms_patterns import Container, flatten_without_plans, has_containers, is_container, repeated
from ..control_flow._trees import paths
from . import _names as names
from ._labels import has_labels, with_axis, without_axis


def with_fitting_plans(tree: trees.Tree) -> trees.Tree:
    """Remove data computed from the patterns of a batch: it differs from that of a lane."""
    return trees.map(
        lambda x: x._of(x._values, x.pattern, x._static()) if isinstance(x, Container) and _own(x) else x,
        tree,
        is_leaf=is_container,
    )


def in_of_containers(tree: trees.Tree, axes: Sequence[int | None], leaves: Sequence[Array]) -> tuple[int | None, ...]:
    """Return the axis to map over for each array of a tree. The arrays of a container share one of its batch axes.

    Raises:
        ValueError: An axis is not a batch axis, or the parts of a container have different axes.
    """
    found: list[int | None] = []
    for x in trees.leaves(tree, is_leaf=is_container):
        axis = axes[len(found)]
        if not isinstance(x, Container):
            found.append(
                None if axis is None else checks.axis("vmap", axis, getattr(leaves[len(found)], "ndim", 0), "in_axes")
            )
            continue
        count = len(trees.leaves(x))
        if any(each is not axis and each != axis for each in axes[len(found) : len(found) + count]):
            raise ValueError(f"vmap: in_axes must have one entry for all of a sparse container, got several for {x!r}")
        pattern_axis: int | None = None
        if axis is not None:
            axis = _batch_axis("in_axes", axis, x, x.batch_ndim)
            pattern_axis = axis if _own(x) else None
        found += [axis] + [pattern_axis] * (count - 1)
    return tuple(found)


def out_of_containers(
    tree: trees.Tree, positions: Sequence[int | None], same: Sequence[Array]
) -> tuple[list[Array], list[int | None]]:
    """Return the arrays of a result, and the position of the mapped axis in each.

    All lanes share a pattern if it is concrete, or one of the arrays that are the same in all calls.

    Raises:
        ValueError: An axis can't be a batch axis.
    """
    arrays: list[Array] = []
    found: list[int | None] = []
    for x in trees.leaves(tree, is_leaf=is_container):
        position = positions[len(found)]
        if not isinstance(x, Container):
            arrays.append(x)
            found.append(position)
            continue
        parts = trees.leaves(x.pattern)
        if position is not None:
            position = _batch_axis("out_axes", position, x, x.batch_ndim + 1)
        pattern_axis = position
        if all(each.ndim == 1 and _is_same(each, same) for each in parts):
            pattern_axis = None
        elif position is not None and not _own(x):
            parts = [repeated(each, x.values.shape[: x.batch_ndim]) for each in parts]
        arrays += [x.values, *parts]
        found += [position] + [pattern_axis] * len(parts)
    return arrays, found


def _own(x: Container) -> bool:
    """Return whether each batch element has its own pattern."""
    return any(each.ndim > 1 for each in x.pattern)


def _batch_axis(name: str, axis: int, x: Container, count: int) -> int:
    where = axis + x.ndim + (name == "out_axes") if axis < 0 else axis
    if not 0 <= where < count:
        raise ValueError(
            f"vmap: {name} has {axis} for {x!r}; only batch axes can be mapped, here "
            f"{f'0 to {count - 1}' if count else 'None'}"
        )
    return where


def _is_same(x: Array, same: Sequence[Array]) -> bool:
    return is_concrete(x) or any(x is each for each in same)


Axes: TypeAlias = int | Sequence[Any] | dict[Any, Any] | None
"""The axis for all arrays of a tree, a tree of axes that is a prefix of the tree, or None: not mapped."""

_NO_KWARGS: Final[Mapping[str, Any]] = {}


@keeps_signature
@pluggable
def vmap(
    function: Callable[..., Any],
    /,
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    axis_name: names.Name | None = None,
    axis_size: int | None = None,
) -> Callable[..., Any]:
    """Vectorize a function over an axis of its arguments.

    Args:
        function: Takes trees of arrays and returns one.
        in_axes: The axis to map over: one for all arguments, or a tuple or list with one for each positional argument.
            Each is an integer, None for arguments that all lanes share, or a tree of these for the parts of an
            argument. Shared arguments may be of any type, such as numbers and functions, and are passed on unchanged.
            Keyword arguments are mapped over their first axis.
        out_axes: The position of the mapped axis in the results: an integer, None for results that all lanes share, or
            a tree of these. With an integer, shared results are repeated.
        axis_name: The name of the mapped axis, for collectives such as `psum`: a string, or another hashable value
            except integers, tuples and None.
        axis_size: The size of the mapped axis. Needed only if no argument is mapped.

    Returns:
        A function of the same arguments, with an additional axis on mapped ones. Its results are those of `function`
        with an additional axis.

    Raises:
        TypeError: `function` can't be called, the name is invalid, or the size is not an integer. The returned function
            raises it if leaves are not arrays or axes are not integers; or (`UnsupportedError`) if the library has no
            `vmap`.
        ValueError: The size is negative. The returned function raises it if nothing is mapped, arrays lack the axis,
            mapped axes differ in size, trees of axes don't fit, or `out_axes` is None for results that differ between
            lanes.

    Source: `jax.vmap`.

    >>> import torch
    >>> vmap(torch.dot, in_axes=(0, None))(torch.eye(2), torch.tensor([2.0, 3.0]))
    tensor([2., 3.])
    """
    checks.function("vmap", function)
    in_axes, out_axes = plain_axes(in_axes), plain_axes(out_axes)
    if checks.is_array(in_axes):
        raise TypeError(
            "vmap: in_axes must be an integer, None or a tree of these, got an array; `vmap` returns a function, which "
            "takes the arrays: `vmap(f)(x)`"
        )
    if axis_name is not None:
        names.checked("vmap", axis_name)
    if axis_size is not None:
        axis_size = checks.integer("vmap", "axis_size", axis_size, minimum=0)

    def of_trees(*args: Any, **kwargs: Any) -> Any:
        # torch.compile can't flatten an empty dictionary.
        given = (args, kwargs) if kwargs else (args,)
        found, form = trees.flatten(given)
        containers = len(found) > 1 and has_containers(given)
        if containers:
            given = with_fitting_plans(given)
            found, form = trees.flatten(given)
            args = given[0]
        axes = axes_of_arguments("vmap", in_axes, args, found, given if containers else None)
        mapped_axis = MappedAxis()
        if has_labels(given):
            given, mapped_axis = without_axis("vmap", given, axes)
            form = trees.structure(given)
        leaves, structure = _mapped_leaves(found, form)
        axes = tuple([axis for axis, x in zip(axes, found) if checks.is_array(x)])
        size = size_of_axes("vmap", axes, leaves, axis_size)
        flatten = partial(_flatten_labelled, out_axes, mapped_axis)
        flat = Flat("vmap", lambda given, named=_NO_KWARGS: function(*given, **named), structure, False, flatten)
        native = vmap.native(*(leaves or [default_namespace().asarray(0)]))
        # In the most frequent case, the library finds the size itself.
        plain = out_axes == 0 and not containers and axis_name is None and any(axis is not None for axis in axes)
        named = () if plain else (axis_name, size)
        if out_axes == 0 and not containers:
            try:
                return flat.output(native(lambda *arrays: _no_patterns(flat, arrays), axes, 0, *named)(*leaves))
            except _PatternsError:  # share patterns between lanes if possible: this needs two kinds of results
                named = (axis_name, size)
        positions: list[int | None] = []

        # Implementations support two kinds of `out_axes`: 0, and (0, None) for a pair of mapped and unmapped results.
        # The kind of each result is known only after the call of the function.
        def divided(*arrays: Array) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
            outs = flat(*arrays)[0]
            tree = flat.output(outs)
            positions[:] = spread_axes("vmap", "out_axes", out_axes, tree)
            if len(outs) > 1 and has_containers(tree):
                same = [x for x, axis in zip(arrays, axes) if axis is None]
                found, positions[:] = out_of_containers(tree, positions, same)
                outs = tuple(found)
            return (
                tuple(x for x, position in zip(outs, positions) if position is not None),
                tuple(x for x, position in zip(outs, positions) if position is None),
            )

        found, same = map(iter, native(divided, axes, (0, None), *named)(*leaves))
        return flat.output(
            [next(same) if position is None else placed("vmap", next(found), position) for position in positions]
        )

    if out_axes is None or not isinstance(out_axes, int) or out_axes or axis_name is not None or axis_size is not None:
        return wraps(function)(of_trees)
    direct = Direct(function, lambda args, checked: vmap.native(*args)(checked, _plain(in_axes, len(args)), 0))

    @wraps(function)
    def over_axes(*args: Any, **kwargs: Any) -> Any:
        native = None if kwargs else direct.find(args)
        if native is not None and _fits(in_axes, args):
            try:
                return native(*args)
            except IndirectError:
                direct.turn_off()
        found = of_trees(*args, **kwargs)
        if not kwargs and hasattr(found, "dtype") and _plain(in_axes, len(args)) is not None:
            direct.add(args)
        return found

    return compiled_as(of_trees, over_axes)


def _flatten_labelled(out_axes: Axes, axis: MappedAxis, tree: trees.Tree) -> tuple[list[Any], trees.Structure]:
    """Flatten a result; in the structure, the nodes with labels have the mapped axis."""
    if has_labels(tree):
        tree = with_axis("vmap", tree, spread_axes("vmap", "out_axes", out_axes, tree), axis)
    return flatten_without_plans(tree)


def mapped(function: Callable[[Array], tuple[Array, ...]], x: Array) -> tuple[Array, ...]:
    """Map a function of one array, which returns a tuple of arrays, over the first axis."""
    found: tuple[Array, ...] = vmap.native(x)(function, (0,), 0)(x)
    return found


def _plain(in_axes: Axes, count: int) -> tuple[int | None, ...] | None:
    """Return the axis of each argument, if all arguments are arrays and no axis is negative; else None."""
    if type(in_axes) is int:
        return (in_axes,) * count if in_axes >= 0 else None
    if not isinstance(in_axes, (tuple, list)) or len(in_axes) != count:
        return None
    return tuple(in_axes) if all(axis is None or (type(axis) is int and axis >= 0) for axis in in_axes) else None


def _fits(in_axes: Axes, arrays: Sequence[Array]) -> bool:
    """Return whether arrays have the mapped axes, all of one size."""
    if type(in_axes) is int and len(arrays) == 1:
        return 0 <= in_axes < len(arrays[0].shape)
    size = None
    for axis, x in zip(_plain(in_axes, len(arrays)) or (), arrays):
        if axis is not None:
            shape = x.shape
            if axis >= len(shape) or (size is not None and shape[axis] != size):
                return False
            size = shape[axis]
    return size is not None


def _mapped_leaves(leaves: Sequence[Any], structure: trees.Structure) -> tuple[list[Array], trees.Structure | Partial]:
    """Select the arrays. Other leaves are the same in all calls and stay unchanged."""
    arrays = [x for x in leaves if checks.is_array(x)]
    if arrays:
        checks.namespace_of("vmap", **{f"the arguments[{i}]": x for i, x in enumerate(arrays)})
    if len(arrays) == len(leaves):
        return arrays, structure
    return arrays, Partial(structure, [HOLE if checks.is_array(x) else x for x in leaves])


def axes_of_arguments(
    function: str, in_axes: Axes, args: tuple[Any, ...], leaves: Sequence[Any], containers: trees.Tree = None
) -> tuple[int | None, ...]:
    """Return the nonnegative axis to map over for each leaf. `containers` are the arguments if they hold containers."""
    positional = in_axes
    if isinstance(in_axes, (tuple, list)):
        if len(in_axes) != len(args):
            raise ValueError(
                f"{function}: in_axes={in_axes} must have an entry for each positional argument; there are {len(args)}"
            )
        positional = tuple(in_axes)
    axes = spread_axes(function, "in_axes", positional, args)
    axes += [0] * (len(leaves) - len(axes))
    if containers is not None:
        return in_of_containers(containers, axes, leaves)
    for i, (axis, x) in enumerate(zip(axes, leaves)):
        if axis is not None and not as_array(f"{function}: the arguments holds", x, None).ndim:
            raise ValueError(
                f"{function}: in_axes={axis!r} maps over {_path(args, i)}, which is one number and has no axis; give "
                "it the axis None, as in in_axes=(0, None), to use it in every call"
            )
    return tuple(
        None if axis is None else checks.axis(function, axis, getattr(x, "ndim", 0), "in_axes")
        for axis, x in zip(axes, leaves)
    )


def _path(args: tuple[Any, ...], number: int) -> str:
    """Describe the argument that holds a leaf, and the path to it. Keyword arguments come last."""
    found = paths("", args)
    if number >= len(found):
        return "an argument given by name"
    position, _, rest = found[number].removeprefix("[").partition("]")
    return f"{rest.lstrip('.')} of argument {position}" if rest else f"argument {position}"


def size_of_axes(function: str, axes: Sequence[int | None], leaves: Sequence[Any], axis_size: int | None) -> int:
    """Return the common size of the mapped axes."""
    sizes = {x.shape[axis] for axis, x in zip(axes, leaves) if axis is not None}
    if axis_size is not None:
        sizes.add(axis_size)
    if len(sizes) == 1:
        size: int = sizes.pop()
        return size
    if not sizes:
        raise ValueError(
            f"{function}: no argument is mapped over: in_axes has an integer for none of the arrays; give "
            "axis_size if that is intended"
        )
    shapes = ", ".join(f"{tuple(x.shape)} along {axis}" for axis, x in zip(axes, leaves) if axis is not None)
    suffix = "" if axis_size is None else f" and axis_size={axis_size}"
    raise ValueError(f"{function}: the arrays must have one size along the mapped axes, got shapes {shapes}{suffix}")


class _PatternsError(Exception):
    """Tells that a function returned containers."""


def _no_patterns(flat: Flat, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """Call a function that must not return containers."""
    outs = flat(*arrays)[0]
    if len(outs) > 1 and has_containers(flat.output(outs)):
        raise _PatternsError
    return outs


def plain_axes(axes: Axes) -> Axes:
    """Convert the NumPy integers in a tree of axes to Python ints."""
    if type(axes) in _PLAIN or (type(axes) is tuple and _PLAIN.issuperset(map(type, axes))):
        return axes
    return trees.map(checks.plain_integer, axes)


_PLAIN: Final = frozenset((int, type(None)))


def placed(function: str, x: Array, position: int) -> Array:
    """Move the first axis of a result to its position in `out_axes`."""
    if not position:
        return x
    position = checks.axis(function, position, x.ndim, "out_axes")
    return array_namespace(x).moveaxis(x, 0, position)


def spread_axes(function: str, name: str, axes: Axes, tree: trees.Tree) -> list[int | None]:
    """Return the axis for each leaf of a tree, from a tree of axes that is a prefix of it."""
    if axes is None or isinstance(axes, int):
        return [axes] * len(trees.leaves(tree))
    is_end = lambda x: x is None or isinstance(x, int)
    found: list[int | None] = []
    try:
        trees.map(lambda axis, part: found.extend([axis] * len(trees.leaves(part))), axes, tree, is_leaf=is_end)
    except (ValueError, TypeError):
        raise ValueError(
            f"{function}: {name} must be an integer, None, or a tree that is a prefix of the arrays' tree, got {axes}"
        ) from None
    return found
