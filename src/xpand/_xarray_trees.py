"""xarray's `Variable`, `DataArray` and `Dataset` as nodes of trees. `xpand.trees` imports this module after xarray.

The leaves are the arrays of numbers in variables. Dimensions, names, attributes, and coordinates that are NumPy's
arrays are static.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Self

import xarray

from . import trees
from ._arguments import is_array
from ._labelled import FLATTEN, MappedAxis
from ._namespace import describe, library_of
from ._xarray_static import Indexes, frozen, frozen_variable, is_data, is_immutable, is_numpy, private, read_only

_SINGLE: Final = object()
"""The name of the only data variable of a `DataArray` or a `Variable`."""


class _Placeholder:
    """Any object in place of the array of a variable: trees of xarray's objects may have any leaves."""

    __slots__ = ("shape", "value")

    dtype = "object"
    nbytes = size = 0

    def __init__(self, value: Any, shape: tuple[int, ...]) -> None:
        self.value, self.shape = value, shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return NotImplemented

    def __array_ufunc__(self, ufunc: Any, method: Any, *args: Any, **kwargs: Any) -> Any:
        return NotImplemented

    def __repr__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, eq=False)
class _Leaf:
    """A variable whose array is a leaf."""

    name: Any
    dims: tuple[Any, ...]
    attrs: dict[Any, Any]
    encoding: dict[Any, Any]
    is_coordinate: bool = False

    @classmethod
    def of(cls, name: Any, variable: Any, is_coordinate: bool = False) -> Self:
        """Describe a variable."""
        return cls(name, variable.dims, private(variable.attrs), private(variable.encoding), is_coordinate)

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """A hashable copy."""
        return self.name, self.dims, frozen(self.attrs), frozen(self.encoding), self.is_coordinate

    def fitting(self, ndim: int, new: Sequence[Any]) -> tuple[Any, ...]:
        """Return the dimensions of an array: it may lack the first ones, or have new ones before them."""
        missing = len(self.dims) - ndim
        return self.dims[missing:] if missing >= 0 else (*new[:-missing], *self.dims)


