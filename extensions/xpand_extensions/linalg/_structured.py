"""Matrices with a structure: blocks on the diagonal, equal diagonals, three diagonals."""

from xpand.extend import Array, checks as _arguments

from .._dispatch import pluggable
from . import _checks as checks


@pluggable
def block_diag(*arrays: Array) -> Array:
    """Put matrices on the diagonal of a matrix of zeros.

    Args:
        *arrays: Matrices of one library, each of shape `(..., m, n)`; data types are promoted. Stacks broadcast. A
            matrix without rows or columns moves the following ones.

    Returns:
        An array of shape `(..., sum of m, sum of n)`, of the promoted data type.

    Raises:
        TypeError: There is no array, arrays belong to two libraries, or data types don't promote.
        ValueError: An array has fewer than two axes, stacks don't broadcast, or arrays are on two devices.

    Source: `scipy.linalg.block_diag`, which also takes vectors.

    >>> import numpy as np
    >>> block_diag(np.asarray([[1, 2]]), np.asarray([[3], [4]]))
    array([[1, 2, 0],
           [0, 0, 3],
           [0, 0, 4]])
    """
    if not arrays:
        raise TypeError("block_diag: takes at least one array, got none")
    named = {f"arrays[{i}]": x for i, x in enumerate(arrays)}
    converted = checks.conversion("block_diag", _arguments.NUMERIC, **named)(*arrays)
    for name, x in named.items():
        checks.matrices("block_diag", name, x)
    checks.stacks("block_diag", **{name: tuple(x.shape[:-2]) for name, x in named.items()})
    return block_diag.native(*converted)(*converted)


@pluggable
def toeplitz(c: Array, r: Array | None = None, /) -> Array:
    """Make matrices whose diagonals are constant, from their first columns and rows.

    Args:
        c: The first columns, shape `(..., m)`.
        r: The first rows, shape `(..., n)`. The first element isn't read: `c` has it. By default the conjugate of `c`,
            so matrices are Hermitian. Stacks broadcast, and data types are promoted.

    Returns:
        An array of shape `(..., m, n)`, of the promoted data type.

    Raises:
        TypeError: There is no array, arrays belong to two libraries, or data types don't promote.
        ValueError: An array has no axis, stacks don't broadcast, or arrays are on two devices.

    Source: `scipy.linalg.toeplitz`.

    >>> import numpy as np
    >>> toeplitz(np.asarray([1, 2, 3]), np.asarray([0, 5]))
    array([[1, 5],
           [2, 1],
           [3, 2]])
    """
    named = {"c": c} if r is None else {"c": c, "r": r}
    converted = checks.conversion("toeplitz", _arguments.NUMERIC, **named)(*named.values())
    for name, x in named.items():
        if x.ndim == 0:
            raise ValueError(f"toeplitz: {name} must hold vectors, (..., n), got the shape ()")
    checks.stacks("toeplitz", **{name: tuple(x.shape[:-1]) for name, x in named.items()})
    return toeplitz.native(*converted)(*converted)


@pluggable
def tridiagonal_solve(dl: Array, d: Array, du: Array, b: Array, /) -> Array:
    """Solve `a @ x = b` for matrices with three diagonals, with row exchanges.

    Args:
        dl: The diagonals below the main one, shape `(..., n)`, of a floating-point data type. `dl[..., i]` stands in
            row `i`, so the first element isn't read.
        d: The main diagonals, shape `(..., n)`.
        du: The diagonals above the main one, shape `(..., n)`. `du[..., i]` stands in row `i`, so the last element
            isn't read.
        b: One vector, shape `(n,)`, or matrices, shape `(..., n, k)`. Data types are promoted, and stacks broadcast.

    Returns:
        The solution, of the shape of `b` with the stacks broadcast, and of the promoted data type. For a singular
        matrix it is infinite or NaN, or large by rounding.

    Raises:
        TypeError: There is no array, arrays belong to two libraries, or data types aren't floating-point.
        ValueError: Shapes don't fit, or arrays are on two devices.

    Takes time and memory proportional to `n`: one step for each row, in a loop of the library. So eager calls are slow
    for large `n` on libraries other than NumPy; `jit` compiles the loop.

    Source: the layout of `jax.lax.linalg.tridiagonal_solve`; the algorithm of LAPACK's `gtsv`.

    >>> import numpy as np
    >>> ones = np.ones(3)
    >>> tridiagonal_solve(ones, 2 * ones, ones, np.asarray([3.0, 4.0, 3.0]))
    array([1., 1., 1.])
    """
    name = "tridiagonal_solve"
    diagonals = {"dl": dl, "d": d, "du": du}
    convert = checks.conversion(name, _arguments.FLOATING, **diagonals, b=b)
    for each, x in diagonals.items():
        if x.ndim == 0 or x.shape[-1] != d.shape[-1]:
            raise ValueError(
                f"{name}: {each} must hold one number for each row, shape (..., n), got the shape {tuple(x.shape)} "
                f"for d of shape {tuple(d.shape)}"
            )
    size, stack = d.shape[-1], checks.stacks(name, **{each: tuple(x.shape[:-1]) for each, x in diagonals.items()})
    if b.ndim == 0 or b.shape[-1 if b.ndim == 1 else -2] != size:
        raise ValueError(
            f"{name}: b must have the shape ({size},) or (..., {size}, k) for d of shape {tuple(d.shape)}, got "
            f"{tuple(b.shape)}"
        )
    checks.stacks(name, d=stack, b=tuple(b.shape[:-2]))
    dl, d, du, b = convert(dl, d, du, b)
    return checks.computed(tridiagonal_solve.native(dl, d, du, b), dl, d, du, b)
