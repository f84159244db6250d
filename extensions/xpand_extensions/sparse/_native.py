"""Conversion between libraries' own sparse arrays and containers; registration of containers as trees."""

from collections.abc import Callable
from functools import partial
from typing import Any

from xpand import is_concrete, trees
from xpand.extend import Array, checks, describe

from .._dispatch import pluggable
from .._transforms import replaced
from . import _convert as conversions
from ._containers import COO, CSC, CSR, Sparse
from ._libraries import container_of, native_format
from ._operands import chosen
from ._pattern import used


def from_native(x: Any, /) -> Sparse:
    """Convert a library's own sparse array to a container.

    Args:
        x: A sparse array or matrix of `scipy.sparse`, `cupyx.scipy.sparse` or `jax.experimental.sparse`, or a sparse
            tensor of PyTorch. A container is returned unchanged.

    Returns:
        A COO, CSR or CSC if `x` has such a format, without copying values and indices. Other formats (by diagonals,
        blocks, lists or dictionaries) are converted to CSR. If `x` is known to be sorted, so is the container.

    Raises:
        TypeError: `x` is not a sparse array.
        ValueError: `x` is a batch of matrices in blocks (PyTorch), or has no sparse axes (JAX).

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
    """Convert a container to the library's own sparse array: the inverse of `from_native`.

    Args:
        a: A container.
        format: The format of the result: "coo", "csr" or "csc". None: that of the container.

    Returns:
        NumPy: a `coo_array`, `csr_array` or `csc_array` of SciPy. PyTorch: a sparse tensor; indices are copied for
        "coo", and for batches with one pattern. JAX: a `BCOO`, a `BCSR`, or a `CSC`, which has no batches. CuPy: a
        matrix of `cupyx.scipy.sparse`. Values are copied only if padding must be removed.

    Raises:
        TypeError: `a` is not a container, or (`UnsupportedError`) its library has no sparse arrays.
        ValueError: An unknown format, or batch or dense axes that the library's format lacks.

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
    """Convert a container to a format and remove known padding: given it, libraries may write outside of memory."""
    if format is not None and format != a.format:
        a = conversions.convert(a, format)
    if not isinstance(a, COO):
        shortened: Sparse = conversions.trimmed(a)
        return shortened
    if not all(x.ndim == 1 and is_concrete(x) for x in a.coords):
        return a
    return chosen(a, lambda *coords: used(coords, a._sparse_shape))


def plain(library: str, a: Sparse, *, dense: bool = False) -> None:
    """Check that a container has no batch axes, and dense axes only if the library supports them.

    Raises:
        ValueError: The container has such axes.
    """
    if a.batch_ndim or (a.dense_ndim and not dense):
        axes = "batch axes" if a.batch_ndim else "dense axes"
        raise ValueError(
            f"to_native: sparse arrays of {library} have no {axes}, got {a!r}; convert its batch elements one by one, "
            "or use `todense`"
        )


CLASSES: tuple[type[Sparse], ...] = (COO, CSR, CSC)


def flatten(a: Sparse) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the arrays of a container, and its static data."""
    return (a._values, a.pattern, a._plan), a._static()


def unflatten(cls: type[Sparse], static: tuple[Any, ...], children: Any) -> Sparse:
    """Make a container from its parts, which may be any objects."""
    values, pattern, plan = children
    return cls._of(values, pattern, static, plan)


def disassemble(tree: trees.Tree, /) -> tuple[Callable[..., trees.Tree], list[Array]]:
    """Split a tree of sparse arrays into dense arrays, and return the function that rebuilds the tree.

    Args:
        tree: A tree of arrays, containers, libraries' own sparse arrays, and other objects.

    Returns:
        A function, and the list of the arrays. The function takes as many arrays, of any library, and returns the tree
        with the new arrays. Libraries' own sparse arrays become those of the new library, as with `to_native`. Other
        objects stay unchanged.

    Raises:
        ValueError: Raised by the function for a wrong number of arrays.

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
        containers = trees.unflatten(inner, replaced(rest, positions, arrays))
        for i, format in formats.items():
            containers[i] = to_native(containers[i], format=format)
        return trees.unflatten(outer, containers)

    return assemble, [leaves[i] for i in positions]


for _class in CLASSES:
    trees.register(_class, flatten, partial(unflatten, _class))
