"""Checks of the common arguments of functions of random numbers.

- `key_of(function, key) -> (xp, key)`: a key of any library;
- `shape_of(function, shape, *params)`: the shape of the samples, a tuple of integers, to which parameters broadcast;
- `float_dtype(function, xp, dtype, key)`: a real floating-point data type, by default the library's default; similar
  functions for other kinds.

A key is an array of uint32 of shape (2,) on every library, so it passes through trees, `vmap`, `scan` and `jit` like
any array. JAX's typed keys are keys too.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from xpand import check
from xpand._precision import current
from xpand.extend import Array, Device, DType, Key, Namespace, checks, default_dtype, describe

from ..arithmetic import integer_width

_SIGNED: Final[frozenset[checks.Kind]] = frozenset({"signed", "real", "complex"})
_UNSIGNED: Final[frozenset[checks.Kind]] = frozenset({"unsigned"})


def is_typed(key: Key) -> bool:
    """Return whether an array has typed keys, such as those of `jax.random.key`."""
    # Only JAX has such a data type. Names of other libraries' data types have no brackets.
    return str(key.dtype).startswith("key<")


def key_of(function: str, key: Any) -> tuple[Namespace, Array]:
    """Check a key; return its namespace and the key.

    Raises:
        TypeError: It is not an array of keys.
        ValueError: It is an array of several keys, or has another shape.
    """
    if not checks.is_array(key):
        seed = key if isinstance(key, int) and not isinstance(key, bool) else "seed"
        raise TypeError(
            f"{function}: key must be a key, an array of uint32 of shape (2,), got {describe(key)}; make one with "
            f"`random.key({seed})`"
        )
    xp = checks.namespace_of(function, key=key)
    shape: tuple[int, ...] = tuple(key.shape)
    one: tuple[int, ...] = (2,)
    if key.dtype != xp.uint32:
        one = ()
        if not is_typed(key):
            raise TypeError(
                f"{function}: key must be a key, an array of uint32 of shape (2,), got {key.dtype} of shape {shape}; "
                "make one with `random.key(seed)`"
            )
    if shape != one:
        batch = len(shape) > len(one) and shape[len(shape) - len(one) :] == one
        raise ValueError(
            f"{function}: key must be one key, an array of shape {one}, got the shape {shape}"
            + ("; for several keys use `vmap`" if batch else "; make one with `random.key(seed)`")
        )
    return xp, key


def check_key(function: str, key: Key, shape: Any) -> tuple[tuple[int, ...]]:
    """Check a key and the shape of samples without parameters; return the shape."""
    key_of(function, key)
    return (checks.shape(function, "shape", shape),)


def shape_of(function: str, shape: Any, *params: Any) -> tuple[int, ...]:
    """Check the shape of samples, to which parameters broadcast; None: the broadcast shape of the parameters.

    Raises:
        TypeError: A size is not an integer.
        ValueError: A negative size, or parameters that don't broadcast to the shape.
    """
    return batch_shape(function, shape, **{f"parameter {i}": tuple(x.shape) for i, x in enumerate(arrays_of(*params))})


def _dtype(
    default: str, kinds: frozenset[checks.Kind], takes: str, function: str, xp: Namespace, dtype: DType | None, key: Key
) -> DType:
    """Check a data type; None: the default data type of a kind.

    Raises:
        TypeError: It has another kind.
    """
    if dtype is None:
        return _default(default, xp, key)
    dtype = checks.named_dtype(function, xp, dtype)
    try:
        found = checks.kind(xp, dtype)
    except (TypeError, AttributeError, ValueError):
        found = None
    if found not in kinds:
        raise TypeError(f"{function}: dtype must be {takes} of the library of key, got {dtype!r}")
    return plain_dtype(xp, dtype)


def _default(kind: str, xp: Namespace, key: Key) -> DType:
    if kind != "unsigned":
        return default_dtype(xp, "real floating" if kind == "real" else "integral", checks.device_of(key))
    # Unsigned integers are as wide as the default integers.
    width = integer_width(xp, _default("integer", xp, key))
    return plain_dtype(xp, xp.uint64 if width == 64 else xp.uint32)


# Arguments: the function's name, the namespace, a data type or None, and the key.
float_dtype = partial(_dtype, "real", checks.REAL, "a real floating-point data type")
inexact_dtype = partial(_dtype, "real", checks.FLOATING, "a floating-point data type")
integer_dtype = partial(_dtype, "integer", checks.INTEGERS, "an integer data type")
number_dtype = partial(_dtype, "integer", _SIGNED, "a numeric data type that isn't unsigned")
unsigned_dtype = partial(_dtype, "unsigned", _UNSIGNED, "an unsigned integer data type")


def probability_dtype(xp: Namespace, p: Any) -> DType:
    """Return the data type of the uniform numbers that are compared with a probability.

    It is the data type of an array. For a number it is that of the precision, or float64 by default, so that all
    libraries agree.
    """
    if checks.is_array(p):
        return p.dtype
    return plain_dtype(xp, xp.float64) if current() is None else default_dtype(xp, "real floating")


def wide_dtype(function: str, xp: Namespace, key: Key) -> DType:
    """Return the data type in which samples are computed if a parameter is a number.

    It is that of the precision, or float64 by default, so that all libraries agree; the library's default if it has no
    float64.
    """
    default = float_dtype(function, xp, None, key)
    if current() is not None or default == xp.float64:
        return default
    return xp.__array_namespace_info__().dtypes(kind="real floating").get("float64", default)


def plain_dtype(xp: Namespace, dtype: DType) -> DType:
    """Return the data type that arrays have: NumPy's names of data types are classes, which look like arrays."""
    return getattr(xp, "dtype", xp.result_type)(dtype) if isinstance(dtype, type) else dtype


