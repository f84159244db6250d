"""Arrays with named axes."""

import math
import sys
from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any, Final

from xpand import array_namespace, default_namespace, trees
from xpand.extend import Array, DType, describe, imported_libraries, is_array
from xpand.inspection import nbytes

from .._dispatch import import_if_present, plugin_package
from .._display import as_html
from .._elsewhere import missing
from ..convert import to_numpy
from . import _axis
from ._axis import Axis, AxisSelection
from ._methods import Methods

_MAX_NAMES: Final = 4096
_NAMES: Final[dict[tuple[str, ...], tuple[str, ...]]] = {}


def interned(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return a unique tuple with these names, so that operations can compare tuples by identity first."""
    if len(_NAMES) >= _MAX_NAMES:
        _NAMES.clear()
    return _NAMES.setdefault(names, names)


class NamedArray(Methods):
    """An array of any library with names for its axes.

    Args:
        array: An array of any library, or an object that a transformation puts in its place.
        axes: An `Axis` or a name for each axis of the array, in its order; or a dictionary from names to sizes.

    Operations find axes by name, and arrays with different axes broadcast by name. The array determines the sizes.
    Instances are immutable. In trees they are nodes, and the array is the only leaf.

    Raises:
        TypeError: `array` is not an array, or an axis is neither a name nor an `Axis`.
        ValueError: The axes don't fit the array, or a name occurs twice.

    Source: Haliax's `NamedArray`.

    >>> import numpy as np
    >>> x = NamedArray(np.asarray([[1.0, 2.0], [3.0, 4.0]]), ("row", "column"))
    >>> x.sum("row")
    NamedArray({'column': 2}, array([4., 6.]))
    >>> x.axes
    (Axis(name='row', size=2), Axis(name='column', size=2))
    """

    __slots__ = ("__weakref__", "array", "names")
    __array_ufunc__ = None  # NumPy's operators then defer to those of named arrays
    __array_priority__ = 1000

    array: Array
    names: tuple[str, ...]

    def __init__(self, array: Array, axes: AxisSelection) -> None:
        pairs = _axis.pairs("NamedArray", axes)
        names = tuple([name for name, _ in pairs])
        _axis.different("NamedArray", names)
        if not is_array(array):
            raise TypeError(
                f"NamedArray: array must be an array, got {describe(array)}; convert it with a library's `asarray`"
            )
        shape = array.shape
        if len(shape) != len(names):
            raise ValueError(
                f"NamedArray: the array has {len(shape)} axes, of sizes {tuple(shape)}, but {len(names)} are named: "
                f"{', '.join(map(repr, names)) or 'none'}; name each axis"
            )
        for (name, size), actual in zip(pairs, shape):
            if size is not None and size != actual:
                raise ValueError(
                    f"NamedArray: axis {name!r} has size {size}, but the array's axis at its position has {actual}; "
                    f"the axes are {_axis.written(pairs)}, the shape is {tuple(shape)}"
                )
        _register_nodes()
        self.array = array
        self.names = interned(names)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Raise an error: NumPy's functions don't know axis names."""
        name = function.__name__
        own = f"`x.{name}(…)` or " if hasattr(Methods, name) else ""
        raise TypeError(f"{name}: NumPy's functions do not take named arrays; write {own}`np.{name}(x.array)`")

    if not TYPE_CHECKING:  # a type checker would accept any name

        def __getattr__(self, name: str) -> Any:
            raise missing("'NamedArray' object", "NamedArray", name)

    # --- axes --------------------------------------------------------------------------------------------------------

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes, with the sizes of the array."""
        check_rank("axes", self)
        return tuple([Axis(name, size) for name, size in zip(self.names, self.array.shape)])

    @property
    def shape(self) -> dict[str, int]:
        """The sizes of the axes by name."""
        sizes = self.array.shape
        if len(sizes) != len(self.names):
            check_rank("shape", self)
        return dict(zip(self.names, sizes))

    def has_axis(self, axis: AxisSelection) -> bool:
        """Return whether the array has an axis, or all of several axes, with the given size if there is one."""
        return _axis.selects_axis(self.shape, axis)

    def axis_size(self, axis: AxisSelection) -> Any:
        """Return the size of an axis, or a tuple with the sizes of several.

        Raises:
            ValueError: There is no such axis.
        """
        found = [each.size for each in self._resolved("axis_size", axis)]
        return found[0] if isinstance(axis, (str, Axis)) else tuple(found)

    def resolve_axis(self, axis: AxisSelection) -> Any:
        """Return an axis with its size; a tuple for several axes, a dictionary for a dictionary.

        Raises:
            ValueError: There is no such axis, or it has another size.
        """
        found = self._resolved("resolve_axis", axis)
        if isinstance(axis, (str, Axis)):
            return found[0]
        return {each.name: each.size for each in found} if isinstance(axis, Mapping) else tuple(found)

    def axis_indices(self, axis: AxisSelection) -> Any:
        """Return the position of an axis, or a tuple of the positions of several; None for missing axes.

        Raises:
            ValueError: An axis has another size than the given one.
        """
        own = self.shape
        found = []
        for name, size in _axis.pairs("axis_indices", axis):
            if name in own and size is not None and size != own[name]:
                raise no_axis("axis_indices", self, name, size)
            found.append(self.names.index(name) if name in own else None)
        return found[0] if isinstance(axis, (str, Axis)) else tuple(found)

    def _resolved(self, function: str, axis: AxisSelection) -> list[Axis]:
        own = self.shape
        found = []
        for name, size in _axis.pairs(function, axis):
            if name not in own or (size is not None and size != own[name]):
                raise no_axis(function, self, name, size)
            found.append(Axis(name, own[name]))
        return found

    # --- the array ---------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> DType:
        """The data type."""
        return self.array.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.names)

    @property
    def size(self) -> int:
        """The number of elements."""
        check_rank("size", self)
        return math.prod(self.array.shape)

    @property
    def nbytes(self) -> int:
        """The number of bytes of the elements."""
        return nbytes(self.array)

    def item(self) -> Any:
        """Return the value as a Python number.

        Raises:
            ValueError: The array has more than one element.
        """
        check_rank("item", self)
        if self.size != 1:
            raise ValueError(f"item: takes an array of one element, got the axes {_axis.written(self.shape.items())}")
        xp = array_namespace(self.array)
        one = xp.reshape(self.array, ())
        if xp.isdtype(one.dtype, "bool"):
            return bool(one)
        if xp.isdtype(one.dtype, "integral"):
            return int(one)
        return complex(one) if xp.isdtype(one.dtype, "complex floating") else float(one)

    def scalar(self) -> Array:
        """Return the wrapped array, which must have no axes, for example as the loss for a gradient.

        Raises:
            ValueError: The array has axes.
        """
        if self.names:
            raise ValueError(f"scalar: takes an array without axes, got {_axis.written(self.shape.items())}")
        return self.array

    def tolist(self) -> Any:
        """Return the elements in nested lists."""
        check_rank("tolist", self)
        return to_numpy(self.array).tolist()

    def tobytes(self, order: str = "C") -> bytes:
        """Return the elements' bytes, in C or Fortran order."""
        check_rank("tobytes", self)
        found: bytes = to_numpy(self.array).tobytes(order)
        return found

    def tree_flatten(self) -> tuple[tuple[Any], tuple[str, ...]]:
        """Return the leaf and the names: the children and the static data of a node of trees."""
        return (self.array,), self.names

    @classmethod
    def tree_unflatten(cls, aux: tuple[str, ...], tree: Any) -> "NamedArray":
        """Make an instance from names and a leaf, which may be any object."""
        (array,) = tree
        return make(array, aux)

    def __repr__(self) -> str:
        shape = getattr(self.array, "shape", None)
        axes = self.names if shape is None or len(shape) != len(self.names) else dict(zip(self.names, shape))
        return f"NamedArray({axes}, {self.array!r})"

    def _repr_html_(self) -> str:
        array = self.array
        if not is_array(array) or len(array.shape) != len(self.names):
            return f"<pre>{escape(repr(self))}</pre>"
        title = f"NamedArray of {str(array.dtype).rpartition('.')[2]}"
        return as_html(title, zip(self.names, array.shape), ("axis", "size"), f"<pre>{escape(str(array))}</pre>")

    def __reduce__(self) -> Any:
        return created, (self.array, self.names)

    def __bool__(self) -> bool:
        return bool(self.array)

    def __int__(self) -> int:
        return int(self.array)

    def __float__(self) -> float:
        return float(self.array)

    def __complex__(self) -> complex:
        return complex(self.array)

    def __index__(self) -> int:
        return self.array.__index__()

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a NamedArray has no first axis to iterate over; name one: `for row in x.unbind(axis)`")


_new: Final = object.__new__


def make(array: Any, names: tuple[str, ...]) -> NamedArray:
    """Return a named array without checks; `array` may be any object."""
    found = _new(NamedArray)
    found.array = array
    found.names = names
    return found


def created(array: Any, names: tuple[str, ...]) -> NamedArray:
    """Return a named array without checks. Its library may have had no named arrays before."""
    _register_nodes()
    return make(array, interned(names))


trees.register(NamedArray, NamedArray.tree_flatten, NamedArray.tree_unflatten)

_registered: Final[set[str]] = set()
_modules = 0
"""The number of imported modules when `_register_nodes` last looked for libraries."""


def _register_nodes() -> None:
    """Make named arrays nodes of trees in each library that was imported since the last call.

    A library has its own trees if its plug-in package has a module `_named`.
    """
    global _modules
    if _modules == len(sys.modules):
        return
    count = len(sys.modules)
    for library in imported_libraries():
        if library in _registered:
            continue
        _registered.add(library)
        module = plugin_module(library)
        if module is not None:
            module.register_nodes(NamedArray, NamedArray.tree_flatten, NamedArray.tree_unflatten)
    _modules = count


def plugin_module(library: str) -> Any:
    """Return the module for named arrays of a library's plug-in, or None."""
    package = plugin_package(library)
    return None if package is None else import_if_present(f"{package}._named")


def check_rank(function: str, x: NamedArray) -> None:
    """Check that no transformation has inserted an array with another number of axes."""
    shape = getattr(x.array, "shape", None)
    if shape is None:
        raise TypeError(f"{function}: the NamedArray wraps no array but {describe(x.array)}")
    if len(shape) != len(x.names):
        raise ValueError(
            f"{function}: the array has {len(shape)} axes for the names {x.names}: a positional transformation has "
            "added or removed one; use the transformation of `named`, or name the axes again with "
            "`named(x.array, axes)`"
        )


def no_axis(function: str, x: NamedArray, name: str, size: int | None = None) -> ValueError:
    """Return the error for an axis that an array lacks, or has with another size."""
    return ValueError(
        f"{function}: no axis {name!r}{'' if size is None else f' of size {size}'}; the array has the axes "
        f"{_axis.written(zip(x.names, x.array.shape))}"
    )


def named(a: Any, axis: AxisSelection) -> NamedArray:
    """Name the axes of an array.

    Args:
        a: An array of any library; or a number or nested lists of numbers, which become an array of the default
            library.
        axis: A name or an `Axis` for each axis, in order; or a dictionary from names to sizes.

    Raises:
        TypeError: `a` has names or can't be converted to an array, or an axis is neither a name nor an `Axis`.
        ValueError: The axes don't fit the array, or a name occurs twice.

    Source: Haliax's `named`.

    >>> import numpy as np
    >>> named(np.zeros((2, 3)), ("a", "b")).shape
    {'a': 2, 'b': 3}
    """
    if isinstance(a, NamedArray):
        raise TypeError("named: a has names; change them with `rename`, or name the axes of `a.array`")
    return NamedArray(a if is_array(a) else default_namespace().asarray(a), axis)
