"""Special functions on Dask: each block by its own library."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import dask.array as da

from xpand.extend import Array
from xpand_extensions import special

F = TypeVar("F", bound=Callable[..., Any])


def _blockwise(function: F) -> F:
    """Return a function that applies `function` to blocks, which broadcast as the arrays do."""

    @wraps(function)
    def run(*arrays: Any) -> Any:
        return da.core.elemwise(function, *arrays, dtype=da.result_type(*arrays))

    return run  # type: ignore[return-value]


i0 = _blockwise(special.i0)
i0e = _blockwise(special.i0e)
i1 = _blockwise(special.i1)
i1e = _blockwise(special.i1e)

erf = _blockwise(special.erf)
erfc = _blockwise(special.erfc)
erfcinv = _blockwise(special.erfcinv)
erfinv = _blockwise(special.erfinv)
log_ndtr = _blockwise(special.log_ndtr)
ndtr = _blockwise(special.ndtr)
ndtri = _blockwise(special.ndtri)

betainc = _blockwise(special.betainc)
betaln = _blockwise(special.betaln)
digamma = _blockwise(special.digamma)
factorial = _blockwise(special.factorial)
gammainc = _blockwise(special.gammainc)
gammaincc = _blockwise(special.gammaincc)
gammaln = _blockwise(special.gammaln)
zeta = _blockwise(special.zeta)


def polygamma(n: int, x: Array, /) -> Array:
    return _blockwise(lambda block: special.polygamma(n, block))(x)


entr = _blockwise(special.entr)
expit = _blockwise(special.expit)
log_sigmoid = _blockwise(special.log_sigmoid)
logit = _blockwise(special.logit)
sigmoid = _blockwise(special.sigmoid)
softplus = _blockwise(special.softplus)
xlog1py = _blockwise(special.xlog1py)
xlogy = _blockwise(special.xlogy)

cbrt = _blockwise(special.cbrt)
exp2 = _blockwise(special.exp2)
rsqrt = _blockwise(special.rsqrt)
sinc = _blockwise(special.sinc)
