"""Arrays with named axes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from xpand.extend import Array, DType, Scalar, describe, is_array

from . import _axis
from ._axis import Axis, AxisSelection, AxisSelector, AxisSpec
from ._calls import call
from ._trees import register_nodes

_MAX_NAMES: Final = 4096
_NAMES: Final[dict[tuple[str, ...], tuple[str, ...]]] = {}


def interned(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the one tuple of these names, so that operations can compare by identity first."""
    if len(_NAMES) >= _MAX_NAMES:
        _NAMES.clear()
    return _NAMES.setdefault(names, names)


class NamedArray:
    """An array of any library whose axes have names.

    Args:
        array: An array of any library, or an object that a transformation puts in the place of one.
        axes: The axes, in the order of the array's: `Axis`es or names, or a dictionary from names to sizes.

    The names belong to the axes, so operations find axes by name, and arrays with different axes broadcast by name.
    Sizes are those of the array. Instances are immutable, and nodes of trees, with the array as the only leaf.

    Raises:
        TypeError: `array` is no array, or an axis is neither a name nor an `Axis`.
        ValueError: The axes don't fit the array, or have one name twice.

    Source: Haliax's `NamedArray`.

    >>> import numpy as np
    >>> x = NamedArray(np.asarray([[1.0, 2.0], [3.0, 4.0]]), ("row", "column"))
    >>> x.sum("row")
    NamedArray({'column': 2}, array([4., 6.]))
    >>> x.axes
    (Axis(name='row', size=2), Axis(name='column', size=2))
    """

    __slots__ = ("__weakref__", "array", "names")
    __hash__ = None  # type: ignore[assignment]
    __array_ufunc__ = None  # NumPy's operators leave those with named arrays to these
    __array_priority__ = 1000

    array: Array
    names: tuple[str, ...]

    def __init__(self, array: Array, axes: AxisSelection) -> None:
        pairs = _axis.pairs("NamedArray", axes)
        names = tuple([name for name, _ in pairs])
        _axis.different("NamedArray", names)
        if not is_array(array):
            raise TypeError(
                f"NamedArray: array must be an array, got {describe(array)}; convert it with the library's `asarray`"
            )
        shape = array.shape
        if len(shape) != len(names):
            raise ValueError(
                f"NamedArray: the array has {len(shape)} axes, of sizes {tuple(shape)}, and {len(names)} are named: "
                f"{_axis.written(pairs)}; name each axis"
            )
        for (name, size), actual in zip(pairs, shape):
            if size is not None and size != actual:
                raise ValueError(
                    f"NamedArray: axis {name!r} has size {size}, and the array's axis at its position has {actual}; "
                    f"given are {_axis.written(pairs)} for shape {tuple(shape)}"
                )
        register_nodes(NamedArray, flatten, unflatten)
        self.array = array
        self.names = interned(names)

    def __class_getitem__(cls, axes: Any) -> Any:
        """Return an annotation for named arrays with these axes: see `named.typing`."""
        return call.annotation(axes)

    def matches_axes(self, spec: Any) -> bool:
        """Tell whether the array has the axes of an annotation, of a string, or of names: see `named.typing`."""
        return call.matches_axes(self, spec)

    # --- axes --------------------------------------------------------------------------------------------------------

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes, with the sizes of the array."""
        return tuple([Axis(name, size) for name, size in zip(self.names, self.array.shape)])

    @property
    def shape(self) -> dict[str, int]:
        """The sizes of the axes by name."""
        return dict(zip(self.names, self.array.shape))

    def has_axis(self, axis: AxisSelection, /) -> bool:
        """Tell whether the array has an axis, or all of several, of the size given if there is one."""
        own = self.shape
        return all(name in own and (size is None or size == own[name]) for name, size in _axis.pairs("has_axis", axis))

    def axis_size(self, axis: AxisSelection, /) -> Any:
        """Return the size of an axis, or a tuple with the sizes of several.

        Raises:
            ValueError: There is no such axis.
        """
        found = [each.size for each in self._resolved("axis_size", axis)]
        return found[0] if isinstance(axis, (str, Axis)) else tuple(found)

    def resolve_axis(self, axis: AxisSelection, /) -> Any:
        """Return an axis with its size; several as a tuple, those of a dictionary as one.

        Raises:
            ValueError: There is no such axis, or it has another size.
        """
        found = self._resolved("resolve_axis", axis)
        if isinstance(axis, (str, Axis)):
            return found[0]
        return {each.name: each.size for each in found} if isinstance(axis, Mapping) else tuple(found)

    def axis_indices(self, axis: AxisSelection, /) -> Any:
        """Return the position of an axis, or a tuple with those of several; None where there is no such axis.

        Raises:
            ValueError: An axis has another size than the one given.
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
        found: int = call.size(self)
        return found

    @property
    def nbytes(self) -> int:
        """The number of bytes of the elements."""
        found: int = call.nbytes(self)
        return found

    @property
    def real(self) -> "NamedArray":
        """The real part."""
        return call.real(self)

    @property
    def imag(self) -> "NamedArray":
        """The imaginary part, zero for real numbers."""
        return call.imag(self)

    def item(self) -> Any:
        """Return the value as a Python number.

        Raises:
            ValueError: The array has more than one element.
        """
        return call.item(self)

    def scalar(self) -> Array:
        """Return the wrapped array, which must have no axes, as the loss of a gradient.

        Raises:
            ValueError: There are axes.
        """
        if self.names:
            raise ValueError(f"scalar: takes an array without axes, got {_axis.written(self.shape.items())}")
        return self.array

    def tolist(self) -> Any:
        """Return the elements in nested lists."""
        return call.tolist(self)

    def tobytes(self, order: str = "C") -> bytes:
        """Return the elements' bytes, in C or Fortran order."""
        return call.tobytes(self, order)

    def tree_flatten(self) -> tuple[tuple[Any], tuple[str, ...]]:
        """Return the leaf and the names, as trees do."""
        return flatten(self)

    @classmethod
    def tree_unflatten(cls, aux: tuple[str, ...], tree: Any) -> "NamedArray":
        """Make an instance of names and a leaf, which may be any object."""
        return unflatten(aux, tree)

    def __repr__(self) -> str:
        shape = getattr(self.array, "shape", None)
        axes = self.names if shape is None or len(shape) != len(self.names) else dict(zip(self.names, shape))
        return f"NamedArray({axes}, {self.array!r})"

    def __reduce__(self) -> Any:
        return _restored, (self.array, self.names)

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

    # --- indices -----------------------------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> "NamedArray":
        """Select along axes by name: `x[{"a": 0, "b": slice(2)}]` or `x["a", 0, "b", :2]`. See `named.index`."""
        return call.getitem(self, index)

    @property
    def at(self) -> Any:
        """Updates of parts, out of place: `x.at[{"a": 0}].set(1.0)`. See `named.at`."""
        return call.at(self)

    # --- functions of the package as methods; there they are documented ----------------------------------------------

    def rearrange(self, *args: Any, **bindings: AxisSelector | int) -> "NamedArray":
        """Order, merge and split axes: see `named.rearrange`."""
        return call.rearrange(self, *args, **bindings)

    def rename(self, renames: Mapping[Any, AxisSelector]) -> "NamedArray":
        """Rename axes: see `named.rename`."""
        return call.rename(self, renames)

    def broadcast_to(self, axes: AxisSpec) -> "NamedArray":
        """Repeat along new axes, and order all: see `named.broadcast_to`."""
        return call.broadcast_to(self, axes)

    def broadcast_axis(self, axis: AxisSpec) -> "NamedArray":
        """Add the axes that are missing: see `named.broadcast_axis`."""
        return call.broadcast_axis(self, axis)

    def split(self, axis: AxisSelector, new_axes: Sequence[Axis]) -> "list[NamedArray]":
        """Cut along an axis: see `named.split`."""
        return call.split(self, axis, new_axes)

    def flatten_axes(self, old_axes: AxisSelection, new_axis: AxisSelector) -> "NamedArray":
        """Merge axes: see `named.flatten_axes`."""
        return call.flatten_axes(self, old_axes, new_axis)

    def unflatten_axis(self, axis: AxisSelector, new_axes: AxisSpec) -> "NamedArray":
        """Make several axes of one: see `named.unflatten_axis`."""
        return call.unflatten_axis(self, axis, new_axes)

    def ravel(self, new_axis_name: AxisSelector) -> "NamedArray":
        """Merge all axes: see `named.ravel`."""
        return call.ravel(self, new_axis_name)

    def flatten(self, new_axis_name: AxisSelector) -> "NamedArray":
        """Merge all axes: see `named.ravel`."""
        return call.flatten(self, new_axis_name)

    def unbind(self, axis: AxisSelector) -> "list[NamedArray]":
        """Return the parts along an axis: see `named.unbind`."""
        return call.unbind(self, axis)

    def slice(self, *args: Any, **kwargs: Any) -> "NamedArray":
        """Cut out a part: see `named.slice`."""
        return call.slice(self, *args, **kwargs)

    def updated_slice(self, start: Mapping[Any, Any], update: "NamedArray") -> "NamedArray":
        """Replace a part: see `named.updated_slice`."""
        return call.updated_slice(self, start, update)

    def take(self, axis: AxisSelector, index: "int | NamedArray") -> "NamedArray":
        """Select along an axis: see `named.take`."""
        return call.take(self, axis, index)

    def dot(self, *args: Any, **kwargs: Any) -> "NamedArray":
        """Multiply and sum over axes: see `named.dot`."""
        return call.dot(self, *args, **kwargs)

    def all(self, axis: AxisSelection | None = None, *, where: "NamedArray | None" = None) -> "NamedArray":
        """Reduce axes: see `named.all`."""
        return call.all(self, axis, where=where)

    def any(self, axis: AxisSelection | None = None, *, where: "NamedArray | None" = None) -> "NamedArray":
        """Reduce axes: see `named.any`."""
        return call.any(self, axis, where=where)

    def max(self, axis: AxisSelection | None = None, *, where: "NamedArray | None" = None) -> "NamedArray":
        """Reduce axes: see `named.max`."""
        return call.max(self, axis, where=where)

    def min(self, axis: AxisSelection | None = None, *, where: "NamedArray | None" = None) -> "NamedArray":
        """Reduce axes: see `named.min`."""
        return call.min(self, axis, where=where)

    def ptp(self, axis: AxisSelection | None = None, *, where: "NamedArray | None" = None) -> "NamedArray":
        """Reduce axes: see `named.ptp`."""
        return call.ptp(self, axis, where=where)

    def mean(
        self, axis: AxisSelection | None = None, *, dtype: DType | None = None, where: "NamedArray | None" = None
    ) -> "NamedArray":
        """Reduce axes: see `named.mean`."""
        return call.mean(self, axis, where=where, dtype=dtype)

    def prod(
        self, axis: AxisSelection | None = None, *, dtype: DType | None = None, where: "NamedArray | None" = None
    ) -> "NamedArray":
        """Reduce axes: see `named.prod`."""
        return call.prod(self, axis, where=where, dtype=dtype)

    def product(
        self, axis: AxisSelection | None = None, *, dtype: DType | None = None, where: "NamedArray | None" = None
    ) -> "NamedArray":
        """Reduce axes: see `named.prod`."""
        return call.product(self, axis, where=where, dtype=dtype)

    def sum(
        self, axis: AxisSelection | None = None, *, dtype: DType | None = None, where: "NamedArray | None" = None
    ) -> "NamedArray":
        """Reduce axes: see `named.sum`."""
        return call.sum(self, axis, where=where, dtype=dtype)

    def std(
        self,
        axis: AxisSelection | None = None,
        *,
        dtype: DType | None = None,
        ddof: float = 0,
        where: "NamedArray | None" = None,
    ) -> "NamedArray":
        """Reduce axes: see `named.std`."""
        return call.std(self, axis, where=where, ddof=ddof, dtype=dtype)

    def var(
        self,
        axis: AxisSelection | None = None,
        *,
        dtype: DType | None = None,
        ddof: float = 0,
        where: "NamedArray | None" = None,
    ) -> "NamedArray":
        """Reduce axes: see `named.var`."""
        return call.var(self, axis, where=where, ddof=ddof, dtype=dtype)

    def argmax(self, axis: AxisSelector | None = None) -> "NamedArray":
        """Return positions along an axis: see `named.argmax`."""
        return call.argmax(self, axis)

    def argmin(self, axis: AxisSelector | None = None) -> "NamedArray":
        """Return positions along an axis: see `named.argmin`."""
        return call.argmin(self, axis)

    def argsort(self, axis: AxisSelector | None = None, *, stable: bool = False) -> "NamedArray":
        """Return the order along an axis: see `named.argsort`."""
        return call.argsort(self, axis, stable=stable)

    def sort(self, axis: AxisSelector) -> "NamedArray":
        """Sort along an axis: see `named.sort`."""
        return call.sort(self, axis)

    def cumsum(self, axis: AxisSelector, *, dtype: DType | None = None) -> "NamedArray":
        """Accumulate along an axis: see `named.cumsum`."""
        return call.cumsum(self, axis, dtype=dtype)

    def cumprod(self, axis: AxisSelector, *, dtype: DType | None = None) -> "NamedArray":
        """Accumulate along an axis: see `named.cumprod`."""
        return call.cumprod(self, axis, dtype=dtype)

    def astype(self, dtype: DType) -> "NamedArray":
        """Convert to another data type."""
        return call.astype(self, dtype=dtype)

    def clip(
        self, a_min: "NamedArray | Scalar | None" = None, a_max: "NamedArray | Scalar | None" = None
    ) -> "NamedArray":
        """Limit the values: see `named.clip`."""
        return call.clip(self, a_min, a_max)

    def conj(self) -> "NamedArray":
        """Return the complex conjugate."""
        return call.conj(self)

    def conjugate(self) -> "NamedArray":
        """Return the complex conjugate."""
        return call.conjugate(self)

    def copy(self) -> "NamedArray":
        """Return a copy of the elements."""
        return call.copy(self)

    def round(self, decimals: int = 0) -> "NamedArray":
        """Round to a number of decimals: see `named.round`."""
        return call.round(self, decimals=decimals)

    def trace(
        self, axis1: AxisSelector, axis2: AxisSelector, offset: int = 0, dtype: DType | None = None
    ) -> "NamedArray":
        """Sum a diagonal: see `named.trace`."""
        return call.trace(self, axis1, axis2, offset, dtype)

    # --- operators ---------------------------------------------------------------------------------------------------

    def __add__(self, other: "Operand") -> "NamedArray":
        return call.add(self, other)

    def __radd__(self, other: "Operand") -> "NamedArray":
        return call.add(other, self)

    def __sub__(self, other: "Operand") -> "NamedArray":
        return call.subtract(self, other)

    def __rsub__(self, other: "Operand") -> "NamedArray":
        return call.subtract(other, self)

    def __mul__(self, other: "Operand") -> "NamedArray":
        return call.multiply(self, other)

    def __rmul__(self, other: "Operand") -> "NamedArray":
        return call.multiply(other, self)

    def __truediv__(self, other: "Operand") -> "NamedArray":
        return call.divide(self, other)

    def __rtruediv__(self, other: "Operand") -> "NamedArray":
        return call.divide(other, self)

    def __floordiv__(self, other: "Operand") -> "NamedArray":
        return call.floor_divide(self, other)

    def __rfloordiv__(self, other: "Operand") -> "NamedArray":
        return call.floor_divide(other, self)

    def __mod__(self, other: "Operand") -> "NamedArray":
        return call.remainder(self, other)

    def __rmod__(self, other: "Operand") -> "NamedArray":
        return call.remainder(other, self)

    def __pow__(self, other: "Operand") -> "NamedArray":
        return call.power(self, other)

    def __rpow__(self, other: "Operand") -> "NamedArray":
        return call.power(other, self)

    def __and__(self, other: "Operand") -> "NamedArray":
        return call.bitwise_and(self, other)

    def __rand__(self, other: "Operand") -> "NamedArray":
        return call.bitwise_and(other, self)

    def __or__(self, other: "Operand") -> "NamedArray":
        return call.bitwise_or(self, other)

    def __ror__(self, other: "Operand") -> "NamedArray":
        return call.bitwise_or(other, self)

    def __xor__(self, other: "Operand") -> "NamedArray":
        return call.bitwise_xor(self, other)

    def __rxor__(self, other: "Operand") -> "NamedArray":
        return call.bitwise_xor(other, self)

    def __lshift__(self, other: "Operand") -> "NamedArray":
        return call.bitwise_left_shift(self, other)

    def __rlshift__(self, other: "Operand") -> "NamedArray":
        return call.bitwise_left_shift(other, self)

    def __rshift__(self, other: "Operand") -> "NamedArray":
        return call.bitwise_right_shift(self, other)

    def __rrshift__(self, other: "Operand") -> "NamedArray":
        return call.bitwise_right_shift(other, self)

    def __lt__(self, other: "Operand") -> "NamedArray":
        return call.less(self, other)

    def __le__(self, other: "Operand") -> "NamedArray":
        return call.less_equal(self, other)

    def __gt__(self, other: "Operand") -> "NamedArray":
        return call.greater(self, other)

    def __ge__(self, other: "Operand") -> "NamedArray":
        return call.greater_equal(self, other)

    def __eq__(self, other: "Operand") -> "NamedArray":  # type: ignore[override]
        return call.equal(self, other)

    def __ne__(self, other: "Operand") -> "NamedArray":  # type: ignore[override]
        return call.not_equal(self, other)

    def __divmod__(self, other: "Operand") -> "tuple[NamedArray, NamedArray]":
        return call.divmod(self, other)

    def __rdivmod__(self, other: "Operand") -> "tuple[NamedArray, NamedArray]":
        return call.divmod(other, self)

    def __matmul__(self, other: "NamedArray") -> "NamedArray":
        return call.matmul(self, other)

    def __neg__(self) -> "NamedArray":
        return call.negative(self)

    def __pos__(self) -> "NamedArray":
        return call.positive(self)

    def __abs__(self) -> "NamedArray":
        return call.abs(self)

    def __invert__(self) -> "NamedArray":
        return call.bitwise_invert(self)


