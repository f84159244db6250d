"""The containers of sparse arrays, one for each format.

A container consists of its `values`, its *pattern* (the integer arrays with the positions of the values) and static
data: the sizes of the sparse axes and the promises about the pattern. All parts are arrays of one library, so a
container is a tree and passes through every transformation. The shape follows from the values, so a container whose
values have one more axis is a batch of arrays with the same pattern.

Axes are in the order batch, sparse, dense: `shape == (*batch, *sparse, *dense)`.
"""

import math
from typing import Any, ClassVar, Final, Self

from xpand import array_namespace, device, trees
from xpand.extend import Array, Device, DType, Namespace, library_of, trace_instead, untraced

from .._dispatch import import_if_present, plugin_package
from .._display import array_text, as_html
from .._transforms_patterns import Container
from . import _checks as checks
from ._operators import Operators
from ._pattern import are_concrete
from ._products import csr_plan

_SEEN: Final[set[tuple[type, str]]] = set()
_MAX_TYPES: Final = 4096  # the set must stay bounded if a program keeps making classes


def make_known(values: Any, capability: str = "sparse") -> None:
    """Register the classes of a capability with the library of an array, if it has its own trees."""
    if (type(values), capability) not in _SEEN:
        _look(type(values), capability)


# torch.compile guards the set otherwise, which changes.
trace_instead(make_known, lambda values, capability="sparse": _look(type(values), capability))


@untraced
def _look(cls: type, capability: str) -> bool:
    library = library_of(cls)
    package = None if library is None else plugin_package(library)
    # The import registers the classes, once.
    if package is not None:
        import_if_present(f"{package}.{capability}._trees")
    if len(_SEEN) < _MAX_TYPES:
        _SEEN.add((cls, capability))
    return True


Shape = tuple[int, ...]


class Sparse(Operators, Container):
    """The base class of containers of every format."""

    __slots__ = ("_is_sorted", "_is_unique", "_pattern", "_plan", "_sparse_shape", "_values")

    format: ClassVar[str]
    """The name of the format: "coo", "csr", "csc"."""

    _values: Array
    _pattern: tuple[Array, ...]
    _sparse_shape: Shape
    _is_sorted: bool
    _is_unique: bool
    _plan: Any

    # So that NumPy's arrays leave operators to the container.
    __array_ufunc__ = None

    @property
    def values(self) -> Array:
        """The stored values, of shape (*batch, nse, *dense)."""
        return self._values

    @property
    def pattern(self) -> tuple[Array, ...]:
        """The integer arrays with the positions of the values: `coords`, or `indices` and `indptr`."""
        return self._pattern

    @property
    def shape(self) -> Shape:
        """The shape of the array: (*batch, *sparse, *dense)."""
        batch = self.batch_ndim
        return (*self._values.shape[:batch], *self._sparse_shape, *self._values.shape[batch + 1 :])

    @property
    def batch_ndim(self) -> int:
        """The number of axes before the sparse ones."""
        axes: int = self._values.ndim
        return axes - 1 - self.dense_ndim

    @property
    def sparse_ndim(self) -> int:
        """The number of sparse axes."""
        return len(self._sparse_shape)

    @property
    def dense_ndim(self) -> int:
        """The number of axes after the sparse ones."""
        return 0

    @property
    def ndim(self) -> int:
        """The number of axes."""
        axes: int = self._values.ndim
        return axes - 1 + len(self._sparse_shape)

    @property
    def nse(self) -> int:
        """The number of stored entries of each batch element (*number of specified elements*)."""
        size: int = self._values.shape[self.batch_ndim]
        return size

    @property
    def dtype(self) -> DType:
        """The data type of the values."""
        return self._values.dtype

    @property
    def device(self) -> Device:
        """The device of the values."""
        return device(self._values)

    @property
    def is_sorted(self) -> bool:
        """Whether entries are declared to be sorted by position (within each row or column, for CSR and CSC)."""
        return self._is_sorted

    @property
    def is_unique(self) -> bool:
        """Whether entries are declared to have different positions. Entries at the same position are summed."""
        return self._is_unique

    @property
    def plan(self) -> Any:
        """The plan for fast products, a tree of arrays that a library computed from the pattern; None: not computed."""
        return self._plan

    def with_values(self, values: Array) -> Self:
        """Return a container with other values at the same positions.

        `values` may have more or fewer batch axes; each lane then has this pattern.

        Raises:
            ValueError: The number of values is not the number of positions.
        """
        checks.new_values(self, values)
        return self._replace(checks.in_namespace_of_pattern(values, *self.pattern)[0])

    def copy(self) -> Self:
        """Return a container with copies of the values and the pattern, in new memory."""
        found: Self = trees.copy(self)
        return found

    def _replace(self, values: Array, pattern: tuple[Array, ...] | None = None) -> Self:
        return self._of(values, self.pattern if pattern is None else pattern, self._static(), self._plan)

    def prepared(self) -> Self:
        """Return the container with its `plan`, for fast products in a `jit` function that takes the container.

        If the pattern is known, the first product computes the plan; if it is not, the argument must bring the plan.
        The plan is part of the tree: containers with and without a plan have different structures. If the library uses
        no plans or the pattern is unknown, the container is returned unchanged.
        """
        return self

    def _static(self) -> tuple[Any, ...]:
        """Return the static parts; containers of one structure have the same."""
        return (self._sparse_shape, self._is_sorted, self._is_unique)

    @classmethod
    def _of(cls, values: Any, pattern: tuple[Any, ...], static: tuple[Any, ...], plan: Any = None) -> Self:
        """Make a container without checks: in transformations, the parts may be any objects."""
        make_known(values)
        made = object.__new__(cls)
        made._values, made._pattern, made._plan = values, tuple(pattern), plan
        made._sparse_shape, made._is_sorted, made._is_unique = static[:3]
        return made

    def __repr__(self) -> str:
        """Describe the container by its shape and its parts."""
        if not hasattr(self._values, "dtype"):
            return f"{type(self).__name__}(values={self._values!r}, shape=(…, {self._sparse_shape}))"
        name = str(self.dtype).rpartition(".")[2]
        return f"<{type(self).__name__} of shape {self.shape}, {self.nse} entries of {name}>"

    def _repr_html_(self) -> str:
        arrays = [
            ("values", array_text(self._values)),
            *((f"pattern {i}", array_text(x)) for i, x in enumerate(self.pattern)),
        ]
        share = self.nse / max(math.prod(self._sparse_shape), 1)
        return as_html(repr(self)[1:-1], [("entries", f"{share:.3g} of all elements"), *arrays])