@dataclass(frozen=True, eq=False)
class Labels:
    """The static data of an object of xarray: all of it but the arrays of numbers."""

    cls: type
    leaves: tuple[_Leaf, ...]
    fixed: dict[Any, Any]
    """The variables that are no leaves, by name: coordinates, and data that are no numbers."""
    indexes: dict[Any, Any]
    coordinates: frozenset[Any]
    """The names of coordinates."""
    name: Any = None
    attrs: dict[Any, Any] = field(default_factory=dict)
    encoding: dict[Any, Any] = field(default_factory=dict)

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """A hashable copy. It stays as it is if users change coordinates or attributes in place."""
        fixed = [
            (name, x.dims, x.shape, frozen(x.attrs), frozen(x.encoding))
            if name in self.indexes
            else (name, frozen_variable(x))
            for name, x in self.fixed.items()
        ]
        leaves = tuple([x.key for x in self.leaves])
        own = (self.cls, self.name, self.coordinates, frozen(self.attrs), frozen(self.encoding))
        return own, leaves, frozenset(fixed), Indexes(self.indexes)

    def __eq__(self, other: object) -> bool:
        """Return whether other labels say the same."""
        return self is other or (isinstance(other, Labels) and self.key == other.key)

    def __hash__(self) -> int:
        """Return a hash that does not read the values of indexes."""
        return hash(self.key)

    def __repr__(self) -> str:
        """Write the class and the dimensions."""
        if self.cls is xarray.Dataset:
            parts = ", ".join(f"{x.name} ({', '.join(map(str, x.dims))})" for x in self.leaves)
        else:
            name = "" if self.name is None else f"{self.name!r} "
            parts = name + "".join(f"({', '.join(map(str, x.dims))})" for x in self.leaves[:1])
        return f"{self.cls.__name__} {parts}".rstrip()

    def build(self, children: Sequence[Any]) -> Any:
        """Make the object from its leaves. Coordinates that do not fit the arrays are omitted."""
        children = list(children)
        if any(map(_is_tree, children)):
            return self._of_trees(children)
        if not self._can_copy or not children or not all(map(is_array, children)):
            return self._built(children)
        shapes = tuple([tuple(x.shape) for x in children])
        template = self._templates.get(shapes)
        if template is not None:
            return self._copied(template, children)
        built = self._built(children)
        self._templates.clear()
        self._templates[shapes] = self._copied(built, [_Placeholder(None, shape) for shape in shapes])
        return built

    @cached_property
    def _templates(self) -> dict[Any, Any]:
        """The object without arrays, for the shapes of the last arrays: to copy it is faster than to build it."""
        return {}

    @cached_property
    def _can_copy(self) -> bool:
        """Whether copies of the object share no attributes that can be changed, and have no coordinates to replace."""
        attributes = [self.attrs, self.encoding]
        for x in self.leaves:
            attributes += [x.attrs, x.encoding]
        return all(map(is_immutable, attributes)) and not any(x.is_coordinate for x in self.leaves)

    def _copied(self, template: Any, children: Sequence[Any]) -> Any:
        arrays = [x if type(x) is _Placeholder else _checked(x) for x in children]
        if self.cls is not xarray.Dataset:
            return template.copy(deep=False, data=arrays[0])
        named = dict(zip([x.name for x in self.leaves], arrays))
        fixed = {name: x.data for name, x in self.fixed.items() if name in template.data_vars}
        return template.copy(deep=False, data=named | fixed)

    def _built(self, children: Sequence[Any]) -> Any:
        lengths = {dim: length for x in self.fixed.values() for dim, length in x.sizes.items()}
        new = self._new_names(
            max((x.ndim - len(leaf.dims) for leaf, x in zip(self.leaves, children) if is_array(x)), default=0)
        )
        variables = {}
        for leaf, x in zip(self.leaves, children):
            array = _checked(x) if is_array(x) else _Placeholder(x, tuple([lengths.get(dim, 1) for dim in leaf.dims]))
            dims = leaf.fitting(array.ndim, new)
            variables[leaf.name] = xarray.Variable(dims, array, private(leaf.attrs), private(leaf.encoding))
        fixed = self._fitting(variables)
        if issubclass(self.cls, xarray.Variable):
            return variables[_SINGLE] if variables else fixed[_SINGLE].copy(deep=False)
        coordinates = self._coordinates(fixed | variables)
        data = {name: x for name, x in (fixed | variables).items() if name not in self.coordinates}
        if self.cls is xarray.Dataset:
            dataset = xarray.Dataset(data, coordinates, private(self.attrs))
            dataset.encoding = private(self.encoding)
            return _with_shared_coordinates(dataset, fixed)
        return _with_shared_coordinates(xarray.DataArray(data[_SINGLE], coordinates, name=self.name), fixed)

    def _new_names(self, count: int) -> list[Any]:
        """Return names for new dimensions, as xarray names those without a name."""
        taken = self._names()
        free = (f"dim_{i}" for i in range(count + len(taken)))
        return [name for name in free if name not in taken][:count]

    def _names(self) -> frozenset[Any]:
        """Return the names of dimensions and coordinates."""
        return self.coordinates | {dim for x in (*self.leaves, *self.fixed.values()) for dim in x.dims}

    def _fitting(self, variables: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return the variables that are no leaves and fit the arrays."""
        lengths: dict[Any, int] = {}
        for x in variables.values():
            lengths |= x.sizes
        removed = {dim for x in self.leaves for dim in x.dims} - lengths.keys()

        def fits(variable: Any) -> bool:
            return all(dim not in removed and lengths.get(dim, n) == n for dim, n in variable.sizes.items())

        return {name: x for name, x in self.fixed.items() if fits(x)}

    def _coordinates(self, variables: Mapping[Any, Any]) -> Any:
        coordinates = {name: x for name, x in variables.items() if name in self.coordinates}
        indexes = {name: x for name, x in self.indexes.items() if name in coordinates}
        return xarray.Coordinates(coordinates, indexes)

    def remove_axis(self, axes: Sequence[int | None]) -> tuple[Self, MappedAxis]:
        """Return the labels without a dimension, and the dimension."""
        removed = {x.name: x.dims[axis] for x, axis in zip(self.leaves, axes) if axis is not None}
        names = set(removed.values())
        if not names:
            return self, MappedAxis()
        if len(names) > 1:
            listed = ", ".join(f"{dim!r} of {name!r}" for name, dim in removed.items())
            raise ValueError(
                f"the mapped axis of a Dataset must be one dimension, got {listed}; transpose the variables, or pass "
                "those without the dimension as another argument with in_axes=None"
            )
        (name,) = names
        along = {key: x for key, x in self.fixed.items() if name in x.dims}
        others = [key for key in along if key not in self.coordinates]
        if others:
            raise ValueError(
                f"the variables {others} have the mapped dimension {name!r}, and hold no numbers, which are passed "
                "unchanged; drop them"
            )
        leaves = tuple(
            x if axis is None else replace(x, dims=_without(x.dims, axis)) for x, axis in zip(self.leaves, axes)
        )
        axis = MappedAxis(name, {key: (x, self.indexes.get(key)) for key, x in along.items()})
        return self._with(leaves, {key: x for key, x in self.fixed.items() if key not in along}), axis

    def add_axis(self, positions: Sequence[int | None], axis: MappedAxis) -> Self:
        """Return the labels with a further dimension."""
        if all(position is None for position in positions):
            return self
        name = self._new_names(1)[0] if axis.name is None else axis.name
        leaves = []
        for x, position in zip(self.leaves, positions):
            if position is not None and (name in x.dims or name in self.coordinates):
                raise ValueError(
                    f"a result of the function has the dimension or the coordinate {name!r} already, which is that of "
                    "the mapped axis; rename one of them"
                )
            leaves.append(x if position is None else replace(x, dims=_with(x.dims, position, name)))
        dims = {dim for x in leaves for dim in x.dims}
        added = {key: x for key, x in axis.coordinates.items() if key not in self.fixed and dims.issuperset(x[0].dims)}
        labels = self._with(tuple(leaves), self.fixed | {key: variable for key, (variable, _) in added.items()})
        indexes = self.indexes | {key: index for key, (_, index) in added.items() if index is not None}
        return replace(labels, indexes=indexes, coordinates=self.coordinates | added.keys())

    def _with(self, leaves: tuple[_Leaf, ...], fixed: dict[Any, Any]) -> Self:
        coordinates = self.coordinates & (fixed.keys() | {x.name for x in leaves})
        indexes = {name: x for name, x in self.indexes.items() if name in coordinates}
        return replace(self, leaves=leaves, fixed=fixed, indexes=indexes, coordinates=coordinates)

    def _of_trees(self, children: Sequence[Any]) -> Any:
        """Make the object of a Jacobian: its leaves are trees of arrays, with the dimensions of the result first."""
        if self.cls is not xarray.Dataset:
            return self._jacobian(self, children[0], self._names())
        parts = {}
        for leaf, child in zip(self.leaves, children):
            if not leaf.is_coordinate:
                fixed = {
                    name: x
                    for name, x in self.fixed.items()
                    if name in self.coordinates and set(x.dims) <= set(leaf.dims)
                }
                single = replace(
                    self._with((replace(leaf, name=_SINGLE),), fixed), cls=xarray.DataArray, name=leaf.name
                )
                parts[leaf.name] = self._jacobian(single, child, self._names())
        if all(isinstance(x, xarray.DataArray) for x in parts.values()):
            return xarray.Dataset(parts, attrs=dict(self.attrs))
        return parts

    def _jacobian(self, labels: "Labels", child: Any, taken: frozenset[Any]) -> Any:
        if not _is_node(child) and not is_array(child):
            return trees.map(lambda x: self._jacobian(labels, x, taken), child, is_leaf=lambda x: _is_node(x))
        dims = labels.leaves[0].dims
        if is_array(child):
            child = xarray.DataArray(_checked(child), dims=(*dims, *labels._new_names(child.ndim - len(dims))))
        elif isinstance(child, xarray.Variable):
            child = xarray.DataArray(child)
        else:
            child = _renamed(child, dims, taken)
        coordinates = labels._coordinates(labels._fitting({_SINGLE: child}))
        child = child.assign_coords(coordinates)
        return child.rename(labels.name) if isinstance(child, xarray.DataArray) else child


def _renamed(child: Any, dims: Sequence[Any], taken: frozenset[Any]) -> Any:
    """Give the first dimensions of an object other names, and those that have them already a number."""
    child = child.drop_vars([name for name, x in child.coords.items() if name in taken and not x.dims])
    first = child if isinstance(child, xarray.DataArray) else next(iter(child.data_vars.values()))
    leading = first.dims[: len(dims)]
    others = {name for name in (*child.dims, *child.coords) if name not in leading}
    renamed = dict(zip(leading, dims))
    for name in others & taken:
        number = 2
        while f"{name}_{number}" in taken | others:
            number += 1
        renamed[name] = f"{name}_{number}"
    return child.rename({name: new for name, new in renamed.items() if name != new})


def _without(dims: tuple[Any, ...], axis: int) -> tuple[Any, ...]:
    return dims[:axis] + dims[axis + 1 :]


def _with(dims: tuple[Any, ...], position: int, name: Any) -> tuple[Any, ...]:
    position = position + len(dims) + 1 if position < 0 else position
    return (*dims[:position], name, *dims[position:])


def _is_node(x: Any) -> bool:
    return type(x) in FLATTEN


def _is_tree(x: Any) -> bool:
    """Return whether a leaf is a tree of arrays, as in Jacobians."""
    if isinstance(x, (tuple, list, dict)):
        return any(_is_node(part) or is_array(part) for part in trees.leaves(x, is_leaf=_is_node))
    return _is_node(x)


def _checked(array: Any) -> Any:
    """Return an array that xarray can hold. Others it would convert to NumPy's."""
    if library_of(type(array)) != "numpy" and not (
        hasattr(array, "__array_namespace__") or hasattr(array, "__array_function__")
    ):
        raise TypeError(
            f"xarray can't hold {describe(array)}: return the array itself, `x.data`, or convert the arguments to "
            "another library with `xpand_extensions.convert`"
        )
    return array


def _with_shared_coordinates(x: Any, fixed: Mapping[Any, Any]) -> Any:
    """Make the coordinates of a new object read-only: later results share them."""
    for name, variable in x.coords.variables.items():
        if name in fixed and name not in x.xindexes and is_numpy(variable.data):
            variable.data.flags.writeable = False
    return x


def _contents(array: Any) -> Any:
    return array.value if type(array) is _Placeholder else array


def _flatten_variable(x: Any) -> tuple[list[Any], Labels]:
    if isinstance(x, xarray.IndexVariable) or not is_data(x.data):
        return [], Labels(type(x), (), {_SINGLE: read_only(x)}, {}, frozenset())
    return [_contents(x.data)], Labels(type(x), (_Leaf.of(_SINGLE, x),), {}, {}, frozenset())


def _flatten_array(x: Any) -> tuple[list[Any], Labels]:
    children, leaves, fixed = _parts({_SINGLE: x.variable}, x.coords.variables, x.xindexes)
    return children, Labels(type(x), leaves, fixed, dict(x.xindexes.items()), frozenset(x.coords), x.name)


def _flatten_dataset(x: Any) -> tuple[list[Any], Labels]:
    coordinates = x.coords.variables
    data = {name: variable for name, variable in x.variables.items() if name not in coordinates}
    children, leaves, fixed = _parts(data, coordinates, x.xindexes)
    indexes = dict(x.xindexes.items())
    own = private(x.attrs), private(x.encoding)
    return children, Labels(type(x), leaves, fixed, indexes, frozenset(coordinates), None, *own)


def _parts(
    data: Mapping[Any, Any], coordinates: Mapping[Any, Any], indexes: Mapping[Any, Any]
) -> tuple[list[Any], tuple[_Leaf, ...], dict[Any, Any]]:
    """Return the leaves, their descriptions, and the variables that are no leaves."""
    children, leaves, fixed = [], [], {}
    for name in data if len(data) < 2 else sorted(data, key=str):
        variable = data[name]
        array = variable.data
        if is_data(array):
            children.append(_contents(array))
            leaves.append(_Leaf.of(name, variable))
        else:
            fixed[name] = read_only(variable)
    for name, variable in coordinates.items():
        if name in indexes:
            fixed[name] = variable
        elif is_numpy(array := variable.data) or not is_data(array):
            fixed[name] = read_only(variable)
        else:
            children.append(_contents(array))
            leaves.append(_Leaf.of(name, variable, True))
    return children, tuple(leaves), fixed


def register() -> None:
    """Register the classes, if that has not happened."""
    flatten: dict[type, Callable[[Any], tuple[list[Any], Labels]]] = {
        xarray.Variable: _flatten_variable,
        xarray.IndexVariable: _flatten_variable,
        xarray.DataArray: _flatten_array,
        xarray.Dataset: _flatten_dataset,
    }
    for cls, function in flatten.items():
        if cls not in FLATTEN:
            trees.register(cls, function, lambda labels, children: labels.build(children))
            FLATTEN[cls] = function
