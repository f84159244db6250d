"""Elementwise functions of sparse arrays that map zero to zero."""

from collections.abc import Callable
from typing import Any

from xpand import is_concrete
from xpand.extend import Array, DType, checks, describe

from .._where import clean_tracebacks
from ._containers import Sparse, namespace_of
from ._convert import container
from ._structure import sum_duplicates


@clean_tracebacks
def map_values(function: Callable[[Array], Array], a: Sparse, /) -> Any:
    """Apply an elementwise function that maps zero to zero, such as `xp.sin` or `xp.isnan`.

    Args:
        function: Takes an array, and returns an array of the same shape.
        a: A container. Entries at one position are summed first.

    Returns:
        A container of the same format, with the pattern of `a` if that is unique.

    Raises:
        TypeError: `a` is not sparse, or `function` can't be called.
        ValueError: `function` changes the shape, or does not map zero to zero (`xp.cos`).

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> map_values(np.sqrt, COO(np.asarray([4.0, 9.0]), (np.asarray([0, 2]),), (3,))).values
    array([2., 3.])
    """
    checks.function("map_values", function, "function")
    a = _unique(container("map_values", a))
    xp = namespace_of(a)
    zero = function(xp.zeros((1,), dtype=a.dtype, device=checks.device_of(a.values)))
    if is_concrete(zero) and not bool(zero[0] == 0):
        raise ValueError(
            f"map_values: function must map zero to zero, got {zero[0]}; the result isn't sparse, use `sparse.todense`"
        )
    values = function(a.values)
    if tuple(values.shape) != tuple(a.values.shape):
        raise ValueError(f"map_values: function must keep the shape {tuple(a.values.shape)}, got {tuple(values.shape)}")
    return a._replace(values)


def negative(a: Sparse, /) -> Any:
    """Return the negative of each element.

    Raises:
        TypeError: `a` is not sparse, or boolean.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> negative(COO(np.asarray([4.0, 9.0]), (np.asarray([0, 2]),), (3,))).values
    array([-4., -9.])
    """
    a = _of_kinds("negative", a, checks.NUMERIC)
    return a._replace(-a.values)


def abs(a: Sparse, /) -> Any:
    """Return absolute values, which are real for complex numbers. Entries at one position are summed first.

    Raises:
        TypeError: `a` is not sparse, or boolean.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> abs(COO(np.asarray([4.0, -9.0]), (np.asarray([0, 0]),), (3,))).values
    array([5.])
    """
    a = _unique(_of_kinds("abs", a, checks.NUMERIC))
    return a._replace(namespace_of(a).abs(a.values))


def sign(a: Sparse, /) -> Any:
    """Return signs. Entries at one position are summed first.

    Raises:
        TypeError: `a` is not sparse, or boolean.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> sign(COO(np.asarray([4.0, -9.0]), (np.asarray([0, 2]),), (3,))).values
    array([ 1., -1.])
    """
    a = _unique(_of_kinds("sign", a, checks.NUMERIC))
    return a._replace(namespace_of(a).sign(a.values))


def sqrt(a: Sparse, /) -> Any:
    """Return square roots. Entries at one position are summed first.

    Raises:
        TypeError: `a` is not sparse, or not of a floating-point data type.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> sqrt(COO(np.asarray([4.0, 9.0]), (np.asarray([0, 2]),), (3,))).values
    array([2., 3.])
    """
    a = _unique(_of_kinds("sqrt", a, checks.FLOATING))
    return a._replace(namespace_of(a).sqrt(a.values))


def square(a: Sparse, /) -> Any:
    """Return squares. Entries at one position are summed first.

    Raises:
        TypeError: `a` is not sparse, or boolean.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> square(COO(np.asarray([4.0, 9.0]), (np.asarray([0, 2]),), (3,))).values
    array([16., 81.])
    """
    a = _unique(_of_kinds("square", a, checks.NUMERIC))
    return a._replace(a.values * a.values)


