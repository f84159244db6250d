"""Products of sparse matrices, given by their parts, with dense ones: the basis of the containers' products.

Patterns are not checked: for an index out of bounds the behaviour is undefined, and the process may crash. Padding is
ignored: entries of a COO whose row is the number of rows or whose column is the number of columns, and entries of a CSR
from `indptr[-1]` on.
"""

from typing import Any, NamedTuple

from xpand import array_namespace, is_concrete
from xpand.extend import Array, Namespace, checks as _arguments

from .._bounds import index_dtype
from .._dispatch import pluggable
from . import _blocks as blocks

Shape = tuple[int, int]


class CSRPlan(NamedTuple):
    """The result of `csr_plan`: a tree of arrays, which passes through every transformation."""

    rows: Array
    """The row of each entry."""
    slots: Array
    """0, 1, … below the length of the longest row, if all rows are about equally long; otherwise empty."""
    diagonals: tuple[Array, ...] = ()
    """If the entries fill a few diagonals: an array of shape (0, column + m) for each, `column` being that in row 0."""


@pluggable
def csr_matmul(
    values: Array, indices: Array, indptr: Array, x: Array, /, *, shape: Shape, plan: CSRPlan | None = None
) -> Array:
    """Multiply a sparse matrix by rows (CSR) with a vector or with dense matrices: `A @ x`.

    Args:
        values: The values of A, of shape `(*batch, nse)`, of a numeric data type.
        indices: The column of each value: integers of shape `(nse,)`, for all lanes, or `(*batch, nse)`.
        indptr: The start of each row, and the end of the last: integers of shape `(m + 1,)` or `(*batch, m + 1)`.
        x: A vector of shape `(n,)`, or matrices of shape `(..., n, k)`. Stacks of them broadcast with the batch.
        shape: The shape of A, `(m, n)`.
        plan: The result of `csr_plan` for the pattern, which makes the product faster on some libraries.

    Returns:
        An array of shape `(*batch, m)` for a vector, else `(..., m, k)`; of the promoted data type, in which sums are
        taken.

    Raises:
        TypeError: Arguments that aren't arrays of one library, or data types that don't promote.
        ValueError: Shapes that don't fit, or arrays on two devices.

    Derivatives have the same pattern: the gradient in `values` is `sampled_matmul` of the cotangent and `x`. The time
    is proportional to `nse * k`. The values of indices are not checked.

    Source: SciPy's `csr_array @ x`; on JAX, for rows of similar length: N. Bell and M. Garland, *Implementing sparse
    matrix-vector multiplication on throughput-oriented processors*, SC 2009.

    >>> import numpy as np
    >>> values, indices, indptr = np.asarray([1.0, 2.0, 3.0]), np.asarray([0, 2, 1]), np.asarray([0, 2, 3])
    >>> csr_matmul(values, indices, indptr, np.asarray([1.0, 10.0, 100.0]), shape=(2, 3))
    array([201.,  30.])
    """
    shape = matrix_shape("csr_matmul", shape)
    values, indices, indptr, x = _operands("csr_matmul", values, x, shape, 1, indices=indices, indptr=indptr)
    if indices.ndim > 1:
        rows = csr_rows(indptr, nse=values.shape[-1])
        return blocks.multiplied(coo_matmul, values, rows, indices, x, shape)
    return csr_matmul.native(values, indices, indptr, x)(values, indices, indptr, x, shape=shape, plan=plan)


@pluggable
def csr_rmatmul(
    values: Array, indices: Array, indptr: Array, x: Array, /, *, shape: Shape, plan: CSRPlan | None = None
) -> Array:
    """Multiply the transpose of a sparse matrix by rows (CSR) with a vector or with dense matrices: `A.T @ x`.

    Arguments, result and errors are those of `csr_matmul`, with `m` and `n` exchanged in the shapes of `x` and of the
    result. The transpose is neither built nor conjugated. A matrix by columns (CSC) has the same parts as its transpose
    by rows, so this function also multiplies CSC matrices.

    >>> import numpy as np
    >>> values, indices, indptr = np.asarray([1.0, 2.0, 3.0]), np.asarray([0, 2, 1]), np.asarray([0, 2, 3])
    >>> csr_rmatmul(values, indices, indptr, np.asarray([1.0, 10.0]), shape=(2, 3))
    array([ 1., 30.,  2.])
    """
    shape = matrix_shape("csr_rmatmul", shape)
    values, indices, indptr, x = _operands("csr_rmatmul", values, x, shape, 0, indices=indices, indptr=indptr)
    if indices.ndim > 1:
        rows = csr_rows(indptr, nse=values.shape[-1])
        return blocks.multiplied(coo_matmul, values, indices, rows, x, shape[::-1])
    return csr_rmatmul.native(values, indices, indptr, x)(values, indices, indptr, x, shape=shape, plan=plan)


