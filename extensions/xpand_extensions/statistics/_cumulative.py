"""Cumulative operations that the standard lacks, and derivatives by finite differences."""

from typing import Any, Literal

from xpand.extend import Array, Axis, Namespace, checks, describe

from .._dispatch import in_one_namespace, pluggable
from .._elsewhere import arguments_elsewhere
from ._arguments import axes as checked_axes, one_axis


@arguments_elsewhere()
@pluggable
def cumulative_max(x: Array, /, *, axis: int | None = None, include_initial: bool = False) -> Array:
    """Return the running maximum along an axis.

    Args:
        x: An array of one or more axes, of an integer or real floating-point data type.
        axis: The axis. It may be omitted for an array of one axis.
        include_initial: Whether to start with the maximum of no elements: -infinity, or the smallest integer of the
            type.

    Returns:
        An array of the shape and data type of `x`, with one more element along `axis` if `include_initial`. After a
        NaN, all elements are NaN.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No such axis, no axis for an array of several axes, or an unknown shape.

    Source: the standard's `cumulative_sum`, for the signature; `jax.lax.cummax`.

    >>> import numpy as np
    >>> cumulative_max(np.asarray([1, 3, 2, 5]))
    array([1, 3, 3, 5])
    """
    axis = _check("cumulative_max", checks.REAL_VALUED, x, axis, include_initial)
    return cumulative_max.native(x)(x, axis=axis, include_initial=include_initial)


@arguments_elsewhere()
@pluggable
def cumulative_min(x: Array, /, *, axis: int | None = None, include_initial: bool = False) -> Array:
    """Return the running minimum along an axis.

    Arguments, result and errors are those of `cumulative_max`; the minimum of no elements is infinity, or the largest
    integer of the type.

    >>> import numpy as np
    >>> cumulative_min(np.asarray([3, 5, 2, 4]), include_initial=True)
    array([9223372036854775807,                   3,                   3,
                             2,                   2])
    """
    axis = _check("cumulative_min", checks.REAL_VALUED, x, axis, include_initial)
    return cumulative_min.native(x)(x, axis=axis, include_initial=include_initial)


@arguments_elsewhere()
@pluggable
def logcumsumexp(x: Array, /, *, axis: int | None = None, include_initial: bool = False) -> Array:
    """Compute the logarithm of the cumulative sum of exponentials, along an axis, without overflow.

    Args:
        x: An array of one or more axes, of a real floating-point data type.
        axis: The axis. It may be omitted for an array of one axis.
        include_initial: Whether to start with the logarithm of an empty sum: -infinity.

    Returns:
        An array of the shape and data type of `x`, with one more element along `axis` if `include_initial`. After an
        infinity, all elements are infinity; after a NaN, all are NaN.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No such axis, no axis for an array of several axes, or an unknown shape.

    Source: `torch.logcumsumexp`.

    >>> import numpy as np
    >>> logcumsumexp(np.log(np.asarray([1.0, 2.0, 3.0]))).round(6).tolist()
    [0.0, 1.098612, 1.791759]
    """
    axis = _check("logcumsumexp", checks.REAL, x, axis, include_initial)
    return logcumsumexp.native(x)(x, axis=axis, include_initial=include_initial)


def _check(function: str, kinds: frozenset[checks.Kind], x: Array, axis: Any, include_initial: Any) -> int:
    xp = checks.namespace_of(function, x=x)
    checks.dtype(function, "x", xp, x, kinds)
    checks.boolean(function, "include_initial", include_initial)
    checks.known_shape(function, "x", x)
    if not x.ndim:
        raise ValueError(f"{function}: x must have at least one axis, got an array of shape ()")
    return one_axis(function, axis, x.ndim)


