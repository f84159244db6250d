"""Reading and writing of rows by a library's own functions."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from xpand import array_namespace
from xpand.extend import LibraryArray as Array, checks, describe

from .._at import GenericAt
from .._index import Rows
from ..scatter import Index
from ..scatter._at import At, Operation

Read = Callable[[Array, Array], Array]
Write = Callable[[Array, Array, Array], Array]

_OPERATIONS: Final = ("set", "add", "subtract", "multiply", "divide", "power", "min", "max")


def row_kernels(*, read: Read | None = None, write: Mapping[Operation, Write] | None = None) -> Callable[..., At]:
    """Make `at`, for the module `scatter` of a plug-in, from functions that read and write rows.

    `scatter.at`, and all functions that use it, such as `indexing.take`, `gather` and updates at masks, convert their
    indices to one form: rows of a table. So a library needs only these functions. The standard's functions replace
    missing ones.

    Args:
        read: `read(table, index)` returns the rows of `table`, of shape `(count, width)`, at `index`: an array of shape
            `(n, width)`. `index` has shape `(n,)` and integers from 0 to `count - 1`.
        write: A function for each update, by name: "set", "add", "subtract", "multiply", "divide", "power", "min" and
            "max". `kernel(table, index, values)` returns a new table, with `values` of shape `(n, width)` applied to
            the rows at `index`. All values for one row are applied; "set" keeps the last one.

    Raises:
        TypeError: An argument is not a function, or `write` is not a mapping.
        ValueError: `write` has an unknown name.

    >>> import numpy as np
    >>> def add(table, index, values):
    ...     table = table.copy()
    ...     np.add.at(table, index, values)
    ...     return table
    >>> at = row_kernels(read=lambda table, index: table[index], write={"add": add})
    >>> at(np.zeros(3))[np.asarray([0, 2, 0])].add(1.0)
    array([2., 0., 1.])
    """
    if write is not None and not isinstance(write, Mapping):
        raise TypeError(
            f"row_kernels: write must be a mapping from names of updates to functions, got {describe(write)}"
        )
    kernels: dict[Operation, Write] = dict(write or {})
    for name in kernels:
        if name not in _OPERATIONS:
            raise ValueError(f"row_kernels: write has {name!r}, but the updates are {', '.join(_OPERATIONS)}")
        checks.function("row_kernels", kernels[name], name)
    if read is not None:
        checks.function("row_kernels", read, "read")

    class KernelAt(GenericAt):
        """An array at an index. The given functions read and write its rows."""

        __slots__ = ()

        def _read_rows(self, table: Array, rows: Rows, fill: Any) -> Array:
            if read is None or rows.dropped:
                return super()._read_rows(table, rows, fill)
            return read(table, rows.index)

        def _write_rows(self, table: Array, rows: Rows, values: Array, operation: Operation) -> Array:
            kernel = kernels.get(operation)
            if kernel is None:
                return super()._write_rows(table, rows, values, operation)
            if not rows.dropped:
                return kernel(table, rows.index, values)
            xp = array_namespace(table)  # an additional row takes dropped values
            extra = xp.ones((1, rows.width), dtype=table.dtype, device=checks.device_of(table))
            return kernel(xp.concat([table, extra]), rows.index, values)[: rows.count, ...]

    def at(x: Array, index: Index = ..., /) -> At:
        return KernelAt(x, index)

    return at
