"""Small named arrays compared with positional calls, and with xarray, PhiML and Haliax if these are installed.

Haliax 1.3 can't be imported with current JAX; its development release 1.4.dev453 can.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

from xpand import array_namespace, namespace
from xpand_extensions import jit, linalg, named as hax, random

from ._measure import Budget, Call, Row
from .namespaces import Library, libraries

TOPIC: Final = "named axes, arrays of shape (4, 3)"
PEERS: Final = "named axes and other libraries, arrays of shape (4, 3)"
COMPILED: Final = "named axes under jit"
SMALL: Final = {"tokens": 8}
"""The sizes with which the tests run every row."""
_NAMES: Final = ("row", "column")


def rows(tokens: int = 512) -> Iterator[Row]:
    for library in libraries():
        if library.name in {"numpy", "torch", "jax"}:
            yield from _rows(library)
        if library.name in {"numpy", "jax"}:  # on PyTorch the tests compare the compiled graphs
            yield _attention(library, tokens)
    for peer, make in (("xarray", _xarray), ("PhiML", _phiml), ("Haliax", _haliax)):
        if find_spec(peer.lower()) is not None:
            yield from make(peer)


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


def _attention(library: Library, tokens: int) -> Row:
    """Compare attention by names with attention by positions. Both are compiled."""
    keys = random.split(random.key(0, xp=library.name), 3)
    arrays = [random.normal(key, (tokens, 64)) for key in keys]
    given = [hax.named(x, (name, "feature")) for x, name in zip(arrays, ("query", "key", "key"))]

    def by_name(q: Any, k: Any, v: Any) -> Any:
        scores = hax.dot(q, k, axis="feature")
        weights = hax.exp(scores - hax.max(scores, "key"))
        return hax.dot(weights / hax.sum(weights, "key"), v, axis="key")

    def positional(q: Any, k: Any, v: Any) -> Any:
        xp = array_namespace(q)
        scores = linalg.einsum("qf,kf->qk", q, k)
        weights = xp.exp(scores - xp.max(scores, axis=1)[:, None])
        return linalg.einsum("qk,kf->qf", weights / xp.sum(weights, axis=1)[:, None], v)

    ours, reference = Call(jit.jit(by_name), *given), {"positional": Call(jit.jit(positional), *arrays)}
    return Row(COMPILED, f"{library.name}: attention, {tokens} tokens", ours, reference, Budget(ratio=1.05))


def _compared(peer: str, xp: Any, ratio: float, make: Any, functions: dict[str, Any]) -> Iterator[Row]:
    """Compare with a library. `make(array, names)` makes its arrays; `functions` have no operator."""
    array = xp.ones((4, 3))
    given = {"": (array, _NAMES), "turned": (array.T, _NAMES[::-1]), "vector": (array[0], _NAMES[1:])}
    ours = {key: hax.named(*each) for key, each in given.items()}
    theirs = {key: make(*each) for key, each in given.items()}
    add = lambda x, y: x + y
    own = {"exp": hax.exp, "sum": lambda x: x.sum("row"), "dot": lambda x, y: hax.dot(x, y, axis="column")}
    for name, operands in (
        ("exp", [""]),
        ("add", ["", ""]),
        ("add, broadcast", ["", "vector"]),
        ("add, reordered", ["", "turned"]),
        ("sum", [""]),
        ("dot", ["", ""]),
    ):
        call = Call(own.get(name, add), *[ours[each] for each in operands])
        reference = Call(functions.get(name.partition(",")[0], add), *[theirs[each] for each in operands])
        yield Row(PEERS, f"{peer}: {name}", call, {peer: reference}, Budget(ratio=ratio))


def _xarray(peer: str) -> Iterator[Row]:
    import xarray

    functions = {"exp": np.exp, "sum": lambda x: x.sum("row"), "dot": lambda x, y: xarray.dot(x, y, dim="column")}
    yield from _compared(peer, np, 0.1, lambda x, names: xarray.DataArray(x, dims=names), functions)


def _phiml(peer: str) -> Iterator[Row]:
    from phiml import math

    # Return nothing: PhiML's arrays raise a TypeError if attributes of a result are read.
    functions = {
        "exp": lambda x: (math.exp(x), None)[1],
        "sum": lambda x: (math.sum(x, "row"), None)[1],
        "dot": lambda x, y: (math.dot(x, "column", y, "column"), None)[1],
        "add": lambda x, y: (x + y, None)[1],
    }
    make = lambda x, names: math.wrap(x, math.spatial(",".join(names)))
    yield from _compared(peer, np, 1.0, make, functions)


def _haliax(peer: str) -> Iterator[Row]:
    try:
        import haliax
    except ImportError:
        return
    import jax.numpy

    functions = {"exp": haliax.exp, "sum": lambda x: x.sum("row"), "dot": lambda x, y: haliax.dot(x, y, axis="column")}
    yield from _compared(peer, jax.numpy, 1.0, haliax.named, functions)
