"""Short descriptions of arrays, for logs and messages."""

import math
from typing import Any, cast

from . import _arguments
from ._namespace import array_namespace, is_concrete, library_name
from .typing import Array

__all__ = ["inspect", "nbytes"]
__dir__ = __all__.copy


def inspect(x: Array, /, *, limit: int = 8) -> str:
    """Describe an array in one line, in the same form on every library.

    Args:
        x: An array of any library, concrete, traced or lazy.
        limit: The largest number of elements to show, from the first rows.

    Returns:
        The library, data type, shape, device, and the first elements. Floating-point numbers have six digits. For
        traced and lazy arrays, "values not known yet" replaces the elements, and nothing is computed. At most `limit`
        elements leave the array's device.

    Raises:
        TypeError: `x` is not an array, or `limit` is not an integer.
        ValueError: `limit` is negative.

    Source: Nx's `inspect`.

    >>> import numpy as np
    >>> inspect(np.asarray([[1.0, 2.0], [3.0, 4.0]]))
    'numpy float64[2, 2] on cpu: [[1, 2], [3, 4]]'
    >>> inspect(np.arange(1000), limit=3)
    'numpy int64[1000] on cpu: [0, 1, 2, …]'
    """
    xp = _arguments.namespace_of("inspect", x=x)
    limit = _arguments.integer("inspect", "limit", limit, minimum=0)
    shape = ", ".join("?" if size is None or size != size else str(size) for size in cast("tuple[Any, ...]", x.shape))
    head = f"{library_name(xp)} {str(x.dtype).rpartition('.')[2]}[{shape}]"
    device = _arguments.device_of(x)
    head += "" if device is None else f" on {device}"
    if not is_concrete(x):
        return f"{head}: values not known yet"
    return f"{head}: {_elements(_corner(x, limit), tuple(x.shape))}"


def nbytes(x: Array, /) -> int:
    """Return the number of bytes of an array's elements, also for lazy arrays and for views.

    Raises:
        TypeError: `x` is not an array, or its data type is not in the standard.
        ValueError: The sizes of a lazy array are unknown.

    Source: `numpy.ndarray.nbytes`; PhiML's `sizeof`.

    >>> import numpy as np
    >>> nbytes(np.ones((2, 3), dtype=np.complex64))
    48
    """
    xp = _arguments.namespace_of("nbytes", x=x)
    match _arguments.kind(xp, x.dtype):
        case "bool":
            bits = 8
        case "signed" | "unsigned":
            bits = xp.iinfo(x.dtype).bits
        case "real":
            bits = xp.finfo(x.dtype).bits
        case "complex":  # `bits` is the size of one part
            bits = 2 * xp.finfo(x.dtype).bits
        case _:
            raise TypeError(f"nbytes: x must have a data type of the standard, got {x.dtype}")
    return math.prod(_arguments.known_shape("nbytes", "x", x)) * int(bits) // 8


def _corner(x: Array, limit: int) -> Array:
    """Return the first elements: whole rows up to the limit, then the start of the next row."""
    counts: list[int] = []
    room = limit
    for size in reversed(x.shape):
        counts.append(min(size, room))
        room = max(room // max(size, 1), min(limit, 1))
    return x[tuple(slice(count) for count in reversed(counts))] if counts else x


def _elements(x: Array, whole: tuple[int, ...]) -> str:
    if not whole:
        return _number(x)
    parts = [_elements(x[i, ...], whole[1:]) for i in range(x.shape[0])]
    if len(parts) < whole[0]:
        parts.append("…")
    return f"[{', '.join(parts)}]"


def _number(x: Array) -> str:
    try:
        kind = _arguments.kind_of(x)
    except TypeError:  # keys of JAX's random numbers
        kind = None
    match kind:
        case "bool":
            return str(bool(x))
        case "signed":
            return str(int(x))
        case "unsigned":  # in two halves: PyTorch cannot read numbers above the range of int64
            xp = array_namespace(x)
            half = xp.full((), 2 ** (8 * xp.iinfo(x.dtype).bits // 16), dtype=x.dtype, device=_arguments.device_of(x))
            return str(int(xp.floor_divide(x, half)) * int(half) + int(xp.remainder(x, half)))
        case "real":
            return f"{float(x):.6g}"
        case "complex":
            value = complex(x)
            return f"{value.real:.6g}{value.imag:+.6g}j"
    return " ".join(str(x).split())
