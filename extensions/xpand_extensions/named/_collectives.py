"""Collectives that find an axis by its name: of the array itself, of `vmap`, or of a mesh."""

from typing import Any

from xpand import trees

from .. import vmap as _vmap
from . import _axis
from ._array import NamedArray
from ._axis import AxisSelector
from ._calls import call
from ._derivatives import is_named

__all__ = ["pmax", "pmean", "pmin", "psum"]


def psum(x: Any, axis: AxisSelector) -> Any:
    """Sum over an axis of the arrays, or over the lanes of a mapped axis of that name.

    Args:
        x: A tree of named arrays and of others.
        axis: The axis. Named arrays that have it are summed over it; for the others it is an axis of `vmap`, of
            `jax.shard_map` or of `pmap`.

    Raises:
        NameError: An array doesn't have the axis, and no axis of that name is mapped over.

    Source: `jax.lax.psum`.

    >>> import numpy as np
    >>> from xpand_extensions import named as hax
    >>> x = hax.named(np.asarray([1.0, 2.0]), "batch")
    >>> float(psum(x, "batch"))
    3.0
    >>> hax.vmap(lambda x: x / psum(x, "batch"), "batch")(x).array.round(2)
    array([0.33, 0.67])
    """
    return _collective("psum", "sum", x, axis)


def pmean(x: Any, axis: AxisSelector) -> Any:
    """Compute the mean over an axis, as `psum` the sum."""
    return _collective("pmean", "mean", x, axis)


def pmax(x: Any, axis: AxisSelector) -> Any:
    """Compute the maximum over an axis, as `psum` the sum."""
    return _collective("pmax", "max", x, axis)


def pmin(x: Any, axis: AxisSelector) -> Any:
    """Compute the minimum over an axis, as `psum` the sum."""
    return _collective("pmin", "min", x, axis)


def _collective(function: str, reduction: str, tree: Any, axis: AxisSelector) -> Any:
    name, _ = _axis.selector(function, axis)

    def combined(x: Any) -> Any:
        if isinstance(x, NamedArray) and name in x.names:
            return getattr(call, reduction)(x, axis)
        try:
            return getattr(_vmap, function)(x, name)
        except NameError as error:
            if not isinstance(x, NamedArray):
                raise
            raise NameError(
                f"{function}: no axis {name!r}: the array has the axes {_axis.written(x.shape.items())}, and no "
                "axis of that name is mapped over"
            ) from error

    return trees.map(combined, tree, is_leaf=is_named)
