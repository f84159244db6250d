"""Linear operators of solvers, with their known properties."""

from collections.abc import Callable
from math import prod
from typing import Any, ClassVar

from xpand import array_namespace, trees
from xpand.extend import Array, checks, describe

from .. import autodiff
from .._transforms_patterns import in_namespace_of
from ..sparse._containers import CSR, Sparse
from ..sparse._convert import any_sparse, tocsr
from ..sparse._pattern import are_concrete
from ._factorization import Factorization
from ._vectors import Vectors, conj


class LinearOperator:
    """A linear function of vectors that are trees of arrays, with its known properties. It is a tree of `args`.

    Args:
        function: Takes a vector, which is a tree of arrays, and `args`; returns the product, a tree like the right-hand
            side.
        transposed: The same for the transposed operator, without conjugation. By default, methods that need it use
            `autodiff.linear_transpose`.
        args: Trees of arrays, or other objects. Solutions are differentiable in the arrays.
        symmetric: A promise that the operator equals its transpose, conjugated for complex numbers.
        positive_definite: A promise that it is symmetric and all its eigenvalues are positive.

    Raises:
        TypeError: An argument that is not a function, `args` that are not a tuple, flags that are not bools.

    >>> import numpy as np
    >>> from ..linear_solve import solve
    >>> laplace = LinearOperator(lambda x: 2 * x - np.roll(x, 1) - np.roll(x, -1) + x, positive_definite=True)
    >>> solve(laplace, np.asarray([1.0, 2.0, 3.0])).x.round(6)
    array([1.75, 2.  , 2.25])
    """

    __slots__ = ("args", "function", "positive_definite", "symmetric", "transposed")

    def __init__(
        self,
        function: Callable[..., Any],
        /,
        *,
        transposed: Callable[..., Any] | None = None,
        args: tuple[Any, ...] = (),
        symmetric: bool = False,
        positive_definite: bool = False,
    ) -> None:
        """Store the function and its properties."""
        checks.function("LinearOperator", function, "function")
        if transposed is not None:
            checks.function("LinearOperator", transposed, "transposed")
        if not isinstance(args, tuple):
            raise TypeError(f"LinearOperator: args must be a tuple, got {describe(args)}; write `args=(a,)` for one")
        checks.boolean("LinearOperator", "symmetric", symmetric)
        checks.boolean("LinearOperator", "positive_definite", positive_definite)
        self.function, self.transposed, self.args = function, transposed, args
        self.symmetric, self.positive_definite = symmetric or positive_definite, positive_definite

    @property
    def functions(self) -> tuple[Any, ...]:
        """Return the function and its transpose, or None."""
        return self.function, self.transposed

    def _with_functions(self, function: Any, transposed: Any) -> "LinearOperator":
        """Return the operator with other functions."""
        return _unflatten((function, transposed, self.symmetric, self.positive_definite), (self.args,))

    def __call__(self, x: trees.Tree, /) -> trees.Tree:
        """Multiply a vector."""
        return self.function(x, *in_namespace_of(trees.leaves(x), self.args))

    def _product(self, x: Array, rows: Vectors, columns: Vectors) -> Array:
        """Call the function with a flat vector."""
        return rows.flat("solve: A must return", self(columns.tree(x)))

    def _product_transposed(self, y: Array, rows: Vectors, columns: Vectors) -> Array:
        """Call the transposed function with a flat vector."""
        if self.transposed is not None:
            return columns.flat("solve: the transpose of A must return", self.transposed(rows.tree(y), *self.args))
        if self.symmetric:
            return conj(self._product(conj(y), rows, columns))
        (found,) = autodiff.linear_transpose(self, columns.example(y))(rows.tree(y))
        return columns.flat("solve: the transpose of A must return", found)


def _flatten(a: LinearOperator) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    return (a.args,), (a.function, a.transposed, a.symmetric, a.positive_definite)


def _unflatten(static: tuple[Any, ...], children: Any) -> LinearOperator:
    result = object.__new__(LinearOperator)
    result.function, result.transposed, result.symmetric, result.positive_definite = static
    (result.args,) = children
    return result


trees.register(LinearOperator, _flatten, _unflatten)


class Matrix:
    """An operator on flat vectors made of matrices, `(*batch, m, n)`, dense or sparse."""

    __slots__ = ("positive_definite", "symmetric", "values")

    functions: ClassVar[tuple[Any, ...]] = ()
    """The user functions."""

    def __init__(self, values: Any, symmetric: bool, positive_definite: bool) -> None:
        """Store the matrices and their properties."""
        self.values, self.symmetric, self.positive_definite = values, symmetric, positive_definite

    def _product(self, x: Array, rows: Vectors, columns: Vectors) -> Array:
        """Multiply by the matrices."""
        return times(self.values, x)

    def _product_transposed(self, y: Array, rows: Vectors, columns: Vectors) -> Array:
        """Multiply by the transposed matrices."""
        if checks.is_array(self.values):
            return times(array_namespace(self.values).matrix_transpose(self.values), y)
        return times(self.values.mT, y)


