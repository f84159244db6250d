"""Operators and methods of containers; the functions themselves are those of `sparse`."""

from typing import TYPE_CHECKING, Any, Final

from xpand import to_device as move
from xpand import trees
from xpand.extend import Array, Device, DType, import_module

from .._elsewhere import missing

if TYPE_CHECKING:
    from types import ModuleType

    from ._containers import COO, CSC, CSR, Sparse


_MODULE: Final = __name__.rpartition(".")[0]


def _functions() -> "ModuleType":
    # Not at the head: those functions are made of containers.
    return import_module(_MODULE)


class Operators:
    """The operators and methods of containers: each is a function of `sparse`, named in its docstring."""

    __slots__ = ()

    if not TYPE_CHECKING:  # which would take every name for known

        def __getattr__(self, name: str) -> Any:
            raise missing(f"{type(self).__name__}: a sparse array", "Sparse", name)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: `np.asarray` would make an array of one object."""
        name = type(self).__name__
        raise TypeError(
            f"asarray: obj must be an array, a number or a nested sequence of numbers, got a sparse {name}; write "
            "`a.todense()` for a dense array, or `sparse.to_native(a)` for the library's own sparse one"
        )

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Raise: functions of NumPy would take a container for an object."""
        name = function.__name__
        has_own = name != "sort" and name in _functions().__all__  # `sparse.sort` sorts entries by their positions
        own = f"`sparse.{name}(a)`, or `np.{name}(a.todense())`" if has_own else f"`np.{name}(a.todense())`"
        raise TypeError(f"{name}: takes dense arrays, got a sparse {type(self).__name__}; write {own}")

    def __matmul__(self, other: Any) -> Any:
        """Call `sparse.matmul`."""
        return _functions().matmul(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        """Call `sparse.matmul`."""
        return _functions().matmul(other, self)

    def __add__(self, other: Any) -> Any:
        """Call `sparse.add`."""
        return _functions().add(self, other)

    def __radd__(self, other: Any) -> Any:
        """Call `sparse.add`."""
        return _functions().add(other, self)

    def __sub__(self, other: Any) -> Any:
        """Call `sparse.subtract`."""
        return _functions().subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        """Call `sparse.subtract`."""
        return _functions().subtract(other, self)

    def __mul__(self, other: Any) -> Any:
        """Call `sparse.multiply`."""
        return _functions().multiply(self, other)

    def __rmul__(self, other: Any) -> Any:
        """Call `sparse.multiply`."""
        return _functions().multiply(other, self)

    def __truediv__(self, other: Any) -> Any:
        """Call `sparse.divide`."""
        return _functions().divide(self, other)

    def __neg__(self) -> "Sparse":
        """Call `sparse.negative`."""
        result: Sparse = _functions().negative(self)
        return result

    def __pos__(self) -> "Sparse":
        """Return the container itself."""
        return self  # type: ignore[return-value]

    def __abs__(self) -> "Sparse":
        """Call `sparse.abs`."""
        result: Sparse = _functions().abs(self)
        return result

    def __getitem__(self, index: Any) -> Any:
        """Call `sparse.getitem`."""
        return _functions().getitem(self, index)

    @property
    def T(self) -> "Sparse":
        """Call `sparse.matrix_transpose`, for matrices without batch axes."""
        result: Sparse = _functions().transpose(self)
        return result

    @property
    def mT(self) -> "Sparse":
        """Call `sparse.matrix_transpose`."""
        result: Sparse = _functions().matrix_transpose(self)
        return result

    def astype(self, dtype: DType) -> "Sparse":
        """Call `sparse.astype`."""
        result: Sparse = _functions().astype(self, dtype)
        return result

    def to_device(self, device: Device) -> "Sparse":
        """Return the container with its arrays on another device, in the library's own terms."""
        result: Sparse = trees.map(lambda x: move(x, device), self)
        return result

    def todense(self) -> Array:
        """Call `sparse.todense`."""
        return _functions().todense(self)

    def tocoo(self) -> "COO":
        """Call `sparse.tocoo`."""
        result: COO = _functions().tocoo(self)
        return result

    def tocsr(self) -> "CSR":
        """Call `sparse.tocsr`."""
        result: CSR = _functions().tocsr(self)
        return result

    def tocsc(self) -> "CSC":
        """Call `sparse.tocsc`."""
        result: CSC = _functions().tocsc(self)
        return result

    def sum(self, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
        """Call `sparse.sum`."""
        return _functions().sum(self, axis=axis, keepdims=keepdims)

    def diagonal(self, *, offset: int = 0) -> Array:
        """Call `sparse.diagonal`."""
        return _functions().diagonal(self, offset=offset)
