"""Existing arrays in the precision that is set."""

from collections.abc import Callable
from typing import Any

from xpand import array_namespace, trees
from xpand._precision import PRECISION, current
from xpand.extend import Array, DType, Namespace, checks, default_dtype

from .._transforms import as_array
from .._transforms_patterns import flatten_values, unflatten

_Target = Callable[[Namespace, Array, Any], DType]


def to_float(tree: trees.Tree, /) -> trees.Tree:
    """Convert arrays to real floating-point numbers, of the precision that is set.

    Args:
        tree: An array, a Python number, or a tree of them: real, integer or boolean. Of sparse containers the values
            are converted.

    Returns:
        The tree, of arrays of the default real data type (see `default_dtype`). Where no precision is set,
        floating-point arrays stay unchanged. An array that has the data type already is returned as it is.

    Raises:
        TypeError: A leaf is no array and no number, or complex: take `xp.real` of it first.
        UnsupportedError: The library, or the device, lacks the data type.

    Source: PhiML's `to_float`.

    >>> import numpy as np
    >>> to_float(np.asarray([1, 2]))
    array([1., 2.])
    """
    return _converted("to_float", tree, _float_for)


def to_complex(tree: trees.Tree, /) -> trees.Tree:
    """Convert arrays to complex numbers, of the precision that is set.

    Args:
        tree: An array, a Python number, or a tree of them. Of sparse containers the values are converted.

    Returns:
        The tree, of arrays of the default complex data type (see `default_dtype`). Where no precision is set, complex
        arrays stay unchanged, and real ones become complex numbers whose parts are as exact. An array that has the
        data type already is returned as it is.

    Raises:
        TypeError: A leaf is no array and no number.
        UnsupportedError: The library, or the device, lacks the data type.

    Source: PhiML's `to_complex`.

    >>> import numpy as np
    >>> to_complex(np.asarray([1.0, 2.0], dtype=np.float32)).dtype
    dtype('complex64')
    """
    return _converted("to_complex", tree, _complex_for)


def to_int(tree: trees.Tree, /) -> trees.Tree:
    """Convert arrays to integers, of the precision that is set. The fraction is dropped.

    Args:
        tree: An array, a Python number, or a tree of them: real, integer or boolean. Of sparse containers the values
            are converted.

    Returns:
        The tree, of arrays of the default integer data type (see `default_dtype`). Where no precision is set, integer
        arrays stay unchanged. The result for a number that the data type can't hold, NaN included, is the
        library's affair. An array that has the data type already is returned as it is.

    Raises:
        TypeError: A leaf is no array and no number, or complex: take `xp.real` of it first.

    Source: PhiML's `to_int32` and `to_int64`.

    >>> import numpy as np
    >>> to_int(np.asarray([1.5, -1.5]))
    array([ 1, -1])
    """
    return _converted("to_int", tree, _int_for)


def _converted(function: str, tree: trees.Tree, target: _Target) -> trees.Tree:
    leaves, structure = flatten_values(tree)
    like = next((leaf for leaf in leaves if checks.is_array(leaf)), None)

    def convert(leaf: Any) -> Array:
        x = as_array(f"{function}: the tree holds", leaf, like)
        xp = array_namespace(x)
        kind = checks.kind(xp, x.dtype)
        if kind is None or (kind == "complex" and target is not _complex_for):
            raise TypeError(
                f"{function}: takes real, integer and boolean arrays, got {x.dtype}; take `xp.real(x)` of complex "
                "numbers first"
            )
        dtype = target(xp, x, kind)
        return x if dtype == x.dtype else xp.astype(x, dtype)

    return unflatten(structure, [convert(leaf) for leaf in leaves])


def _is_set() -> bool:
    return PRECISION.active and current() is not None


def _float_for(xp: Namespace, x: Array, kind: Any) -> DType:
    return x.dtype if kind == "real" and not _is_set() else default_dtype(xp, "real floating", checks.device_of(x))


def _complex_for(xp: Namespace, x: Array, kind: Any) -> DType:
    if kind in checks.FLOATING and not _is_set():
        if kind == "complex":
            return x.dtype
        return xp.complex128 if x.dtype == xp.float64 else xp.complex64
    return default_dtype(xp, "complex floating", checks.device_of(x))


def _int_for(xp: Namespace, x: Array, kind: Any) -> DType:
    if kind in checks.INTEGERS and not _is_set():
        return x.dtype
    return default_dtype(xp, "integral", checks.device_of(x))
