"""Special functions on PyTorch: by its kernels if they are exact, or by NumPy's plug-in, which uses SciPy.

In float64, PyTorch's `polygamma(1, x)` is off by 4e6 ulps, and its `gammainc` by 2e6. `gammainc` has no derivative in
`a`, and `zeta` has none in `s`.
"""

import math
from collections.abc import Callable
from functools import cache, wraps
from types import ModuleType
from typing import Any, Final

import torch
from torch.nn import functional

from xpand import is_concrete
from xpand.extend import LibraryArray as Array
from xpand.torch._dtypes import SIGNED
from xpand_extensions._dtypes import widened
from xpand_extensions._optional import import_if_usable
from xpand_extensions.generic import special as generic
from xpand_extensions.generic._blocks import in_blocks
from xpand_extensions.generic.special._gamma import factorials

from ._plain import is_on_host, on_host
from .bridge import by_rules

_WITH_KERNELS: Final = (torch.float32, torch.float64)
_MINUS_ROOT_HALF: Final = -math.sqrt(0.5)


def _has_values(x: Array) -> bool:
    """Return whether an array has values and needs no derivative."""
    return is_concrete(x) and not x.requires_grad


def _may_write(x: Array) -> bool:
    """Return whether an array has values on the CPU, and needs no derivative."""
    return x.device.type == "cpu" and _has_values(x)


def _corrected(
    native: Callable[[Array], Array], other: Callable[[Array], Array], where: Callable[[Array], Array], ordinary: float
) -> Callable[[Array], Array]:
    """Return a function that uses `other` for elements for which `where` is True, and `native` for all others.

    With concrete values, `other` computes only its elements. Otherwise both compute all elements. Each gets `ordinary`,
    a number for which `where` is False, in place of the elements of the other, so that derivatives stay finite.
    """

    def run(x: Array, /) -> Array:
        if _may_write(x):
            chosen = where(x)
            result = native(x)
            if chosen.any():
                result[chosen] = other(x[chosen])
            return result
        chosen = where(x)
        return torch.where(chosen, other(torch.where(chosen, x, ordinary)), native(torch.where(chosen, ordinary, x)))

    return run


# ---------------------------------------------------------------------------------------------------------------------
# The gamma function's family


@cache
def _host() -> ModuleType | None:
    """Return NumPy's plug-in; None if SciPy is not installed. Its import takes a tenth of a second, so it is late."""
    return import_if_usable("xpand_extensions.plugins.numpy.special")


def _on_host(name: str, other: Callable[..., Array], most: float = math.inf) -> Callable[..., Array]:
    """Make a function that calls NumPy's plug-in for up to `most` values that NumPy can read, and otherwise `other`."""

    @wraps(other)
    def run(*tensors: Array) -> Array:
        host = _host() if is_on_host(*tensors) and tensors[0].numel() <= most else None
        if host is not None:
            return on_host(getattr(host, name), *tensors)
        return other(*tensors)

    return run


gammainc = _on_host("gammainc", in_blocks(generic.gammainc, _may_write))
gammaincc = _on_host("gammaincc", in_blocks(generic.gammaincc, _may_write))
betainc = _on_host("betainc", in_blocks(generic.betainc, _may_write))
zeta = _on_host("zeta", in_blocks(generic.zeta, _may_write))
# PyTorch's digamma is off by 1e3 ulps near its zero. For many numbers it is faster than SciPy's, by several threads.
_digamma = _on_host(
    "digamma",
    _corrected(torch.special.digamma, generic.digamma, lambda x: (x - 1.4616).abs() < 0.3, 1.0),
    most=1 << 14,
)


gammaln = by_rules("special.gammaln")(widened(torch.special.gammaln))
digamma = by_rules("special.digamma")(widened(_digamma))


@by_rules("special.polygamma")
def polygamma(n: int, x: Array, /) -> Array:
    return generic.polygamma(n, x) if n else digamma(x)


