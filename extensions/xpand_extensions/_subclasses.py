"""Refuse subclasses of NumPy's arrays whose meaning is more than their data, unless the library computes the result."""

from typing import Final

from xpand import UnsupportedError
from xpand._subclasses import more_than_data as more_than_data


def refuse_subclass(what: str, cls: type) -> None:
    """Raise for a class of arrays whose meaning is more than their data."""
    refused = more_than_data(cls)
    if refused:
        raise UnsupportedError(f"{what}: not available for {refused}")


_FUNCTIONS_OF_ELEMENTS: Final = (
    *("i0", "i0e", "i1", "i1e", "erf", "erfc", "erfinv", "erfcinv", "ndtr", "ndtri", "log_ndtr", "digamma", "gammainc"),
    *("gammaincc", "betainc", "sigmoid", "expit", "logit", "softplus", "logsumexp", "softmax", "log_softmax", "xlogy"),
    *("xlog1py", "entr", "sinc", "cbrt", "rsqrt", "exp2"),
)
ALSO_FOR_SUBCLASSES: Final = frozenset(
    {
        "autodiff.is_differentiated",
        "autodiff.stop_gradient",
        "control_flow.cond",
        "control_flow.fori_loop",
        "control_flow.switch",
        "control_flow.while_loop",
        "convert",
        "debug",
        "devices",
        "jit.jit",
        "jit.named_call",
        "progress",
        *(f"special.{name}" for name in _FUNCTIONS_OF_ELEMENTS),
    }
)
"""Capabilities and operations whose results for masked arrays, matrices and arrays with units are the library's own.

Others would lose the mask or the class, so they refuse such arrays.
"""
