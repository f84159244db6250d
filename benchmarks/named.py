"""Small named arrays, compared with the positional calls, and with xarray."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

from xpand import namespace
from xpand_extensions import linalg
from xpand_extensions import named as hax

from ._measure import Budget, Call, Row
from .namespaces import Library, libraries

TOPIC: Final = "named axes, arrays of shape (4, 3)"
PEER: Final = "named axes and xarray, NumPy arrays of shape (4, 3)"
SMALL: Final[dict[str, int]] = {}
"""The sizes at which the tests run every row."""
_NAMES: Final = ("row", "column")


def rows() -> Iterator[Row]:
    for library in libraries():
        if library.name in {"numpy", "torch", "jax"}:
            yield from _rows(library)
    if find_spec("xarray") is not None:
        yield from _beside_xarray()


def _rows(library: Library) -> Iterator[Row]:
    xp, slower = namespace(library.name), library.name == "jax"

    def row(name: str, ours: Call, positional: Call, extra: float, extra_on_jax: float) -> Row:
        budget = Budget(extra=(extra_on_jax if slower else extra) * 1e-6)
        return Row(TOPIC, f"{library.name}: {name}", ours, {"positional": positional}, budget)

    array = xp.ones((4, 3))
    turned, vector = xp.permute_dims(array, (1, 0)), array[0, ...]
    x, y = hax.named(array, _NAMES), hax.named(array, _NAMES)
    x_turned, x_vector = hax.named(turned, ("column", "row")), hax.named(vector, "column")
    yield row("exp", Call(hax.exp, x), Call(xp.exp, array), 0.6, 1)
    yield row("add", Call(hax.add, x, y), Call(xp.add, array, array), 0.6, 1)
    yield row("add, broadcast", Call(hax.add, x, x_vector), Call(xp.add, array, vector), 3, 4)
    reordered = Call(lambda a, b: xp.add(a, xp.permute_dims(b, (1, 0))), array, turned)
    yield row("add, reordered", Call(hax.add, x, x_turned), reordered, 3, 4)
    yield row("sum", Call(lambda x: hax.sum(x, "row"), x), Call(lambda x: xp.sum(x, axis=0), array), 2, 3)
    yield row("index", Call(lambda x: x["row", 0], x), Call(lambda x: x[0, ...], array), 2, 3)
    dot = Call(lambda x, y: linalg.einsum("ij,ij->i", x, y), array, array)
    yield row("dot", Call(lambda x, y: hax.dot(x, y, axis="column"), x, y), dot, 5, 6)
    einsum = Call(lambda x, y: hax.einsum("row column, row column -> row", x, y), x, y)
    yield row("einsum", einsum, dot, 5, 6)
    merged = Call(lambda x: xp.reshape(xp.permute_dims(x, (1, 0)), (12,)), array)
    yield row("rearrange", Call(lambda x: hax.rearrange(x, "row column -> (all: column row)"), x), merged, 5, 6)


def _beside_xarray() -> Iterator[Row]:
    import xarray

    values = np.ones((4, 3))
    x, theirs = hax.named(values, _NAMES), xarray.DataArray(values, dims=_NAMES)
    x_turned, theirs_turned = x.rearrange(("column", "row")), theirs.transpose()
    budget = Budget(ratio=0.2)

    def row(name: str, function: Any, ours: tuple[Any, ...], given: tuple[Any, ...], peer: Any = None) -> Row:
        return Row(PEER, name, Call(function, *ours), {"xarray": Call(peer or function, *given)}, budget)

    add = lambda x, y: x + y
    yield row("add", add, (x, x), (theirs, theirs))
    yield row("add, reordered", add, (x, x_turned), (theirs, theirs_turned))
    yield row("sum", lambda x: x.sum("row"), (x,), (theirs,))
    dot = lambda x, y: hax.dot(x, y, axis="column")
    yield row("dot", dot, (x, x), (theirs, theirs), lambda x, y: xarray.dot(x, y, dim="column"))
