"""Check the parameters of distributions: numbers and arrays that broadcast to the shape of the samples."""

from typing import Any, NamedTuple, TypeAlias

from xpand import check
from xpand.extend import Array, DType, Namespace, checks

from ._arguments import as_array, float_dtype, in_device, inexact_dtype, key_of, shape_of, wide_dtype

Real: TypeAlias = Array | float
"""A parameter: a real number, or an array of a real-valued data type."""


class Draw(NamedTuple):
    """The checked arguments of a sampler."""

    key: Array
    parameters: tuple[Array, ...]
    """On the key's device, of the data type that is computed in, not broadcast."""
    shape: tuple[int, ...]
    dtype: DType


def plain(function: str, key: Array, shape: Any, dtype: DType | None, *, may_be_complex: bool = False) -> Draw:
    """Check the arguments of a distribution without parameters.

    Raises:
        TypeError: No key, no shape, or no such floating-point data type.
        ValueError: A key of another shape, or a negative size.
    """
    xp, key = key_of(function, key)
    check_dtype = inexact_dtype if may_be_complex else float_dtype
    return Draw(key, (), shape_of(function, shape), check_dtype(function, xp, dtype, key))


def drawn(
    function: str, key: Array, shape: Any, dtype: DType | None, /, *, computed_in: Any = None, **parameters: Any
) -> Draw:
    """Check the arguments of a distribution whose parameters broadcast to the shape of its samples.

    The data type, if none is given, is the default one, or that to which it and the parameters promote. The parameters
    are converted to it; with `computed_in`, to the data type of this array; of a number, to `wide_dtype`.

    Raises:
        TypeError: As `plain`; or a parameter that is neither a real number nor an array of such of the key's library.
        ValueError: As `plain`; or parameters that don't broadcast to the shape, or on another device than the key.
    """
    xp, key = key_of(function, key)
    arrays = _arrays(function, key, parameters)
    dtype = _real_dtype(function, xp, key, dtype, arrays)
    wide = dtype
    if computed_in is not None:
        is_real = checks.is_array(computed_in) and checks.kind(xp, computed_in.dtype) == "real"
        wide = computed_in.dtype if is_real else wide_dtype(function, xp, key)
    shape = shape_of(function, shape, *arrays.values())
    return Draw(key, _converted(function, xp, key, wide, parameters), shape, dtype)


def rows_drawn(function: str, key: Array, shape: Any, dtype: DType | None, row: str, /, **parameters: Any) -> Draw:
    """Check the arguments of a distribution one of whose parameters, `row`, has several numbers along its last axis.

    The shape is that of the result without this axis.

    Raises:
        TypeError, ValueError: As `drawn`; or ValueError, where that parameter has no axis.
    """
    xp, key = key_of(function, key)
    arrays = _arrays(function, key, parameters)
    if row not in arrays or not arrays[row].ndim:
        raise ValueError(
            f"{function}: {row} must be an array with the numbers of a distribution along its last axis, got "
            f"{parameters[row]!r}"
        )
    dtype = _real_dtype(function, xp, key, dtype, arrays)
    shapes = {name: tuple(x.shape)[: -1 if name == row else None] for name, x in arrays.items()}
    found = batch_shape(function, shape, **shapes)
    return Draw(key, _converted(function, xp, key, dtype, parameters), found, dtype)


def batch_shape(function: str, shape: Any, /, **shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Check the shape of a stack, to which those of parts of the parameters broadcast; None: their common one.

    Raises:
        TypeError: Something is no integer.
        ValueError: A negative size, or shapes that don't broadcast to it.
    """
    if shape is None:
        return checks.broadcast_shapes(function, **shapes)
    found = checks.shape(function, "shape", shape)
    together = checks.broadcast_shapes(function, **shapes, shape=found)
    if together != found:
        raise ValueError(f"{function}: shape={found} must have the shape {together} of the parameters, or broadcast it")
    return found


def _arrays(function: str, key: Array, parameters: dict[str, Any]) -> dict[str, Array]:
    """Return the arrays among parameters; they must be of the key's library."""
    arrays = {name: value for name, value in parameters.items() if checks.is_array(value)}
    if arrays:
        checks.namespace_of(function, key=key, **arrays)
    return arrays


def _real_dtype(function: str, xp: Namespace, key: Array, dtype: DType | None, arrays: dict[str, Array]) -> DType:
    """Check a data type; None: the default one, or what it promotes to with the floating-point ones of arrays."""
    found = float_dtype(function, xp, dtype, key)
    if dtype is not None:
        return found
    others = [x.dtype for x in arrays.values() if checks.kind(xp, x.dtype) == "real" and x.dtype != found]
    return xp.result_type(found, *others) if others else found


def _converted(function: str, xp: Namespace, key: Array, dtype: DType, parameters: dict[str, Any]) -> tuple[Array, ...]:
    # Parameters that are traced have a namespace of their own.
    arrays = _arrays(function, key, parameters)
    traced = checks.namespace_of(function, key=key, **arrays)
    found = as_array(function, traced, key, dtype, parameters, checks.REAL_VALUED)
    return tuple([in_device(xp, key, x, dtype) for x in found])


def not_negative(function: str, **parameters: Array) -> None:
    """Check that no value is negative, where they are known. NaN passes, and makes samples that are NaN.

    Raises:
        ValueError: One is.
    """
    for name, x in parameters.items():
        check(~(x < 0.0), f"{function}: {name} must not be negative")


def positive(function: str, **parameters: Array) -> None:
    """Check that values are above 0, or NaN, where they are known.

    Raises:
        ValueError: One is not.
    """
    for name, x in parameters.items():
        check(~(x <= 0.0), f"{function}: {name} must be above 0")


def probabilities(function: str, **parameters: Array) -> None:
    """Check that values lie between 0 and 1, or are NaN, where they are known.

    Raises:
        ValueError: One does not.
    """
    for name, x in parameters.items():
        check(~((x < 0.0) | (x > 1.0)), f"{function}: {name} must hold probabilities, from 0 to 1")