@arguments_elsewhere()
@pluggable
def gradient(
    f: Array, /, *spacing: Array | float, axis: Axis = None, edge_order: Literal[1, 2] = 1
) -> Array | tuple[Array, ...]:
    """Compute the derivatives of sampled values by finite differences of second order.

    Args:
        f: The values: an array of a floating-point data type, real or complex.
        *spacing: The distances of the samples: one for all axes, or one for each; by default 1. A number or a
            0-dimensional array is the distance of neighbouring samples; an array of one axis has the coordinates of the
            samples, which may be unevenly spaced.
        axis: The axis or axes to differentiate along. By default: all.
        edge_order: The order of the differences at the first and the last sample, 1 or 2.

    Returns:
        An array of the shape and data type of `f` if `axis` is an integer or `f` has one axis. Otherwise a tuple with
        such an array for each axis.

    Raises:
        TypeError: An argument of the wrong type or data type, or arrays of two libraries.
        ValueError: No such axis, an axis twice, spacings of the wrong number or size, fewer than `edge_order + 1`
            samples along an axis, another `edge_order`, arrays on two devices, or an unknown shape.

    Source: `numpy.gradient`.

    >>> import numpy as np
    >>> gradient(np.asarray([1.0, 2.0, 4.0, 7.0]))
    array([1. , 1.5, 2.5, 3. ])
    >>> gradient(np.asarray([1.0, 2.0, 4.0]), np.asarray([0.0, 1.0, 3.0]), edge_order=2)
    array([1., 1., 1.])
    """
    implementation, axes, steps, is_one = gradient.planned(_check_gradient, (f,), spacing, axis, edge_order)
    arrays = in_one_namespace(f, *steps)
    if any(checks.is_array(step) for step in steps):  # a spacing may be traced although `f` isn't
        implementation = gradient.native(*arrays)
    results: Any = implementation(*arrays, axis=axes, edge_order=edge_order)
    return results[0] if is_one else results


def _check_gradient(
    function: str, f: Array, spacing: tuple[Any, ...], axis: Any, edge_order: Any
) -> tuple[tuple[int, ...], tuple[Any, ...], bool]:
    """Check the arguments; return the axes, the spacing along each axis, and whether the result is one array."""
    xp = checks.namespace_of("gradient", f=f)
    checks.dtype("gradient", "f", xp, f, checks.FLOATING)
    checks.known_shape("gradient", "f", f)
    axes = checked_axes("gradient", axis, f.ndim)
    if isinstance(axis, (tuple, list)):
        axes = tuple(checks.axis("gradient", item, f.ndim) for item in axis)
    if isinstance(edge_order, bool) or edge_order not in (1, 2):
        raise ValueError(f"gradient: edge_order must be 1 or 2, got {edge_order!r}")
    if not axes:
        raise ValueError("gradient: f must have an axis to differentiate along, got an array of one value")
    for item in axes:
        if f.shape[item] < edge_order + 1:
            raise ValueError(
                f"gradient: edge_order={edge_order} takes at least {edge_order + 1} samples along an axis, got "
                f"{f.shape[item]} along axis {item} of f of shape {tuple(f.shape)}"
            )
    steps = _spacings(xp, f, spacing, axes)
    return axes, steps, len(axes) == 1 and (axis is None or not isinstance(axis, (tuple, list)))


def _spacings(xp: Namespace, f: Array, spacing: tuple[Any, ...], axes: tuple[int, ...]) -> tuple[Any, ...]:
    """Check the spacings; return a float or an array for each axis."""
    if len(spacing) not in (0, 1, len(axes)):
        takes = " or ".join(dict.fromkeys(["none", "one", str(len(axes))]))
        raise ValueError(f"gradient: spacing must be {takes} for {len(axes)} axes, got {len(spacing)}")
    every = spacing if len(spacing) == len(axes) else (spacing or (1.0,)) * len(axes)
    return tuple(_spacing(xp, f, number, step, item) for number, (step, item) in enumerate(zip(every, axes)))


def _spacing(xp: Namespace, f: Array, number: int, step: Any, axis: int) -> Any:
    name = f"spacing {number}"
    if isinstance(step, (int, float)) and not isinstance(step, bool):
        return float(step)
    if isinstance(step, (bool, list, tuple)):
        raise TypeError(f"gradient: {name} must be a number or an array, got {step!r} ({describe(step)})")
    named = {"f": f, name: step}
    checks.together("gradient", **named)
    checks.dtype("gradient", name, xp, step, checks.REAL)
    if step.ndim > 1 or (step.ndim == 1 and step.shape[0] != f.shape[axis]):
        raise ValueError(
            f"gradient: {name} must be a number or have the shape ({f.shape[axis]},), the coordinates along axis "
            f"{axis} of f, got {tuple(step.shape)}"
        )
    checks.castable("gradient", name, xp, step, f, "f")
    return step
