"""Operators and methods of containers, which call the functions of `sparse`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from xpand import to_device as move, trees
from xpand.extend import Array, Device, DType, import_module

from .._elsewhere import missing

if TYPE_CHECKING:
    from types import ModuleType

    from ._containers import COO, CSC, CSR, Sparse


_MODULE: Final = __name__.rpartition(".")[0]


def _functions() -> "ModuleType":
    # Imported late: these functions import containers.
    return import_module(_MODULE)


def _operator(name: str) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """Make an operator that calls a function of `sparse`, and its reflected operator."""

    def operator(self: Any, other: Any) -> Any:
        return getattr(_functions(), name)(self, other)

    def reflected(self: Any, other: Any) -> Any:
        return getattr(_functions(), name)(other, self)

    operator.__doc__ = reflected.__doc__ = f"Call `sparse.{name}`."
    return operator, reflected


class Operators:
    """The operators and methods of containers: each is a function of `sparse`, named in its docstring."""

    __slots__ = ()

    if not TYPE_CHECKING:  # a type checker would accept any name

        def __getattr__(self, name: str) -> Any:
            raise missing(f"{type(self).__name__}: a sparse array", "Sparse", name)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise an error: `np.asarray` would make an array of one object."""
        name = type(self).__name__
        raise TypeError(
            f"asarray: obj must be an array, a number or a nested sequence of numbers, got a sparse {name}; write "
            "`a.todense()` for a dense array, or `sparse.to_native(a)` for the library's own sparse one"
        )

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Raise an error: NumPy's functions would treat a container as an object."""
        name = function.__name__
        has_own = name != "sort" and name in _functions().__all__  # `sparse.sort` sorts entries by their positions
        own = f"`sparse.{name}(a)`, or `np.{name}(a.todense())`" if has_own else f"`np.{name}(a.todense())`"
        raise TypeError(f"{name}: takes dense arrays, got a sparse {type(self).__name__}; write {own}")

    __matmul__, __rmatmul__ = _operator("matmul")
    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("subtract")
    __mul__, __rmul__ = _operator("multiply")
    __truediv__ = _operator("divide")[0]

    def __neg__(self) -> "Sparse":
        """Call `sparse.negative`."""
        return cast("Sparse", _functions().negative(self))

    def __pos__(self) -> "Sparse":
        """Return the container itself."""
        return self  # type: ignore[return-value]

    def __abs__(self) -> "Sparse":
        """Call `sparse.abs`."""
        return cast("Sparse", _functions().abs(self))

    def __getitem__(self, index: Any) -> Any:
        """Call `sparse.getitem`."""
        return _functions().getitem(self, index)

    @property
    def T(self) -> "Sparse":
        """Call `sparse.matrix_transpose`, for matrices without batch axes."""
        return cast("Sparse", _functions().transpose(self))

    @property
    def mT(self) -> "Sparse":
        """Call `sparse.matrix_transpose`."""
        return cast("Sparse", _functions().matrix_transpose(self))

    def astype(self, dtype: DType) -> "Sparse":
        """Call `sparse.astype`."""
        return cast("Sparse", _functions().astype(self, dtype))

    def to_device(self, device: Device) -> "Sparse":
        """Return the container with its arrays on another device, as the library names it."""
        return cast("Sparse", trees.map(lambda x: move(x, device), self))

    def todense(self) -> Array:
        """Call `sparse.todense`."""
        return _functions().todense(self)

    def tocoo(self) -> "COO":
        """Call `sparse.tocoo`."""
        return cast("COO", _functions().tocoo(self))

    def tocsr(self) -> "CSR":
        """Call `sparse.tocsr`."""
        return cast("CSR", _functions().tocsr(self))

    def tocsc(self) -> "CSC":
        """Call `sparse.tocsc`."""
        return cast("CSC", _functions().tocsc(self))

    def sum(self, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
        """Call `sparse.sum`."""
        return _functions().sum(self, axis=axis, keepdims=keepdims)

    def diagonal(self, *, offset: int = 0) -> Array:
        """Call `sparse.diagonal`."""
        return _functions().diagonal(self, offset=offset)
