"""Joins of sparse arrays: concatenation, blocks, stacks."""

from collections.abc import Sequence
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, checks as _arguments, describe

from .._bounds import index_dtype
from . import _checks as checks
from ._containers import COO, Sparse, namespace_of
from ._convert import container, convert, tocoo
from ._operands import batch_of, coo_of, same_positions, shared_format, spread, with_like_patterns, with_own_patterns
from ._pattern import full, pattern_work, used


def concat(arrays: Sequence[Sparse], /, *, axis: int = 0) -> Any:
    """Join sparse arrays along a sparse axis.

    Args:
        arrays: Containers whose shapes differ only along `axis`. Batch axes broadcast.
        axis: The axis, counted after batch axes are broadcast, so that negative numbers mean the same for each array.

    Returns:
        A container of their format, or COO if the formats differ.

    Raises:
        TypeError: An argument is not sparse, of another library, or of a data type that doesn't promote.
        ValueError: Nothing to join, shapes that don't fit, or an axis that isn't sparse.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import eye
    >>> concat([eye(1, 2, xp=np), eye(2, xp=np)]).todense()
    array([[1., 0.],
           [1., 0.],
           [0., 1.]])
    """
    found = _together("concat", arrays)
    first = found[0]
    position = _arguments.axis("concat", axis, first.ndim) - first.batch_ndim
    if not 0 <= position < first.sparse_ndim:
        raise ValueError(f"concat: axis={axis} must be one of the {first.sparse_ndim} sparse axes of {first!r}")
    others = {(*a._sparse_shape[:position], *a._sparse_shape[position + 1 :]) for a in found}
    if len(others) > 1:
        raise ValueError(
            f"concat: takes arrays whose sizes are the same but along axis={axis}, got {[a.shape for a in found]}"
        )
    lengths = [a._sparse_shape[position] for a in found]
    offsets = [[sum(lengths[:i]) if j == position else 0 for j in range(first.sparse_ndim)] for i in range(len(found))]
    sizes = [sum(lengths) if j == position else size for j, size in enumerate(first._sparse_shape)]
    return convert(_side_by_side(found, offsets, sizes), shared_format(found))


def block(blocks: Sequence[Sequence[Sparse | None]], /) -> Any:
    """Build a sparse matrix from blocks.

    Args:
        blocks: A list of rows, each a list of matrices, or None for zeros. Each row and column needs a matrix.

    Returns:
        A container of the format of all blocks, or COO if the formats differ.

    Raises:
        TypeError: `blocks` is not a list of lists, or a block is not sparse, of another library, or of a data type that
            doesn't promote.
        ValueError: Rows of different lengths, sizes that don't fit, or a row or column without a matrix.

    Source: `scipy.sparse.block_array`.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import eye
    >>> block([[eye(1, xp=np), None], [None, eye(2, xp=np)]]).todense()
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """
    if not isinstance(blocks, (tuple, list)) or not all(isinstance(row, (tuple, list)) for row in blocks):
        raise TypeError(f"block: blocks must be a list of lists, got {describe(blocks)}")
    widths = {len(row) for row in blocks}
    if len(widths) != 1 or widths == {0}:
        raise ValueError(f"block: rows must have as many blocks each, and one at least, got {[len(x) for x in blocks]}")
    positions = [(i, j) for i, row in enumerate(blocks) for j, each in enumerate(row) if each is not None]
    found = _together("block", [blocks[i][j] for i, j in positions])
    for a in found:
        checks.matrix("block", "each", a)
    heights = _common_sizes("row", len(blocks), [(i, a._sparse_shape[0]) for (i, _), a in zip(positions, found)])
    lengths = _common_sizes("column", widths.pop(), [(j, a._sparse_shape[1]) for (_, j), a in zip(positions, found)])
    offsets = [[sum(heights[:i]), sum(lengths[:j])] for i, j in positions]
    return convert(_side_by_side(found, offsets, [sum(heights), sum(lengths)]), shared_format(found))