def as_array(
    function: str,
    xp: Namespace,
    key: Key,
    dtype: DType | None,
    values: Mapping[str, Any],
    kinds: frozenset[checks.Kind],
) -> list[Any]:
    """Check parameters. Numbers are returned unchanged, arrays are converted to `dtype` if it is given.

    Raises:
        TypeError: Another type, an array of another library than the key, or of a kind that isn't among `kinds`.
        ValueError: An array on another device than the key.
    """
    # NumPy's float64 is a float, which any library accepts.
    numbers = {name: value for name, value in values.items() if isinstance(value, (int, float))}
    arrays = {name: value for name, value in values.items() if name not in numbers}
    for name, value in values.items():
        if isinstance(value, bool) or (name in arrays and not checks.is_array(value)):
            raise TypeError(
                f"{function}: {name} must be a real number or an array of such, got {value!r} ({describe(value)})"
            )
    if arrays:
        checks.together(function, key=key, **arrays)
    found: list[Any] = []
    for name, value in values.items():
        if name in numbers:
            found.append(value if isinstance(value, int) else float(value))
            continue
        checks.dtype(function, name, xp, value, kinds)
        found.append(value if dtype is None or value.dtype == dtype else xp.astype(value, dtype))
    return found


def arrays_of(*values: Any) -> list[Array]:
    """Return the parameters that are arrays."""
    return [x for x in values if checks.is_array(x)]


def in_device(xp: Namespace, key: Key, value: Any, dtype: DType) -> Array:
    """Make an array of a number, on the key's device; return an array unchanged."""
    if checks.is_array(value):
        return value
    device: Device = checks.device_of(key)
    return xp.asarray(value, dtype=dtype, device=device)


Real: TypeAlias = Array | float
"""A parameter: a real number, or an array of a real-valued data type."""


class Draw(NamedTuple):
    """The checked arguments of a sampler."""

    key: Key
    parameters: tuple[Array, ...]
    """Arrays on the key's device, of the data type of the computation, not broadcast."""
    shape: tuple[int, ...]
    dtype: DType
    given: tuple[Real, ...]
    """The parameters for checks of their signs."""


