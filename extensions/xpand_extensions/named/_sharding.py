"""Sharding: named arrays are split over devices by the names of their axes.

A mapping gives the axes of a device mesh over which named axes are split. It applies to a block (`axis_mapping`), or is
an argument. Without a mesh, on one device, and on libraries without meshes, all functions work, but split nothing.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, Final, TypeAlias, TypeVar

from xpand import trees
from xpand.extend import describe, imported_libraries, is_array

from .. import autodiff
from .._ambient import Setting
from .._plans import Memory, exact
from ..jit import Lowered, jit
from ..jit._statics import name_of
from . import _axis
from ._array import NamedArray, make, plugin_module
from ._axis import Axis, AxisSelection, AxisSelector
from ._derivatives import is_named

__all__ = [
    "auto_sharded",
    "axis_mapping",
    "fsdp",
    "named_jit",
    "physical_axis_name",
    "physical_axis_size",
    "round_axis_for_partitioning",
    "shard",
    "shard_with_axis_mapping",
    "sharding_for_axis",
    "tree_checkpoint_name",
]

T = TypeVar("T")
Physical: TypeAlias = str | Sequence[str]
ResourceMapping: TypeAlias = Mapping[str, Physical]
"""By name of an axis, the axis or axes of the mesh."""

_MAPPING: Final[Setting[tuple[tuple[str, Physical], ...]]] = Setting("xpand_axis_mapping")
"""The items of the mapping of the block."""


@contextmanager
def axis_mapping(mapping: ResourceMapping, *, merge: bool = False) -> Iterator[None]:
    """Use a mapping within a `with` block, in its thread or asyncio task.

    Args:
        mapping: By name of an axis, the axes of the mesh.
        merge: Whether to extend the mapping of the surrounding block, instead of replacing it.

    Raises:
        TypeError: `mapping` is no dictionary of names.

    Source: Haliax's `axis_mapping`.

    >>> with axis_mapping({"batch": "data"}):
    ...     physical_axis_name("batch")
    'data'
    """
    checked = _checked("axis_mapping", mapping)
    with _MAPPING.block(tuple(({**_resolved("axis_mapping", None), **checked} if merge else checked).items())):
        yield


def _checked(function: str, mapping: Any) -> ResourceMapping:
    if not isinstance(mapping, Mapping):
        raise TypeError(
            f"{function}: mapping must be a dictionary from names of axes to axes of the mesh, got {describe(mapping)}"
        )
    for name, physical in mapping.items():
        if not isinstance(name, str) or not all(isinstance(each, str) for each in _several(physical)):
            raise TypeError(f"{function}: mapping takes names for names, got {name!r}: {physical!r}")
    return {name: physical if isinstance(physical, str) else tuple(physical) for name, physical in mapping.items()}


def _several(physical: Any) -> tuple[Any, ...]:
    if isinstance(physical, str):
        return (physical,)
    return tuple(physical) if isinstance(physical, Sequence) else (physical,)


def _resolved(function: str, mapping: ResourceMapping | None) -> ResourceMapping:
    return dict(_MAPPING.current() or ()) if mapping is None else _checked(function, mapping)


def physical_axis_name(axis: AxisSelector, mapping: ResourceMapping | None = None) -> Physical | None:
    """Return the axis of the mesh for an axis, or a sequence of several; None if the axis isn't split.

    >>> physical_axis_name("batch", {"batch": ("replica", "data")})
    ('replica', 'data')
    """
    name, _ = _axis.selector("physical_axis_name", axis)
    return _resolved("physical_axis_name", mapping).get(name)


def physical_axis_size(axis: AxisSelector, mapping: ResourceMapping | None = None) -> int | None:
    """Return the number of devices over which an axis is split; None if it isn't split, 1 without a mesh.

    Raises:
        ValueError: The mesh lacks the axis that the mapping names.

    >>> physical_axis_size("batch", {"batch": "data"})  # one device
    1
    """
    physical = physical_axis_name(axis, mapping)
    if physical is None:
        return None
    module, mesh = _mesh("physical_axis_size", None)
    if module is None:
        return 1
    sizes = module.mesh_sizes(mesh)
    return math.prod(_size("physical_axis_size", each, sizes) for each in _several(physical))


def _size(function: str, physical: str, sizes: Mapping[str, int]) -> int:
    if physical not in sizes:
        raise ValueError(f"{function}: the mesh has no axis {physical!r}; its axes are {_axis.written(sizes.items())}")
    return sizes[physical]


def round_axis_for_partitioning(axis: Axis, mapping: ResourceMapping | None = None) -> Axis:
    """Round the size of an axis up to a multiple of the number of devices over which it is split.

    >>> round_axis_for_partitioning(Axis("batch", 5), {"batch": "data"})  # one device
    Axis(name='batch', size=5)
    """
    if not isinstance(axis, Axis):
        raise TypeError(f"round_axis_for_partitioning: axis must be an Axis, got {describe(axis)}")
    parts = physical_axis_size(axis, mapping) or 1
    return axis.resize(-(-axis.size // parts) * parts)


def sharding_for_axis(axis: AxisSelection, mapping: ResourceMapping | None = None, mesh: Any = None) -> Any:
    """Return the sharding of an array with these axes: JAX's `NamedSharding`, or None without a mesh.

    Args:
        axis: An axis, or several.
        mapping: The mapping. By default, that of the block.
        mesh: The mesh. By default, that of `jax.set_mesh`.

    Raises:
        ValueError: Two axes are split over the same axis of the mesh, or the mesh lacks an axis.
    """
    names = [name for name, _ in _axis.pairs("sharding_for_axis", axis)]
    module, mesh = _mesh("sharding_for_axis", mesh)
    if module is None:
        return None
    resolved = _resolved("sharding_for_axis", mapping)
    return module.sharding(mesh, _physical("sharding_for_axis", names, resolved, module.mesh_sizes(mesh)))


def _mesh(function: str, mesh: Any) -> tuple[Any, Any]:
    """Return the plug-in module for meshes and the mesh, by default the current one; None without a mesh."""
    for module in map(plugin_module, imported_libraries()):
        found = module.current_mesh() if mesh is None and hasattr(module, "current_mesh") else mesh
        if hasattr(module, "current_mesh") and hasattr(found, "axis_names"):
            return module, found
    if mesh is not None:
        raise TypeError(f"{function}: mesh must be a `jax.sharding.Mesh`, got {describe(mesh)}")
    return None, None


def _physical(
    function: str, names: Sequence[str], mapping: ResourceMapping, sizes: Mapping[str, int]
) -> list[Physical | None]:
    """Return the axes of the mesh for each axis."""
    used: dict[str, str] = {}
    found: list[Physical | None] = []
    for name in names:
        physical = mapping.get(name)
        for each in () if physical is None else _several(physical):
            _size(function, each, sizes)
            if each in used:
                raise ValueError(
                    f"{function}: the axes {used[each]!r} and {name!r} are both mapped to axis {each!r} of the mesh; "
                    "an array can be split over it along one axis only"
                )
            used[each] = name
        found.append(physical if physical is None or isinstance(physical, str) else tuple(physical))
    return found


def shard(x: T, mapping: ResourceMapping | None = None, mesh: Any = None) -> T:
    """Split the named arrays of a tree over devices, inside or outside of compiled functions.

    Args:
        x: A tree. Leaves that aren't named arrays stay unchanged.
        mapping: By name of an axis, the axes of the mesh. By default, the mapping of the block, `axis_mapping`.
        mesh: A `jax.sharding.Mesh` with axes of type Auto. By default, that of `jax.set_mesh`.

    Returns:
        The tree with the same values. Without a mapping or a mesh, and on libraries other than JAX, nothing is split. A
        function that you compile by `jax.jit` yourself keeps the mapping of its first call.

    Raises:
        ValueError: Two axes of an array are split over the same axis of the mesh, the mesh lacks an axis or is
            Explicit, or a size isn't divisible by the number of devices.
        TypeError: A mapping or mesh of the wrong type.

    Source: Haliax's `shard`.

    >>> import numpy as np
    >>> from xpand import named as hax
    >>> shard(hax.named(np.ones(2), "batch"), {"batch": "data"})
    NamedArray({'batch': 2}, array([1., 1.]))
    """
    resolved = _resolved("shard", mapping)
    if mesh is None and not resolved:
        return x
    module, mesh = _mesh("shard", mesh)
    if module is None:
        return x
    sizes = module.mesh_sizes(mesh)

    def split(leaf: Any) -> Any:
        if not isinstance(leaf, NamedArray) or not module.has_shardings(leaf.array):
            return leaf
        physical = _physical("shard", leaf.names, resolved, sizes)
        for name, size, each in zip(leaf.names, leaf.array.shape, physical):
            parts = 1 if each is None else math.prod(sizes[part] for part in _several(each))
            if size % parts:
                raise ValueError(
                    f"shard: axis {name!r} of size {size} can't be split over {parts} devices; pad it to "
                    "`round_axis_for_partitioning(axis)`"
                )
        return make(module.sharded(leaf.array, mesh, physical), leaf.names)

    return trees.map(split, x, is_leaf=is_named)


def shard_with_axis_mapping(x: T, mapping: ResourceMapping, mesh: Any = None) -> T:
    """Split the named arrays of a tree over devices. This is an older name of `shard`."""
    return shard(x, mapping, mesh)


def auto_sharded(x: T, mesh: Any = None) -> T:
    """Split the named arrays of a tree over devices by the mapping of the block: see `shard`."""
    return shard(x, None, mesh)


def tree_checkpoint_name(x: T, name: str) -> T:
    """Name the arrays of a tree for the policies of `autodiff.checkpoint`: see `autodiff.checkpoint_name`.

    >>> import numpy as np
    >>> from xpand import named as hax
    >>> tree_checkpoint_name(hax.named(np.ones(2), "batch"), "hidden")
    NamedArray({'batch': 2}, array([1., 1.]))
    """
    return autodiff.checkpoint_name(x, name)


_NO_EFFECT: Final = {"backend", "inline", "keep_unused"}


def named_jit(
    fn: Callable[..., Any] | None = None,
    axis_resources: ResourceMapping | None = None,
    *,
    in_axis_resources: ResourceMapping | None = None,
    out_axis_resources: ResourceMapping | None = None,
    donate_args: Any = None,
    donate_kwargs: Any = None,
    **options: Any,
) -> Any:
    """Compile a function of trees of named arrays, with shardings by name.

    Args:
        fn: The function. Without it, `named_jit` returns a decorator.
        axis_resources: The mapping inside the function. By default, that of the block in which it is called.
        in_axis_resources: The mapping by which arguments are split first. By default, arguments stay unchanged.
        out_axis_resources: The mapping by which results are split. By default, `axis_resources`.
        donate_args: Whether the memory of each positional argument may be used for results: a boolean, a function from
            a leaf to a boolean, or a tree of them, whose leaves may stand for branches of the argument. A single value
            is for all arguments.
        donate_kwargs: The same for keyword arguments, by their names.
        **options: `backend`, `inline` and `keep_unused` have no effect.

    Returns:
        A compiled function. Leaves of its arguments that are not arrays are static: they must be hashable, and a new
        value compiles again. On libraries other than JAX, and without a mesh, nothing is split. Its method
        `lower(*args, **kwargs)` returns the program before compilation, a `Lowered`. Compiled, it takes the arrays one
        by one, without the static leaves.

    Raises:
        TypeError: An unknown option, or a static leaf that isn't hashable.

    Source: Haliax's `named_jit`.

    >>> import numpy as np
    >>> from xpand import named as hax
    >>> doubled = named_jit(lambda x, kind: 2 * x if kind == "double" else x, axis_resources={"batch": "data"})
    >>> doubled(hax.named(np.ones(2), "batch"), "double")
    NamedArray({'batch': 2}, array([2., 2.]))
    """
    unknown = sorted(set(options) - _NO_EFFECT)
    if unknown:
        raise TypeError(f"named_jit: unknown options {unknown}; takes {sorted(_NO_EFFECT)}")
    for name, mapping in (
        ("axis_resources", axis_resources),
        ("in_axis_resources", in_axis_resources),
        ("out_axis_resources", out_axis_resources),
    ):
        if mapping is not None:
            _checked(f"named_jit: {name}", mapping)
    resources = (axis_resources, in_axis_resources, out_axis_resources)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        return _compiled(function, *resources, donate_args, donate_kwargs)

    return decorate if fn is None else decorate(fn)


def _compiled(
    function: Callable[..., Any],
    axis_resources: ResourceMapping | None,
    in_axis_resources: ResourceMapping | None,
    out_axis_resources: ResourceMapping | None,
    donate_args: Any,
    donate_kwargs: Any,
) -> Callable[..., Any]:
    programs = Memory()

    def prepared(*args: Any, **kwargs: Any) -> tuple[Any, list[Any]]:
        """Return the compiled program for the structure of the arguments, and the arrays that it takes."""
        if in_axis_resources is not None:
            args, kwargs = shard((args, kwargs), in_axis_resources)
        mapping = _resolved("named_jit", axis_resources)
        results = mapping if out_axis_resources is None else out_axis_resources
        leaves, structure = trees.flatten((args, kwargs), is_leaf=is_named)
        static = [(i, leaf) for i, leaf in enumerate(leaves) if not _is_dynamic(leaf)]
        donated = _donated(donate_args, donate_kwargs, args, kwargs)
        key = (structure, tuple([(i, exact(leaf, _of_others)) for i, leaf in static]), tuple(mapping.items()), donated)
        try:
            program = programs.get(key)
        except TypeError as error:
            raise TypeError(
                f"named_jit: arguments that are not arrays are static and must be hashable, got "
                f"{', '.join(describe(leaf) for _, leaf in static)}"
            ) from error
        if program is None:
            fixed = dict(static)

            def run(*dynamic: Any) -> Any:
                given = iter(dynamic)
                filled = [fixed[i] if i in fixed else next(given) for i in range(len(leaves))]
                positional, keywords = trees.unflatten(structure, filled)
                with axis_mapping(mapping):
                    output = function(*positional, **keywords)
                return shard(output, results)

            run.__name__ = name_of(function)
            program = programs.add(key, jit(run, donate_argnums=donated))
        return program, [leaf for leaf in leaves if _is_dynamic(leaf)]

    @wraps(function)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        program, arrays = prepared(*args, **kwargs)
        return program(*arrays)

    def lower(*args: Any, **kwargs: Any) -> Lowered:
        program, arrays = prepared(*args, **kwargs)
        return program.lower(*arrays)

    compiled.lower = lower  # type: ignore[attr-defined]
    return compiled


def _is_dynamic(leaf: Any) -> bool:
    return isinstance(leaf, NamedArray) or is_array(leaf)


def _of_others(leaf: Any) -> Any:
    """Return the key of a static leaf that is not a number, a string or None."""
    return type(leaf), leaf


def _donated(donate_args: Any, donate_kwargs: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the positions of the donated leaves among those that aren't static."""
    if not donate_args and not donate_kwargs:
        return ()
    if isinstance(donate_args, Sequence):
        donate_args = (*donate_args, *[False] * len(args))[: len(args)]
    if isinstance(donate_kwargs, Mapping):
        donate_kwargs = {name: donate_kwargs.get(name, False) for name in kwargs}
    flags = [
        (chosen(leaf) if callable(chosen) else chosen, leaf)
        for given, donate in ((tuple(args), donate_args), (dict(kwargs), donate_kwargs))
        for branch, chosen in _branches(given, donate or False)
        for leaf in trees.leaves(branch, is_leaf=is_named)
    ]
    for chosen, _ in flags:
        if not isinstance(chosen, bool):
            raise TypeError(
                "named_jit: donate_args and donate_kwargs take booleans, functions of a leaf, or trees of these, got "
                f"{describe(chosen)}"
            )
    return tuple([i for i, (chosen, _) in enumerate(each for each in flags if _is_dynamic(each[1])) if chosen])


