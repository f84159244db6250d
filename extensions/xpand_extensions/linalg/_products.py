"""Sums of products: einsum, products over any axes, matrices times vectors, Kronecker products, diagonals."""

from collections.abc import Sequence
from typing import Any

from xpand.extend import Array, checks as _arguments

from .._dispatch import pluggable
from . import _checks as checks
from ._plan import METHODS, from_lists, plan_of


@pluggable
def einsum(subscripts: Any, /, *operands: Any, optimize: bool | str = True) -> Array:
    """Evaluate an Einstein summation of any number of arrays.

    Args:
        subscripts: A letter for each axis of each operand, with commas between operands; after `->`, the letters of the
            result. Letters missing in the result are summed over. A letter that occurs twice in an operand selects its
            diagonal. `...` stands for axes that broadcast. Without `->`, the result has the axes of `...`, followed by
            the letters that occur once, in alphabetic order. The interleaved form is accepted, too: `einsum(x, [0, 1],
            y, [1, 2], [0, 2])`.
        *operands: Arrays of numeric data types, which are promoted together. Axes of one letter have one size, or size
            one, which broadcasts.
        optimize: How to find the order of the products. True: the default method. A name: a method of opt_einsum, such
            as "optimal" or "greedy". False: from left to right. The order for a formula and its shapes is cached. With
            three or more operands, only False works without the package opt_einsum.

    Returns:
        An array of the promoted data type, which is also the data type of the sums.

    Raises:
        TypeError: There is no operand, an operand is not an array, arrays belong to two libraries, or data types don't
            promote.
        ValueError: The formula is invalid or does not fit the operands, the method is unknown, or arrays are on two
            devices.
        ModuleNotFoundError: opt_einsum is needed but not installed.

    The cost is that of the pairwise products in this order. With three or more operands, they often need far fewer
    operations than one loop over all letters.

    Source: `numpy.einsum`; D. G. A. Smith and J. Gray, opt_einsum, JOSS 3 (2018) 753.

    >>> import numpy as np
    >>> x = np.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> einsum("ij,jk,k->i", x, x, np.asarray([1.0, -1.0]))
    array([-3., -7.])
    >>> float(einsum("ii", x))
    5.0
    """
    if not isinstance(subscripts, str):
        subscripts, operands = from_lists((subscripts, *operands))
    if not operands:
        raise TypeError("einsum: needs at least one operand, got none; pass the arrays after the subscripts")
    implementation, convert = einsum.planned(_check_einsum, operands, subscripts, optimize)
    return implementation(subscripts, *convert(*operands), optimize=optimize)


def _check_einsum(function: str, *given: Any) -> tuple[checks.Conversion]:
    *operands, subscripts, optimize = given
    named = {f"operand {position}": x for position, x in enumerate(operands)}
    convert = checks.conversion(function, _arguments.NUMERIC, **named)
    if optimize is not True and optimize is not False:
        _arguments.choice(function, "optimize", optimize, METHODS)
    plan_of(subscripts, tuple([tuple(x.shape) for x in operands]), optimize)
    return (convert,)


@pluggable
def dot_general(
    x1: Array,
    x2: Array,
    /,
    *,
    axes: tuple[Sequence[int], Sequence[int]],
    batch_axes: tuple[Sequence[int], Sequence[int]] = ((), ()),
) -> Array:
    """Multiply two arrays, with sums over pairs of axes, and with batch axes.

    Args:
        x1: An array of a numeric data type.
        x2: An array of a numeric data type; `x1` and `x2` are promoted.
        axes: The axes to sum over: axes of `x1`, and as many of `x2` with the same sizes. Nothing is conjugated.
        batch_axes: Axes of `x1`, and as many of `x2` with the same sizes: their slices are multiplied in pairs.

    Returns:
        An array of the promoted data type, which is also the data type of the sums. It has the batch axes first, then
        the remaining axes of `x1`, then those of `x2`.

    Raises:
        TypeError: There is no array, arrays belong to two libraries, data types aren't numeric or don't promote, or
            axes are not integers.
        ValueError: Axes don't exist, are given twice, or differ in number or size; or arrays are on two devices.

    Source: `jax.lax.dot_general`; `Nx.dot` with batch axes.

    >>> import numpy as np
    >>> x, y = np.ones((5, 2, 3)), np.ones((3, 4, 5))
    >>> dot_general(x, y, axes=((2,), (0,)), batch_axes=((0,), (2,))).shape
    (5, 2, 4)
    """
    implementation, convert, axes, batch_axes = dot_general.planned(_check_dot, (x1, x2), axes, batch_axes)
    return implementation(*convert(x1, x2), axes=axes, batch_axes=batch_axes)


def _check_dot(function: str, x1: Array, x2: Array, axes: Any, batch_axes: Any) -> tuple[checks.Conversion, Any, Any]:
    convert = checks.conversion(function, _arguments.NUMERIC, x1=x1, x2=x2)
    axes = _pairs("axes", axes, x1, x2)
    batch_axes = _pairs("batch_axes", batch_axes, x1, x2)
    for x, name, summed, batch in zip((x1, x2), ("x1", "x2"), axes, batch_axes):
        both = sorted({*summed} & {*batch})
        if both:
            raise ValueError(
                f"dot_general: an axis must not be in axes and batch_axes, but both have {both} of "
                f"{name}, of shape {tuple(x.shape)}"
            )
    return convert, axes, batch_axes