class COO(Sparse):
    """A sparse array with any number of axes, stored by coordinates: one integer array for each sparse axis.

    Args:
        values: An array of shape (*batch, nse, *dense), of any data type.
        coords: An integer array for each sparse axis, of shape (nse,), for all lanes, or (*batch, nse).
        shape: The shape of the array, (*batch, *sparse, *dense).
        dense_ndim: The number of axes of `values` after the axis of the entries.
        is_sorted: A promise that entries are sorted by position, the last axis fastest.
        is_unique: A promise that no two entries have the same position. Otherwise such entries are summed.
        check: Whether to check the coordinates and the promises, with a pass over the pattern, if its values are known.

    Raises:
        TypeError: An argument is not an array, arrays of two libraries, or coordinates are not integers.
        ValueError: Shapes don't fit together, arrays lie on two devices, or a promise doesn't hold.
        IndexError: A coordinate is out of bounds.

    Nothing is copied. Source: JAX's `BCOO`, SciPy's `coo_array`.

    >>> import numpy as np
    >>> a = COO(np.asarray([1.0, 2.0]), (np.asarray([0, 1]), np.asarray([2, 0])), (2, 3))
    >>> a
    <COO of shape (2, 3), 2 entries of float64>
    >>> a.todense()
    array([[0., 0., 1.],
           [2., 0., 0.]])
    """

    __slots__ = ("_dense_ndim",)

    format = "coo"
    _dense_ndim: int

    def __init__(
        self,
        values: Array,
        coords: tuple[Array, ...] = (),
        shape: Shape = (),  # omitted if the arguments are SciPy's: the check says what to write instead
        *,
        dense_ndim: int = 0,
        is_sorted: bool = False,
        is_unique: bool = False,
        check: bool = True,
    ) -> None:
        """Check the parts, and store them."""
        self._sparse_shape = checks.coo(values, coords, shape, dense_ndim, is_sorted, is_unique, check)
        make_known(values)
        self._values, *found = checks.in_namespace_of_pattern(values, *coords)
        self._pattern, self._dense_ndim = tuple(found), dense_ndim
        self._is_sorted, self._is_unique, self._plan = is_sorted, is_unique, None

    @property
    def coords(self) -> tuple[Array, ...]:
        """The coordinates of the entries: one array for each sparse axis."""
        return self._pattern

    @property
    def dense_ndim(self) -> int:
        """The number of axes after the sparse ones."""
        return self._dense_ndim

    def _static(self) -> tuple[Any, ...]:
        return (self._sparse_shape, self._is_sorted, self._is_unique, self._dense_ndim)

    @classmethod
    def _of(cls, values: Any, pattern: tuple[Any, ...], static: tuple[Any, ...], plan: Any = None) -> Self:
        made = super()._of(values, pattern, static, plan)
        made._dense_ndim = static[3]
        return made


