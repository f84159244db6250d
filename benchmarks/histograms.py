"""Counts and histograms compared with each library's own."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from xpand_extensions import histograms

from ._measure import Call, Row, of_facade
from .namespaces import libraries

SMALL: Final[dict[str, Any]] = {"sizes": (30,)}
"""The sizes with which the tests run every row."""

REASONS: Final = {
    "small": "the checks of arguments take longer than the computation for so few values",
    "torch": "bins are found exactly, by their edges; torch.histc rounds values close to an edge",
    "jax, bincount": "an eager call raises for integers out of bounds, so it checks them first; JAX drops them",
}


def rows(sizes: tuple[int, ...] = (1_000, 100_000, 10_000_000), bins: int = 100) -> Iterator[Row]:
    for size in sizes:
        random = np.random.default_rng(0)
        values, integers = random.uniform(size=size), random.integers(0, bins, size)
        for library in libraries():
            name = library.name
            x, ids = library.xp.asarray(values), library.xp.asarray(integers)
            small = REASONS["small"] if size < 10_000 else ""
            topic = f"bincount of {size:,} integers below {bins}"
            reason = small or REASONS.get(f"{name}, bincount", "")
            ours = Call(histograms.bincount, ids, length=bins) if name == "jax" else Call(histograms.bincount, ids)
            yield Row(topic, name, ours, BINCOUNT[name](ids, bins), of_facade(name), reason)
            topic = f"histogram of {size:,} values in {bins} bins"
            reason = small or REASONS.get(name, "")
            yield Row(
                topic,
                name,
                Call(histograms.histogram, x, bins),
                HISTOGRAM[name](x, bins, None),
                of_facade(name),
                reason,
            )
            known = (0.0, 1.0)
            ours = Call(histograms.histogram, x, bins, range=known)
            yield Row(topic, f"{name}, of a range", ours, HISTOGRAM[name](x, bins, known), of_facade(name), reason)


def _numpy_bincount(ids: Any, bins: int) -> Mapping[str, Call]:
    return {"np.bincount": Call(np.bincount, ids)}


def _torch_bincount(ids: Any, bins: int) -> Mapping[str, Call]:
    import torch

    return {"torch.bincount": Call(torch.bincount, ids)}


def _jax_bincount(ids: Any, bins: int) -> Mapping[str, Call]:
    import jax.numpy as jnp

    return {"jnp.bincount": Call(jnp.bincount, ids, length=bins)}


def _numpy_histogram(x: Any, bins: int, known: tuple[float, float] | None) -> Mapping[str, Call]:
    return {"np.histogram": Call(np.histogram, x, bins, range=known)}


def _torch_histogram(x: Any, bins: int, known: tuple[float, float] | None) -> Mapping[str, Call]:
    import torch

    low, high = known or (0, 0)
    return {
        "torch.histogram": Call(torch.histogram, x, bins, range=known),
        "torch.histc": Call(torch.histc, x, bins, low, high),
    }


def _jax_histogram(x: Any, bins: int, known: tuple[float, float] | None) -> Mapping[str, Call]:
    import jax
    import jax.numpy as jnp

    jitted = jax.jit(jnp.histogram, static_argnums=(1, 2))
    return {"jnp.histogram, jitted": Call(jitted, x, bins, known)}


BINCOUNT: Final[Mapping[str, Callable[[Any, int], Mapping[str, Call]]]] = {
    "numpy": _numpy_bincount,
    "torch": _torch_bincount,
    "jax": _jax_bincount,
}
HISTOGRAM: Final[Mapping[str, Callable[[Any, int, tuple[float, float] | None], Mapping[str, Call]]]] = {
    "numpy": _numpy_histogram,
    "torch": _torch_histogram,
    "jax": _jax_histogram,
}