def power(a: Sparse, /, exponent: float) -> Any:
    """Raise each element to a positive power. Entries at one position are summed first.

    Args:
        a: A container of a numeric data type.
        exponent: A number above zero; an integer if the data type of `a` is one.

    Raises:
        TypeError: `a` is not sparse, or boolean; or the exponent has another kind.
        ValueError: The exponent isn't positive: zero to that power is one or infinite.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> power(COO(np.asarray([2.0, 3.0]), (np.asarray([0, 2]),), (3,)), 3).values
    array([ 8., 27.])
    """
    a = _unique(_of_kinds("power", a, checks.NUMERIC))
    xp = namespace_of(a)
    if type(exponent) not in (int, float):
        raise TypeError(f"power: exponent must be a number, got {describe(exponent)}")
    if not exponent > 0:
        raise ValueError(f"power: exponent={exponent} must be positive: zero must stay zero; use `sparse.todense`")
    checks.castable("power", "exponent", xp, exponent, a.values, "a")
    return a._replace(a.values**exponent)


def conj(a: Sparse, /) -> Any:
    """Return complex conjugates; real arrays are returned unchanged.

    Raises:
        TypeError: `a` is not sparse, or boolean.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> conj(COO(np.asarray([1.0 + 2.0j]), (np.asarray([0]),), (3,))).values
    array([1.-2.j])
    """
    a = _of_kinds("conj", a, checks.NUMERIC)
    xp = namespace_of(a)
    return a._replace(xp.conj(a.values)) if xp.isdtype(a.dtype, "complex floating") else a


def real(a: Sparse, /) -> Any:
    """Return real parts; real arrays are returned unchanged.

    Raises:
        TypeError: `a` is not sparse, or boolean.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> real(COO(np.asarray([1.0 + 2.0j]), (np.asarray([0]),), (3,))).values
    array([1.])
    """
    a = _of_kinds("real", a, checks.NUMERIC)
    xp = namespace_of(a)
    return a._replace(xp.real(a.values)) if xp.isdtype(a.dtype, "complex floating") else a


def imag(a: Sparse, /) -> Any:
    """Return imaginary parts; for real arrays, zeros, which are stored.

    Raises:
        TypeError: `a` is not sparse, or boolean.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> imag(COO(np.asarray([1.0 + 2.0j]), (np.asarray([0]),), (3,))).values
    array([2.])
    """
    a = _of_kinds("imag", a, checks.NUMERIC)
    xp = namespace_of(a)
    return a._replace(xp.imag(a.values) if xp.isdtype(a.dtype, "complex floating") else xp.zeros_like(a.values))


def astype(a: Sparse, /, dtype: DType | str) -> Any:
    """Convert to another data type, or that of a name, as `xp.astype`.

    Entries at one position are summed first if the conversion could change their sums.

    Raises:
        TypeError: `a` is not sparse, or complex and `dtype` is real.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> astype(COO(np.asarray([1.5]), (np.asarray([0]),), (3,)), np.int64).values
    array([1])
    """
    a = container("astype", a)
    xp = namespace_of(a)
    dtype = checks.named_dtype("astype", xp, dtype)
    if dtype == a.dtype:
        return a
    if xp.isdtype(a.dtype, "complex floating") and not xp.isdtype(dtype, "complex floating"):
        raise TypeError(f"astype: a is complex, and {dtype} is not; take `sparse.real` or `sparse.imag` first")
    if checks.kind(xp, dtype) not in checks.FLOATING or checks.kind(xp, a.dtype) == "bool":
        a = _unique(a)
    return a._replace(xp.astype(a.values, dtype))


def _of_kinds(function: str, a: Any, kinds: frozenset[checks.Kind]) -> Sparse:
    a = container(function, a)
    checks.dtype(function, "a", namespace_of(a), a.values, kinds)
    found: Sparse = a
    return found


def _unique(a: Sparse) -> Sparse:
    found: Sparse = a if a.is_unique else sum_duplicates(a)
    return found
