"""Checks of the parts of sparse containers: always of types and shapes, and of the values of known patterns."""

from typing import Any

from xpand import array_namespace, is_concrete
from xpand.extend import LibraryArray as Array, Namespace, checks, describe

from .._dispatch import in_one_namespace
from . import _pattern as order
from ._pattern import eagerly
from ._products import csr_rows

Shape = tuple[int, ...]


def coo(values: Array, coords: Any, shape: Any, dense_ndim: Any, is_sorted: Any, is_unique: Any, check: Any) -> Shape:
    """Check the parts of a COO, and return the sizes of its sparse axes."""
    if isinstance(values, (tuple, list)):
        raise TypeError(
            "COO: values must be an array, got a tuple; values and coordinates are two arguments here: "
            "`COO(values, (rows, columns), shape)`"
        )
    if not isinstance(coords, (tuple, list)) or not coords:
        raise TypeError(
            f"COO: coords must be a tuple of one integer array for each sparse axis, got {describe(coords)}"
        )
    named = {f"coords[{i}]": x for i, x in enumerate(coords)}
    _parts("COO", values, named)
    dense = checks.integer("COO", "dense_ndim", dense_ndim, minimum=0)
    _promises("COO", is_sorted, is_unique, check)
    sizes = checks.shape("COO", "shape", shape)
    batch = values.ndim - 1 - dense
    if batch < 0:
        raise ValueError(
            f"COO: values must have an axis of entries and dense_ndim={dense} axes after it, got shape {values.shape}"
        )
    expected = (*values.shape[:batch], *sizes[batch : batch + len(coords)], *values.shape[batch + 1 :])
    if sizes != expected or len(sizes) != values.ndim - 1 + len(coords):
        raise ValueError(
            f"COO: shape {sizes} must be that of {batch} batch axes, {len(coords)} sparse axes and {dense} dense ones; "
            f"values of shape {values.shape} belong to {values.shape[:batch]} + {len(coords)} sizes + "
            f"{values.shape[batch + 1 :]}"
        )
    sparse = sizes[batch : batch + len(coords)]
    for name, x in named.items():
        _entries("COO", name, x, values, batch)
    if check:
        for (name, x), size in zip(named.items(), sparse):
            in_bounds("COO", name, x, size)
        _promised("COO", list(coords), sparse, is_sorted, is_unique)
    return sparse


def compressed(
    container: Any, values: Array, indices: Array, indptr: Array, shape: Any, is_sorted: Any, is_unique: Any, check: Any
) -> Shape:
    """Check the parts of a CSR or CSC, and return its two sizes."""
    name, major = type(container).__name__, container._major
    if isinstance(values, (tuple, list)):
        raise TypeError(
            f"{name}: values must be an array, got a tuple; values, indices and indptr are three arguments here: "
            f"`{name}(values, indices, indptr, shape)`"
        )
    if indices is None:
        raise TypeError(
            f"{name}: takes values, indices, indptr and shape, got values alone; convert a dense array with "
            f"`sparse.from_dense(x, {name.lower()!r})`"
        )
    if isinstance(indices, (tuple, list)):
        raise TypeError(
            f"{name}: indices must be an array, got a tuple; of coordinates, make "
            f"`COO(values, (rows, columns), shape).to{name.lower()}()`"
        )
    _parts(name, values, {"indices": indices, "indptr": indptr})
    _promises(name, is_sorted, is_unique, check)
    sizes = checks.shape(name, "shape", shape)
    batch = values.ndim - 1
    if batch < 0:
        raise ValueError(f"{name}: values must have an axis of entries, got an array of shape ()")
    if len(sizes) != batch + 2 or sizes[:batch] != tuple(values.shape[:batch]):
        raise ValueError(
            f"{name}: shape {sizes} must be (*batch, rows, columns), and values of shape {tuple(values.shape)} "
            f"mean the batch {tuple(values.shape[:batch])}"
        )
    _entries(name, "indices", indices, values, batch)
    ends = sizes[major] + 1
    if tuple(indptr.shape) not in ((ends,), (*values.shape[:batch], ends)):
        raise ValueError(
            f"{name}: indptr must have the shape ({ends},), one more than there are "
            f"{'rows' if major == -2 else 'columns'}, or that after the batch axes, got {tuple(indptr.shape)}"
        )
    if indices.ndim != indptr.ndim:
        raise ValueError(
            f"{name}: indices and indptr must both be for all of the batch, or both have its axes, got shapes "
            f"{tuple(indices.shape)} and {tuple(indptr.shape)}"
        )
    if check:
        in_bounds(name, "indices", indices, sizes[-3 - major])
        if is_concrete(indptr):
            eagerly(lambda given: _check_ends(name, given, values.shape[batch]), indptr)
        if (is_sorted or is_unique) and is_concrete(indptr):
            major_sizes = (sizes[major], sizes[-3 - major])
            rows = eagerly(lambda given: csr_rows(given, nse=values.shape[batch]), indptr)
            _promised(name, [rows, indices], major_sizes, is_sorted, is_unique)
    return sizes[batch:]


def in_namespace_of_pattern(values: Array, *pattern: Array) -> tuple[Array, ...]:
    """Return the parts, with the values traced if the pattern is; a known pattern of traced values stays known."""
    is_traced = any(hasattr(type(x), "_namespace") for x in pattern)
    return in_one_namespace(values, *pattern) if is_traced else (values, *pattern)


