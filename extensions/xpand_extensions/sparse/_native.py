"""Conversion between libraries' own sparse arrays and containers, and containers as nodes of libraries' trees."""

from collections.abc import Callable
from functools import partial
from typing import Any

from xpand import array_namespace, is_concrete, trees
from xpand.extend import Array, checks, describe

from .._dispatch import pluggable
from . import _convert as conversions
from ._containers import COO, CSC, CSR, Sparse
from ._libraries import container_of, native_format
from ._operands import chosen
from ._pattern import used


def from_native(x: Any, /) -> Sparse:
    """Convert a library's own sparse array to a container.

    Args:
        x: A sparse array or matrix of `scipy.sparse`, `cupyx.scipy.sparse` or `jax.experimental.sparse`, a sparse
            tensor of PyTorch; or a container, which is returned as it is.

    Returns:
        A COO, CSR or CSC, of the values and indices of `x` themselves, if it has such a format; other formats (by
        diagonals, blocks, lists or dictionaries) are converted to CSR. If the order of the entries of `x` is known, the
        container declares it.

    Raises:
        TypeError: `x` is something else.
        ValueError: A batch of matrices in blocks (PyTorch), or an array without sparse axes (JAX).

    >>> import numpy as np, scipy.sparse
    >>> a = scipy.sparse.csr_array(np.asarray([[0.0, 3.0], [0.0, 0.0]]))
    >>> from_native(a)
    <CSR of shape (2, 2), 1 entries of float64>
    >>> from_native(a).values is a.data
    True
    """
    if isinstance(x, Sparse):
        return x
    if native_format(x) is None:
        raise TypeError(
            f"from_native: x must be a sparse array of a library's own, got {describe(x)}; make a container of an "
            "array with `sparse.from_dense`"
        )
    return container_of(x)


@pluggable
def to_native(a: Sparse, /, *, format: conversions.Format | None = None) -> Any:
    """Convert a container to the library's own sparse array: the reverse of `from_native`.

    Args:
        a: A container.
        format: The format to convert it to first: "coo", "csr" or "csc". None: its own format.

    Returns:
        NumPy: a `coo_array`, `csr_array` or `csc_array` of SciPy. PyTorch: a sparse tensor, whose indices are copied
        for "coo", and for batches over one pattern. JAX: a `BCOO` or `BCSR`, or a `CSC`, which has no batches. CuPy: a
        matrix of `cupyx.scipy.sparse`. Values are not copied, unless entries without a position are dropped.

    Raises:
        TypeError: `a` is not a container, or (`UnsupportedError`) of a library without sparse arrays.
        ValueError: There is no such format, or the library's has no batches, or no dense axes, and the container has.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import from_dense
    >>> to_native(from_dense(np.asarray([[0.0, 3.0], [0.0, 0.0]]))).toarray()
    array([[0., 3.],
           [0., 0.]])
    """
    if not isinstance(a, Sparse):
        raise TypeError(f"to_native: a must be a container, COO, CSR or CSC, got {describe(a)}")
    if format is not None:
        checks.choice("to_native", "format", format, conversions.FORMATS)
    return to_native.native(a.values)(a, format=format)


def converted(a: Sparse, format: conversions.Format | None) -> Sparse:
    """Convert a container to a format, without padding: with it, libraries may write outside of memory."""
    if format is not None and format != a.format:
        a = conversions.convert(a, format)
    if not isinstance(a, COO):
        shortened: Sparse = conversions.trimmed(a)
        return shortened
    return _inside(a)


def plain(library: str, a: Sparse, *, dense: bool = False) -> None:
    """Check that a container has no batch axes, and dense axes only if the library supports them.

    Raises:
        ValueError: It has.
    """
    if a.batch_ndim or (a.dense_ndim and not dense):
        axes = "batch axes" if a.batch_ndim else "dense axes"
        raise ValueError(
            f"to_native: sparse arrays of {library} have no {axes}, got {a!r}; convert its batch elements one by one, "
            "or use `todense`"
        )


def _inside(a: COO) -> COO:
    """Remove entries whose positions are known to be outside of the shape."""
    if not all(x.ndim == 1 and is_concrete(x) for x in a.coords):
        return a
    return chosen(a, lambda *coords: used(array_namespace(*coords), coords, a._sparse_shape))


CLASSES: tuple[type[Sparse], ...] = (COO, CSR, CSC)


def flatten(a: Sparse) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Take a container apart: its arrays, and the rest."""
    return (a._values, a.pattern, a._plan), a._static()


def unflatten(cls: type[Sparse], static: tuple[Any, ...], children: Any) -> Sparse:
    """Put a container together; its parts may be anything."""
    values, pattern, plan = children
    return cls._of(values, pattern, static, plan)


def disassemble(tree: trees.Tree, /) -> tuple[Callable[..., trees.Tree], list[Array]]:
    """Split a tree of sparse arrays into dense arrays, and return the function that rebuilds the tree.

    Args:
        tree: A tree of arrays, containers, sparse arrays of libraries' own, and anything else.

    Returns:
        A function, and the list of the arrays. The function takes as many arrays, of any library, and returns the tree
        with these; sparse arrays of a library's own become those of the arrays' library, as `to_native` makes them.
        Other objects are returned as they are.

    Raises:
        ValueError: By the function: the wrong number of arrays.

    Source: PhiML's `disassemble`.

    >>> import numpy as np
    >>> assemble, arrays = disassemble({"a": COO(np.asarray([1.0]), (np.asarray([2]),), (3,)), "name": "x"})
    >>> arrays
    [array([1.]), array([2])]
    >>> assemble(10 * arrays[0], arrays[1])
    {'a': <COO of shape (3,), 1 entries of float64>, 'name': 'x'}
    """
    formats: dict[int, Any] = {}
    given = trees.leaves(tree)
    for i, leaf in enumerate(given):
        if native_format(leaf) is not None:
            given[i] = container_of(leaf)
            formats[i] = given[i].format
    outer = trees.structure(tree)
    leaves, inner = trees.flatten(given)
    positions = [i for i, leaf in enumerate(leaves) if checks.is_array(leaf)]
    rest = [None if checks.is_array(leaf) else leaf for leaf in leaves]

    def assemble(*arrays: Array) -> trees.Tree:
        if len(arrays) != len(positions):
            raise ValueError(
                f"assemble: takes as many arrays as `disassemble` found, {len(positions)}, got {len(arrays)}"
            )
        whole = list(rest)
        for position, x in zip(positions, arrays):
            whole[position] = x
        found = trees.unflatten(inner, whole)
        for i, format in formats.items():
            found[i] = to_native(found[i], format=format)
        return trees.unflatten(outer, found)

    return assemble, [leaves[i] for i in positions]


for _class in CLASSES:
    trees.register(_class, flatten, partial(unflatten, _class))
