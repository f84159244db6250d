"""Shared code of the backends."""

from typing import Any

import xpand
from xpand.typing import Array
from xpand_extensions import linalg


def same_as(xp: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Find the functions of the standard that a package calls the same way: `name`, or `theirs=standard`."""
    found = {}
    for each in names:
        name, _, standard = each.partition("=")
        value = getattr(xp, standard or name)
        found[name] = staticmethod(value) if callable(value) else value
    return found


def array(xp: Any, values: Any, dtype: Any = None, device: Any = None) -> Array:
    """Make an array of an array, of numbers, or of nested lists of both."""
    if isinstance(values, (list, tuple)) and holds_arrays(values):
        return xp.stack([array(xp, value, dtype, device) for value in values])
    return xp.asarray(values, dtype=dtype, device=device)


def holds_arrays(values: Any) -> bool:
    """Return whether nested lists have arrays in them."""
    if isinstance(values, (list, tuple)):
        return any(map(holds_arrays, values))
    return xpand.is_array_api_obj(values)


def diag(xp: Any, x: Array, k: int = 0) -> Array:
    """Return the diagonal of a matrix, or the matrix with a vector on its diagonal: `numpy.diag`."""
    if x.ndim == 2:
        return linalg.diagonal(x, offset=k)
    like = {"dtype": x.dtype, "device": xpand.device(x)}
    values = xp.concat([x, xp.zeros((abs(k),), **like)])
    on_diagonal = xp.eye(values.shape[0], k=k, dtype=xp.bool, device=like["device"])
    return xp.where(on_diagonal, values[:, None] if k > 0 else values, xp.zeros((), **like))