@pluggable
def coo_matmul(
    values: Array, rows: Array, columns: Array, x: Array, /, *, shape: Shape, rows_are_sorted: bool = False
) -> Array:
    """Multiply a sparse matrix by coordinates (COO) with a vector or with dense matrices: `A @ x`.

    Args:
        values: The values of A, of shape `(*batch, nse)`, of a numeric data type. Those at one position are summed.
        rows: The row of each value: integers of shape `(nse,)`, for all lanes, or `(*batch, nse)`.
        columns: The column of each value, of the shape of `rows`.
        x: A vector of shape `(n,)`, or matrices of shape `(..., n, k)`. Stacks of them broadcast with the batch.
        shape: The shape of A, `(m, n)`.
        rows_are_sorted: A promise that `rows` never decrease, which some libraries use.

    Returns:
        An array of shape `(*batch, m)` for a vector, else `(..., m, k)`; of the promoted data type, in which sums are
        taken.

    Raises:
        TypeError: Arguments that aren't arrays of one library, or data types that don't promote.
        ValueError: Shapes that don't fit, or arrays on two devices.

    To multiply with the transpose, exchange rows and columns. The values of indices are not checked.

    >>> import numpy as np
    >>> values, rows, columns = np.asarray([1.0, 2.0, 3.0]), np.asarray([1, 0, 1]), np.asarray([0, 2, 0])
    >>> coo_matmul(values, rows, columns, np.asarray([1.0, 10.0, 100.0]), shape=(2, 3))
    array([200.,   4.])
    """
    shape = matrix_shape("coo_matmul", shape)
    values, rows, columns, x = _operands("coo_matmul", values, x, shape, 1, rows=rows, columns=columns)
    if rows.ndim > 1:
        return blocks.multiplied(coo_matmul, values, rows, columns, x, shape)
    return coo_matmul.native(values, rows, columns, x)(
        values, rows, columns, x, shape=shape, rows_are_sorted=rows_are_sorted
    )


@pluggable
def sampled_matmul(x: Array, y: Array, rows: Array, columns: Array, /) -> Array:
    """Compute the product of dense matrices at some positions only: `(x @ y)[..., rows, columns]`.

    Args:
        x: Matrices of shape `(..., m, k)`, of a numeric data type.
        y: Matrices of shape `(..., k, n)`, of a numeric data type. The stacks broadcast.
        rows: The row of each position: integers of shape `(nse,)`.
        columns: The column of each position, of the shape of `rows`.

    Returns:
        An array of shape `(..., nse)`, of the promoted data type; 0 for padding.

    Raises:
        TypeError: Arguments that aren't arrays of one library, or data types that don't promote.
        ValueError: Shapes that don't fit, or arrays on two devices.

    This is the gradient of a sparse product in its values. The time is proportional to `nse * k`.

    Source: `torch.sparse.sampled_addmm`.

    >>> import numpy as np
    >>> x, y = np.asarray([[1.0], [2.0]]), np.asarray([[3.0, 4.0, 5.0]])
    >>> sampled_matmul(x, y, np.asarray([0, 1, 1]), np.asarray([0, 0, 2]))
    array([ 3.,  6., 10.])
    """
    xp = _arguments.namespace_of("sampled_matmul", x=x, y=y, rows=rows, columns=columns)
    _arguments.one_device("sampled_matmul", x=x, y=y, rows=rows, columns=columns)
    check_indices("sampled_matmul", xp, rows=rows, columns=columns)
    for name, given in (("x", x), ("y", y)):
        _arguments.dtype("sampled_matmul", name, xp, given, _arguments.NUMERIC)
    if x.ndim < 2 or y.ndim < 2 or x.shape[-1] != y.shape[-2]:
        raise ValueError(
            "sampled_matmul: takes x of shape (..., m, k) and y of shape (..., k, n), got "
            f"{tuple(x.shape)} and {tuple(y.shape)}"
        )
    _arguments.broadcast_shapes("sampled_matmul", x=tuple(x.shape[:-2]), y=tuple(y.shape[:-2]))
    x, y = _arguments.promote("sampled_matmul", xp, x=x, y=y)
    rows, columns = usual_indices(rows, columns)
    return sampled_matmul.native(x, y, rows, columns)(x, y, rows, columns)