def _pairs(name: str, value: Any, x1: Array, x2: Array) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Check axes of two arrays that belong together, and count them from the front."""
    if not (isinstance(value, (tuple, list)) and len(value) == 2 and all(isinstance(v, (tuple, list)) for v in value)):
        raise TypeError(f"dot_general: {name} must be two sequences of axes, such as ((1,), (0,)), got {value!r}")
    first, second = (_arguments.axes("dot_general", v, x.ndim, name) for v, x in zip(value, (x1, x2)))
    sizes = [x1.shape[axis] for axis in first], [x2.shape[axis] for axis in second]
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"dot_general: {name} must pair axes of the same sizes, got {value} of the sizes {tuple(sizes[0])} and "
            f"{tuple(sizes[1])}"
        )
    return first, second


@pluggable
def matvec(a: Array, x: Array, /) -> Array:
    """Multiply matrices and vectors. Stacks of both broadcast.

    Args:
        a: A matrix, or a stack of them: shape `(..., m, n)`, of a numeric data type.
        x: A vector, or a stack of vectors: shape `(..., n)`, of a numeric data type; `a` and `x` are promoted.

    Returns:
        An array of shape `(..., m)`: `sum(a[..., i, :] * x, axis=-1)` for each matrix and vector. Nothing is
        conjugated.

    Raises:
        TypeError: There is no array, arrays belong to two libraries, or data types aren't numeric or don't promote.
        ValueError: Shapes don't fit, or arrays are on two devices.

    One matrix and many vectors are multiplied as one product of matrices.

    Source: `numpy.matvec`.

    >>> import numpy as np
    >>> matvec(np.asarray([[1.0, 2.0], [0.0, 1.0]]), np.asarray([[1.0, 1.0], [2.0, 0.0], [0.0, 3.0]]))
    array([[3., 1.],
           [2., 0.],
           [6., 3.]])
    """
    implementation, convert = matvec.planned(_check_matvec, (a, x))
    return implementation(*convert(a, x))


def _check_matvec(function: str, a: Array, x: Array) -> tuple[checks.Conversion]:
    convert = checks.conversion(function, _arguments.NUMERIC, a=a, x=x)
    columns = checks.matrices(function, "a", a)[1]
    if x.ndim == 0 or x.shape[-1] != columns:
        raise ValueError(
            f"{function}: x must have the shape (..., {columns}) for matrices of shape {tuple(a.shape)}, got "
            f"{tuple(x.shape)}"
        )
    checks.stacks(function, a=tuple(a.shape[:-2]), x=tuple(x.shape[:-1]))
    return (convert,)


@pluggable
def kron(a: Array, b: Array, /) -> Array:
    """Compute the Kronecker product: an array of blocks, each of which is `b` times one element of `a`.

    Args:
        a: An array of a numeric data type.
        b: An array of a numeric data type; `a` and `b` are promoted.

    Returns:
        An array whose sizes are the products of the sizes of `a` and `b`. The array with fewer axes first gets leading
        axes of size one.

    Raises:
        TypeError: There is no array, arrays belong to two libraries, or data types aren't numeric or don't promote.
        ValueError: Arrays are on two devices.

    Source: `numpy.kron`.

    >>> import numpy as np
    >>> kron(np.asarray([1, 10]), np.asarray([[1, 2], [3, 4]]))
    array([[ 1,  2, 10, 20],
           [ 3,  4, 30, 40]])
    """
    implementation, convert = kron.planned(_check_kron, (a, b))
    return implementation(*convert(a, b))


def _check_kron(function: str, a: Array, b: Array) -> tuple[checks.Conversion]:
    return (checks.conversion(function, _arguments.NUMERIC, a=a, b=b),)


@pluggable
def diagonal(x: Array, /, *, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Array:
    """Return the diagonal along two axes.

    Args:
        x: An array of two or more axes, of any data type.
        offset: The number of the diagonal: its elements have an index along `axis2` that is larger by `offset` than
            along `axis1`.
        axis1: The axis of the rows.
        axis2: The axis of the columns.

    Returns:
        The array without the two axes, and with one for the diagonal at the end. It is empty if `offset` is out of
        range. It may be a view that can't be written to.

    Raises:
        TypeError: `x` is not an array, or options are not integers.
        ValueError: There are no such axes, or both are the same.

    Source: `numpy.diagonal`.

    >>> import numpy as np
    >>> diagonal(np.asarray([[1, 2, 3], [4, 5, 6]]), offset=1)
    array([2, 6])
    """
    implementation, offset, axis1, axis2 = diagonal.planned(_check_diagonal, (x,), offset, axis1, axis2)
    return implementation(x, offset=offset, axis1=axis1, axis2=axis2)


def _check_diagonal(function: str, x: Array, offset: Any, axis1: Any, axis2: Any) -> tuple[int, int, int]:
    _arguments.namespace_of(function, x=x)
    _arguments.known_shape(function, "x", x)
    offset = _arguments.integer(function, "offset", offset)
    axis1 = _arguments.axis(function, axis1, x.ndim, "axis1")
    axis2 = _arguments.axis(function, axis2, x.ndim, "axis2")
    if axis1 == axis2:
        raise ValueError(f"{function}: axis1 and axis2 must be two axes, got {axis1} for both")
    rows, columns = x.shape[axis1], x.shape[axis2]
    # All diagonals out of range are empty. Some libraries refuse them.
    return min(max(offset, -rows), columns), axis1, axis2
