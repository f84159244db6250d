"""The largest values, partitions and searches compared with each library's own functions."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from xpand_extensions import sorting

from ._measure import Call, Row, of_facade
from .namespaces import libraries

SMALL: Final[dict[str, Any]] = {"sizes": (30,)}
"""The sizes with which the tests run every row."""

REASONS: Final = {
    "small": "the checks of arguments take longer than the computation for so few values",
    "torch": "among equal values the lowest index is returned, which requires one more value than requested",
    "jax": "JAX sorts -0.0 below 0.0, and NaN to either end: one more pass corrects both",
}


def rows(sizes: tuple[int, ...] = (1_000, 100_000, 10_000_000)) -> Iterator[Row]:
    for size in sizes:
        values = np.random.default_rng(0).normal(size=size).astype(np.float32)
        for library in libraries():
            x = library.xp.asarray(values)
            few = "small" if size < 10_000 else library.name
            reason = REASONS.get(few, "")
            topic = f"top_k: the 10 largest of {size:,} values"
            yield Row(
                topic, library.name, Call(sorting.top_k, x, 10), TOP_K[library.name](x), of_facade(library.name), reason
            )
            if library.name == "jax":
                yield Row(topic, "jax, under jit", _compiled(x), TOP_K["jax"](x), of_facade(library.name), reason)
            if size <= 100_000:
                ordered, looked_for = library.xp.sort(x), library.xp.asarray(values[::-1].copy())
                topic = f"searchsorted of {size:,} values among as many"
                ours = Call(sorting.searchsorted, ordered, looked_for)
                recipes = SEARCH[library.name](ordered, looked_for)
                yield Row(
                    topic,
                    library.name,
                    ours,
                    recipes,
                    of_facade(library.name),
                    REASONS["small"] if size < 10_000 else "",
                )


def _numpy_top_k(x: Any) -> Mapping[str, Call]:
    def partitioned(x: Any) -> Any:
        found = np.argpartition(x, len(x) - 10)[-10:]
        order = found[np.argsort(-x[found])]
        return x[order], order

    return {"np.argpartition and a sort": Call(partitioned, x)}


def _torch_top_k(x: Any) -> Mapping[str, Call]:
    import torch

    return {"torch.topk": Call(torch.topk, x, 10)}


def _jax_top_k(x: Any) -> Mapping[str, Call]:
    import jax

    return {"lax.top_k, jitted": Call(jax.jit(jax.lax.top_k, static_argnums=1), x, 10)}


def _compiled(x: Any) -> Call:
    import jax

    return Call(jax.jit(sorting.top_k, static_argnums=1), x, 10)


def _numpy_search(x1: Any, x2: Any) -> Mapping[str, Call]:
    return {"np.searchsorted": Call(np.searchsorted, x1, x2)}


def _torch_search(x1: Any, x2: Any) -> Mapping[str, Call]:
    import torch

    return {"torch.searchsorted": Call(torch.searchsorted, x1, x2)}


def _jax_search(x1: Any, x2: Any) -> Mapping[str, Call]:
    import jax.numpy as jnp

    return {"jnp.searchsorted": Call(jnp.searchsorted, x1, x2)}


TOP_K: Final[Mapping[str, Callable[[Any], Mapping[str, Call]]]] = {
    "numpy": _numpy_top_k,
    "torch": _torch_top_k,
    "jax": _jax_top_k,
}
SEARCH: Final[Mapping[str, Callable[[Any, Any], Mapping[str, Call]]]] = {
    "numpy": _numpy_search,
    "torch": _torch_search,
    "jax": _jax_search,
}