class _Compressed(Sparse):
    """A sparse matrix with entries grouped by rows or by columns."""

    __slots__ = ("_product_plan",)

    _product_plan: list[Any]
    """The plan computed by the first product (or None), in a list that all containers with this pattern share."""
    _major: ClassVar[int]
    """The axis that is compressed, counted from the end."""

    def __init__(
        self,
        values: Array,
        indices: Array | None = None,
        indptr: Array | None = None,
        shape: Shape = (),  # omitted if the arguments are SciPy's: the check says what to write instead
        *,
        is_sorted: bool = False,
        is_unique: bool = False,
        check: bool = True,
    ) -> None:
        """Check the parts, and store them."""
        self._sparse_shape = checks.compressed(self, values, indices, indptr, shape, is_sorted, is_unique, check)
        make_known(values)
        self._values, *found = checks.in_namespace_of_pattern(values, indices, indptr)
        self._pattern = tuple(found)
        self._is_sorted, self._is_unique, self._plan = is_sorted, is_unique, None
        self._product_plan = []

    @property
    def indices(self) -> Array:
        """The column of each entry (CSR), or its row (CSC): of shape (nse,) or (*batch, nse)."""
        return self._pattern[0]

    @property
    def indptr(self) -> Array:
        """The start of each row (CSR) or column (CSC) in the entries, and the end of the last."""
        return self._pattern[1]

    @classmethod
    def _of(cls, values: Any, pattern: tuple[Any, ...], static: tuple[Any, ...], plan: Any = None) -> Self:
        made = super()._of(values, pattern, static, plan)
        made._product_plan = []
        return made

    def _replace(self, values: Array, pattern: tuple[Array, ...] | None = None) -> Self:
        made = super()._replace(values, pattern)
        if pattern is None:
            made._product_plan = self._product_plan
        return made

    def prepared(self) -> Self:
        plan = self._plan_for_products()
        return self if plan is None else self._of(self._values, self.pattern, self._static(), plan)

    def _plan_for_products(self) -> Any:
        """Return the container's plan, or the one computed from a known pattern; None if there is none."""
        if self._plan is not None:
            return self._plan
        if not self._product_plan:
            rows, columns = self._sparse_shape
            shape = (rows, columns) if self._major == -2 else (columns, rows)
            is_known = self.indices.ndim == 1 and are_concrete(*self.pattern)
            self._product_plan.append(csr_plan(*self.pattern, shape=shape) if is_known else None)
        return self._product_plan[0]

    def _transposed(self, other: type["_Compressed"]) -> "_Compressed":
        """Return the transpose in the other format, with the same arrays and the same plan."""
        made = other._of(self._values, self.pattern, (self._sparse_shape[::-1], *self._static()[1:]), self._plan)
        made._product_plan = self._product_plan
        return made


class CSR(_Compressed):
    """A sparse matrix, or a batch of matrices, by rows: row i has the entries from indptr[i] to indptr[i + 1].

    Args:
        values: An array of shape (*batch, nse), of any data type.
        indices: The column of each entry: integers of shape (nse,), for all lanes, or (*batch, nse).
        indptr: The start of each row, and the end of the last: integers of shape (rows + 1,) or (*batch, rows + 1),
            from 0 to nse, never decreasing. Entries from indptr[-1] on are padding, and ignored.
        shape: The shape of the array, (*batch, rows, columns).
        is_sorted: A promise that the entries of each row are sorted by column.
        is_unique: A promise that no two entries have the same position. Otherwise such entries are summed.
        check: Whether to check the indices and the promises, with a pass over the pattern, if its values are known.

    Raises:
        TypeError: An argument is not an array, arrays of two libraries, or indices are not integers.
        ValueError: Shapes don't fit together, arrays lie on two devices, `indptr` breaks a rule above, or a promise
            doesn't hold.
        IndexError: A column is out of bounds.

    Nothing is copied. Source: SciPy's `csr_array`, JAX's `BCSR`.

    >>> import numpy as np
    >>> CSR(np.asarray([1.0, 2.0]), np.asarray([2, 0]), np.asarray([0, 1, 2]), (2, 3)).todense()
    array([[0., 0., 1.],
           [2., 0., 0.]])
    """

    __slots__ = ()
    format = "csr"
    _major = -2


class CSC(_Compressed):
    """A sparse matrix, or a batch of matrices, by columns: column j has the entries from indptr[j] to indptr[j + 1].

    Arguments and errors are those of `CSR` with rows and columns exchanged; only `shape` stays (*batch, rows, columns).

    >>> import numpy as np
    >>> CSC(np.asarray([2.0, 1.0]), np.asarray([1, 0]), np.asarray([0, 1, 1, 2]), (2, 3)).todense()
    array([[0., 0., 1.],
           [2., 0., 0.]])
    """

    __slots__ = ()
    format = "csc"
    _major = -1


def namespace_of(a: Sparse) -> Namespace:
    """Return the namespace of a container's values."""
    return array_namespace(a.values)
