"""The arguments that functions of random numbers have in common, and their checks.

- `key_of(function, key) -> (xp, key)`: one key, of any library;
- `shape_of(function, shape, *params)`: the shape of the samples, a tuple of ints, to which parameters broadcast;
- `float_dtype(function, xp, dtype, key)`: a real floating-point data type, the default one if none is given; and
  others for other kinds.

A key is an array of uint32 of shape (2,) on every library, so that it goes through trees, `vmap`, `scan` and `jit` as
any array does. JAX's typed keys are keys too.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from xpand._precision import current
from xpand.extend import Array, Device, DType, Namespace, checks, default_dtype, describe

from ..arithmetic._operands import integer_width

_SIGNED: Final[frozenset[checks.Kind]] = frozenset({"signed", "real", "complex"})
_UNSIGNED: Final[frozenset[checks.Kind]] = frozenset({"unsigned"})


def is_typed(key: Array) -> bool:
    """Tell whether an array holds keys of a data type for keys, as `jax.random.key` makes them."""
    # A data type of JAX alone: libraries' own have names without brackets.
    return str(key.dtype).startswith("key<")


def key_of(function: str, key: Array) -> tuple[Namespace, Array]:
    """Check a key, and return it with its namespace.

    Raises:
        TypeError: It is no array, or not one of keys.
        ValueError: It is not one key.
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


def check_key(function: str, key: Array, shape: Any) -> tuple[tuple[int, ...]]:
    """Check a key and the shape of samples without parameters; return the shape."""
    key_of(function, key)
    return (checks.shape(function, "shape", shape),)


def shape_of(function: str, shape: Any, *params: Any) -> tuple[int, ...]:
    """Check the shape of samples, to which parameters (arrays, or numbers) broadcast; None: their common shape.

    Raises:
        TypeError: Something is no integer.
        ValueError: A negative size, or parameters that don't broadcast to the shape.
    """
    shapes = [tuple(x.shape) for x in arrays_of(*params)]
    if shape is None:
        named = {f"parameter {i}": each for i, each in enumerate(shapes)}
        return checks.broadcast_shapes(function, **named) if named else ()
    found = checks.shape(function, "shape", shape)
    for each in shapes:
        fits = len(each) <= len(found) and all(n in (1, m) for n, m in zip(reversed(each), reversed(found)))
        if not fits:
            raise ValueError(
                f"{function}: a parameter of shape {each} does not broadcast to shape={found}; pass a shape that it "
                "does broadcast to, or none"
            )
    return found


def _dtype(
    default: str,
    kinds: frozenset[checks.Kind],
    takes: str,
    function: str,
    xp: Namespace,
    dtype: DType | None,
    key: Array,
) -> DType:
    """Check a data type; None: the default one of a kind.

    Raises:
        TypeError: It is of another kind.
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


def _default(kind: str, xp: Namespace, key: Array) -> DType:
    if kind != "unsigned":
        return default_dtype(xp, "real floating" if kind == "real" else "integral", checks.device_of(key))
    # As wide as the default integers.
    width = integer_width(xp, _default("integer", xp, key))
    return plain_dtype(xp, xp.uint64 if width == 64 else xp.uint32)


# Each for a function's name, the namespace, a data type or None, and the key.
float_dtype = partial(_dtype, "real", checks.REAL, "a real floating-point data type")
inexact_dtype = partial(_dtype, "real", checks.FLOATING, "a floating-point data type")
integer_dtype = partial(_dtype, "integer", checks.INTEGERS, "an integer data type")
number_dtype = partial(_dtype, "integer", _SIGNED, "a numeric data type that isn't unsigned")
unsigned_dtype = partial(_dtype, "unsigned", _UNSIGNED, "an unsigned integer data type")


def probability_dtype(xp: Namespace, p: Any) -> DType:
    """Return the data type of the numbers that a probability is compared with.

    That of an array; for a number float64, whatever a library's default, so that all agree, or that of the precision.
    """
    if checks.is_array(p):
        return p.dtype
    return plain_dtype(xp, xp.float64) if current() is None else default_dtype(xp, "real floating")


def wide_dtype(function: str, xp: Namespace, key: Array) -> DType:
    """Return the data type in which samples are drawn for a parameter that is a number.

    It is the precision that is set, else float64 whatever a library's default, so that all libraries draw the same; or
    the default where there is no float64.
    """
    default = float_dtype(function, xp, None, key)
    if current() is not None or default == xp.float64:
        return default
    return xp.__array_namespace_info__().dtypes(kind="real floating").get("float64", default)


def plain_dtype(xp: Namespace, dtype: DType) -> DType:
    """Return a data type as arrays have it: NumPy's names of types are classes, which look like arrays."""
    return getattr(xp, "dtype", xp.result_type)(dtype) if isinstance(dtype, type) else dtype


def as_array(
    function: str,
    xp: Namespace,
    key: Array,
    dtype: DType | None,
    values: Mapping[str, Any],
    kinds: frozenset[checks.Kind],
) -> list[Any]:
    """Check parameters: numbers, returned as they are, or arrays of the key's library, returned in a data type, or
    in their own.

    Raises:
        TypeError: Something else, an array of another library, or of a kind that isn't among `kinds`.
        ValueError: An array on another device than the key.
    """
    # NumPy's float64 is a float, which any library takes.
    numbers = {name: value for name, value in values.items() if isinstance(value, (int, float))}
    arrays = {name: value for name, value in values.items() if name not in numbers}
    for name, value in values.items():
        if isinstance(value, bool) or (name in arrays and not checks.is_array(value)):
            raise TypeError(
                f"{function}: {name} must be a real number or an array of such, got {value!r} of {describe(value)}"
            )
    if arrays:
        checks.namespace_of(function, key=key, **arrays)
        checks.one_device(function, key=key, **arrays)
    found: list[Any] = []
    for name, value in values.items():
        if name in numbers:
            found.append(value if isinstance(value, int) else float(value))
            continue
        checks.dtype(function, name, xp, value, kinds)
        found.append(value if dtype is None or value.dtype == dtype else xp.astype(value, dtype))
    return found


def arrays_of(*values: Any) -> list[Array]:
    """Return those of the parameters that are arrays."""
    return [x for x in values if checks.is_array(x)]


def in_device(xp: Namespace, key: Array, value: Any, dtype: DType) -> Array:
    """Make an array of a number on the key's device; an array stays unchanged."""
    if checks.is_array(value):
        return value
    device: Device = checks.device_of(key)
    return xp.asarray(value, dtype=dtype, device=device)
