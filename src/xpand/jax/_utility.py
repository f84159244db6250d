"""`all` and `any`."""

from collections.abc import Sequence

import jax.numpy as jnp

from .._typing import LibraryArray as Array

__all__ = ["all", "any"]


def _nonzero(a: Array) -> Array:
    """Compare complex numbers with zero: JAX looks at their real part alone, so that `1j` counts as false."""
    kind = a.dtype.kind if hasattr(a, "dtype") else "c" if type(a) is complex else ""
    return jnp.not_equal(a, 0) if kind == "c" else a


def all(
    a: Array,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Array | None = None,
) -> Array:
    """Whether all elements are true. The standard counts every nonzero number as true, imaginary ones too."""
    return jnp.all(_nonzero(a), axis, out, keepdims, where=where)


def any(
    a: Array,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Array | None = None,
) -> Array:
    """Whether any element is true. The standard counts every nonzero number as true, imaginary ones too."""
    return jnp.any(_nonzero(a), axis, out, keepdims, where=where)
