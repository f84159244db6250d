"""Padding: extend arrays at the ends of their axes, or between their elements."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from xpand import trees
from xpand.extend import Array, ArrayLike, Namespace, checks, describe

from ._dispatch import pluggable
from ._elsewhere import arguments_elsewhere, elsewhere

__all__ = ["PadMode", "PadWidth", "pad"]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = elsewhere(__name__)

PadMode: TypeAlias = Literal["constant", "edge", "wrap", "symmetric", "reflect", "linear_ramp"]
"""The rule for the added values."""

PadWidth: TypeAlias = int | Sequence[int] | Sequence[Sequence[int]]
"""The number of added elements for all ends, a pair (low, high) for all axes, or a pair for each axis."""

Values: TypeAlias = ArrayLike | Sequence[Any]
"""One value for all ends, a pair (low, high) for all axes, or a pair for each axis: numbers or 0-d arrays."""

_MODES: Final = ("constant", "edge", "wrap", "symmetric", "reflect", "linear_ramp")
_OTHER_NAMES: Final = {
    "boundary": "edge",
    "nearest": "edge",
    "replicate": "edge",
    "periodic": "wrap",
    "circular": "wrap",
    "mirror": "reflect",
    "zeros": "constant",
}
"""Other libraries' names of modes."""


@arguments_elsewhere()
@pluggable
def pad(
    x: Array,
    /,
    pad_width: PadWidth,
    *,
    mode: PadMode = "constant",
    constant_values: Values = 0,
    end_values: Values = 0,
    reflect_type: Literal["even", "odd"] = "even",
    interior: int | Sequence[int] = 0,
) -> Array:
    """Extend an array at the ends of its axes.

    Args:
        x: An array of any shape and data type. "linear_ramp" and `reflect_type="odd"` require numbers.
        pad_width: The number of elements to add to the ends: a number for all, a pair (low, high) for all axes, or a
            pair for each axis. A negative number removes elements from its end, after the other ends are extended.
        mode: The rule for the added elements.

            - "constant": `constant_values`.
            - "edge": the element at the end.
            - "wrap": the array again, from its other end: `b c | a b c | a b`.
            - "symmetric": the array in reverse: `b a | a b c | c b`.
            - "reflect": the same without the element at the end: `c b | a b c | b a`.
            - "linear_ramp": even steps from the element at the end to `end_values`; rounded down for integers.

            For widths beyond the size of the array, the rule is repeated.
        constant_values: For "constant": a number or 0-dimensional array for all ends, a pair (low, high) for all axes,
            or a pair for each axis. They must promote to the data type of `x`. In corners, the value of the last axis
            is used.
        end_values: For "linear_ramp": the outermost values, in the same forms.
        reflect_type: For "symmetric" and "reflect": "odd" continues the slope, by `2 * end - element`.
        interior: For "constant": the number of constants between neighbouring elements, for all axes or for each; at
            least 0.

    Returns:
        A new array of the data type of `x`.

    Raises:
        TypeError: `x` is not an array, or its data type must be numeric and isn't; a width is not an integer; values
            don't promote to the data type of `x`, or belong to another library.
        ValueError: An unknown mode; an option of another mode; a wrong number of widths or values; widths that remove
            more elements than there are; an empty axis in a mode that needs elements.

    Source: `numpy.pad`; interior and negative widths as in `jax.lax.pad` and `Nx.pad`.

    >>> import numpy as np
    >>> x = np.asarray([1.0, 2.0, 3.0])
    >>> pad(x, (1, 2))
    array([0., 1., 2., 3., 0., 0.])
    >>> pad(x, 2, mode="reflect")
    array([3., 2., 1., 2., 3., 2., 1.])
    >>> pad(x, (-1, 1), interior=1, constant_values=9.0)
    array([9., 2., 9., 3., 9.])
    """
    given = pad_width, mode, constant_values, end_values, reflect_type, interior
    implementation, widths, options, arrays = pad.planned(_check, (x,), *given)
    if arrays:  # one of the arrays may be traced even if `x` is not
        implementation = pad.native(x, *arrays)
    return implementation(x, widths, mode=mode, reflect_type=reflect_type, **options)


def _check(
    function: str,
    x: Array,
    pad_width: Any,
    mode: Any,
    constant_values: Any,
    end_values: Any,
    reflect_type: Any,
    interior: Any,
) -> tuple[tuple[tuple[int, int], ...], dict[str, Any], list[Array]]:
    """Check the arguments; return the widths as pairs, the options for implementations, and the arrays in them."""
    xp = checks.namespace_of(function, x=x)
    shape = checks.known_shape(function, "x", x)
    widths = _widths(pad_width, x.ndim)
    if isinstance(mode, str) and mode in _OTHER_NAMES:
        listed = ", ".join(map(repr, _MODES))
        raise ValueError(f"pad: mode must be one of {listed}, got {mode!r}, which is {_OTHER_NAMES[mode]!r} here")
    checks.choice("pad", "mode", mode, _MODES)
    between = checks.integers(function, "interior", interior, x.ndim, "axes", minimum=0)
    _check_options(xp, x, mode, constant_values, end_values, reflect_type, between)
    for k, (low, high) in enumerate(widths):
        if (low > 0 or high > 0) and shape[k] == 0 and mode != "constant":
            raise ValueError(f"pad: axis {k} is empty, which mode={mode!r} can't extend; only mode='constant' can")
        if shape[k] + max(shape[k] - 1, 0) * between[k] + low + high < 0:
            raise ValueError(
                f"pad: pad_width={pad_width!r} removes more elements than there are along axis {k}, of size {shape[k]}"
            )
    constant = _values(xp, x, "constant_values", constant_values) if mode == "constant" else 0
    end = _values(xp, x, "end_values", end_values) if mode == "linear_ramp" else 0
    arrays = [each for each in trees.leaves((constant, end)) if checks.is_array(each)]
    return widths, {"constant_values": constant, "end_values": end, "interior": between}, arrays


