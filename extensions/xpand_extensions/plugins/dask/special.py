"""Special functions on Dask: each block by its own library."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import dask.array as da

from xpand.extend import Array
from xpand_extensions import special

F = TypeVar("F", bound=Callable[..., Any])


def blockwise(function: F) -> F:
    """Make a function of arrays run on their blocks, which broadcast as the arrays would."""

    @wraps(function)
    def run(*arrays: Any) -> Any:
        return da.core.elemwise(function, *arrays, dtype=da.result_type(*arrays))

    return run  # type: ignore[return-value]


i0 = blockwise(special.i0)
i0e = blockwise(special.i0e)
i1 = blockwise(special.i1)
i1e = blockwise(special.i1e)

erf = blockwise(special.erf)
erfc = blockwise(special.erfc)
erfcinv = blockwise(special.erfcinv)
erfinv = blockwise(special.erfinv)
log_ndtr = blockwise(special.log_ndtr)
ndtr = blockwise(special.ndtr)
ndtri = blockwise(special.ndtri)

betainc = blockwise(special.betainc)
betaln = blockwise(special.betaln)
digamma = blockwise(special.digamma)
factorial = blockwise(special.factorial)
gammainc = blockwise(special.gammainc)
gammaincc = blockwise(special.gammaincc)
gammaln = blockwise(special.gammaln)
zeta = blockwise(special.zeta)


def polygamma(n: int, x: Array, /) -> Array:
    return blockwise(lambda block: special.polygamma(n, block))(x)


entr = blockwise(special.entr)
expit = blockwise(special.expit)
log_sigmoid = blockwise(special.log_sigmoid)
logit = blockwise(special.logit)
sigmoid = blockwise(special.sigmoid)
softplus = blockwise(special.softplus)
xlog1py = blockwise(special.xlog1py)
xlogy = blockwise(special.xlogy)

cbrt = blockwise(special.cbrt)
exp2 = blockwise(special.exp2)
rsqrt = blockwise(special.rsqrt)
sinc = blockwise(special.sinc)