trees.register(
    Matrix,
    lambda a: ((a.values,), (a.symmetric, a.positive_definite)),
    lambda static, children: Matrix(*children, *static),
)


def times(matrix: Any, x: Array) -> Array:
    """Multiply matrices, dense or sparse, with vectors along the last axis; the other axes broadcast."""
    if x.ndim == 1 and matrix.ndim == 2:
        return matrix @ x
    xp = array_namespace(x)
    is_plain = isinstance(matrix, Sparse) or checks.is_array(matrix)  # plug-ins have further kinds of matrices
    if is_plain and matrix.ndim > 2 and matrix.shape[-3] == 1 and x.ndim > 1:
        # All vectors along the second last axis have the same matrix: use one product.
        return xp.matrix_transpose((matrix @ xp.matrix_transpose(x)[..., None, :, :])[..., 0, :, :])
    if matrix.ndim > 2:
        return (matrix @ x[..., None])[..., 0]
    # One matrix for all vectors: use one product of matrices.
    shape = tuple(x.shape)
    columns = xp.matrix_transpose(xp.reshape(x, (prod(shape[:-1]), shape[-1])))
    product = xp.matrix_transpose(matrix @ columns)
    return xp.reshape(product, (*shape[:-1], product.shape[-1]))


def of_vectors(matrix: Any, rows: Vectors) -> Any:
    """Add an axis of size 1 to a stack of matrices if the last batch axis of the vectors is that of columns."""
    if matrix.ndim == 2 or not rows.is_columns:
        return matrix
    if not isinstance(matrix, Sparse):
        return matrix[..., None, :, :]
    pattern = tuple([x if x.ndim == 1 else x[..., None, :] for x in matrix.pattern])
    return matrix._of(matrix.values[..., None, :], pattern, matrix._static())


def ready(tree: trees.Tree) -> trees.Tree:
    """Prepare the sparse matrices of a tree for many products in a loop, in which their patterns are abstract.

    Matrices are converted to rows (CSR), and get a plan.
    """
    # Don't change the matrix of a factorization: it is not used in products, and is the key of the cached factors.
    return trees.map(_ready, tree, is_leaf=lambda x: isinstance(x, (Sparse, Factorization)))


def _ready(x: Any) -> Any:
    if not isinstance(x, Sparse):
        return x
    if not isinstance(x, CSR) and x.sparse_ndim == 2 and x.pattern[0].ndim == 1 and are_concrete(*x.pattern):
        x = tocsr(x)
    return x.prepared()


def operator_of(
    function: str, a: Any, args: tuple[Any, ...], symmetric: bool | None, positive_definite: bool | None
) -> Matrix | LinearOperator:
    """Make an operator on flat vectors from the argument `A`."""
    for name, value in (("symmetric", symmetric), ("positive_definite", positive_definite)):
        if value is not None:
            checks.boolean(function, name, value)
    if not isinstance(args, tuple):
        raise TypeError(f"{function}: args must be a tuple, got {describe(args)}; write `args=(a,)` for one")
    definite = bool(positive_definite)
    hermitian = bool(symmetric) or definite
    if isinstance(a, LinearOperator):
        if args:
            raise ValueError(f"{function}: args are for A that is a function; an operator has its own")
        flags = a.symmetric or hermitian, a.positive_definite or definite
        return _unflatten((a.function, a.transposed, *flags), (a.args,))
    if not checks.is_array(a) and callable(a):
        return LinearOperator(a, args=args, symmetric=hermitian, positive_definite=definite)
    if isinstance(a, (list, tuple)):
        raise TypeError(
            f"{function}: A must be an array, a sparse container, a function or a LinearOperator, got {describe(a)}; "
            "turn a list of numbers into an array with `xp.asarray`, one of matrices with `xp.stack` or `sparse.stack`"
        )
    if args:
        raise ValueError(f"{function}: args are for A that is a function, got {describe(a)} and {len(args)} of them")
    matrix = any_sparse(function, "A", a)
    values = matrix.values if isinstance(matrix, Sparse) else matrix
    checks.dtype(function, "A", array_namespace(values), values, checks.FLOATING)
    if matrix.ndim < 2:
        raise ValueError(f"{function}: A must hold matrices, (..., m, n), got the shape {tuple(matrix.shape)}")
    return Matrix(matrix, hermitian, definite)
