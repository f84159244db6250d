"""Segment sums compared with each library's fastest recipe."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
from scipy import sparse

from xpand_extensions import scatter

from ._measure import Budget, Call, Row
from .namespaces import libraries

BUDGET: Final = Budget(ratio=1.1)

REASONS: Final = {
    "numpy": "negative ids raise, so a first pass looks for them; add.at counts them from the end",
    "jax": "an eager call raises for ids out of bounds, so it checks them first; JAX drops them",
}
"""Why a library's sum is over the budget."""

SMALL: Final[dict[str, int]] = {"size": 30, "segments": 4}
"""The sizes with which the tests run every row."""


def rows(size: int = 1_000_000, segments: int = 10_000) -> Iterator[Row]:
    topic = f"segment_sum of {size:,} values into {segments:,} segments"
    for library in libraries():
        for columns in (1, 8):
            shape = (size,) if columns == 1 else (size, columns)
            random = np.random.default_rng(0)
            values = library.xp.asarray(random.uniform(size=shape))
            ids = library.xp.asarray(random.integers(0, segments, size))
            recipes = RECIPES[library.name](values, ids, segments)
            suffix = "" if columns == 1 else f", {columns} columns"
            ours = Call(scatter.segment_sum, values, ids, num_segments=segments)
            yield Row(topic, library.name + suffix, ours, recipes, BUDGET, REASONS.get(library.name, ""))
            if library.name == "jax":
                compiled = _compiled(values, ids, segments)
                yield Row(topic, f"jax, under jit{suffix}", compiled, recipes, BUDGET)


def _numpy(values: Any, ids: Any, segments: int) -> Mapping[str, Call]:
    def add_at(values: Any, ids: Any) -> Any:
        total = np.zeros((segments, *values.shape[1:]))
        np.add.at(total, ids, values)
        return total

    def product(values: Any, ids: Any) -> Any:
        # CSC with one entry in each column: this format needs no sorted ids.
        entries = (np.ones(len(ids)), ids, np.arange(len(ids) + 1))
        return sparse.csc_array(entries, shape=(segments, len(ids))) @ values

    def bincount_by_column(values: Any, ids: Any) -> Any:
        return np.stack([np.bincount(ids, column, minlength=segments) for column in values.T], axis=1)

    recipes: dict[str, Call] = {"np.add.at": Call(add_at, values, ids)}
    if values.ndim == 1:
        recipes["np.bincount"] = Call(np.bincount, ids, values, minlength=segments)
    else:
        recipes["np.bincount of each column"] = Call(bincount_by_column, values, ids)
        recipes["scipy.sparse product"] = Call(product, values, ids)
    return recipes


def _torch(values: Any, ids: Any, segments: int) -> Mapping[str, Call]:
    import torch

    def index_add(values: Any, ids: Any) -> Any:
        return torch.zeros((segments, *values.shape[1:]), dtype=values.dtype).index_add_(0, ids, values)

    def scatter_add(values: Any, ids: Any) -> Any:
        index = ids if values.ndim == 1 else ids[:, None].expand_as(values)
        return torch.zeros((segments, *values.shape[1:]), dtype=values.dtype).scatter_add_(0, index, values)

    return {"index_add_": Call(index_add, values, ids), "scatter_add_": Call(scatter_add, values, ids)}


def _jax(values: Any, ids: Any, segments: int) -> Mapping[str, Call]:
    import jax

    jitted = jax.jit(jax.ops.segment_sum, static_argnames="num_segments")
    return {"jax.ops.segment_sum, jitted": Call(jitted, values, ids, num_segments=segments)}


def _compiled(values: Any, ids: Any, segments: int) -> Call:
    import jax

    ours = jax.jit(scatter.segment_sum, static_argnames="num_segments")
    return Call(ours, values, ids, num_segments=segments)


RECIPES: Final[Mapping[str, Callable[[Any, Any, int], Mapping[str, Call]]]] = {
    "numpy": _numpy,
    "torch": _torch,
    "jax": _jax,
}
