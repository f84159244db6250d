"""Statistics compared with each library's fastest recipe."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from xpand_extensions import statistics

from ._measure import Budget, Call, Row
from .namespaces import libraries

BUDGET: Final = Budget(ratio=1.1, extra=2e-5)
"""A call of a library's own function, and 20 µs for the checks of arguments."""

REASONS: Final = {
    "median, numpy": "the checks of arguments, before a call that takes only a few µs",
    "median, torch": "the checks of arguments, and a sort; PyTorch's own median selects",
    "nanmean, numpy": "two passes look for NaN, for the sum and for the count",
    "nanmean, torch": "counts in integers; the derivative of torch.nanmean is NaN for slices of NaN",
    "nanmax, torch": "a pass looks for slices of NaN; the recipe returns -infinity for them",
}
"""Why a row is over the budget."""

SMALL: Final[dict[str, Any]] = {"sizes": (40,)}
"""The sizes with which the tests run every row."""


def rows(sizes: tuple[int, ...] = (1_000, 100_000, 10_000_000)) -> Iterator[Row]:
    for size in sizes:
        topic = f"statistics of {size:,} values"
        for library in libraries():
            x = library.xp.asarray(np.random.default_rng(0).normal(size=size))
            for name, ours in OURS.items():
                # Some libraries sort, which takes seconds for the largest size.
                if size > 1_000_000 and (name, library.name) in SLOW:
                    continue
                recipes = {key: Call(recipe, x) for key, recipe in RECIPES[library.name]()[name].items()}
                label = f"{name}, {library.name}"
                yield Row(topic, label, Call(ours, x), recipes, BUDGET, REASONS.get(label, ""))


OURS: Final[dict[str, Callable[[Any], Any]]] = {
    "median": statistics.median,
    "nanmean": statistics.nanmean,
    "nanmax": statistics.nanmax,
    "cumulative_max": statistics.cumulative_max,
}

SLOW: Final = {("median", "torch"), ("median", "jax"), ("cumulative_max", "jax")}


def _numpy() -> Mapping[str, Mapping[str, Callable[[Any], Any]]]:
    return {
        "median": {"np.median": np.median, "np.quantile": lambda x: np.quantile(x, 0.5)},
        "nanmean": {"np.nanmean": np.nanmean},
        "nanmax": {"np.nanmax": np.nanmax},
        "cumulative_max": {"np.maximum.accumulate": np.maximum.accumulate},
    }


def _torch() -> Mapping[str, Mapping[str, Callable[[Any], Any]]]:
    import torch

    def nanmax(x: Any) -> Any:
        return torch.where(torch.isnan(x), -torch.inf, x).amax()

    return {
        # torch.median would return the lower of two middle elements.
        "median": {"torch.quantile": lambda x: torch.quantile(x, 0.5)},
        "nanmean": {"torch.nanmean": torch.nanmean},
        "nanmax": {"where and amax": nanmax},
        "cumulative_max": {"torch.cummax": lambda x: torch.cummax(x, 0).values},
    }


def _jax() -> Mapping[str, Mapping[str, Callable[[Any], Any]]]:
    import jax
    import jax.numpy as jnp

    return {
        "median": {"jnp.median, jitted": jax.jit(jnp.median)},
        "nanmean": {"jnp.nanmean, jitted": jax.jit(jnp.nanmean)},
        "nanmax": {"jnp.nanmax, jitted": jax.jit(jnp.nanmax)},
        "cumulative_max": {"jax.lax.cummax, jitted": jax.jit(jax.lax.cummax)},
    }


RECIPES: Final = {"numpy": _numpy, "torch": _torch, "jax": _jax}
