"""Reductions and statistics with the standard alone."""

from ._cumulative import cumulative_max, cumulative_min, gradient, logcumsumexp
from ._moments import kurtosis, skew
from ._order import nanquantile, quantile
from ._ranks import mode, rankdata
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
