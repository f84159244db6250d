"""The logistic function and related functions on NumPy: SciPy's, and NumPy's own functions where those are faster."""

from typing import Any

import numpy as np
import scipy.special

from xpand.extend import Array
from xpand_extensions._width import widened
from xpand_extensions.generic import special as generic

from .._scipy import scipy_or

sigmoid = expit = scipy_or(scipy.special.expit, generic.sigmoid)
logit = scipy_or(scipy.special.logit, generic.logit)
entr = scipy_or(scipy.special.entr, generic.entr)
xlogy = scipy_or(scipy.special.xlogy, generic.xlogy)
xlog1py = scipy_or(scipy.special.xlog1py, generic.xlog1py)


def softplus(x: Array, /) -> Array:
    # Half the time of logaddexp, which has no vector instructions.
    return np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0.0)


def log_sigmoid(x: Array, /) -> Array:
    return np.minimum(x, 0.0) - np.log1p(np.exp(-np.abs(x)))


@widened
def logsumexp(x: Array, /, *, axis: Any = None, keepdims: bool = False, b: Array | None = None) -> Array:
    if b is not None or x.size == 0 or not axis:
        return generic.logsumexp(x, axis=axis, keepdims=keepdims, b=b)
    largest = x.max(axis=axis, keepdims=True)
    largest = np.where(np.isinf(largest), largest.dtype.type(0), largest)
    with np.errstate(divide="ignore", over="ignore"):
        result = np.log(np.exp(x - largest).sum(axis=axis, keepdims=True)) + largest
    return result if keepdims else result.squeeze(axis)


@widened
def softmax(x: Array, /, *, axis: int = -1) -> Array:
    if x.size == 0:
        return x.copy()
    with np.errstate(invalid="ignore"):
        result = x - x.max(axis=axis, keepdims=True)
    np.exp(result, out=result)
    result /= result.sum(axis=axis, keepdims=True)
    return result


@widened
def log_softmax(x: Array, /, *, axis: int = -1) -> Array:
    if x.size == 0:
        return x.copy()
    with np.errstate(invalid="ignore"):
        result = x - x.max(axis=axis, keepdims=True)
    result -= np.log(np.exp(result).sum(axis=axis, keepdims=True))
    return result
