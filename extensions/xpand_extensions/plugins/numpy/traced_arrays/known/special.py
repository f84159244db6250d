"""SciPy's universal functions. This module is imported when SciPy's are in use.

Functions with a counterpart in `xpand_extensions.special` are that. The others are SciPy's own, called on the values of
traced arrays, with derivatives by the formulas of the table: of the result and the arguments.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

import numpy as np
import scipy.special as sc

from xpand_extensions import special as own

from ._host import Derivative, host_function
from ._special_derivatives import DERIVATIVES

Implementation = Callable[..., Any]

_OWN: Final[dict[str, Callable[..., Any]]] = {
    **{
        name: getattr(own, name)
        for name in (
            *("betainc", "betaln", "cbrt", "digamma", "entr", "erf", "erfc", "erfcinv", "erfinv", "exp2", "expit"),
            *("gammainc", "gammaincc", "gammaln", "i0", "i0e", "i1", "i1e", "log_ndtr", "logit", "ndtr", "ndtri"),
            *("xlog1py", "xlogy"),
        )
    },
    "expm1": np.expm1,
    "log1p": np.log1p,
    "log_expit": own.log_sigmoid,
    "_riemann_zeta": own.zeta,
    "_zeta": own.zeta,
    # Distributions
    "betaincc": lambda a, b, x: own.betainc(b, a, 1 - x),
    "btdtr": own.betainc,
    "chdtr": lambda v, x: own.gammainc(v / 2, x / 2),
    "chdtrc": lambda v, x: own.gammaincc(v / 2, x / 2),
    "fdtr": lambda n, d, x: own.betainc(n / 2, d / 2, n * x / (d + n * x)),
    "fdtrc": lambda n, d, x: own.betainc(d / 2, n / 2, d / (d + n * x)),
    "gdtr": lambda a, b, x: own.gammainc(b, a * x),
    "gdtrc": lambda a, b, x: own.gammaincc(b, a * x),
    "pdtr": lambda k, m: own.gammaincc(np.floor(k) + 1, m),
    "pdtrc": lambda k, m: own.gammainc(np.floor(k) + 1, m),
}
"""Functions of real numbers that are functions of xpand and NumPy."""


def function_of(ufunc: np.ufunc) -> Implementation | None:
    """Return the function of a traced namespace for a universal function of SciPy; None for others."""
    name = _names().get(ufunc)
    return None if name is None else _function(ufunc, name)


@cache
def _function(ufunc: np.ufunc, name: str) -> Implementation:
    derivatives = DERIVATIVES.get(name, ())
    of_values = host_function(ufunc, name.lstrip("_"), _for_each_argument(derivatives, ufunc.nin))
    function = _OWN.get(name)
    if function is None:
        return of_values

    def real(xp: Any, *arrays: Any) -> Any:
        return function(*arrays) if all(x.dtype.kind == "f" for x in arrays) else of_values(xp, *arrays)

    return real


def _for_each_argument(derivatives: Sequence[Derivative | None], count: int) -> list[Derivative | None]:
    return [*derivatives, *[None] * (count - len(derivatives))]


def unwrapped(function: Any) -> Any:
    """Return the function that SciPy wraps for other libraries if the environment has `SCIPY_ARRAY_API`."""
    return getattr(function, "__wrapped__", function)


@cache
def _names() -> dict[np.ufunc, str]:
    """Return the names of SciPy's universal functions. Aliases have the name in the tables."""
    functions = {name: unwrapped(x) for name, x in vars(sc).items()}
    names = {x: name for name, x in functions.items() if isinstance(x, np.ufunc)}
    names |= {x: name for name, x in functions.items() if isinstance(x, np.ufunc) and name in (*_OWN, *DERIVATIVES)}
    return names | {x: x.__name__ for x in _within_functions()}


def _within_functions() -> list[np.ufunc]:
    """Return universal functions that SciPy's functions apply to their arguments."""
    zeta, lambertw = unwrapped(sc.zeta), unwrapped(sc.lambertw)
    calls: tuple[Callable[[Any], Any], ...] = (zeta, lambda x: zeta(x, x), lambertw)
    return [ufunc for ufunc in (call(_Recorder()) for call in calls) if isinstance(ufunc, np.ufunc)]


class _Recorder:
    """An operand for which a universal function returns itself."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return ufunc
