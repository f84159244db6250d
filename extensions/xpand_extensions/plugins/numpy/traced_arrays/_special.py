"""The part `special` of the traced namespace over NumPy: SciPy's special functions that xpand has, too."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import xpand_extensions.special as functions
from xpand_extensions.tracing._core import TracedArray

from ._arguments import floating

_INTEGERS_FIRST: Final = frozenset({"polygamma"})
"""Functions whose first argument is an integer order."""

NAMES: Final = frozenset(
    {
        *("betainc", "betaln", "digamma", "entr", "erf", "erfc", "erfcinv", "erfinv", "exp2", "expit", "gammainc"),
        *("gammaincc", "gammaln", "i0", "i0e", "i1", "i1e", "cbrt", "log_ndtr", "logit", "ndtr", "ndtri", "polygamma"),
        *("xlog1py", "xlogy", "zeta"),
    }
)
"""The elementwise functions that SciPy and xpand have under the same name, with the same meaning."""


class Special:
    """Elementwise special functions with SciPy's names, for numbers and arrays of any numeric data type."""

    def __init__(self, namespace: Any) -> None:
        self._namespace = namespace

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name not in NAMES:
            raise AttributeError(
                f"traced.numpy.special has no {name!r}; it has {', '.join(sorted(NAMES))}; other functions need "
                "`pure_callback`, with `custom_jvp` for a derivative",
                name=name,
            )
        return partial(_apply, self._namespace, name)


def _apply(namespace: Any, name: str, /, *args: Any) -> Any:
    exact = args[:1] if name in _INTEGERS_FIRST else ()
    arrays = [x if isinstance(x, float) else floating(namespace, x) for x in args[len(exact) :]]
    if not any(isinstance(x, TracedArray) for x in arrays):
        arrays = [floating(namespace, x) for x in arrays]
    return getattr(functions, name)(*exact, *arrays)