def factorial(x: Array, /) -> Array:
    if x.dtype not in SIGNED:
        return generic.factorial(x)
    # The numbers of uint64 that are too large for int64 become negative, in the index and in the table.
    index = x.view(torch.int64) if x.dtype == torch.uint64 else x.to(torch.int64)
    found = factorials(torch.iinfo(x.dtype).max)
    last = len(found) - 1
    table = torch.tensor([n - 2**64 if n >= 2**63 else n for n in found], device=x.device)
    result = table[torch.where(index < 0, last, index.clamp(max=last))]
    return result.view(torch.uint64) if x.dtype == torch.uint64 else result.to(x.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Bessel functions: finite as far as the function is, and infinite at infinity


def _beyond(x: Array) -> Array:
    """Return whether exp(x) nearly overflows, which PyTorch's function uses."""
    return x.abs() > (709.0 if x.dtype == torch.float64 else 88.0)


def _is_zero(x: Array) -> Array:
    """Return whether elements are 0 or NaN: PyTorch loses the sign of zeros, and its derivatives are wrong at both."""
    return ~(x.abs() > 0.0)


i0 = widened(_corrected(torch.special.i0, generic.i0, _beyond, 1.0))
i0e = widened(torch.special.i0e)
i1 = widened(_corrected(torch.special.i1, generic.i1, lambda x: _beyond(x) | _is_zero(x), 1.0))
i1e = widened(_corrected(torch.special.i1e, generic.i1e, _is_zero, 1.0))

# ---------------------------------------------------------------------------------------------------------------------
# The error function's family

erf = torch.special.erf
erfc = torch.special.erfc
erfinv = torch.special.erfinv
# Outside (0, 2) and at its ends, the generic function is constant; the derivative of the other is infinite or NaN.
erfcinv = _corrected(generic.erfcinv, lambda x: erfinv(1.0 - x), lambda x: ~((x > 0.0) & (x < 2.0)), 1.0)


def ndtri(x: Array, /) -> Array:
    return torch.special.ndtri(x) if x.dtype in _WITH_KERNELS else generic.ndtri(x)


def log_ndtr(x: Array, /) -> Array:
    # PyTorch has no batching rule for its function: vmap would loop over the lanes, and warn.
    own = x.dtype in _WITH_KERNELS and is_concrete(x)
    return torch.special.log_ndtr(x) if own else generic.log_ndtr(x)


def ndtr(x: Array, /) -> Array:
    return torch.special.erfc(x * _MINUS_ROOT_HALF) * 0.5  # PyTorch's `ndtr` loses the lower tail


# ---------------------------------------------------------------------------------------------------------------------
# The logistic function and related functions

sigmoid = expit = torch.special.expit
log_sigmoid = functional.logsigmoid
logit = torch.special.logit
entr = torch.special.entr


def xlogy(x: Array, y: Array, /) -> Array:
    # PyTorch's derivatives are NaN if both factors are 0.
    return torch.special.xlogy(x, y) if _has_values(x) and _has_values(y) else generic.xlogy(x, y)


def xlog1py(x: Array, y: Array, /) -> Array:
    return torch.special.xlog1py(x, y) if _has_values(x) and _has_values(y) else generic.xlog1py(x, y)


def softplus(x: Array, /) -> Array:
    # From a threshold on, PyTorch returns x. Its default of 20 has errors of 1e-10 in float64.
    return functional.softplus(x, 1.0, 40.0)


def logsumexp(x: Array, /, *, axis: Any = None, keepdims: bool = False, b: Array | None = None) -> Array:
    if b is not None or not axis:
        return generic.logsumexp(x, axis=axis, keepdims=keepdims, b=b)
    return torch.logsumexp(x, axis, keepdims)


def softmax(x: Array, /, *, axis: int = -1) -> Array:
    return torch.softmax(x, axis)


def log_softmax(x: Array, /, *, axis: int = -1) -> Array:
    return torch.log_softmax(x, axis)


# ---------------------------------------------------------------------------------------------------------------------
# Powers and roots

exp2 = torch.special.exp2
rsqrt = torch.rsqrt


def sinc(x: Array, /) -> Array:
    # The second derivative of PyTorch's is NaN at 0.
    if x.dtype not in _WITH_KERNELS or not _has_values(x):
        return generic.sinc(x)
    return torch.special.sinc(x).masked_fill_(x.abs() > 1e30, 0.0)  # PyTorch returns NaN at infinities


def cbrt(x: Array, /) -> Array:
    if x.dtype not in _WITH_KERNELS or not _has_values(x):
        return generic.cbrt(x)
    # Newton's step of the generic function, in place. At 0 and infinities it would be NaN.
    a = x.abs()
    y = a ** (1.0 / 3.0)
    return a.div_(y * y).sub_(y).div_(3.0).nan_to_num_(0.0).add_(y).copysign_(x)
