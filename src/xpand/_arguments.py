"""Checks of arguments, for the core and the facades.

Each error names the function, the argument, the value given and the values accepted.

An argument is checked once, in the facade; implementations trust their arguments. A wrong type is a `TypeError`, a
wrong value a `ValueError`, with the same message on every library.
"""

import operator
from collections.abc import Iterable
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
from ._namespace import ADVICE, array_namespace, describe, library_of
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

# For each kind of Python scalar: the kinds of arrays that it may be combined with. For each kind of array: the kinds
# that may be written into it.
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
    """Return the device of an array; None if it is unknown, as for tracers and Dask arrays.

    `xpand.device` finds more of them, but on JAX and Dask takes longer than a small operation.
    """
    return getattr(x, "device", None)


def is_array(x: object) -> TypeGuard[Array]:
    """Return whether an object is an array of any library. A class such as `np.float32` is not.

    Unlike array-api-compat's `is_array_api_obj`, torch.compile can trace it.
    """
    cls = type(x)
    # Answered early: checking each library takes longer than a small operation, and numbers that torch.compile lets
    # vary have no attributes.
    if cls is float or cls is int:
        return False
    return library_of(cls) is not None or (hasattr(x, "__array_namespace__") and not isinstance(x, type))


def namespace_of(function: str, **arrays: Any) -> Namespace:
    """Return the namespace that named arguments share; each must be an array.

    Raises:
        TypeError: An argument is not an array, or they belong to two libraries.
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
                return found  # one of them takes the arrays of the other
            listed = ", ".join(f"{key} of {describe(value)}" for key, value in arrays.items())
            number = next((key for key, value in arrays.items() if isinstance(value, Number)), None)
            advice = ADVICE if number is None else f"make {number} a Python number: `{number}.item()`"
            raise TypeError(f"{function}: takes arrays of one library, got {listed}; {advice}")
    assert found is not None, "namespace_of is called with at least one array"
    return found


def _no_array(function: str, name: str, x: object) -> NoReturn:
    raise TypeError(
        f"{function}: {name} must be an array, got {describe(x)}; turn numbers and lists into arrays with `xp.asarray`"
    ) from None


def one_device(function: str, **arrays: Any) -> None:
    """Check that named arrays lie on one device.

    Raises:
        ValueError: They lie on two.
    """
    first: Any = None
    for x in arrays.values():
        device = device_of(x)
        # Arrays spread over many devices (JAX) are for their library to combine: `device` is then their layout.
        if device is None or hasattr(device, "device_set"):
            continue
        if first is None:
            first = device
        elif device != first:
            listed = ", ".join(f"{key} on {device_of(value)}" for key, value in arrays.items())
            raise ValueError(
                f"{function}: takes arrays on one device, got {listed}; move one with `xpand.to_device` first"
            )


def dtype(function: str, name: str, xp: Namespace, x: Array, kinds: frozenset[Kind]) -> Kind:
    """Check the kind of an array's data type, and return it.

    Raises:
        TypeError: It isn't among `kinds`.
    """
    found = kind(xp, x.dtype)
    if found is None or found not in kinds:
        raise TypeError(
            f"{function}: {name} must have {_NAMES[kinds]}, got {x.dtype}; convert it with `xp.astype` first"
        )
    return found


def castable(function: str, name: str, xp: Namespace, value: Any, target: Array, target_name: str) -> None:
    """Check that a Python scalar or an array can be written into `target`: its kind promotes to that of `target`.

    Within a kind any width may be written; the value is then rounded, or wrapped, to the width of `target`.

    Raises:
        TypeError: The standard promotes the two kinds to another one, or not at all.
        OverflowError: A Python integer that the data type of `target` can't hold.
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
            f"{value!r} of {describe(value)}"
        )
    found = kind(xp, value.dtype)
    accepted = _ACCEPTS.get(into, frozenset())
    # The standard promotes uint64 with no signed type.
    if found not in accepted or (into == "signed" and integer_range(xp, value.dtype)[1] >= 2**64 - 1):
        raise TypeError(
            f"{function}: {name} has {value.dtype}, which does not promote to {target_name}'s {target.dtype}; convert "
            f"one of them first, for example `xp.astype({name}, {target_name}.dtype)`"
        )


