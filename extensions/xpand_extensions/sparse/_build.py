"""Construction of sparse arrays: from diagonals, identities, Kronecker products."""

from collections.abc import Sequence
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, Device, DType, Namespace, checks, describe, eager, namespace_or_default

from .._bounds import index_dtype
from ._containers import Sparse
from ._convert import FORMATS, Format, container, convert, tocoo
from ._operands import batch_of, coo_of, shared_format, spread, with_like_patterns
from ._pattern import full, pattern_work, used


def eye(
    rows: int,
    /,
    columns: int | None = None,
    *,
    xp: Namespace | str | None = None,
    k: int = 0,
    dtype: DType | str | None = None,
    device: Device | None = None,
    format: Format = "csr",
) -> Any:
    """Build a sparse matrix with ones on a diagonal.

    Args:
        rows: The number of rows.
        columns: The number of columns; None: the number of rows.
        xp: The namespace of the library, or its name; None: the default namespace.
        k: The number of the diagonal: 0 is the main one, positive ones are above it, negative ones below.
        dtype: A numeric data type, or its name; None: the library's default for floating-point numbers.
        device: The device of the arrays; None: the library's default.
        format: "coo", "csr" or "csc".

    Raises:
        TypeError: Sizes that are not integers.
        ValueError: A negative size, or an unknown format.

    Source: `xp.eye`.

    >>> import numpy as np
    >>> eye(2, 3, xp=np).todense()
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    rows = checks.integer("eye", "rows", rows, minimum=0)
    columns = rows if columns is None else checks.integer("eye", "columns", columns, minimum=0)
    k = checks.integer("eye", "k", k)
    checks.choice("eye", "format", format, FORMATS)
    length = _length(rows, columns, k)
    xp = namespace_or_default(xp, "eye")
    dtype = None if dtype is None else checks.named_dtype("eye", xp, dtype)
    values = xp.ones(length, dtype=dtype, device=device)
    coords = _positions(xp, [k], [length], device)
    return convert(coo_of(values, coords, (rows, columns), is_sorted=True, is_unique=True), format)


def diags(
    diagonals: Sequence[Array],
    /,
    offsets: Sequence[int] = (0,),
    *,
    shape: tuple[int, int] | None = None,
    format: Format = "csr",
) -> Any:
    """Build a sparse matrix, or a batch of them, from diagonals.

    Args:
        diagonals: Arrays of shape (*batch, length), with one element for each position of the diagonal, or one for all.
        offsets: The number of each diagonal: 0 is the main one, positive ones are above it, negative ones below.
        shape: The numbers of rows and columns. None: square, as large as the first diagonal needs.
        format: "coo", "csr" or "csc".

    Returns:
        A unique container, with an entry for each position of the diagonals. It has derivatives in all entries.

    Raises:
        TypeError: Diagonals that aren't arrays of one library, or data types that don't promote.
        ValueError: More or fewer offsets than diagonals, an offset that occurs twice, or a diagonal that doesn't fit.

    Source: `scipy.sparse.diags_array`.

    >>> import numpy as np
    >>> diags([np.asarray([1.0, 2.0]), np.asarray([5.0])], offsets=(0, 1)).todense()
    array([[1., 5.],
           [0., 2.]])
    """
    if not isinstance(diagonals, (tuple, list)) or not diagonals:
        raise TypeError(f"diags: diagonals must be a list of arrays, got {describe(diagonals)}")
    given = [checks.integer("diags", "offsets", k) for k in offsets]
    if len(given) != len(diagonals) or len(set(given)) != len(given):
        raise ValueError(f"diags: offsets must name a diagonal for each of {len(diagonals)} arrays, got {given}")
    checks.choice("diags", "format", format, FORMATS)
    named = {f"diagonals[{i}]": x for i, x in enumerate(diagonals)}
    xp = checks.namespace_of("diags", **named)
    checks.one_device("diags", **named)
    if any(x.ndim == 0 for x in diagonals):
        raise ValueError("diags: a diagonal must have the shape (*batch, length), got an array of shape ()")
    values = checks.promote("diags", xp, **named)
    size = values[0].shape[-1] + abs(given[0])
    sizes = (size, size) if shape is None else checks.shape("diags", "shape", shape)
    if len(sizes) != 2:
        raise ValueError(f"diags: shape must be the numbers of rows and of columns, got {sizes}")
    rows, columns = sizes
    lengths = [_length(rows, columns, k) for k in given]
    for i, (x, length) in enumerate(zip(values, lengths)):
        if x.shape[-1] not in (1, length):
            raise ValueError(
                f"diags: diagonals[{i}] must have {length} elements, or one, for offset {given[i]} and the shape "
                f"{sizes}, got {x.shape[-1]}"
            )
    batch = checks.broadcast_shapes("diags", **{name: tuple(x.shape[:-1]) for name, x in named.items()})
    joined = xp.concat([xp.broadcast_to(x, (*batch, n)) for x, n in zip(values, lengths)], axis=-1)
    device = checks.device_of(values[0])
    coords = _positions(xp, given, lengths, device)
    return convert(coo_of(joined, coords, sizes, is_unique=True, is_sorted=len(given) == 1), format)


def _positions(
    xp: Namespace, offsets: Sequence[int], lengths: Sequence[int], device: Device | None
) -> tuple[Array, Array]:
    """Return the rows and the columns of diagonals, one after the other."""
    with eager(xp):  # so that the pattern is known
        positions = [xp.arange(n, dtype=index_dtype(xp, device), device=device) for n in lengths]
        rows = xp.concat([x - min(k, 0) for x, k in zip(positions, offsets)])
        return rows, xp.concat([x + max(k, 0) for x, k in zip(positions, offsets)])


def _length(rows: int, columns: int, k: int) -> int:
    return max(0, min(rows + min(k, 0), columns - max(k, 0)))


def kron(a: Sparse, b: Sparse, /) -> Any:
    """Compute the Kronecker product of two sparse arrays, as `numpy.kron`.

    Args:
        a: A container without dense axes.
        b: A container with as many sparse axes. Batch axes broadcast.

    Returns:
        A container of their format, or COO if the formats differ, with one entry for each pair of entries.

    Raises:
        TypeError: An argument is not sparse, boolean, of another library, or of a data type that doesn't promote.
        ValueError: Dense axes, or different numbers of sparse axes.

    >>> import numpy as np
    >>> kron(eye(2, xp=np), eye(1, 2, xp=np)).todense()
    array([[1., 0., 0., 0.],
           [0., 0., 1., 0.]])
    """
    a, b = container("kron", a), container("kron", b, "b")
    if a.dense_ndim or b.dense_ndim or a.sparse_ndim != b.sparse_ndim:
        raise ValueError(f"kron: takes sparse arrays of as many axes, without dense ones, got {a!r} and {b!r}")
    named = {"a": a.values, "b": b.values}
    xp = checks.namespace_of("kron", **named)
    checks.one_device("kron", **named)
    for name, values in named.items():
        checks.dtype("kron", name, xp, values, checks.NUMERIC)
    x, y = checks.promote("kron", xp, **named)
    batch = checks.broadcast_shapes("kron", a=batch_of(a), b=batch_of(b))
    first, second = with_like_patterns(tocoo(spread(a, x, batch)), tocoo(spread(b, y, batch)))
    sizes = [m * n for m, n in zip(first._sparse_shape, second._sparse_shape)]
    values = first.values[..., :, None] * second.values[..., None, :]
    half = first.sparse_ndim

    def work(*given: Array) -> tuple[Array, ...]:
        names = array_namespace(*given)
        left = used(given[:half], first._sparse_shape)[..., :, None]
        there = left & used(given[half:], second._sparse_shape)[..., None, :]
        found = []
        for i, j, inner, size in zip(given[:half], given[half:], second._sparse_shape, sizes):
            i, j = names.astype(i, index_dtype(names)), names.astype(j, index_dtype(names))
            position = i[..., :, None] * full(i, inner) + j[..., None, :]
            position = names.where(there, position, full(position, size))
            found.append(names.reshape(position, (*position.shape[:-2], position.shape[-2] * position.shape[-1])))
        return tuple(found)

    coords = pattern_work(work, *first.coords, *second.coords)
    values = xp.reshape(values, (*values.shape[:-2], values.shape[-2] * values.shape[-1]))
    made = coo_of(values, coords, sizes, is_unique=a.is_unique and b.is_unique)
    return convert(made, shared_format((a, b)))
