"""Methods of named arrays: functions of the package, which have the documentation, and operators.

The class of arrays imports none of the modules of these functions. They replace the declarations here.
"""

# mypy: disable-error-code=empty-body

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

from xpand.extend import DType

from ._axis import Axis, AxisSelection, AxisSelector, AxisSpec

Operand: TypeAlias = Any
"""A named array, or a number: a Python scalar or an array without axes."""


F = TypeVar("F", bound=Callable[..., Any])


class Methods:
    """Functions of the package with a named array as first argument. `bind` replaces these declarations by them."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __class_getitem__(cls, axes: Any) -> Any:
        """Return an annotation for named arrays with these axes: see `named.typing`."""

    def matches_axes(self, spec: Any) -> bool:
        """Return whether the array has the axes of an annotation, of a string, or of names: see `named.typing`."""

    def __getitem__(self, index: Any) -> Self:
        """Select along axes by name: `x[{"a": 0, "b": slice(2)}]` or `x["a", 0, "b", :2]`. See `named.index`."""

    @property
    def at(self) -> Any:
        """Updates of a part, which return a new array: `x.at[{"a": 0}].set(1.0)`. See `named.NamedAt`."""

    @property
    def real(self) -> Self:
        """The real part."""

    @property
    def imag(self) -> Self:
        """The imaginary part, zero for real numbers."""

    def rearrange(self, *args: Any, **bindings: AxisSelector | int) -> Self:
        """Order, merge and split axes: see `named.rearrange`."""

    def rename(self, renames: Mapping[Any, AxisSelector]) -> Self:
        """Rename axes: see `named.rename`."""

    def broadcast_to(self, axes: AxisSpec) -> Self:
        """Repeat along new axes, and reorder all axes: see `named.broadcast_to`."""

    def broadcast_axis(self, axis: AxisSpec) -> Self:
        """Add the axes that are missing: see `named.broadcast_axis`."""

    def split(self, axis: AxisSelector, new_axes: Sequence[Axis]) -> list[Self]:
        """Split along an axis into parts: see `named.split`."""

    def flatten_axes(self, old_axes: AxisSelection, new_axis: AxisSelector) -> Self:
        """Merge axes: see `named.flatten_axes`."""

    def unflatten_axis(self, axis: AxisSelector, new_axes: AxisSpec) -> Self:
        """Split an axis into several: see `named.unflatten_axis`."""

    def ravel(self, new_axis_name: AxisSelector) -> Self:
        """Merge all axes: see `named.ravel`."""

    def flatten(self, new_axis_name: AxisSelector) -> Self:
        """Merge all axes: see `named.ravel`."""

    def unbind(self, axis: AxisSelector) -> list[Self]:
        """Return the parts along an axis: see `named.unbind`."""

    def slice(self, *args: Any, **kwargs: Any) -> Self:
        """Cut out a part: see `named.slice`."""

    def updated_slice(self, start: Mapping[Any, Any], update: Any) -> Self:
        """Replace a part: see `named.updated_slice`."""

    def take(self, axis: AxisSelector, index: Any) -> Self:
        """Select along an axis: see `named.take`."""

    def dot(self, *args: Any, **kwargs: Any) -> Self:
        """Multiply and sum over axes: see `named.dot`."""

    def all(self, axis: AxisSelection | None = None, *, where: Any = None) -> Self:
        """Reduce axes: see `named.all`."""

    def any(self, axis: AxisSelection | None = None, *, where: Any = None) -> Self:
        """Reduce axes: see `named.any`."""

    def max(self, axis: AxisSelection | None = None, *, where: Any = None) -> Self:
        """Reduce axes: see `named.max`."""

    def min(self, axis: AxisSelection | None = None, *, where: Any = None) -> Self:
        """Reduce axes: see `named.min`."""

    def ptp(self, axis: AxisSelection | None = None, *, where: Any = None) -> Self:
        """Reduce axes: see `named.ptp`."""

    def mean(self, axis: AxisSelection | None = None, *, dtype: DType | None = None, where: Any = None) -> Self:
        """Reduce axes: see `named.mean`."""

    def prod(self, axis: AxisSelection | None = None, *, dtype: DType | None = None, where: Any = None) -> Self:
        """Reduce axes: see `named.prod`."""

    def product(self, axis: AxisSelection | None = None, *, dtype: DType | None = None, where: Any = None) -> Self:
        """Reduce axes: see `named.prod`."""

    def sum(self, axis: AxisSelection | None = None, *, dtype: DType | None = None, where: Any = None) -> Self:
        """Reduce axes: see `named.sum`."""

    def std(
        self, axis: AxisSelection | None = None, *, dtype: DType | None = None, ddof: float = 0, where: Any = None
    ) -> Self:
        """Reduce axes: see `named.std`."""

    def var(
        self, axis: AxisSelection | None = None, dtype: DType | None = None, ddof: float = 0, *, where: Any = None
    ) -> Self:
        """Reduce axes, with NumPy's order of arguments: see `named.var`."""

    def argmax(self, axis: AxisSelector | None = None) -> Self:
        """Return positions along an axis: see `named.argmax`."""

    def argmin(self, axis: AxisSelector | None = None) -> Self:
        """Return positions along an axis: see `named.argmin`."""

    def argsort(self, axis: AxisSelector | None = None, *, stable: bool = False) -> Self:
        """Return the order along an axis: see `named.argsort`."""

    def sort(self, axis: AxisSelector) -> Self:
        """Sort along an axis: see `named.sort`."""

    def cumsum(self, axis: AxisSelector, *, dtype: DType | None = None) -> Self:
        """Accumulate along an axis: see `named.cumsum`."""

    def cumprod(self, axis: AxisSelector, *, dtype: DType | None = None) -> Self:
        """Accumulate along an axis: see `named.cumprod`."""

    def astype(self, dtype: DType) -> Self:
        """Convert to another data type."""

    def clip(self, a_min: Any = None, a_max: Any = None) -> Self:
        """Limit the values: see `named.clip`."""

    def conj(self) -> Self:
        """Return the complex conjugate."""

    def conjugate(self) -> Self:
        """Return the complex conjugate."""

    def copy(self) -> Self:
        """Return a copy of the elements."""

    def round(self, decimals: int = 0) -> Self:
        """Round to a number of decimals: see `named.round`."""

    def trace(self, axis1: AxisSelector, axis2: AxisSelector, offset: int = 0, dtype: DType | None = None) -> Self:
        """Sum a diagonal: see `named.trace`."""

    # --- Python's operators, which broadcast by name -----------------------------------------------------------------

    if TYPE_CHECKING:

        def __matmul__(self, other: Any) -> Self: ...
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


def bind(name: str, attribute: Any) -> None:
    """Set a declared method or property of arrays."""
    setattr(Methods, name, attribute)


def method(function: F) -> F:
    """Make a function of the package a method of arrays."""
    bind(function.__name__, function)
    return function
