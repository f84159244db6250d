"""Reductions and statistics with the standard alone."""

from ._cumulative import cumulative_max, cumulative_min, gradient, logcumsumexp
from ._order import nanquantile, quantile
from ._reduce import (
    average,
    corrcoef,
    cov,
    nanargmax,
    nanargmin,
    nanmax,
    nanmean,
    nanmin,
    nanprod,
    nanstd,
    nansum,
    nanvar,
    ptp,
    reduce,
)