def new_values(container: Any, values: Array) -> None:
    """Check that there is a value for each position of a container."""
    name = f"{type(container).__name__}.with_values"
    checks.namespace_of(name, values=values, pattern=container.pattern[0])
    dense = container.dense_ndim
    if values.ndim < 1 + dense or values.shape[values.ndim - 1 - dense] != container.nse:
        raise ValueError(
            f"{name}: values must have the shape (*batch, {container.nse}{', *dense' if dense else ''}), got "
            f"{tuple(values.shape)}"
        )
    batch = values.ndim - 1 - dense
    for x in container.pattern:
        if x.ndim > 1 and tuple(x.shape[:-1]) != tuple(values.shape[:batch]):
            raise ValueError(
                f"{name}: the pattern has the batch axes {tuple(x.shape[:-1])}, and the values have "
                f"{tuple(values.shape[:batch])}"
            )


def in_bounds(function: str, name: str, x: Array, size: int) -> None:
    """Check that indices are in bounds for an axis, if their values are known.

    Raises:
        IndexError: An index is out of bounds.
    """
    if not is_concrete(x) or 0 in x.shape:
        return
    low, high = eagerly(extremes, x)
    if low < 0 or high >= size:
        raise IndexError(
            f"{function}: {name} holds {low if low < 0 else high}, which is out of bounds for an axis of size {size}; "
            "takes 0 to one less than the size"
        )


def extremes(x: Array) -> tuple[int, int]:
    """Return the smallest and the largest element."""
    xp = array_namespace(x)
    return int(xp.min(x)), int(xp.max(x))


def _parts(function: str, values: Array, named: dict[str, Any]) -> None:
    xp = checks.namespace_of(function, values=values, **named)
    for name, x in named.items():
        checks.dtype(function, name, xp, x, checks.INTEGERS)
    checks.one_device(function, values=values, **named)


def _promises(function: str, is_sorted: Any, is_unique: Any, check: Any) -> None:
    checks.boolean(function, "is_sorted", is_sorted)
    checks.boolean(function, "is_unique", is_unique)
    checks.boolean(function, "check", check)


def _entries(function: str, name: str, x: Array, values: Array, batch: int) -> None:
    nse = values.shape[batch]
    if tuple(x.shape) not in ((nse,), (*values.shape[:batch], nse)):
        raise ValueError(
            f"{function}: {name} must have the shape ({nse},), or ({', '.join(map(str, values.shape[: batch + 1]))}), "
            f"as the values have {nse} entries, got {tuple(x.shape)}"
        )


def _check_ends(function: str, indptr: Array, nse: int) -> None:
    xp = array_namespace(indptr)
    if bool(xp.any(indptr[..., 0] != 0)) or bool(xp.any(indptr[..., -1] > nse)):
        raise ValueError(
            f"{function}: indptr must begin with 0 and end with at most the number of entries, {nse}, got "
            f"{int(xp.max(indptr[..., 0]))} and {int(xp.max(indptr[..., -1]))}"
        )
    if bool(xp.any(indptr[..., 1:] < indptr[..., :-1])):
        raise ValueError(f"{function}: indptr must never fall from one element to the next")


def _promised(function: str, coords: list[Array], sizes: Shape, is_sorted: bool, is_unique: bool) -> None:
    """Check the declared order and uniqueness of entries."""
    if not (is_sorted or is_unique) or not all(is_concrete(x) for x in coords) or coords[0].shape[-1] < 2:
        return
    eagerly(lambda *given: _check_promised(function, given, sizes, is_sorted, is_unique), *coords)


def _check_promised(function: str, coords: tuple[Array, ...], sizes: Shape, is_sorted: bool, is_unique: bool) -> None:
    xp = array_namespace(*coords)
    if is_sorted and order.falls(xp, coords):
        raise ValueError(
            f"{function}: is_sorted=True, but the entries are not sorted by position; sort them "
            "with `sparse.sort`, or omit that argument"
        )
    if is_unique and order.duplicated(xp, coords, sizes, is_sorted):
        raise ValueError(
            f"{function}: is_unique=True, but two entries have the same position; sum them with "
            "`sparse.sum_duplicates`, or omit that argument"
        )


def matrix(function: str, name: str, a: Any) -> None:
    """Check that a container is a matrix or a batch of matrices, without dense axes.

    Raises:
        ValueError: It has another number of sparse axes, or dense axes.
    """
    if a.sparse_ndim != 2 or a.dense_ndim:
        raise ValueError(
            f"{function}: {name} must have two sparse axes, and no dense ones after them, got {a!r}; choose the axes "
            "with `sparse.from_dense`, or use `todense`"
        )


def like(function: str, name: str, x: Any) -> Namespace:
    """Return the namespace of an array; raise a clear error for other objects."""
    if not checks.is_array(x):
        raise TypeError(f"{function}: {name} must be an array or a sparse container, got {describe(x)}")
    return array_namespace(x)


def room(function: str, count: Array, nse: int) -> None:
    """Check that `nse` is not too small for the number of entries, if that number is known.

    Raises:
        ValueError: There are more entries.
    """
    if is_concrete(count) and int(count) > nse:
        raise ValueError(f"{function}: nse={nse} is too few for the {int(count)} nonzero elements")
