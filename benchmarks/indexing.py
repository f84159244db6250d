"""Gathering and scattering compared with each library's fastest recipes."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from xpand_extensions import indexing, scatter

from ._measure import Call, Row, of_facade
from .namespaces import libraries

SMALL_REASON: Final = "the checks of arguments and bounds, before a call that takes only one to four µs"

REASONS: Final = {
    "jax": "an eager call raises for indices out of bounds, so it checks them first; JAX drops them",
    "numpy": "a first pass checks the bounds of indices; np.bincount, faster beyond the cache, is only for float64",
    "torch": "the checks of arguments and the path to the kernel take 10 to 30 µs",
}
"""Why a larger call is over the budget."""

SMALL: Final[dict[str, Any]] = {"sizes": (30,)}
"""The sizes with which the tests run every row."""


def rows(sizes: tuple[int, ...] = (1_000, 100_000, 10_000_000)) -> Iterator[Row]:
    for size in sizes:
        random = np.random.default_rng(0)
        side = int(size**0.5)
        x, values = random.normal(size=(side, side)), random.normal(size=size)
        pairs, flat = random.integers(0, side, (size, 2)), random.integers(0, side * side, size)
        for library in libraries():
            square, flat_index, multi, v = map(library.xp.asarray, (x, flat, pairs, values))
            line = library.xp.reshape(square, (-1,))
            ours = {
                "take": Call(indexing.take, line, flat_index),
                "gather_nd": Call(indexing.gather_nd, square, multi),
                "scatter, add": Call(scatter.scatter, line, flat_index, v, operation="add"),
                "scatter_nd, add": Call(scatter.scatter_nd, square, multi, v, operation="add"),
            }
            recipes = RECIPES[library.name](line, square, flat_index, multi, v)
            for name, call in ours.items():
                reason = SMALL_REASON if size <= 1_000 else REASONS.get(library.name, "")
                yield Row(
                    f"{name} of {size:,} elements", library.name, call, recipes[name], of_facade(library.name), reason
                )


def _numpy(line: Any, square: Any, index: Any, multi: Any, v: Any) -> Mapping[str, Mapping[str, Call]]:
    def add(line: Any, index: Any, v: Any) -> Any:
        out = line.copy()
        np.add.at(out, index, v)
        return out

    def add_nd(square: Any, multi: Any, v: Any) -> Any:
        out = square.copy()
        np.add.at(out, (multi[:, 0], multi[:, 1]), v)
        return out

    def add_ravelled(square: Any, multi: Any, v: Any) -> Any:
        flat = np.ravel_multi_index((multi[:, 0], multi[:, 1]), square.shape)
        return add(square.reshape(-1), flat, v).reshape(square.shape)

    def bincount(line: Any, index: Any, v: Any) -> Any:
        return line + np.bincount(index, v, minlength=len(line))

    def take_ravelled(square: Any, multi: Any) -> Any:
        return np.take(square, np.ravel_multi_index((multi[:, 0], multi[:, 1]), square.shape))

    return {
        "take": {"np.take": Call(np.take, line, index)},
        "gather_nd": {
            "index by pairs": Call(lambda x, m: x[m[:, 0], m[:, 1]], square, multi),
            "np.take, ravelled": Call(take_ravelled, square, multi),
        },
        "scatter, add": {"np.add.at": Call(add, line, index, v), "np.bincount": Call(bincount, line, index, v)},
        "scatter_nd, add": {
            "np.add.at": Call(add_nd, square, multi, v),
            "np.add.at, ravelled": Call(add_ravelled, square, multi, v),
        },
    }


def _torch(line: Any, square: Any, index: Any, multi: Any, v: Any) -> Mapping[str, Mapping[str, Call]]:
    import torch

    return {
        "take": {
            "index_select": Call(torch.index_select, line, 0, index),
            "index": Call(lambda x, i: x[i], line, index),
        },
        "gather_nd": {"index by pairs": Call(lambda x, m: x[m.unbind(-1)], square, multi)},
        "scatter, add": {
            "scatter_add": Call(torch.scatter_add, line, 0, index, v),
            "index_add": Call(torch.index_add, line, 0, index, v),
        },
        "scatter_nd, add": {
            "index_put": Call(lambda x, m, v: x.index_put(m.unbind(-1), v, accumulate=True), square, multi, v)
        },
    }


def _jax(line: Any, square: Any, index: Any, multi: Any, v: Any) -> Mapping[str, Mapping[str, Call]]:
    import jax
    import jax.numpy as jnp

    add = jax.jit(lambda x, i, v: x.at[i].add(v))
    add_nd = jax.jit(lambda x, m, v: x.at[m[:, 0], m[:, 1]].add(v))
    return {
        "take": {"jnp.take, jitted": Call(jax.jit(jnp.take), line, index)},
        "gather_nd": {"index by pairs, jitted": Call(jax.jit(lambda x, m: x[m[:, 0], m[:, 1]]), square, multi)},
        "scatter, add": {"at.add, jitted": Call(add, line, index, v)},
        "scatter_nd, add": {"at.add, jitted": Call(add_nd, square, multi, v)},
    }


RECIPES: Final[Mapping[str, Callable[..., Mapping[str, Mapping[str, Call]]]]] = {
    "numpy": _numpy,
    "torch": _torch,
    "jax": _jax,
}
