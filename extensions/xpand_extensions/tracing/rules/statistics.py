"""Rules of the facades for statistics, sorting and histograms.

Other facades need none: their generic implementations use only operations with rules.
"""

import math
from typing import Any, Final

from xpand.extend import device_of
from xpand_extensions.statistics._arguments import with_initial

from ..._bounds import index_dtype
from ...extend._derivatives import joint
from ._derived import Axes, of_example
from .reductions import Function, initial, nonempty, scanned
from .searching import searched

_INDICES: Final = ("nanargmax", "nanargmin")
_CUMULATIVE: Final = ("cumulative_max", "cumulative_min", "logcumsumexp")


# Derivatives


def _scan(name: str, combine: str) -> Function:
    """Combine in JAX's order, so that equal elements share derivatives like in JAX."""

    def rule(xp: Any, x: Any, axis: int, include_initial: bool = False) -> Any:
        return with_initial(scanned(getattr(xp, combine), x, axis), name, axis, include_initial)

    return rule


def _sums_of_exponentials(xp: Any, x: Any, axis: int, include_initial: bool = False) -> Any:
    # Avoid NumPy's warning for NaN among exponentials, like the generic version.
    nan = xp.isnan(x)
    total = scanned(xp.logaddexp, xp.where(nan, xp.zeros_like(x), x), axis)
    seen = xp.cumulative_sum(xp.astype(nan, index_dtype(xp, device_of(x))), axis=axis) > 0
    total = xp.where(seen, xp.full_like(total, math.nan), total)
    return with_initial(total, "logcumsumexp", axis, include_initial)


DERIVATIVES: Final[dict[str, Any]] = {
    "sorting.top_k": joint(
        lambda xp, tangents, out, x, k, axis, largest: (xp.take_along_axis(tangents["x"], out[1], axis=axis), None)
    )
}

DECOMPOSITIONS: Final[dict[str, Any]] = {
    "statistics.cumulative_max": _scan("cumulative_max", "maximum"),
    "statistics.cumulative_min": _scan("cumulative_min", "minimum"),
    "statistics.logcumsumexp": _sums_of_exponentials,
}

CONSTANT: Final[dict[str, str]] = {
    **{f"statistics.{name}": "its result is an index" for name in _INDICES},
    **{f"sorting.{name}": "its results are indices" for name in ("argpartition", "searchsorted")},
    "histograms.digitize": "its results are indices",
}


BATCHING: Final[dict[str, Any]] = {
    "sorting.searchsorted": lambda xp, mapped, x1, x2, sorter=None, side="left": searched(
        xp, (mapped["x1"], mapped["x2"], mapped.get("sorter")), x1, x2, sorter, side
    )
}

REASONS: Final[dict[str, str]] = {
    "sorting.searchsorted": "the values are of any shape where the sorted array is one row"
}


def _indices_dtype(namespace: Any, avals: Any, params: Any) -> Any:
    return index_dtype(namespace, device_of(avals[0]))


AXES: Final[dict[str, Axes]] = {
    "histograms.digitize": Axes("x:...,edges:[n]->...", dtype=_indices_dtype),
    "statistics.nansum": Axes("...(axis)->...", dtype=of_example("sum")),
    "statistics.nanprod": Axes("...(axis)->...", dtype=of_example("prod"), combine="prod"),
    **{f"statistics.{name}": Axes("...(axis)->...", combine=name) for name in ("nanmax", "nanmin")},
    **{f"statistics.{name}": Axes("...[(axis)]->...") for name in ("nanmean", "nanstd", "nanvar")},
    "statistics.ptp": Axes("...[(axis)]->...", check=nonempty("ptp")),
    **{f"statistics.{name}": Axes("...[(axis)]->...", dtype=of_example("argmax"), flat=True) for name in _INDICES},
    **{f"statistics.{name}": Axes("...[(axis)]->...[(axis:k)]", sizes=initial) for name in _CUMULATIVE},
    "sorting.argpartition": Axes("...[(axis)]->...[(axis)]", dtype=_indices_dtype),
    "sorting.partition": Axes("...[(axis)]->...[(axis)]"),
    "sorting.top_k": Axes(
        "...[(axis)]->...[(axis:k)],...[(axis:k)]",
        sizes=lambda lengths, k, **params: {"k": k},
        dtype=lambda namespace, avals, params: (avals[0].dtype, _indices_dtype(namespace, avals, params)),
    ),
}