def _branches(tree: trees.Tree, donate: trees.Tree) -> list[tuple[trees.Tree, Any]]:
    """Return the branches of a tree that correspond to the leaves of `donate`, with these leaves."""
    leaves, structure = trees.flatten(donate)
    return list(zip(structure.flatten_up_to(tree), leaves))


def fsdp(*args: Any, **kwargs: Any) -> Any:
    """Compile a function with two mappings: one splits its parameters over devices, the other its computation.

    Args:
        *args: The function, `parameter_mapping` and `compute_mapping`. Without the function, `fsdp` returns a
            decorator.
        **kwargs: `parameter_mapping` and `compute_mapping`.

    Source: Haliax's `fsdp`.

    >>> import numpy as np
    >>> from xpand import named as hax
    >>> step = fsdp(lambda x: 2 * x, {"embed": "data"}, {"batch": "data"})
    >>> step(hax.named(np.ones(2), "embed"))
    NamedArray({'embed': 2}, array([2., 2.]))
    """
    if args and callable(args[0]):
        return _fsdp(*args, **kwargs)
    return lambda fn: _fsdp(fn, *args, **kwargs)


def _fsdp(fn: Callable[..., Any], parameter_mapping: ResourceMapping, compute_mapping: ResourceMapping) -> Any:
    return named_jit(fn, compute_mapping, in_axis_resources=parameter_mapping, out_axis_resources=parameter_mapping)
