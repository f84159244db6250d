"""Reductions and statistics that the standard lacks.

The namespace has `sum`, `prod`, `min`, `max`, `mean`, `var`, `std`, `cumulative_sum`, `cumulative_prod` and `diff`.
"""

from typing import TYPE_CHECKING

from .._elsewhere import elsewhere
from ._cumulative import cumulative_max, cumulative_min, gradient, logcumsumexp
from ._moments import kurtosis, skew
from ._nan import nanargmax, nanargmin, nanmax, nanmean, nanmin, nanprod, nanstd, nansum, nanvar
from ._order import Method, median, nanmedian, nanquantile, quantile
from ._ranks import Mode, Ties, mode, rankdata
from ._reduce import average, corrcoef, cov, ptp, reduce

__all__ = [
    "Method",
    "Mode",
    "Ties",
    "average",
    "corrcoef",
    "cov",
    "cumulative_max",
    "cumulative_min",
    "gradient",
    "kurtosis",
    "logcumsumexp",
    "median",
    "mode",
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "ptp",
    "quantile",
    "rankdata",
    "reduce",
    "skew",
]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = elsewhere(__name__)