def drawn(
    function: str,
    key: Key,
    shape: Any,
    dtype: DType | None,
    /,
    *,
    computed_in: Any = None,
    row: str | None = None,
    **parameters: Any,
) -> Draw:
    """Check the arguments of a distribution whose parameters broadcast to the shape of its samples.

    By default, the data type is the library's default, promoted with those of the parameters. The parameters are
    converted to it; or if `computed_in` is an array, to its data type, and if it is a number, to `wide_dtype`. The
    last axis of the parameter `row` has the numbers of one distribution; `shape` is the shape of the result without it.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, the data type is not supported, or a parameter is neither
            a real number nor a real array of the key's library.
        ValueError: A key of the wrong shape, a negative size, parameters that don't broadcast to the shape or are on
            another device than the key, or `row` has no axis.
    """
    xp, key = key_of(function, key)
    arrays = _arrays(function, key, parameters)
    if row is not None and (row not in arrays or not arrays[row].ndim):
        raise ValueError(
            f"{function}: {row} must be an array with the numbers of a distribution along its last axis, got "
            f"{parameters[row]!r}"
        )
    wide = dtype = _real_dtype(function, xp, key, dtype, arrays)
    if computed_in is not None:
        is_real = checks.is_array(computed_in) and checks.kind(xp, computed_in.dtype) == "real"
        wide = computed_in.dtype if is_real else wide_dtype(function, xp, key)
    shapes = {name: tuple(x.shape)[: -1 if name == row else None] for name, x in arrays.items()}
    shape = batch_shape(function, shape, **shapes)
    values = _converted(function, xp, key, wide, parameters)
    # Numbers are given unchanged, unless a small data type may round them to 0.
    given = [
        x if type(x) in (int, float) and (x == 0 or abs(x) > 1e-4) else y for x, y in zip(parameters.values(), values)
    ]
    return Draw(key, values, shape, dtype, tuple(given))


def batch_shape(function: str, shape: Any, /, **shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Check a shape, to which other shapes broadcast; None: their broadcast shape.

    Raises:
        TypeError: A size is not an integer.
        ValueError: A negative size, or shapes that don't broadcast to it.
    """
    if shape is None:
        return checks.broadcast_shapes(function, **shapes) if shapes else ()
    found = checks.shape(function, "shape", shape)
    for each in shapes.values():
        if not checks.broadcasts_to(each, found):
            raise ValueError(
                f"{function}: a parameter of shape {each} does not broadcast to shape={found}; pass a shape to "
                "which it broadcasts, or leave it out"
            )
    return found


def _arrays(function: str, key: Key, parameters: dict[str, Any]) -> dict[str, Array]:
    """Return the parameters that are arrays, which must be of the key's library."""
    arrays = {name: value for name, value in parameters.items() if checks.is_array(value)}
    if arrays:
        checks.namespace_of(function, key=key, **arrays)
    return arrays


def _real_dtype(function: str, xp: Namespace, key: Key, dtype: DType | None, arrays: dict[str, Array]) -> DType:
    """Check a data type; None: the default data type, promoted with those of floating-point arrays."""
    found = float_dtype(function, xp, dtype, key)
    if dtype is not None:
        return found
    others = [x.dtype for x in arrays.values() if checks.kind(xp, x.dtype) == "real" and x.dtype != found]
    return xp.result_type(found, *others) if others else found


def _converted(function: str, xp: Namespace, key: Key, dtype: DType, parameters: dict[str, Any]) -> tuple[Array, ...]:
    # Traced parameters have another namespace.
    arrays = _arrays(function, key, parameters)
    traced = checks.namespace_of(function, key=key, **arrays)
    found = as_array(function, traced, key, dtype, parameters, checks.REAL_VALUED)
    return tuple([in_device(xp, key, x, dtype) for x in found])


def not_negative(function: str, **parameters: Real) -> None:
    """Check that concrete values are not negative. NaN is accepted, and gives samples that are NaN.

    Raises:
        ValueError: A value is negative.
    """
    for name, x in parameters.items():
        check(_none(x < 0.0), f"{function}: {name} must not be negative")


def positive(function: str, **parameters: Real) -> None:
    """Check that concrete values are above 0, or NaN.

    Raises:
        ValueError: A value is not above 0.
    """
    for name, x in parameters.items():
        check(_none(x <= 0.0), f"{function}: {name} must be above 0")


def _none(condition: Array | bool) -> Array | bool:
    return not condition if isinstance(condition, bool) else ~condition


def probabilities(function: str, **parameters: Real) -> None:
    """Check that concrete values are between 0 and 1, or NaN.

    Raises:
        ValueError: A value is out of range.
    """
    for name, x in parameters.items():
        check(_none((x < 0.0) | (x > 1.0)), f"{function}: {name} must hold probabilities, from 0 to 1")
