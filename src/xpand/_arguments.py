"""Checks of arguments, for the core and the facades.

Each error names the function, the argument, the given value and the accepted values.

The facade checks an argument once; implementations trust their arguments. A wrong type raises `TypeError`, a wrong
value `ValueError`, with the same message on every library.
"""

import operator
from collections.abc import Iterable, Sequence
from numbers import Integral, Number
from typing import Any, Final, NoReturn, TypeGuard

from ._kinds import (
    BITS as BITS,
    FLOATING as FLOATING,
    INTEGERS as INTEGERS,
    NUMERIC as NUMERIC,
    ORDERED as ORDERED,
    REAL as REAL,
    REAL_VALUED as REAL_VALUED,
    Kind as Kind,
    integer_range as integer_range,
    is_dtype_name as is_dtype_name,
    kind as kind,
    kind_of as kind_of,
    knows_dtype as knows_dtype,
    named_dtype as named_dtype,
)
from ._namespace import ADVICE, array_namespace, conversion as conversion, describe, library_of
from .typing import Array, DType, Namespace

_NAMES: Final[dict[frozenset[Kind], str]] = {
    INTEGERS: "an integer data type",
    NUMERIC: "a numeric data type",
    FLOATING: "a floating-point data type",
    ORDERED: "a boolean or real-valued data type",
    REAL_VALUED: "an integer or real floating-point data type",
    REAL: "a real floating-point data type",
    BITS: "a boolean or integer data type",
}

# `_SCALARS`: the kinds of arrays that a Python scalar may be combined with. `_ACCEPTS`: the kinds of values that may be
# written into an array.
_SCALARS: Final[dict[type, frozenset[Kind]]] = {
    bool: frozenset({"bool"}),
    int: NUMERIC,
    float: FLOATING,
    complex: frozenset({"complex"}),
}
_ACCEPTS: Final[dict[Kind | None, frozenset[Kind]]] = {
    "bool": frozenset({"bool"}),
    "unsigned": frozenset({"unsigned"}),
    "signed": frozenset({"signed", "unsigned"}),
    "real": frozenset({"real"}),
    "complex": frozenset({"real", "complex"}),
}


def device_of(x: object) -> Any:
    """Return the device of an array, or None if it is unknown, as for tracers and Dask arrays.

    `xpand.device` knows more devices, but takes longer than a small operation on JAX and Dask.
    """
    return getattr(x, "device", None)


def is_array(x: object) -> TypeGuard[Array]:
    """Return whether an object is an array of any library. A class such as `np.float32` is not.

    torch.compile can trace this function, but not array-api-compat's `is_array_api_obj`.
    """
    cls = type(x)
    # Return early: checking each library takes longer than a small operation. Also, the symbolic numbers of
    # torch.compile have no attributes.
    if cls is float or cls is int:
        return False
    return library_of(cls) is not None or (hasattr(x, "__array_namespace__") and not isinstance(x, type))


def namespace_of(function: str, **arrays: Any) -> Namespace:
    """Return the namespace that named arrays share.

    Raises:
        TypeError: An argument is not an array, or the arrays belong to two libraries.
    """
    found: Namespace | None = None
    for name, x in arrays.items():
        try:
            xp = array_namespace(x)
        except TypeError:
            _no_array(function, name, x)
        if found is None:
            found = xp
        elif xp is not found:
            try:
                found = array_namespace(*arrays.values())
            except TypeError:
                pass
            else:
                return found  # one namespace accepts the arrays of the other
            listed = ", ".join(f"{key} ({describe(value)})" for key, value in arrays.items())
            number = next((key for key, value in arrays.items() if isinstance(value, Number)), None)
            advice = ADVICE if number is None else f"make {number} a Python number: `{number}.item()`"
            raise TypeError(f"{function}: takes arrays of one library, got {listed}; {advice}")
    assert found is not None, "namespace_of is called with at least one array"
    return found


def _no_array(function: str, name: str, x: object) -> NoReturn:
    raise TypeError(
        f"{function}: {name} must be an array, got {describe(x)}"
        f"{conversion(x) or '; turn numbers and lists into arrays with `xp.asarray`'}"
    ) from None


