"""Shared code of the backends."""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from xpand import array_namespace, linalg
from xpand.extend import device_of, is_array
from xpand.typing import Array

NUMBERS = frozenset({bool, int, float, complex})


def same_as(xp: Any, names: tuple[str, ...], reductions: tuple[str, ...]) -> dict[str, Any]:
    """Find the functions of the standard that a package calls the same way: `name`, or `theirs=standard`.

    Functions of `xp.linalg` are written as `linalg.name`. `reductions` take the axis by position.
    """
    found = {}
    for each in names:
        path, _, standard = each.partition("=")
        name = path.rpartition(".")[2]
        value = attrgetter(standard or path)(xp)
        found[name] = staticmethod(value) if callable(value) else value
    return found | {name: staticmethod(reduction(getattr(xp, name))) for name in reductions}


def reduction(function: Callable[..., Array]) -> Callable[..., Array]:
    """Let a reduction of the standard take the axis by position, as the packages do."""

    def reduce(x: Array, axis: Any = None, **options: Any) -> Array:
        return function(x, axis=axis, **options)

    return reduce


def array(xp: Any, values: Any, dtype: Any = None, device: Any = None) -> Array:
    """Make an array of an array, of numbers, or of nested lists of both."""
    if isinstance(values, (list, tuple)) and holds_arrays(values):
        if all(is_array(value) and array_namespace(value) is xp for value in values):
            values = xp.stack(values)
        else:
            return xp.stack([array(xp, value, dtype, device) for value in values])
    return xp.asarray(values, dtype=dtype, device=device)


def holds_arrays(values: Any) -> bool:
    """Return whether nested lists have arrays in them."""
    if isinstance(values, (list, tuple)):
        return not NUMBERS.issuperset(map(type, values)) and any(map(holds_arrays, values))
    return is_array(values)


def diag(xp: Any, x: Array, k: int = 0) -> Array:
    """Return the diagonal of a matrix, or the matrix with a vector on its diagonal: `numpy.diag`."""
    if x.ndim == 2:
        return linalg.diagonal(x, offset=k)
    like = {"dtype": x.dtype, "device": device_of(x)}
    values = xp.concat([x, xp.zeros((abs(k),), **like)])
    on_diagonal = xp.eye(values.shape[0], k=k, dtype=xp.bool, device=like["device"])
    return xp.where(on_diagonal, values[:, None] if k > 0 else values, xp.zeros((), **like))