def _widths(value: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    """Convert the widths to one pair per axis."""
    if type(value) is int:
        return ((value, value),) * ndim
    if not isinstance(value, (tuple, list)):
        width = _integer(value)
        return ((width, width),) * ndim
    if all(isinstance(each, (tuple, list)) for each in value):
        pairs = tuple([_pair("pad_width", value, each) for each in value])
        if len(pairs) == 1:
            pairs *= ndim
        if len(pairs) != ndim:
            _wrong_number("pad_width", value, ndim)
        return tuple([(_integer(low), _integer(high)) for low, high in pairs])
    low, high = _pair("pad_width", value, value)
    return ((_integer(low), _integer(high)),) * ndim


def _integer(value: Any) -> int:
    return value if type(value) is int else checks.integer("pad", "pad_width", value)


def _pair(name: str, value: Any, pair: Any) -> tuple[Any, Any]:
    if not isinstance(pair, (tuple, list)) or len(pair) not in (1, 2):
        raise ValueError(
            f"pad: {name} must be one value, a pair (low, high) for all axes, or a pair for each axis, got {value!r}"
        )
    return pair[0], pair[-1]


def _wrong_number(name: str, value: Any, ndim: int) -> None:
    raise ValueError(f"pad: {name} must have a pair (low, high) for each of the {ndim} axes, got {value!r}")


def _is_default(value: Any) -> bool:
    return type(value) is int and value == 0


def _check_options(
    xp: Namespace,
    x: Array,
    mode: str,
    constant_values: Any,
    end_values: Any,
    reflect_type: Any,
    interior: tuple[int, ...],
) -> None:
    """Check that all options belong to the mode, and that it supports the data type."""
    if reflect_type != "even":
        checks.choice("pad", "reflect_type", reflect_type, ("even", "odd"))
        if mode not in ("symmetric", "reflect"):
            _other_mode("reflect_type", "'symmetric' and mode='reflect'", mode)
        checks.dtype("pad", "x with reflect_type='odd'", xp, x, checks.NUMERIC)
    if mode == "linear_ramp":
        checks.dtype("pad", "x with mode='linear_ramp'", xp, x, checks.NUMERIC)
    elif not _is_default(end_values):
        _other_mode("end_values", "'linear_ramp'", mode)
    if mode == "constant":
        if any(interior) and isinstance(constant_values, (tuple, list)):
            raise ValueError(
                f"pad: constant_values must be one value if interior is given, because the interior has no low or "
                f"high end; got {constant_values!r}"
            )
        return
    if not _is_default(constant_values):
        _other_mode("constant_values", "'constant'", mode)
    if any(interior):
        _other_mode("interior", "'constant'", mode)


def _other_mode(option: str, modes: str, mode: str) -> None:
    raise ValueError(f"pad: {option} is for mode={modes}, got it with mode={mode!r}; omit it")


def _values(xp: Namespace, x: Array, name: str, value: Any) -> Any:
    """Check values; return one for all ends, or a tuple with a pair for each axis."""
    if not isinstance(value, (tuple, list)):
        return _value(xp, x, name, value)
    nested = all(isinstance(each, (tuple, list)) for each in value)
    pairs = [_pair(name, value, each) for each in value] if nested else [_pair(name, value, value)]
    if len(pairs) == 1:
        pairs *= x.ndim
    if len(pairs) != x.ndim:
        _wrong_number(name, value, x.ndim)
    return tuple([(_value(xp, x, name, low), _value(xp, x, name, high)) for low, high in pairs])


def _value(xp: Namespace, x: Array, name: str, value: Any) -> Any:
    """Check one value. An integer fits any numeric data type; 0 and 1 fit booleans too."""
    if type(value) is int and value in (0, 1) and checks.kind(xp, x.dtype) == "bool":
        return bool(value)
    if isinstance(value, float):
        value = float(value)  # NumPy's float64 is also an array of NumPy
    if isinstance(value, (bool, int, float, complex)):
        checks.castable("pad", name, xp, value, x, "x")
        return value
    checks.together("pad", **{"x": x, name: value})
    if value.ndim:
        raise ValueError(
            f"pad: {name} must be numbers or 0-dimensional arrays, got the shape {tuple(value.shape)} of "
            f"{describe(value)}; for a value for each end, write a tuple of pairs"
        )
    checks.castable("pad", name, xp, value, x, "x")
    return value
