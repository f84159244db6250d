"""The arguments that functions of random numbers have in common, and their checks.

- `key_of(function, key) -> (xp, key)`: one key, of any library;
- `shape_of(function, shape, *params)`: the shape of the samples, a tuple of ints, to which parameters broadcast;
- `float_dtype(function, xp, dtype, key)`: a real floating-point data type, the default one if none is given; and
  others for other kinds.

A key is an array of uint32 of shape (2,) on every library, so that it goes through trees, `vmap`, `scan` and `jit` as
any array does. JAX's typed keys are keys too.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from xpand import array_namespace, check
from xpand._precision import current
from xpand.extend import (
    Array,
    Device,
    DType,
    Key,
    Namespace,
    checks,
    default_dtype,
    describe,
    knows_namespace,
    trace_instead,
)

from .._plans import Memory, signature
from ..arithmetic import conversion, integer_width

_SIGNED: Final[frozenset[checks.Kind]] = frozenset({"signed", "real", "complex"})
_UNSIGNED: Final[frozenset[checks.Kind]] = frozenset({"unsigned"})


def is_typed(key: Key) -> bool:
    """Return whether an array holds keys of a data type for keys, as `jax.random.key` makes them."""
    # A data type of JAX alone: libraries' own have names without brackets.
    return str(key.dtype).startswith("key<")


def key_of(function: str, key: Key) -> tuple[Namespace, Array]:
    """Check a key, and return it with its namespace.

    Raises:
        TypeError: It is not an array, or not one of keys.
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


def check_key(function: str, key: Key, shape: Any) -> tuple[tuple[int, ...]]:
    """Check a key and the shape of samples without parameters; return the shape."""
    key_of(function, key)
    return (checks.shape(function, "shape", shape),)


def shape_of(function: str, shape: Any, *params: Any) -> tuple[int, ...]:
    """Check the shape of samples, to which parameters (arrays, or numbers) broadcast; None: their common shape.

    Raises:
        TypeError: An argument is not an integer.
        ValueError: A negative size, or parameters that don't broadcast to the shape.
    """
    return batch_shape(function, shape, **{f"parameter {i}": tuple(x.shape) for i, x in enumerate(arrays_of(*params))})