def integer(function: str, name: str, value: Any, *, minimum: int | None = None) -> int:
    """Check an integer option, and return it as a Python int.

    Raises:
        TypeError: It is not an integer (a bool isn't one).
        ValueError: It is below `minimum`.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        result = operator.index(value)
    except TypeError:
        raise TypeError(f"{function}: {name} must be an integer, got {value!r} of {describe(value)}") from None
    if minimum is not None and result < minimum:
        raise ValueError(f"{function}: {name} must be at least {minimum}, got {result}")
    return result


def plain_integer(value: Any) -> Any:
    """Return an integer of NumPy, which arrays of any library accept as an index, as a Python int; else the value."""
    if isinstance(value, Integral) and not isinstance(value, (int, bool)):
        return operator.index(value)
    return value


def axis(function: str, value: Any, ndim: int, name: str = "axis") -> int:
    """Check an axis of an array with `ndim` axes, and return it counted from the front.

    Raises:
        TypeError: It is not an integer.
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
    """Check a switch.

    Raises:
        TypeError: It is neither True nor False.
    """
    if value is not True and value is not False:
        raise TypeError(f"{function}: {name} must be True or False, got {value!r} of {describe(value)}")
    return value


def function(caller: str, value: Any, name: str = "") -> None:
    """Check that an argument is a function; without its name, the error says what the caller takes.

    Raises:
        TypeError: It is not a function.
    """
    if not callable(value):
        raise TypeError(f"{caller}: {f'{name} must be' if name else 'takes'} a function, got {describe(value)}")


def choice(function: str, name: str, value: Any, choices: Iterable[str | None]) -> Any:
    """Check an option that is one of a few words.

    Raises:
        TypeError: It is not a string (nor None, where that is a choice).
        ValueError: It is none of the choices; the message suggests a similar one.
    """
    if value in choices and (value is None or isinstance(value, str)):
        return value
    words = [word for word in choices if word is not None]
    takes = ", ".join(map(repr, choices))
    if not isinstance(value, str):
        raise TypeError(f"{function}: {name} must be one of {takes}, got {value!r} of {describe(value)}")
    from difflib import get_close_matches  # slow to import

    close = get_close_matches(value, words, n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    raise ValueError(f"{function}: {name} must be one of {takes}, got {value!r}{meant}")


def known_shape(function: str, name: str, x: Array) -> tuple[int, ...]:
    """Return the shape of an array; all its sizes must be known.

    Raises:
        ValueError: A lazy array whose sizes depend on values not computed yet.
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
    """Check one axis or several, each named once, and return them counted from the front, in the order given.

    Raises:
        TypeError: An argument is not an integer.
        ValueError: The array has no such axis, or one is named twice.
    """
    given = value if isinstance(value, (tuple, list)) else (value,)
    found = tuple(axis(function, each, ndim, name) for each in given)
    if len(set(found)) < len(found):
        raise ValueError(f"{function}: {name}={value} names an axis twice")
    return found


def shape(function: str, name: str, value: Any) -> tuple[int, ...]:
    """Check a shape, or one size, and return it as a tuple of Python ints.

    Raises:
        TypeError: An argument is not an integer.
        ValueError: A size is negative.
    """
    given = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(integer(function, name, each, minimum=0) for each in given)


_PROMOTED_TOGETHER: Final = (frozenset({"real", "complex"}), frozenset({"signed", "unsigned"}))


def common_dtype(function: str, xp: Namespace, **arrays: Array) -> DType:
    """Return the data type that named arrays promote to by the standard.

    Raises:
        TypeError: The standard does not promote them.
    """
    dtypes = [x.dtype for x in arrays.values()]
    if all(each == dtypes[0] for each in dtypes[1:]):
        return dtypes[0]
    kinds = frozenset(kind(xp, each) for each in dtypes)
    # The standard promotes uint64 with no signed type.
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
    """Bring named arrays to the data type that they promote to by the standard.

    Raises:
        TypeError: The standard does not promote them.
    """
    target = common_dtype(function, xp, **arrays)
    return tuple(x if x.dtype == target else xp.astype(x, target) for x in arrays.values())


def broadcast_shapes(function: str, **shapes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Broadcast the shapes of named arrays.

    Raises:
        ValueError: They don't broadcast.
    """
    try:
        return broadcast(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} of shape {tuple(each)}" for name, each in shapes.items())
        raise ValueError(f"{function}: takes arrays that broadcast together, got {listed}") from None


def broadcast(*shapes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Broadcast shapes as the standard says; a size not known yet (None, or NaN in Dask) goes with any.

    Raises:
        ValueError: They don't broadcast.
    """
    first = shapes[0]
    if all(each == first for each in shapes[1:]):
        return tuple(first)
    ndim = max([len(each) for each in shapes])  # torch.compile accepts no generator here
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


def _is_known(size: Any) -> bool:
    return size is not None and size == size
