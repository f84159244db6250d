"""Functions of the package, and operators, as methods of named arrays. The functions are documented."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from xpand.extend import DType

from ._axis import Axis, AxisSelection, AxisSelector, AxisSpec
from ._calls import call

Operand: TypeAlias = Any
"""A named array, or a number: a Python scalar or an array of no axes."""


class Methods:
    """The functions of the package that take a named array first."""

    __slots__ = ()

    def rearrange(self, *args: Any, **bindings: AxisSelector | int) -> Self:
        """Order, merge and split axes: see `named.rearrange`."""
        return call.rearrange(self, *args, **bindings)

    def rename(self, renames: Mapping[Any, AxisSelector]) -> Self:
        """Rename axes: see `named.rename`."""
        return call.rename(self, renames)

    def broadcast_to(self, axes: AxisSpec) -> Self:
        """Repeat along new axes, and reorder all: see `named.broadcast_to`."""
        return call.broadcast_to(self, axes)

    def broadcast_axis(self, axis: AxisSpec) -> Self:
        """Add the axes that are missing: see `named.broadcast_axis`."""
        return call.broadcast_axis(self, axis)

    def split(self, axis: AxisSelector, new_axes: Sequence[Axis]) -> list[Self]:
        """Cut along an axis: see `named.split`."""
        return call.split(self, axis, new_axes)

    def flatten_axes(self, old_axes: AxisSelection, new_axis: AxisSelector) -> Self:
        """Merge axes: see `named.flatten_axes`."""
        return call.flatten_axes(self, old_axes, new_axis)

    def unflatten_axis(self, axis: AxisSelector, new_axes: AxisSpec) -> Self:
        """Split an axis into several: see `named.unflatten_axis`."""
        return call.unflatten_axis(self, axis, new_axes)

    def ravel(self, new_axis_name: AxisSelector) -> Self:
        """Merge all axes: see `named.ravel`."""
        return call.ravel(self, new_axis_name)

    def flatten(self, new_axis_name: AxisSelector) -> Self:
        """Merge all axes: see `named.ravel`."""
        return call.flatten(self, new_axis_name)

    def unbind(self, axis: AxisSelector) -> list[Self]:
        """Return the parts along an axis: see `named.unbind`."""
        return call.unbind(self, axis)

    def slice(self, *args: Any, **kwargs: Any) -> Self:
        """Cut out a part: see `named.slice`."""
        return call.slice(self, *args, **kwargs)

    def updated_slice(self, start: Mapping[Any, Any], update: Any) -> Self:
        """Replace a part: see `named.updated_slice`."""
        return call.updated_slice(self, start, update)

    def take(self, axis: AxisSelector, index: Any) -> Self:
        """Select along an axis: see `named.take`."""
        return call.take(self, axis, index)

    def dot(self, *args: Any, **kwargs: Any) -> Self:
        """Multiply and sum over axes: see `named.dot`."""
        return call.dot(self, *args, **kwargs)

    def all(self, axis: AxisSelection | None = None, *, where: Any = None) -> Self:
        """Reduce axes: see `named.all`."""
        return call.all(self, axis, where=where)

    def any(self, axis: AxisSelection | None = None, *, where: Any = None) -> Self:
        """Reduce axes: see `named.any`."""
        return call.any(self, axis, where=where)

    def max(self, axis: AxisSelection | None = None, *, where: Any = None) -> Self:
        """Reduce axes: see `named.max`."""
        return call.max(self, axis, where=where)

    def min(self, axis: AxisSelection | None = None, *, where: Any = None) -> Self:
        """Reduce axes: see `named.min`."""
        return call.min(self, axis, where=where)

    def ptp(self, axis: AxisSelection | None = None, *, where: Any = None) -> Self:
        """Reduce axes: see `named.ptp`."""
        return call.ptp(self, axis, where=where)

    def mean(self, axis: AxisSelection | None = None, *, dtype: DType | None = None, where: Any = None) -> Self:
        """Reduce axes: see `named.mean`."""
        return call.mean(self, axis, where=where, dtype=dtype)

    def prod(self, axis: AxisSelection | None = None, *, dtype: DType | None = None, where: Any = None) -> Self:
        """Reduce axes: see `named.prod`."""
        return call.prod(self, axis, where=where, dtype=dtype)

    def product(self, axis: AxisSelection | None = None, *, dtype: DType | None = None, where: Any = None) -> Self:
        """Reduce axes: see `named.prod`."""
        return call.product(self, axis, where=where, dtype=dtype)

    def sum(self, axis: AxisSelection | None = None, *, dtype: DType | None = None, where: Any = None) -> Self:
        """Reduce axes: see `named.sum`."""
        return call.sum(self, axis, where=where, dtype=dtype)

    def std(
        self, axis: AxisSelection | None = None, *, dtype: DType | None = None, ddof: float = 0, where: Any = None
    ) -> Self:
        """Reduce axes: see `named.std`."""
        return call.std(self, axis, where=where, ddof=ddof, dtype=dtype)

    def var(
        self, axis: AxisSelection | None = None, dtype: DType | None = None, ddof: float = 0, *, where: Any = None
    ) -> Self:
        """Reduce axes: see `named.var`."""
        return call.var(self, axis, where=where, ddof=ddof, dtype=dtype)

    def argmax(self, axis: AxisSelector | None = None) -> Self:
        """Return positions along an axis: see `named.argmax`."""
        return call.argmax(self, axis)

    def argmin(self, axis: AxisSelector | None = None) -> Self:
        """Return positions along an axis: see `named.argmin`."""
        return call.argmin(self, axis)

    def argsort(self, axis: AxisSelector | None = None, *, stable: bool = False) -> Self:
        """Return the order along an axis: see `named.argsort`."""
        return call.argsort(self, axis, stable=stable)

    def sort(self, axis: AxisSelector) -> Self:
        """Sort along an axis: see `named.sort`."""
        return call.sort(self, axis)

    def cumsum(self, axis: AxisSelector, *, dtype: DType | None = None) -> Self:
        """Accumulate along an axis: see `named.cumsum`."""
        return call.cumsum(self, axis, dtype=dtype)

    def cumprod(self, axis: AxisSelector, *, dtype: DType | None = None) -> Self:
        """Accumulate along an axis: see `named.cumprod`."""
        return call.cumprod(self, axis, dtype=dtype)

    def astype(self, dtype: DType) -> Self:
        """Convert to another data type."""
        return call.astype(self, dtype=dtype)

    def clip(self, a_min: Any = None, a_max: Any = None) -> Self:
        """Limit the values: see `named.clip`."""
        return call.clip(self, a_min, a_max)

    def conj(self) -> Self:
        """Return the complex conjugate."""
        return call.conj(self)

    def conjugate(self) -> Self:
        """Return the complex conjugate."""
        return call.conjugate(self)

    def copy(self) -> Self:
        """Return a copy of the elements."""
        return call.copy(self)

    def round(self, decimals: int = 0) -> Self:
        """Round to a number of decimals: see `named.round`."""
        return call.round(self, decimals=decimals)

    def trace(self, axis1: AxisSelector, axis2: AxisSelector, offset: int = 0, dtype: DType | None = None) -> Self:
        """Sum a diagonal: see `named.trace`."""
        return call.trace(self, axis1, axis2, offset, dtype)


class Operators:
    """Python's operators, which broadcast by name: `_elementwise` sets them to its functions."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __matmul__(self, other: Any) -> Self:
        return call.matmul(self, other)

    if TYPE_CHECKING:

        def __add__(self, other: Operand) -> Self: ...
        def __radd__(self, other: Operand) -> Self: ...
        def __sub__(self, other: Operand) -> Self: ...
        def __rsub__(self, other: Operand) -> Self: ...
        def __mul__(self, other: Operand) -> Self: ...
        def __rmul__(self, other: Operand) -> Self: ...
        def __truediv__(self, other: Operand) -> Self: ...
        def __rtruediv__(self, other: Operand) -> Self: ...
        def __floordiv__(self, other: Operand) -> Self: ...
        def __rfloordiv__(self, other: Operand) -> Self: ...
        def __mod__(self, other: Operand) -> Self: ...
        def __rmod__(self, other: Operand) -> Self: ...
        def __pow__(self, other: Operand) -> Self: ...
        def __rpow__(self, other: Operand) -> Self: ...
        def __and__(self, other: Operand) -> Self: ...
        def __rand__(self, other: Operand) -> Self: ...
        def __or__(self, other: Operand) -> Self: ...
        def __ror__(self, other: Operand) -> Self: ...
        def __xor__(self, other: Operand) -> Self: ...
        def __rxor__(self, other: Operand) -> Self: ...
        def __lshift__(self, other: Operand) -> Self: ...
        def __rlshift__(self, other: Operand) -> Self: ...
        def __rshift__(self, other: Operand) -> Self: ...
        def __rrshift__(self, other: Operand) -> Self: ...
        def __lt__(self, other: Operand) -> Self: ...
        def __le__(self, other: Operand) -> Self: ...
        def __gt__(self, other: Operand) -> Self: ...
        def __ge__(self, other: Operand) -> Self: ...
        def __eq__(self, other: Operand) -> Self: ...  # type: ignore[override]
        def __ne__(self, other: Operand) -> Self: ...  # type: ignore[override]
        def __divmod__(self, other: Operand) -> tuple[Self, Self]: ...
        def __rdivmod__(self, other: Operand) -> tuple[Self, Self]: ...
        def __neg__(self) -> Self: ...
        def __pos__(self) -> Self: ...
        def __abs__(self) -> Self: ...
        def __invert__(self) -> Self: ...