def _dtype(
    default: str, kinds: frozenset[checks.Kind], takes: str, function: str, xp: Namespace, dtype: DType | None, key: Key
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


def _default(kind: str, xp: Namespace, key: Key) -> DType:
    if kind != "unsigned":
        return default_dtype(xp, "real floating" if kind == "real" else "integral", checks.device_of(key))
    # These are as wide as the default integers.
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

    That of an array; for a number float64, not the library's default, so that all agree, or that of the precision.
    """
    if checks.is_array(p):
        return p.dtype
    return plain_dtype(xp, xp.float64) if current() is None else default_dtype(xp, "real floating")


def wide_dtype(function: str, xp: Namespace, key: Key) -> DType:
    """Return the data type in which samples are drawn for a parameter that is a number.

    It is the precision that is set, else float64, not the library's default, so that all libraries draw the same; or
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
    key: Key,
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
                f"{function}: {name} must be a real number or an array of such, got {value!r} ({describe(value)})"
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


def in_device(xp: Namespace, key: Key, value: Any, dtype: DType) -> Array:
    """Make an array of a number on the key's device; an array stays unchanged."""
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
    """On the key's device, of the data type that is computed in, not broadcast."""
    shape: tuple[int, ...]
    dtype: DType
    given: tuple[Real, ...]
    """The parameters for checks of their sign: numbers as they were given, where no rounding makes them 0."""


def plain(function: str, key: Key, shape: Any, dtype: DType | None, *, may_be_complex: bool = False) -> Draw:
    """Check the arguments of a distribution without parameters.

    Raises:
        TypeError: `key` is not a key, `shape` is not a shape, or no such floating-point data type.
        ValueError: A key of the wrong shape, or a negative size.
    """
    xp, key = key_of(function, key)
    check_dtype = inexact_dtype if may_be_complex else float_dtype
    return Draw(key, (), shape_of(function, shape), check_dtype(function, xp, dtype, key), ())


_PLANS: Final = Memory()
"""The results of `drawn` by signature: the shape and the data type of samples, and a conversion of each parameter."""


def drawn(
    function: str, key: Key, shape: Any, dtype: DType | None, /, *, computed_in: Any = None, **parameters: Any
) -> Draw:
    """Check the arguments of a distribution whose parameters broadcast to the shape of its samples.

    The data type, if none is given, is the default one, or that to which it and the parameters promote. The parameters
    are converted to it; with `computed_in`, to the data type of this array; of a number, to `wide_dtype`.

    Raises:
        TypeError: As `plain`; or a parameter that is neither a real number nor an array of such of the key's library.
        ValueError: As `plain`; or parameters that don't broadcast to the shape, or on another device than the key.
    """
    made: Any
    try:
        default = default_dtype(array_namespace(key), "real floating", checks.device_of(key)) if dtype is None else None
        made = function, current(), default, signature((key, *parameters.values()), (shape, dtype))
        found = _PLANS.get(made)
    except (AttributeError, TypeError):  # no array, or something without a hash
        made = found = None
    if found is not None:
        shape, dtype, conversions = found
        values = tuple([f(x) for f, x in zip(conversions, parameters.values())])
        return Draw(key, values, shape, dtype, _exact_numbers(parameters.values(), values))
    return _checked(function, key, shape, dtype, computed_in, parameters, made)


def _checked(
    function: str, key: Key, shape: Any, dtype: DType | None, computed_in: Any, parameters: dict[str, Any], made: Any
) -> Draw:
    """Check the arguments of `drawn`, and remember what follows from them under the key `made`; None: don't."""
    xp, key = key_of(function, key)
    arrays = _arrays(function, key, parameters)
    dtype = _real_dtype(function, xp, key, dtype, arrays)
    wide = dtype
    if computed_in is not None:
        is_real = checks.is_array(computed_in) and checks.kind(xp, computed_in.dtype) == "real"
        wide = computed_in.dtype if is_real else wide_dtype(function, xp, key)
    shape = shape_of(function, shape, *arrays.values())
    values = _converted(function, xp, key, wide, parameters)
    # NumPy's float64 is an array and a number.
    if made is not None and all(
        type(x) in (int, float) or knows_namespace(type(x)) for x in (key, *parameters.values())
    ):
        xp = checks.namespace_of(function, key=key, **arrays)
        _PLANS.add(made, (shape, dtype, [conversion(xp, x, values[0]) for x in parameters.values()]))
    return Draw(key, values, shape, dtype, _exact_numbers(parameters.values(), values))


def _exact_numbers(given: Iterable[Any], values: Iterable[Array]) -> tuple[Any, ...]:
    """Return parameters for checks of their sign: numbers as they are, unless a small data type may round them to 0."""
    return tuple([x if type(x) in (int, float) and (x == 0 or abs(x) > 1e-4) else y for x, y in zip(given, values)])


def _unplanned(
    function: str, key: Key, shape: Any, dtype: DType | None, /, *, computed_in: Any = None, **parameters: Any
) -> Draw:
    return _checked(function, key, shape, dtype, computed_in, parameters, None)


trace_instead(drawn, _unplanned)  # torch.compile checks while it compiles


def rows_drawn(function: str, key: Key, shape: Any, dtype: DType | None, row: str, /, **parameters: Any) -> Draw:
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
    values = _converted(function, xp, key, dtype, parameters)
    return Draw(key, values, found, dtype, values)


def batch_shape(function: str, shape: Any, /, **shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Check the shape of a stack, to which those of parts of the parameters broadcast; None: their common one.

    Raises:
        TypeError: An argument is not an integer.
        ValueError: A negative size, or shapes that don't broadcast to it.
    """
    if shape is None:
        return checks.broadcast_shapes(function, **shapes) if shapes else ()
    found = checks.shape(function, "shape", shape)
    for each in shapes.values():
        if len(each) > len(found) or not all(n in (1, m) for n, m in zip(reversed(each), reversed(found))):
            raise ValueError(
                f"{function}: a parameter of shape {each} does not broadcast to shape={found}; pass a shape to "
                "which it broadcasts, or leave it out"
            )
    return found


def _arrays(function: str, key: Key, parameters: dict[str, Any]) -> dict[str, Array]:
    """Return the arrays among parameters; they must be of the key's library."""
    arrays = {name: value for name, value in parameters.items() if checks.is_array(value)}
    if arrays:
        checks.namespace_of(function, key=key, **arrays)
    return arrays


def _real_dtype(function: str, xp: Namespace, key: Key, dtype: DType | None, arrays: dict[str, Array]) -> DType:
    """Check a data type; None: the default one, or what it promotes to with the floating-point ones of arrays."""
    found = float_dtype(function, xp, dtype, key)
    if dtype is not None:
        return found
    others = [x.dtype for x in arrays.values() if checks.kind(xp, x.dtype) == "real" and x.dtype != found]
    return xp.result_type(found, *others) if others else found


def _converted(function: str, xp: Namespace, key: Key, dtype: DType, parameters: dict[str, Any]) -> tuple[Array, ...]:
    # Parameters that are traced have a namespace of their own.
    arrays = _arrays(function, key, parameters)
    traced = checks.namespace_of(function, key=key, **arrays)
    found = as_array(function, traced, key, dtype, parameters, checks.REAL_VALUED)
    return tuple([in_device(xp, key, x, dtype) for x in found])


def not_negative(function: str, **parameters: Real) -> None:
    """Check that no value is negative, where they are known. NaN passes, and makes samples that are NaN.

    Raises:
        ValueError: One is.
    """
    for name, x in parameters.items():
        check(_none(x < 0.0), f"{function}: {name} must not be negative")


def positive(function: str, **parameters: Real) -> None:
    """Check that values are above 0, or NaN, where they are known.

    Raises:
        ValueError: One is not.
    """
    for name, x in parameters.items():
        check(_none(x <= 0.0), f"{function}: {name} must be above 0")


def _none(condition: Array | bool) -> Array | bool:
    return not condition if isinstance(condition, bool) else ~condition


def probabilities(function: str, **parameters: Array) -> None:
    """Check that values lie between 0 and 1, or are NaN, where they are known.

    Raises:
        ValueError: One does not.
    """
    for name, x in parameters.items():
        check(~((x < 0.0) | (x > 1.0)), f"{function}: {name} must hold probabilities, from 0 to 1")
