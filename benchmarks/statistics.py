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
    "mode, torch": "a sort, and passes that count equal neighbours; torch.mode does both in one function",
    "ordinal rankdata, numpy": "the checks of arguments, and a search for NaN",
    "weighted median, numpy": "the checks of arguments, and three searches for elements without weight at the ends",
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
            if size <= 1_000_000:
                yield from _of_distributions(size, library)


def _of_distributions(size: int, library: Any) -> Iterator[Row]:
    """Yield rows for moments, ranks and quantiles, on values of which some are equal."""
    rng = np.random.default_rng(0)
    x, weights = (library.xp.asarray(each) for each in (np.round(rng.normal(size=size), 3), rng.random(size)))
    recipes = DISTRIBUTIONS[library.name]()
    for name, ours in OF_DISTRIBUTIONS.items():
        if name in recipes:
            arguments = (x, weights) if "weighted" in name else (x,)
            calls = {key: Call(recipe, *arguments) for key, recipe in recipes[name].items()}
            label = f"{name}, {library.name}"
            yield Row(
                f"distributions of {size:,} values",
                label,
                Call(ours, *arguments),
                calls,
                BUDGET,
                REASONS.get(label, ""),
            )


OURS: Final[dict[str, Callable[[Any], Any]]] = {
    "median": statistics.median,
    "nanmean": statistics.nanmean,
    "nanmax": statistics.nanmax,
    "cumulative_max": statistics.cumulative_max,
}

OF_DISTRIBUTIONS: Final[dict[str, Callable[..., Any]]] = {
    "skew": statistics.skew,
    "kurtosis": statistics.kurtosis,
    "mode": lambda x: statistics.mode(x).count,
    "rankdata": statistics.rankdata,
    "ordinal rankdata": lambda x: statistics.rankdata(x, "ordinal"),
    "weighted median": lambda x, w: statistics.quantile(x, 0.5, weights=w, method="inverted_cdf"),
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


def _scipy_distributions() -> Mapping[str, Mapping[str, Callable[..., Any]]]:
    from scipy import stats

    return {
        "skew": {"scipy.stats.skew": lambda x: stats.skew(x)},
        "kurtosis": {"scipy.stats.kurtosis": lambda x: stats.kurtosis(x)},
        "mode": {"scipy.stats.mode": lambda x: stats.mode(x)},
        "rankdata": {"scipy.stats.rankdata": stats.rankdata},
        "ordinal rankdata": {"scipy.stats.rankdata": lambda x: stats.rankdata(x, "ordinal")},
        "weighted median": {"np.quantile": lambda x, w: np.quantile(x, 0.5, weights=w, method="inverted_cdf")},
    }


def _torch_distributions() -> Mapping[str, Mapping[str, Callable[..., Any]]]:
    import torch

    return {"mode": {"torch.mode": torch.mode}}


def _jax_distributions() -> Mapping[str, Mapping[str, Callable[..., Any]]]:
    import jax
    import jax.scipy.stats as stats

    return {
        "mode": {"jax.scipy.stats.mode, jitted": jax.jit(stats.mode)},
        "rankdata": {"jax.scipy.stats.rankdata, jitted": jax.jit(stats.rankdata)},
    }


DISTRIBUTIONS: Final = {"numpy": _scipy_distributions, "torch": _torch_distributions, "jax": _jax_distributions}
