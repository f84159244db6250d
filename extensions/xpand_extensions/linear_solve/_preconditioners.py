"""Preconditioners: approximate inverses of matrices, built once and used on every library."""

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, Final

from xpand import array_namespace, is_concrete, trees
from xpand.extend import Array, Namespace, checks, describe

from .. import sparse
from ..devices._move import on_host
from ..linalg._checks import axis_of, columns_of, stack_of
from ..sparse._containers import make_known
from ..sparse._convert import any_sparse
from ._factorization import check_square, transpose
from ._operators import times

_PRODUCTS: Final = 12
"""The number of products to estimate an eigenvalue."""


class Preconditioner:
    """An approximate inverse `M` of a matrix: `M(r)` and `M.transposed(r)`.

    It is an immutable tree, so it passes through `jit` and `vmap`. Derivatives of `solve` don't depend on it, since the
    solution is differentiated implicitly.
    """

    # No named tuple: tuples have no weak references, without which `jax.jit(M)` crashes the process.
    __slots__ = ("__weakref__",)

    _trees: ClassVar[tuple[str, ...]] = ()
    """The attributes that are trees of arrays."""
    _static: ClassVar[tuple[str, ...]] = ()
    """The other, static attributes."""

    def __init_subclass__(cls) -> None:
        """Register the class as a tree."""
        trees.register(cls, flatten, partial(unflatten, cls))
        CLASSES.append(cls)

    def __init__(self, *parts: Any) -> None:
        """Store the parts, in the order of the attributes."""
        _set(self, parts)
        make_known(trees.leaves(parts)[0], "linear_solve")

    def __setattr__(self, name: str, value: Any) -> None:
        """Raise an error: the object may be part of compiled programs."""
        raise AttributeError(f"{type(self).__name__}.{name} can't be set: preconditioners are immutable; build another")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the object by its parts."""
        children, static = flatten(self)
        return unflatten, (type(self), static, children)

    def __repr__(self) -> str:
        """Return the names and values of the parts."""
        parts = [f"{name}={getattr(self, name)!r}" for name in (*self._trees, *self._static)]
        return f"{type(self).__name__}({', '.join(parts)})"

    def __call__(self, r: Array, /, *, axis: int = -2) -> Array:
        """Apply `M` to a vector, (n,), or to columns, (..., n, k); with `axis=-1`, to vectors along the last axis."""
        return self._of_columns("preconditioner", r, axis, False)

    def transposed(self, r: Array, /, *, axis: int = -2) -> Array:
        """Apply the transpose of `M`, without conjugation. The arguments are those of a call."""
        return self._of_columns("preconditioner.transposed", r, axis, True)

    @property
    def size(self) -> int:
        """The number of elements of a vector."""
        return self._shape()[-1]

    @property
    def stack(self) -> tuple[int, ...]:
        """The shape of the stack of matrices; () for one matrix."""
        return self._shape()[:-1]

    def _shape(self) -> tuple[int, ...]:
        """Return the shape of the stack, followed by the number of elements of a vector."""
        raise NotImplementedError

    def _applied(self, r: Array, transposed: bool) -> Array:
        """Apply `M` to columns, (..., n, k), or if it has one matrix, also to a vector."""
        raise NotImplementedError

    def _of_columns(self, function: str, r: Any, axis: int, transposed: bool) -> Array:
        if not checks.is_array(r):
            raise TypeError(f"{function}: r must be an array, got {describe(r)}")
        axis_of(function, axis)
        stack_of(function, "r", (*self.stack, self.size, self.size), checks.known_shape(function, "r", r), axis)
        if r.ndim == 1 and not self.stack:
            return self._applied(r, transposed)
        columns = columns_of(r, axis, is_one_matrix=not self.stack)
        return columns.restore(self._applied(columns.array, transposed))


def scaled(r: Array, weights: Array) -> Array:
    """Multiply the elements of vectors or columns by weights, (..., n)."""
    return r * (weights if r.ndim == 1 else weights[..., None])


CLASSES: Final[list[type[Preconditioner]]] = []
"""The classes to register as trees of the libraries."""


def flatten(M: Preconditioner) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Split a preconditioner into its trees of arrays and its static attributes."""
    return tuple([getattr(M, name) for name in M._trees]), tuple([getattr(M, name) for name in M._static])


