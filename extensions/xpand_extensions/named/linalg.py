"""Linear algebra of named arrays: two axes form the matrix, all others are mapped over.

A matrix has two named axes, `axes=("row", "column")`. As in mathematics, `A[row, column] x[column] = b[row]`: the
solution of a system has the column axis, and the inverse has the column axis in place of the row axis.

>>> import numpy as np
>>> from xpand import named as hax
>>> a = hax.named(np.asarray([[2.0, 0.0], [0.0, 4.0]]), ("i", "j"))
>>> b = hax.named(np.asarray([1.0, 2.0]), "i")
>>> hax.linalg.solve(a, b, axes=("i", "j"))
NamedArray({'j': 2}, array([0.5, 0.5]))
"""

from typing import Any, NamedTuple

from xpand import array_namespace
from xpand.extend import Array

from ._array import NamedArray, no_axis
from ._axis import AxisSelector
from ._by_name import by_name
from ._plans import Positional, check_named, selected

__all__ = ["Eigh", "cholesky", "det", "eigh", "eigvalsh", "expm", "inv", "solve"]
__dir__ = __all__.copy

Axes = tuple[AxisSelector, AxisSelector]


class Eigh(NamedTuple):
    """Eigenvalues and eigenvectors."""

    eigenvalues: NamedArray
    eigenvectors: NamedArray


def solve(a: NamedArray, b: NamedArray, *, axes: Axes) -> NamedArray:
    """Solve a linear system for each batch element.

    Args:
        a: Square matrices.
        b: Right-hand sides, with the row axis. Axes that the matrices lack are mapped over.
        axes: The row and the column axis of `a`.

    Returns:
        The solutions, with the column axis as the last, in place of the row axis.

    Raises:
        ValueError: An array lacks an axis, or a matrix isn't square.
        numpy.linalg.LinAlgError: A matrix is singular, on libraries that raise an error then.
    """
    row, column = _names("solve", a, axes)
    check_named("solve", "b", b)
    if row not in b.names:
        raise no_axis("solve", b, row, None)

    def columns(a: Any, b: Any) -> Any:
        xp = array_namespace(a, b)
        return xp.linalg.solve(a, b[..., None])[..., 0]

    columns.__name__ = "solve"  # for errors
    return by_name(columns, [(row, column), (row,)], (column,), broadcasts=True)(a, b)


def inv(a: NamedArray, *, axes: Axes) -> NamedArray:
    """Invert matrices. The last axes of the result are the column axis and the row axis."""
    return _matrices("inv", a, axes, (1, 0))


def det(a: NamedArray, *, axes: Axes) -> NamedArray:
    """Compute the determinants of matrices."""
    return _matrices("det", a, axes, ())


def cholesky(a: NamedArray, *, axes: Axes) -> NamedArray:
    """Compute the lower Cholesky factors of symmetric positive definite matrices, with the same axes."""
    return _matrices("cholesky", a, axes, (0, 1))


def expm(a: NamedArray, *, axes: Axes) -> NamedArray:
    """Compute the exponentials of matrices, with the same axes."""
    return _matrices("expm", a, axes, (0, 1))


def eigh(a: NamedArray, *, axes: Axes) -> Eigh:
    """Compute the eigenvalues and eigenvectors of symmetric matrices.

    Returns:
        The eigenvalues, in ascending order along the column axis; the eigenvectors, numbered by the column axis, with
        their elements along the row axis.
    """
    return Eigh(*_matrices("eigh", a, axes, (1,), (0, 1)))


def eigvalsh(a: NamedArray, *, axes: Axes) -> NamedArray:
    """Compute the eigenvalues of symmetric matrices, in ascending order along the column axis."""
    return _matrices("eigvalsh", a, axes, (1,))


def _names(function: str, a: NamedArray, axes: Axes) -> tuple[str, ...]:
    check_named(function, "a", a)
    names = selected(function, a, axes)
    if len(names) != 2:
        raise ValueError(f"{function}: axes must be the row and the column axis, got {len(names)} of them")
    rows, columns = [a.shape[name] for name in names]
    if rows != columns:
        raise ValueError(
            f"{function}: the matrices must be square, got sizes {rows} and {columns} of the axes {names[0]!r} and "
            f"{names[1]!r}"
        )
    return names


def _matrices(name: str, a: NamedArray, axes: Axes, *out: tuple[int, ...]) -> Any:
    """Call a function of matrices. `out` has the axes of each result: 0 for the rows, 1 for the columns."""
    names = _names(name, a, axes)
    function = Positional(f"linalg.{name}")

    def of_matrices(x: Array) -> Any:
        found = function(x)
        return tuple(found) if isinstance(found, tuple) else found

    of_matrices.__name__ = name  # for errors
    outs = [tuple([names[i] for i in each]) for each in out]
    return by_name(of_matrices, [names], outs if len(outs) > 1 else outs[0], broadcasts=True)(a)
