"""Random permutations, and random choices of elements."""

import math
from typing import Any, Literal

from xpand import check, is_concrete
from xpand.extend import Array, Key, checks

from .._dispatch import pluggable
from .._elsewhere import arguments_elsewhere
from ._arguments import arrays_of, as_array, float_dtype, key_of


@arguments_elsewhere()
@pluggable
def permutation(key: Key, /, x: Array | int, axis: int = 0, independent: bool = False) -> Array:
    """Permute an array, or a range of integers, at random.

    Args:
        key: A key.
        x: An array with at least one axis, of any data type; or a number n, for the integers from 0 to n - 1.
        axis: The axis to permute.
        independent: Whether each slice along the axis gets its own order; otherwise all slices get the same order.

    Returns:
        An array of the shape and data type of `x`; for a number, integers of the default data type, on the key's
        device. All orders are equally likely.

    Raises:
        TypeError: `key` is not a key, or `x` is neither an array nor an integer.
        ValueError: A key of the wrong shape, a negative number, no such axis, an array without axes, or an array on
            another device.

    Sorts by random bits, several times for large sizes.

    Source: `jax.random.permutation`, bit for bit.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.permutation(random.key(0), 5)
    array([0, 1, 4, 3, 2])
    """
    _, key = key_of("permutation", key)
    checks.boolean("permutation", "independent", independent)
    x = _number_or_array(x)
    if not checks.is_array(x):
        number = checks.integer("permutation", "x", x, minimum=0)
        checks.axis("permutation", axis, 1)
        return permutation.native(key)(key, number, 0, True)
    axes = len(_population("permutation", key, x))
    axis = checks.axis("permutation", axis, axes)
    return permutation.native(key, x)(key, x, axis, independent or axes == 1)


def shuffle(key: Key, /, x: Array, axis: int = 0) -> Array:
    """Shuffle the elements of an array along an axis, each slice independently.

    Args:
        key: A key.
        x: An array with at least one axis. It is not changed.
        axis: The axis.

    Returns:
        A new array: `permutation(key, x, axis, independent=True)`.

    Raises:
        TypeError, ValueError: As `permutation`.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.shuffle(random.key(0), np.asarray([[1, 2], [3, 4], [5, 6]]))
    array([[1, 2],
           [5, 6],
           [3, 4]])
    """
    return permutation(key, x, axis, independent=True)


@arguments_elsewhere()
@pluggable
def choice(
    key: Key,
    /,
    a: Array | int,
    shape: Any = (),
    replace: bool = True,
    p: Array | None = None,
    axis: int = 0,
    mode: Literal["low", "high", "highest"] | None = None,
) -> Array:
    """Choose elements of an array, or of a range of integers, at random.

    Args:
        key: A key.
        a: An array with at least one axis; or a number n, for the integers from 0 to n - 1.
        shape: The shape of the result.
        replace: Whether an element may be chosen more than once.
        p: The probabilities of the elements: an array of one axis that sums to 1. None: all are equally likely.
            Elements of probability 0 are chosen only if there are no others.
        axis: The axis of `a` along which to choose.
        mode: The number of random bits of a choice with `p` and without replacement, as in `gumbel`.

    Returns:
        An array like `a`, with `shape` in place of the axis; for a number, integers of the default data type.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, `a` or `p` has a wrong kind or another library.
        ValueError: A key of the wrong shape, no such axis, nothing to choose from, more choices without replacement
            than elements, `p` of another size, or (if concrete) with negative elements or a sum other than 1.

    Source: `jax.random.choice`, bit for bit; with `p`, up to rounding of the cumulative sums.

    >>> import numpy as np
    >>> from xpand import random
    >>> random.choice(random.key(0), np.asarray([10, 20, 30]), (4,))
    array([10, 30, 30, 30])
    """
    _, key = key_of("choice", key)
    checks.boolean("choice", "replace", replace)
    checks.choice("choice", "mode", mode, ("low", "high", "highest", None))
    shape = checks.shape("choice", "shape", shape)
    a = _number_or_array(a)
    if checks.is_array(a):
        sizes = _population("choice", key, a)
        axis = checks.axis("choice", axis, len(sizes))
        number = sizes[axis]
    else:
        number = a = checks.integer("choice", "a", a, minimum=0)
        axis = checks.axis("choice", axis, 1)
    drawn = math.prod(shape)
    if drawn and not number:
        raise ValueError("choice: a has nothing to choose from; pass at least one element, or an empty shape")
    if not replace and drawn > number:
        raise ValueError(f"choice: takes at most {number} of {number} without replacement, got shape={shape}")
    if p is None:
        return choice.native(key, *arrays_of(a))(key, a, shape, replace, None, axis, mode)
    p = _probabilities(key, p, number)
    return choice.native(key, p, *arrays_of(a))(key, a, shape, replace, p, axis, mode)


def _number_or_array(x: Any) -> Any:
    """Convert an integer array without axes, such as NumPy's integers, to a number; return other objects unchanged."""
    if not checks.is_array(x) or x.ndim or not is_concrete(x) or checks.kind_of(x) not in ("signed", "unsigned"):
        return x
    return int(x)


def _population(function: str, key: Key, x: Array) -> tuple[int, ...]:
    """Check an array to permute or to choose from; return its shape."""
    name = "x" if function == "permutation" else "a"
    checks.together(function, **{"key": key, name: x})
    if not x.ndim:
        raise ValueError(f"{function}: {name} must have at least one axis; for a range pass a Python integer")
    return checks.known_shape(function, name, x)


def _probabilities(key: Key, p: Array, number: int) -> Array:
    if not checks.is_array(p):
        raise TypeError(f"choice: p must be an array, got {p!r}; turn lists into arrays with `xp.asarray`")
    key_of("choice", key)
    xp = checks.namespace_of("choice", key=key, p=p)
    dtype = float_dtype("choice", xp, None, key)
    if checks.kind(xp, p.dtype) == "real":
        dtype = p.dtype
    (p,) = as_array("choice", xp, key, dtype, {"p": p}, checks.REAL_VALUED)
    if tuple(p.shape) != (number,):
        raise ValueError(f"choice: p must have a probability for each of {number}, got the shape {tuple(p.shape)}")
    check(xp.all(p >= 0.0), "choice: p must hold probabilities, not below 0")
    check(xp.abs(xp.sum(p) - 1.0) < 1e-3, "choice: p must sum to 1; divide it by its sum")
    return p