def unflatten(cls: type[Preconditioner], static: tuple[Any, ...], children: Any) -> Preconditioner:
    """Rebuild a preconditioner from its parts, which may be any objects."""
    M = object.__new__(cls)
    _set(M, (*children, *static))
    return M


def _set(M: Preconditioner, parts: Sequence[Any]) -> None:
    for name, part in zip((*M._trees, *M._static), parts, strict=True):
        object.__setattr__(M, name, part)


class Jacobi(Preconditioner):
    """The Jacobi preconditioner: `inverse`, (..., n), is the inverse of the diagonal."""

    __slots__ = _trees = ("inverse",)
    inverse: Array

    def _shape(self) -> tuple[int, ...]:
        return tuple(self.inverse.shape)

    def _applied(self, r: Array, transposed: bool) -> Array:
        return scaled(r, self.inverse)


class BlockJacobi(Preconditioner):
    """Multiplies by the inverses of the diagonal blocks of a matrix.

    `inverses` has the shape (..., blocks, k, k). If the size of the matrix is no multiple of k, `last` is the inverse
    of the smaller last block.
    """

    __slots__ = _trees = ("inverses", "last")
    inverses: Array
    last: Array | None

    def _shape(self) -> tuple[int, ...]:
        *stack, blocks, k, _ = self.inverses.shape
        return (*stack, blocks * k + (0 if self.last is None else self.last.shape[-1]))

    def _applied(self, r: Array, transposed: bool) -> Array:
        xp = array_namespace(r)
        blocks, k = self.inverses.shape[-3:-1]
        columns = r[:, None] if r.ndim == 1 else r
        whole, rest = columns[..., : blocks * k, :], columns[..., blocks * k :, :]
        batch, count = tuple(whole.shape[:-2]), whole.shape[-1]
        inverses = [x for x in (self.inverses, self.last) if x is not None]
        if transposed:
            inverses = [xp.matrix_transpose(x) for x in inverses]
        found = xp.matmul(inverses[0], xp.reshape(whole, (*batch, blocks, k, count)))
        x = xp.reshape(found, (*found.shape[:-3], blocks * k, count))
        if self.last is not None:
            x = xp.concat([x, xp.matmul(inverses[1], rest)], axis=-2)
        return x[:, 0] if r.ndim == 1 else x


class Chebyshev(Preconditioner):
    """The Chebyshev preconditioner: a polynomial in the matrix divided by its diagonal.

    It approximates the inverse for eigenvalues from `low` to `high`. `degree` is the degree of the polynomial.
    """

    __slots__ = ("degree", "high", "inverse", "low", "matrix")
    _trees = ("matrix", "inverse", "low", "high")
    _static = ("degree",)
    matrix: Any
    inverse: Array
    low: Array
    high: Array
    degree: int

    def _shape(self) -> tuple[int, ...]:
        return tuple(self.inverse.shape)

    def _applied(self, r: Array, transposed: bool) -> Array:
        matrix = transpose(self.matrix) if transposed else self.matrix
        return _smoothed(matrix, self.inverse, self.low, self.high, self.degree, r, transposed)


def jacobi(A: Any, /) -> Jacobi:
    """Build the Jacobi preconditioner: the inverse of the diagonal.

    Args:
        A: Square matrices of a floating-point data type: an array (..., n, n), a container, or a library's own sparse
            matrix.

    Raises:
        TypeError: `A` is not a matrix, or has another data type.
        ValueError: A matrix that isn't square, or a concrete diagonal element that is zero or not finite.

    Works under `jit` and `vmap`.

    >>> import numpy as np
    >>> jacobi(np.asarray([[2.0, 1.0], [1.0, 4.0]]))(np.asarray([2.0, 2.0]))
    array([1. , 0.5])
    """
    _, A = matrix_of("jacobi", A)
    return Jacobi(1.0 / diagonal_of("jacobi", A))