def block_diag(arrays: Sequence[Sparse], /) -> Any:
    """Build a sparse matrix from blocks on the diagonal. See `block`.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import eye
    >>> block_diag([eye(1, xp=np), eye(1, 2, xp=np)]).todense()
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    if not isinstance(arrays, (tuple, list)) or not arrays:
        raise TypeError(f"block_diag: arrays must be a list of sparse arrays, got {describe(arrays)}")
    return block([[a if i == j else None for j in range(len(arrays))] for i, a in enumerate(arrays)])


def stack(arrays: Sequence[Sparse], /, *, as_batch: bool = True) -> Any:
    """Stack sparse arrays of one shape along a new first axis.

    Args:
        arrays: Containers of one shape.
        as_batch: Whether the new axis is a batch axis; otherwise it is sparse.

    Returns:
        With `as_batch`, a container of the arrays' format, or COO if the formats differ. It has one pattern if all
        arrays are known to have the same, otherwise one for each array, with padding for arrays with fewer entries.
        Without `as_batch`, a COO with one more sparse axis.

    Raises:
        TypeError: An argument is not sparse, of another library, or of a data type that doesn't promote.
        ValueError: Nothing to stack, shapes that differ, or batch axes after a new sparse axis.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import eye
    >>> stack([eye(2, xp=np), eye(2, xp=np)])
    <CSR of shape (2, 2, 2), 2 entries of float64>
    """
    _arguments.boolean("stack", "as_batch", as_batch)
    found = _together("stack", arrays)
    if len({a.shape for a in found}) > 1:
        raise ValueError(f"stack: takes arrays of one shape, got {[a.shape for a in found]}")
    if as_batch:
        return _batch(found)
    first = found[0]
    if first.batch_ndim:
        raise ValueError(f"stack: a new sparse axis can't come before batch axes, got {first!r}; choose as_batch=True")
    longer = [_with_axis(tocoo(a)) for a in found]
    offsets = [[i, *(0 for _ in a._sparse_shape)] for i, a in enumerate(found)]
    return _side_by_side(longer, offsets, [len(found), *first._sparse_shape])


def _with_axis(a: COO) -> COO:
    coords = pattern_work(lambda *given: (array_namespace(*given).zeros_like(given[0]), *given), *a.coords)
    sizes = (1, *a._sparse_shape)
    return coo_of(a.values, coords, sizes, is_sorted=a.is_sorted, is_unique=a.is_unique, dense_ndim=a.dense_ndim)


def _together(function: str, arrays: Any) -> list[Any]:
    """Check sparse arrays, and convert them to one data type and the same batch axes."""
    if not isinstance(arrays, (tuple, list)):
        raise TypeError(f"{function}: arrays must be a list of sparse arrays, got {describe(arrays)}")
    if not arrays:
        raise ValueError(f"{function}: takes one sparse array at least, got none")
    found = [container(function, a, f"arrays[{i}]") for i, a in enumerate(arrays)]
    named = {f"arrays[{i}]": a.values for i, a in enumerate(found)}
    xp = _arguments.namespace_of(function, **named)
    _arguments.one_device(function, **named)
    if len({(a.sparse_ndim, tuple(a.values.shape[a.batch_ndim + 1 :])) for a in found}) > 1:
        raise ValueError(f"{function}: takes arrays of as many sparse axes, and the same dense ones, got {found}")
    values = _arguments.promote(function, xp, **named)
    batch = _arguments.broadcast_shapes(function, **{name: batch_of(a) for name, a in zip(named, found)})
    return [spread(a, x, batch) for a, x in zip(found, values)]


def _side_by_side(arrays: Sequence[Sparse], offsets: Sequence[Sequence[int]], sizes: Sequence[int]) -> COO:
    """Place sparse arrays into a larger one, each at its own offset."""
    each = [tocoo(a) for a in arrays]
    if any(a.coords[0].ndim > 1 for a in each):
        each = [with_like_patterns(a, max(each, key=lambda a: a.coords[0].ndim))[0] for a in each]
    first, axes = each[0], len(sizes)
    xp = namespace_of(first)

    def work(*given: Array) -> tuple[Array, ...]:
        names = array_namespace(*given)
        moved = []
        for i, (a, offset) in enumerate(zip(each, offsets)):
            coords = given[i * axes : (i + 1) * axes]
            there = used(coords, a._sparse_shape)
            wide = [names.astype(x, index_dtype(names)) for x in coords]
            moved.append([names.where(there, x + full(x, n), full(x, size)) for x, n, size in zip(wide, offset, sizes)])
        return tuple(names.concat(parts, axis=-1) for parts in zip(*moved))

    coords = pattern_work(work, *(x for a in each for x in a.coords))
    values = xp.concat([a.values for a in each], axis=first.batch_ndim)
    is_unique = all(a.is_unique for a in arrays)
    return coo_of(values, coords, sizes, is_unique=is_unique, dense_ndim=first.dense_ndim)


def _common_sizes(name: str, count: int, sizes: Sequence[tuple[int, int]]) -> list[int]:
    """Return the size of each row or column of blocks."""
    found: list[int] = []
    for i in range(count):
        distinct = {size for position, size in sizes if position == i}
        if len(distinct) != 1:
            raise ValueError(
                f"block: blocks of {name} {i} must have one size, got {sorted(distinct) or 'no block at all'}"
            )
        found.append(distinct.pop())
    return found


def _batch(arrays: list[Any]) -> Any:
    name = shared_format(arrays)
    found = [convert(a, name) for a in arrays]
    first = found[0]
    xp = namespace_of(first)
    if all(same_positions(first, a) for a in found[1:]) and first.pattern[0].ndim == 1:
        made = type(first)._of(xp.stack([a.values for a in found]), first.pattern, first._static(), first.plan)
    else:
        apart = [_padded(with_own_patterns(a), max(a.nse for a in found)) for a in found]
        stacked = lambda *given: array_namespace(*given).stack(list(given))
        pattern = tuple(pattern_work(stacked, *parts) for parts in zip(*(a.pattern for a in apart)))
        made = type(first)._of(xp.stack([a.values for a in apart]), pattern, apart[0]._static())
    made._is_sorted, made._is_unique = all(a.is_sorted for a in found), all(a.is_unique for a in found)
    return made


def _padded(a: Any, nse: int) -> Any:
    """Extend a container by padding: coordinates out of bounds, or entries after the last row."""
    more = nse - a.nse
    if not more:
        return a
    xp = namespace_of(a)
    batch, dense = batch_of(a), tuple(a.values.shape[a.batch_ndim + 1 :])
    zeros = xp.zeros((*batch, more, *dense), dtype=a.dtype, device=_arguments.device_of(a.values))

    def lengthened(x: Array, fill: int) -> Array:
        rest = array_namespace(x).broadcast_to(full(x, fill), (*batch, more))
        return array_namespace(x).concat([x, rest], axis=-1)

    def work(*given: Array) -> tuple[Array, ...]:
        if isinstance(a, COO):
            return tuple(lengthened(x, size) for x, size in zip(given, a._sparse_shape))
        return lengthened(given[0], 0), given[1]

    return type(a)._of(xp.concat([a.values, zeros], axis=a.batch_ndim), pattern_work(work, *a.pattern), a._static())
