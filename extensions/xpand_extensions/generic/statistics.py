"""Reductions and statistics with the standard alone."""

from ._statistics_cumulative import cumulative_max, cumulative_min, logcumsumexp
from ._statistics_gradient import gradient
from ._statistics_moments import corrcoef, cov
from ._statistics_nan import nanargmax, nanargmin, nanmax, nanmean, nanmin, nanprod, nanstd, nansum, nanvar
from ._statistics_order import nanquantile, quantile
from ._statistics_reduce import average, ptp, reduce

__all__ = [
    "average",
    "corrcoef",
    "cov",
    "cumulative_max",
    "cumulative_min",
    "gradient",
    "logcumsumexp",
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "ptp",
    "quantile",
    "reduce",
]