def block_jacobi(A: Any, /, block_size: int) -> BlockJacobi:
    """Build the block Jacobi preconditioner: the inverses of the blocks on the diagonal.

    Args:
        A: As in `jacobi`.
        block_size: The number of rows of a block. The last block has the remaining rows.

    Raises:
        TypeError: As `jacobi`.
        ValueError: As `jacobi`, or a block size below 1 or above the number of rows.

    For a singular block, the result is that of the library's `linalg.inv`.

    >>> import numpy as np
    >>> block_jacobi(np.asarray([[2.0, 1.0, 5.0], [1.0, 1.0, 0.0], [0.0, 0.0, 4.0]]), 2)(np.ones(3))
    array([0.  , 1.  , 0.25])
    """
    xp, A = matrix_of("block_jacobi", A)
    size = A.shape[-1]
    k = checks.integer("block_jacobi", "block_size", block_size, minimum=1)
    if k > max(size, 1):
        raise ValueError(f"block_jacobi: block_size={k} is more than the {size} rows of A")
    count = size // k
    last = xp.linalg.inv(sparse.todense(A[..., count * k :, count * k :])) if size % k else None
    return BlockJacobi(xp.linalg.inv(_blocks(xp, A, k, count)), last)


def _blocks(xp: Namespace, A: Any, k: int, count: int) -> Array:
    """Return the blocks on the diagonal, (..., count, k, k)."""
    if isinstance(A, sparse.Sparse):
        a = sparse.tocoo(A)
        rows, columns = a.coords
        inside = (rows // k == columns // k) & (rows < count * k)
        coords = xp.where(inside, rows // k, xp.full_like(rows, count)), rows % k, columns % k
        return sparse.todense(sparse.COO(a.values, coords, (*a.shape[:-2], count, k, k), check=False))
    rows = xp.reshape(A[..., : count * k, : count * k], (*A.shape[:-2], count, k, count, k))
    # Take the diagonal of the two axes of blocks.
    moved = xp.permute_dims(rows, (*range(A.ndim - 2), A.ndim - 1, A.ndim + 1, A.ndim - 2, A.ndim))
    return xp.permute_dims(xp.linalg.diagonal(moved), (*range(A.ndim - 2), A.ndim, A.ndim - 2, A.ndim - 1))


def chebyshev(A: Any, /, degree: int = 4, *, bounds: tuple[float, float] | None = None) -> Chebyshev:
    """Build the Chebyshev preconditioner of a symmetric positive definite matrix.

    Args:
        A: As in `jacobi`.
        degree: The degree of the polynomial, which is the number of products in each application.
        bounds: The range of eigenvalues, of the matrix divided by its diagonal, for which the polynomial is optimal.
            None: the upper bound is estimated with twelve products, and the lower bound is a thirtieth of it.

    Raises:
        TypeError: As `jacobi`.
        ValueError: As `jacobi`, a negative degree, or bounds that aren't 0 < low < high.

    Works under `jit` and `vmap`. It consists of matrix products, which are efficient on GPUs.

    Source: Saad, Iterative Methods for Sparse Linear Systems, 12.3.

    >>> import numpy as np
    >>> A = np.asarray([[2.0, -1.0], [-1.0, 2.0]])
    >>> M = chebyshev(A, 8, bounds=(0.5, 1.5))
    >>> bool(np.max(np.abs(M(A @ np.asarray([1.0, 2.0])) - np.asarray([1.0, 2.0]))) < 1e-4)
    True
    """
    _, A = matrix_of("chebyshev", A)
    degree = checks.integer("chebyshev", "degree", degree, minimum=0)
    inverse = 1.0 / diagonal_of("chebyshev", A)
    high = largest_eigenvalue(A, inverse)
    low = high / 30.0
    given: Any = bounds
    if given is not None:
        if not isinstance(given, (tuple, list)) or len(given) != 2 or not 0 < given[0] < given[1]:
            raise ValueError(f"chebyshev: bounds must be a pair of numbers, 0 < low < high, got {given}")
        xp = array_namespace(high)
        low, high = (xp.full_like(high, float(each)) for each in given)
    return Chebyshev(A, inverse, low, high, degree)


def _smoothed(
    matrix: Any, inverse: Array, low: Array, high: Array, degree: int, r: Array, transposed: bool = False
) -> Array:
    """Run Chebyshev's iteration for `matrix @ x = r`, from zero."""
    centre, width = (0.5 * (high + low))[..., None], (0.5 * (high - low))[..., None]
    if r.ndim > 1:  # columns
        centre, width, inverse = centre[..., None], width[..., None], inverse[..., None]
    rho = width / centre
    # The transpose divides by the diagonal last, not first.
    # Operands that may be traced come first: some libraries' arrays refuse a traced right operand.
    residual = r if transposed else r * inverse
    step = residual / centre
    x = step
    for _ in range(degree):
        product = matrix @ (step * inverse) if transposed else (matrix @ step) * inverse
        residual = residual - product
        after = 1.0 / (2.0 * centre / width - rho)
        step = step * (after * rho) + residual * (2.0 * after / width)
        rho = after
        x = x + step
    return x * inverse if transposed else x


def matrix_of(function: str, A: Any) -> tuple[Namespace, Any]:
    """Check that matrices are square and of a floating-point data type; return their namespace and the matrices."""
    A = any_sparse(function, "A", A)
    check_square(function, A)
    return array_namespace(A.values if isinstance(A, sparse.Sparse) else A), A


def matrix_on_host(function: str, A: Any) -> sparse.CSR:
    """Copy a matrix to the host, as a CSR without duplicates.

    Raises:
        TypeError: The values are abstract.
        ValueError: A batch of matrices.
    """
    if A.ndim != 2:
        raise ValueError(f"{function}: A must be one matrix, got a batch of shape {tuple(A.shape)}; build one for each")
    if not all(map(is_concrete, trees.leaves(A))):
        raise TypeError(
            f"{function}: A must have known values, and under jit and vmap, or in lazy arrays, they aren't; build the "
            "preconditioner outside and pass it as an argument"
        )
    host = trees.map(on_host, A)
    found: sparse.CSR = sparse.sum_duplicates(sparse.tocsr(host) if sparse.is_sparse(host) else sparse.from_dense(host))
    return found


def diagonal_of(function: str, A: Any) -> Array:
    """Return the diagonal; concrete elements must be finite and not zero.

    Raises:
        ValueError: An element is zero or not finite; the message names its row.
    """
    found = sparse.diagonal(A) if isinstance(A, sparse.Sparse) else array_namespace(A).linalg.diagonal(A)
    xp = array_namespace(found)
    if is_concrete(found):
        wrong = (found == 0) | ~xp.isfinite(found)
        if bool(xp.any(wrong)):
            row = int(xp.argmax(xp.astype(xp.any(xp.reshape(wrong, (-1, found.shape[-1])), axis=0), xp.int8)))
            raise ValueError(
                f"{function}: the diagonal of A must be finite and without zeros, and that of row {row} isn't; bring "
                "another element there by exchanging rows, or use `block_jacobi` or a direct method"
            )
    return found


def largest_eigenvalue(A: Any, inverse: Array) -> Array:
    """Estimate the largest absolute eigenvalue of the matrix divided by its diagonal.

    Power iteration gives a sharp lower bound, and row sums give an upper bound. Works on traced arrays.
    """
    xp = array_namespace(inverse)
    n = inverse.shape[-1]
    numbers = xp.arange(1, n + 1, dtype=xp.float64, device=checks.device_of(inverse))
    # Irregular values, the same in each call, which are unlikely to be orthogonal to an eigenvector.
    start = xp.astype(0.5 + (numbers * 0.6180339887498949) % 1.0, inverse.dtype)
    x = xp.broadcast_to(start, inverse.shape)
    for _ in range(_PRODUCTS):
        y = inverse * times(A, x)
        size, length = xp.linalg.vector_norm(x, axis=-1), xp.linalg.vector_norm(y, axis=-1)
        found = length / size
        x = y / xp.where(length > 0, length, xp.ones_like(length))[..., None]
    sums = times(abs(A), xp.ones(inverse.shape, dtype=found.dtype, device=checks.device_of(inverse)))
    bound = xp.max(xp.abs(inverse) * sums, axis=-1)
    return xp.minimum(1.1 * found, bound)


def on_device(xp: Any, like: Any, tree: Any) -> Any:
    """Move host arrays to the library and device of a matrix; convert floating-point arrays to its data type."""
    like = like.values if isinstance(like, sparse.Sparse) else like
    numbers = array_namespace(*trees.leaves(tree))

    def moved(x: Array) -> Array:
        dtype = None if numbers.isdtype(x.dtype, "integral") else like.dtype
        return xp.asarray(numbers.asarray(x, copy=True), dtype=dtype, device=checks.device_of(like))

    return trees.map(moved, tree)