def one_device(function: str, **arrays: Any) -> None:
    """Check that named arrays lie on one device.

    Raises:
        ValueError: The arrays lie on several devices.
    """
    first: Any = None
    for x in arrays.values():
        device = device_of(x)
        # The `device` of a JAX array on many devices is a sharding. JAX checks itself whether two of them fit.
        if device is None or hasattr(device, "device_set"):
            continue
        if first is None:
            first = device
        elif device != first:
            listed = ", ".join(f"{key} on {device_of(value)}" for key, value in arrays.items())
            raise ValueError(
                f"{function}: takes arrays on one device, got {listed}; move one with `xpand.to_device` first"
            )


def together(function: str, kinds: frozenset[Kind] | None = None, /, **arrays: Any) -> Namespace:
    """Check that named arrays belong to one library and lie on one device, and, if `kinds` is given, their data types.

    Returns:
        The namespace that the arrays share.

    Raises:
        TypeError: An argument is not an array, the arrays belong to two libraries, or a kind is not in `kinds`.
        ValueError: The arrays lie on several devices.
    """
    xp = namespace_of(function, **arrays)
    one_device(function, **arrays)
    if kinds is not None:
        for name, x in arrays.items():
            dtype(function, name, xp, x, kinds)
    return xp


def dtype(function: str, name: str, xp: Namespace, x: Array, kinds: frozenset[Kind]) -> Kind:
    """Check the kind of an array's data type, and return the kind.

    Raises:
        TypeError: The kind is not in `kinds`.
    """
    found = kind(xp, x.dtype)
    if found is None or found not in kinds:
        raise TypeError(
            f"{function}: {name} must have {_NAMES[kinds]}, got {x.dtype}; convert it with `xp.astype` first"
        )
    return found


def castable(function: str, name: str, xp: Namespace, value: Any, target: Array, target_name: str) -> None:
    """Check that a Python scalar or an array may be written into `target`.

    Its kind must promote to the kind of `target`. The width may differ: the value is then rounded or wrapped.

    Raises:
        TypeError: The kind of `value` does not promote to the kind of `target`.
        OverflowError: A Python integer is out of the range of `target`'s data type.
    """
    into = kind(xp, target.dtype)
    scalars = _SCALARS.get(type(value))
    if scalars is not None:
        if into not in scalars:
            raise TypeError(
                f"{function}: {name} is the {type(value).__name__} {value!r}, which does not promote to "
                f"{target_name}'s {target.dtype}; convert one of them first"
            )
        if type(value) is int and into in INTEGERS:
            low, high = integer_range(xp, target.dtype)
            if not low <= value <= high:
                raise OverflowError(
                    f"{function}: {name}={value} does not fit into {target_name}'s {target.dtype}, which holds "
                    f"{low} to {high}"
                )
        return
    if not is_array(value):
        raise TypeError(
            f"{function}: {name} must be a number, or an array that promotes to {target_name}'s {target.dtype}, got "
            f"{value!r} ({describe(value)})"
        )
    found = kind(xp, value.dtype)
    accepted = _ACCEPTS.get(into, frozenset())
    # The standard does not promote uint64 and signed integers.
    if found not in accepted or (into == "signed" and integer_range(xp, value.dtype)[1] >= 2**64 - 1):
        raise TypeError(
            f"{function}: {name} has {value.dtype}, which does not promote to {target_name}'s {target.dtype}; convert "
            f"one of them first, for example `xp.astype({name}, {target_name}.dtype)`"
        )


def scalar(function: str, name: str, xp: Namespace, value: Any, target: Array, target_name: str) -> None:
    """Check that a Python scalar or an array of shape () may be written into `target`.

    Raises:
        TypeError: The kind of `value` does not promote to the kind of `target`, or it belongs to another library.
        ValueError: `value` has another shape, or lies on another device.
        OverflowError: A Python integer is out of the range of `target`'s data type.
    """
    if type(value) not in _SCALARS:
        together(function, **{target_name: target, name: value})
        if tuple(value.shape) != ():
            raise ValueError(f"{function}: {name} must be a scalar, got the shape {tuple(value.shape)}")
    castable(function, name, xp, value, target, target_name)