Operand: TypeAlias = NamedArray | Scalar | Array
"""A named array, or a number: a Python scalar or an array of no axes."""

_new: Final = object.__new__


def make(array: Any, names: tuple[str, ...]) -> NamedArray:
    """Return a named array without checks; `array` may be anything."""
    found = _new(NamedArray)
    found.array = array
    found.names = names
    return found


def _restored(array: Any, names: tuple[str, ...]) -> NamedArray:
    """Return what was pickled or copied."""
    return make(array, interned(names))


def flatten(x: NamedArray) -> tuple[tuple[Any], tuple[str, ...]]:
    """Return the children and the static data of a node of trees."""
    return (x.array,), x.names


def unflatten(names: tuple[str, ...], children: Any) -> NamedArray:
    """Return the node of static data and children, which may be anything."""
    (array,) = children
    return make(array, names)


def no_axis(function: str, x: NamedArray, name: str, size: int | None = None) -> ValueError:
    """Return the error for an axis that an array lacks, or that has another size."""
    return ValueError(
        f"{function}: no axis {name!r}{'' if size is None else f' of size {size}'}; the array has the axes "
        f"{_axis.written(zip(x.names, x.array.shape))}"
    )


def named(a: Any, axis: AxisSelection, /) -> NamedArray:
    """Name the axes of an array.

    Args:
        a: An array of any library; or a number or nested lists of numbers, for an array of the default namespace.
        axis: A name or an `Axis` for each axis, in order; or a dictionary from names to sizes.

    Raises:
        TypeError: `a` can't be converted to an array, or an axis is neither a name nor an `Axis`.
        ValueError: The axes don't fit the array, or have one name twice.

    Source: Haliax's `named`.

    >>> import numpy as np
    >>> named(np.zeros((2, 3)), ("a", "b")).shape
    {'a': 2, 'b': 3}
    """
    return NamedArray(a if is_array(a) else call.asarray(a), axis)