@pluggable
def csr_rows(indptr: Array, /, *, nse: int) -> Array:
    """Return the row of each entry of a sparse matrix by rows (CSR).

    Args:
        indptr: The start of each row, and the end of the last: integers of shape `(..., m + 1)`.
        nse: The number of entries.

    Returns:
        Integers of shape `(..., nse)`, with `m` for entries from `indptr[..., -1]` on; of the data type of `indptr` if
        that is int32 or int64, else of the library's data type for indices.

    Raises:
        TypeError: An argument that is not an integer array.
        ValueError: `indptr` has no axis.

    >>> import numpy as np
    >>> csr_rows(np.asarray([0, 2, 2, 3]), nse=4)
    array([0, 0, 2, 3])
    """
    xp = _arguments.namespace_of("csr_rows", indptr=indptr)
    _arguments.dtype("csr_rows", "indptr", xp, indptr, _arguments.INTEGERS)
    nse = _arguments.integer("csr_rows", "nse", nse, minimum=0)
    if not indptr.ndim or not indptr.shape[-1]:
        raise ValueError(f"csr_rows: indptr must have the shape (..., m + 1), got {tuple(indptr.shape)}")
    (indptr,) = usual_indices(indptr)
    return csr_rows.native(indptr)(indptr, nse=nse)


@pluggable
def csr_plan(indices: Array, indptr: Array, /, *, shape: Shape) -> CSRPlan | None:
    """Compute a plan for faster products from the pattern of a sparse matrix by rows (CSR).

    Args:
        indices: The column of each entry: integers of shape `(nse,)`.
        indptr: The start of each row, and the end of the last: integers of shape `(m + 1,)`.
        shape: The shape of the matrix, `(m, n)`.

    Returns:
        A plan for `csr_matmul` and `csr_rmatmul`; None if the library uses no plans, or the pattern isn't known (under
        jit).

    Raises:
        TypeError: An argument that is not an integer array.

    On JAX, under jit, a product with a plan is seven times as fast. Without a plan it is JAX's own product of a BCSR.

    >>> import numpy as np
    >>> csr_plan(np.asarray([0, 2, 1]), np.asarray([0, 2, 3]), shape=(2, 3)) is None
    True
    """
    xp = _arguments.namespace_of("csr_plan", indices=indices, indptr=indptr)
    check_indices("csr_plan", xp, indices=indices)
    check_indices("csr_plan", xp, indptr=indptr)
    shape = matrix_shape("csr_plan", shape)
    if not is_concrete(indptr):
        return None
    indices, indptr = usual_indices(indices, indptr)
    return csr_plan.native(indices, indptr)(indices, indptr, shape=shape)


@pluggable
def coo_product(
    values: Array,
    rows: Array,
    columns: Array,
    other: Array,
    other_rows: Array,
    other_columns: Array,
    /,
    *,
    shape: Shape,
    inner: int,
) -> tuple[Array, Array, Array] | None:
    """Multiply two sparse matrices by coordinates (COO), each with one pattern.

    Args:
        values: The values of the first matrix, of shape `(nse,)`.
        rows: Their rows: integers of shape `(nse,)`.
        columns: Their columns.
        other: The values of the second matrix, of the same data type.
        other_rows: Their rows.
        other_columns: Their columns.
        shape: The shape of the product.
        inner: The number of columns of the first matrix, and of rows of the second.

    Returns:
        The values, rows and columns of the product, sorted and unique, possibly with zeros; None if the library has no
        kernel for it.

    >>> import numpy as np
    >>> one = np.asarray([0])
    >>> coo_product(np.asarray([2.0]), one, one, np.asarray([3.0]), one, one, shape=(1, 1), inner=1)[0]
    array([6.])
    """
    shape, inner = matrix_shape("coo_product", shape), _arguments.integer("coo_product", "inner", inner)
    native = coo_product.native(values, other)
    return native(values, rows, columns, other, other_rows, other_columns, shape=shape, inner=inner)