def integer(function: str, name: str, value: Any, *, minimum: int | None = None) -> int:
    """Check an integer option, and return it as a Python int.

    Raises:
        TypeError: `value` is not an integer. A bool is not accepted.
        ValueError: `value` is below `minimum`.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        result = operator.index(value)
    except TypeError:
        raise TypeError(f"{function}: {name} must be an integer, got {value!r} ({describe(value)})") from None
    if minimum is not None and result < minimum:
        raise ValueError(f"{function}: {name} must be at least {minimum}, got {result}")
    return result


def integers(
    function: str, name: str, value: Any, number: int, of: str, *, minimum: int | None = None
) -> tuple[int, ...]:
    """Check an integer for all of several axes, or a sequence with one for each; return one for each.

    Args:
        function: The calling function.
        name: The option.
        value: The given value.
        number: The number of axes.
        of: The axes in words, for messages, such as "axes of x".
        minimum: The smallest accepted integer.

    Raises:
        TypeError: `value` is neither an integer nor a sequence of integers.
        ValueError: There are more or fewer integers than axes, or one is below `minimum`.
    """
    if isinstance(value, Sequence):
        if len(value) != number:
            raise ValueError(f"{function}: {name} must have one integer for each of the {number} {of}, got {value!r}")
        return tuple([integer(function, name, each, minimum=minimum) for each in value])
    try:
        return (integer(function, name, value, minimum=minimum),) * number
    except TypeError:
        raise TypeError(
            f"{function}: {name} must be an integer or a sequence of them, got {value!r} ({describe(value)})"
        ) from None


def plain_integer(value: Any) -> Any:
    """Convert a NumPy integer to a Python int, which is an index on every library. Return other values unchanged."""
    if isinstance(value, Integral) and not isinstance(value, (int, bool)):
        return operator.index(value)
    return value


def axis(function: str, value: Any, ndim: int, name: str = "axis") -> int:
    """Check an axis of an array with `ndim` axes, and return it counted from the front.

    Raises:
        TypeError: `value` is not an integer.
        ValueError: The array has no such axis.
    """
    result = integer(function, name, value)
    if not -ndim <= result < ndim:
        raise ValueError(
            f"{function}: {name}={result} is out of range for {ndim} axes"
            + (f"; takes {-ndim} to {ndim - 1}" if ndim else ", an array of one value has none")
        )
    return result % ndim


def boolean(function: str, name: str, value: Any) -> bool:
    """Check that an option is True or False.

    Raises:
        TypeError: `value` is neither True nor False.
    """
    if value is not True and value is not False:
        raise TypeError(f"{function}: {name} must be True or False, got {value!r} ({describe(value)})")
    return value


def function(caller: str, value: Any, name: str = "") -> None:
    """Check that an argument is a function. Without `name`, the error says that the caller takes a function.

    Raises:
        TypeError: `value` is not a function.
    """
    if not callable(value):
        raise TypeError(f"{caller}: {f'{name} must be' if name else 'takes'} a function, got {describe(value)}")


def choice(function: str, name: str, value: Any, choices: Iterable[str | None]) -> Any:
    """Check an option with a fixed list of choices.

    Raises:
        TypeError: `value` is not a string, nor None if None is a choice.
        ValueError: `value` is not one of the choices. The message suggests a similar one.
    """
    if value in choices and (value is None or isinstance(value, str)):
        return value
    words = [word for word in choices if word is not None]
    takes = ", ".join(map(repr, choices))
    if not isinstance(value, str):
        raise TypeError(f"{function}: {name} must be one of {takes}, got {value!r} ({describe(value)})")
    from difflib import get_close_matches  # slow to import

    close = get_close_matches(value, words, n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"{function}: {name} must be one of {takes}, got {value!r}{meant}")


def known_shape(function: str, name: str, x: Array) -> tuple[int, ...]:
    """Return the shape of an array, and check that all its sizes are known.

    Raises:
        ValueError: A size of a lazy array depends on values that are not computed yet.
    """
    shape: tuple[Any, ...] = tuple(x.shape)
    for size in shape:
        if size is None or size != size:
            raise ValueError(
                f"{function}: {name} has a shape not known yet, {shape}; compute its sizes first (on Dask: "
                f"`{name}.compute_chunk_sizes()`)"
            )
    return shape


def axes(function: str, value: Any, ndim: int, name: str = "axes") -> tuple[int, ...]:
    """Check one axis or several different ones, and return them counted from the front, in the given order.

    Raises:
        TypeError: An axis is not an integer.
        ValueError: The array has no such axis, or an axis is named twice.
    """
    given = value if isinstance(value, (tuple, list)) else (value,)
    found = tuple(axis(function, each, ndim, name) for each in given)
    if len(set(found)) < len(found):
        raise ValueError(f"{function}: {name}={value} names an axis twice")
    return found


def shape(function: str, name: str, value: Any) -> tuple[int, ...]:
    """Check a shape, or one size, and return it as a tuple of Python ints.

    Raises:
        TypeError: A size is not an integer.
        ValueError: A size is negative.
    """
    given = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(integer(function, name, each, minimum=0) for each in given)


_PROMOTED_TOGETHER: Final = (frozenset({"real", "complex"}), frozenset({"signed", "unsigned"}))


def common_dtype(function: str, xp: Namespace, **arrays: Array) -> DType:
    """Return the data type that named arrays promote to by the standard.

    Raises:
        TypeError: The standard does not promote the data types.
    """
    dtypes = [x.dtype for x in arrays.values()]
    if all(each == dtypes[0] for each in dtypes[1:]):
        return dtypes[0]
    kinds = frozenset(kind(xp, each) for each in dtypes)
    # The standard does not promote uint64 and signed integers.
    unpromoted = "signed" in kinds and any(
        kind(xp, each) == "unsigned" and integer_range(xp, each)[1] >= 2**64 - 1 for each in dtypes
    )
    if unpromoted or (len(kinds) > 1 and kinds not in _PROMOTED_TOGETHER):
        listed = ", ".join(f"{name} of {x.dtype}" for name, x in arrays.items())
        raise TypeError(
            f"{function}: takes data types that the standard promotes to one, got {listed}; convert one of them "
            "first, with `xp.astype`"
        )
    return xp.result_type(*dtypes)


def promote(function: str, xp: Namespace, **arrays: Array) -> tuple[Any, ...]:
    """Convert named arrays to the data type that they promote to by the standard.

    Raises:
        TypeError: The standard does not promote the data types.
    """
    target = common_dtype(function, xp, **arrays)
    return tuple(x if x.dtype == target else xp.astype(x, target) for x in arrays.values())


def broadcast_shapes(function: str, **shapes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Broadcast the shapes of named arrays.

    Raises:
        ValueError: The shapes do not broadcast.
    """
    try:
        return broadcast(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} of shape {tuple(each)}" for name, each in shapes.items())
        raise ValueError(f"{function}: takes arrays that broadcast together, got {listed}") from None


def broadcast(*shapes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Broadcast shapes by the standard's rules. An unknown size (None, or NaN in Dask) broadcasts with any size.

    Raises:
        ValueError: The shapes do not broadcast.
    """
    first = shapes[0]
    if all(each == first for each in shapes[1:]):
        return tuple(first)
    ndim = max([len(each) for each in shapes])  # torch.compile does not accept a generator here
    result: list[Any] = [1] * ndim
    for each in shapes:
        for i, size in enumerate(each, ndim - len(each)):
            other = result[i]
            if size == 1 or size == other:
                continue
            if other == 1 or not _is_known(other):
                result[i] = size
            elif _is_known(size):
                raise ValueError(f"shapes {shapes} do not broadcast")
    return tuple(result)


def broadcasts_to(shape: tuple[Any, ...], target: tuple[Any, ...]) -> bool:
    """Return whether arrays of a shape broadcast to another shape."""
    if shape == target:
        return True
    try:
        return broadcast(shape, target) == target
    except ValueError:
        return False


def _is_known(size: Any) -> bool:
    return size is not None and size == size
