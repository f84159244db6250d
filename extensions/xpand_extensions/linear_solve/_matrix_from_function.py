"""Compute the matrix of a linear function."""

from collections.abc import Callable, Sequence
from typing import Any

from xpand import array_namespace, namespace, trees
from xpand.extend import Array, Device, DType, Namespace, checks, describe

from .. import sparse
from .._where import clean_tracebacks
from ..jit._graph import namespace_with
from ..sparse._convert import FORMATS


@clean_tracebacks
def matrix_from_function(
    function: Callable[..., Any], /, example: trees.Tree, *, args: tuple[Any, ...] = (), format: sparse.Format = "csr"
) -> tuple[sparse.Sparse, Array]:
    """Return the matrix of a linear function, and the offset of an affine one, by tracing the function once.

    Args:
        function: Takes a tree of arrays and `args`; returns a tree of arrays. It must use only the standard and xpand's
            extensions, and be affine in the first argument: sums, products with constants, operations that move
            elements (slices, `roll`, padding, indexing, reshaping, `concat`, `where` with a concrete condition),
            reductions by sums, products of matrices, convolutions. It is called once, with abstract arrays.
        example: A tree like the first argument. Only its shapes and data types are used: `ShapeDtype` is enough.
        args: Further arguments, which are constants.
        format: "csr", "csc" or "coo".

    Returns:
        The matrix, a sorted and unique container of shape (elements of the result, elements of the argument), and the
        offset, an array of shape (elements of the result,): `matrix @ flat(x) + offset` is `flat(function(x))`. `flat`
        joins the elements of the arrays of a tree in row-major order. Both are of the library and on the device of the
        example.

    Raises:
        TypeError: An argument that is not a function, or not a tree of floating-point arrays. `NonlinearError`: an
            operation that isn't affine. `TracedError`: an operation that needs values. Both name the line of the
            function.
        ValueError: An unknown format.

    The function is traced with the indices of elements, as host arrays for every library. So the cost is a few times
    that of the function, not that of one call for each column. The matrix has no derivatives in the constants of the
    function.

    Source: PhiML's `matrix_from_function`.

    >>> import numpy as np
    >>> def inner(u):
    ...     return u[2:] - 2.0 * u[1:-1] + u[:-2]
    >>> matrix, offset = matrix_from_function(inner, np.zeros(4))
    >>> matrix.todense()
    array([[ 1., -2.,  1.,  0.],
           [ 0.,  1., -2.,  1.]])
    """
    # Imported late: these modules load the rules of all operations.
    from ..tracing import traced_namespace
    from ..tracing._affine import Affine
    from ..tracing._affine_maps import below
    from ..tracing._core import Aval, bare

    checks.function("matrix_from_function", function)
    checks.choice("matrix_from_function", "format", format, FORMATS)
    leaves, structure = trees.flatten(example)
    base = _namespace(leaves)
    host = namespace("numpy")
    avals = [Aval(tuple(x.shape), x.dtype, checks.device_of(x)) for x in leaves]
    width = sum(aval.size for aval in avals)
    is_complex = any(checks.kind(base, x.dtype) == "complex" for x in avals)
    with Affine(traced_namespace(base), host, width, is_complex) as trace:
        firsts = [sum(aval.size for aval in avals[:i]) for i in range(len(avals))]
        given = [trace.argument(aval, first) for aval, first in zip(avals, firsts)]
        result = function(trees.unflatten(structure, given), *args)
        outs = trees.leaves(result)
        for x in outs:
            if not checks.is_array(bare(x)):
                raise TypeError(f"matrix_from_function: the function must return arrays, got {describe(x)}")
        found = [trace.combination(x) for x in outs]
    dtype = base.result_type(*[x.dtype for x in avals], *[x.dtype for x in outs])
    offset = host.concat([host.reshape(x, (-1,)) for _, x in found])
    matrix = sparse.eliminate_zeros(sparse.sum_duplicates(below([rows for rows, _ in found])))
    moved = _moved(base, sparse.convert(matrix, format), dtype, avals[0].device)
    return moved, base.asarray(host.asarray(offset, copy=True), dtype=dtype, device=avals[0].device)


def _namespace(leaves: Sequence[Any]) -> Namespace:
    """Return the namespace of arrays or specs, which must have floating-point data types."""
    if not leaves:
        raise TypeError("matrix_from_function: example must hold an array, got none")
    for x in leaves:
        if not (hasattr(x, "shape") and hasattr(x, "dtype")):
            raise TypeError(
                f"matrix_from_function: example must be a tree of arrays, or of objects with a shape and a data type, "
                f"got {describe(x)}"
            )
    arrays = {f"example[{i}]": x for i, x in enumerate(leaves) if checks.is_array(x)}
    found = checks.namespace_of("matrix_from_function", **arrays) if arrays else namespace_with(leaves[0].dtype)
    for i, x in enumerate(leaves):
        checks.dtype("matrix_from_function", f"example[{i}]", found, x, checks.FLOATING)
    return found


def _moved(base: Namespace, a: sparse.Sparse, dtype: DType, device: Device) -> sparse.Sparse:
    """Copy a host container to another library and device."""
    host = array_namespace(a.values)
    values = base.asarray(host.asarray(a.values, copy=True), dtype=dtype, device=device)
    pattern = tuple(base.asarray(host.asarray(x, copy=True), device=device) for x in a.pattern)
    return type(a)._of(values, pattern, a._static())