def _operands(
    function: str, values: Array, x: Array, shape: Shape, axis: int, /, **pattern: Array
) -> tuple[Array, ...]:
    """Check the parts of a matrix and its factor `x`; return them as kernels take them. `axis` is the one summed over.

    Raises:
        TypeError: Arguments that aren't arrays of one library, or data types that don't promote.
        ValueError: Shapes that don't fit, or arrays on two devices.
    """
    xp = check_parts(function, values, shape, x=x, **pattern)
    _arguments.dtype(function, "values", xp, values, _arguments.NUMERIC)
    _arguments.dtype(function, "x", xp, x, _arguments.NUMERIC)
    size = shape[axis]
    if not x.ndim or x.shape[-2 if x.ndim > 1 else -1] != size:
        raise ValueError(f"{function}: x must have the shape ({size},) or (..., {size}, k), got {tuple(x.shape)}")
    if values.ndim > 1 and x.ndim > 2:
        _arguments.broadcast_shapes(function, values=tuple(values.shape[:-1]), x=tuple(x.shape[:-2]))
    if values.dtype != x.dtype:
        values, x = _arguments.promote(function, xp, values=values, x=x)
    return values, *usual_indices(*pattern.values()), x


def matrix_shape(function: str, shape: Any) -> Shape:
    """Check the shape of a matrix, and return it with Python ints."""
    if type(shape) is not tuple or len(shape) != 2:
        raise ValueError(f"{function}: shape must be a tuple of two sizes, (m, n), got {shape!r}")
    if type(shape[0]) is type(shape[1]) is int:
        return shape
    rows, columns = shape
    return _arguments.plain_integer(rows), _arguments.plain_integer(columns)


def check_parts(function: str, values: Array, shape: Shape, /, **others: Array) -> Namespace:
    """Check the parts of a matrix and return their namespace. `others` has its two index arrays, and optionally `x`.

    Raises:
        TypeError: Arguments that aren't arrays of one library, or indices that are not integers.
        ValueError: Shapes that don't fit, or arrays on two devices.
    """
    xp = _arguments.namespace_of(function, values=values, **others)
    _arguments.one_device(function, values=values, **others)
    (first_name, first), (second_name, second) = [each for each in others.items() if each[0] != "x"]
    _arguments.dtype(function, first_name, xp, first, _arguments.INTEGERS)
    _arguments.dtype(function, second_name, xp, second, _arguments.INTEGERS)
    if not values.ndim:
        raise ValueError(f"{function}: values must have the shape (*batch, nse), got an array of shape ()")
    entries = values.shape[-1:]
    ends = (shape[0] + 1,) if second_name == "indptr" else entries
    if first.ndim == 1 and first.shape == entries and second.shape == ends:
        return xp
    batch = tuple(values.shape[:-1])
    for name, given, last in ((first_name, first, entries), (second_name, second, ends)):
        if tuple(given.shape) not in (tuple(last), (*batch, *last)):
            raise ValueError(
                f"{function}: {name} must have the shape {tuple(last)} or {(*batch, *last)} for values of shape "
                f"{tuple(values.shape)} of matrices of shape {shape}, got {tuple(given.shape)}"
            )
    if first.ndim != second.ndim:
        raise ValueError(
            f"{function}: a pattern is for all of a batch or for each batch element, got {first_name} of shape "
            f"{tuple(first.shape)} and {second_name} of shape {tuple(second.shape)}"
        )
    return xp


def check_indices(function: str, xp: Namespace, /, **arrays: Array) -> None:
    """Check index arrays, which must have one axis and the same length.

    Raises:
        TypeError: An array does not have integers.
        ValueError: Arrays have other shapes.
    """
    for name, given in arrays.items():
        _arguments.dtype(function, name, xp, given, _arguments.INTEGERS)
    if len({tuple(given.shape) for given in arrays.values()}) > 1 or any(given.ndim != 1 for given in arrays.values()):
        listed = " and ".join(f"{name} of shape {tuple(given.shape)}" for name, given in arrays.items())
        raise ValueError(f"{function}: {' and '.join(arrays)} must have one shape, (nse,), got {listed}")


def usual_indices(*given: Array) -> tuple[Array, ...]:
    """Convert index arrays to int32 or all to int64, so that sums of indices and numbers of rows fit."""
    xp = array_namespace(*given)
    dtype = given[0].dtype
    if (dtype == xp.int32 or dtype == xp.int64) and all(each.dtype == dtype for each in given):
        return given
    target = index_dtype(xp, _arguments.device_of(given[0]))
    return tuple([xp.astype(each, target) for each in given])
