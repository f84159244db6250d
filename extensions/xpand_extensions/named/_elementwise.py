"""Operations that act element by element: one line of a table each."""

from collections.abc import Callable
from typing import Any, Final

from xpand import array_namespace, default_namespace
from xpand.extend import is_array

from . import _positional as positional
from ._array import NamedArray, make
from ._calls import call
from ._methods import Operators
from ._plans import _ALIGNMENTS, Positional, aligned, alignment, check_rank, check_sizes, stepped, without_axes

_new = object.__new__

Source = str | Callable[..., Any]

UNARY: Final[dict[str, Source]] = {
    **{
        name: name
        for name in (
            *("abs", "bitwise_invert", "ceil", "conj", "cos", "cosh", "exp", "expm1", "floor", "imag", "isfinite"),
            *("isinf", "isnan", "log", "log10", "log1p", "log2", "logical_not", "negative", "positive", "real"),
            *("reciprocal", "round", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
        )
    },
    **dict.fromkeys(("absolute", "fabs"), "abs"),
    **{f"arc{name}": f"a{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    **dict.fromkeys(("bitwise_not", "invert"), "bitwise_invert"),
    **dict.fromkeys(("degrees", "rad2deg"), positional.rad2deg),
    **dict.fromkeys(("radians", "deg2rad"), positional.deg2rad),
    **{name: f"special.{name}" for name in ("cbrt", "exp2", "i0", "rsqrt", "sinc")},
    "angle": positional.angle,
    "bitwise_count": "bits.population_count",
    "conjugate": "conj",
    "copy": positional.copy,
    "fix": "trunc",
    "iscomplex": positional.iscomplex,
    "isneginf": positional.isneginf,
    "isposinf": positional.isposinf,
    "isreal": positional.isreal,
    "rint": "round",
}
"""Functions of one array: the function of the standard, of a capability, or one of `_positional`."""

BINARY: Final[dict[str, Source]] = {
    **{
        name: name
        for name in (
            *("add", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "divide"),
            *("equal", "floor_divide", "greater", "greater_equal", "hypot", "less", "less_equal", "logaddexp"),
            *("logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "nextafter", "not_equal"),
            *("remainder", "subtract"),
        )
    },
    "arctan2": "atan2",
    "float_power": positional.float_power,
    "fmax": positional.fmax,
    "fmin": positional.fmin,
    "fmod": "arithmetic.truncated_remainder",
    "left_shift": "bitwise_left_shift",
    "logaddexp2": positional.logaddexp2,
    "mod": "remainder",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
    "true_divide": "divide",
}
"""Functions of two arrays that broadcast."""


SEVERAL: Final[dict[str, Source]] = {
    **dict.fromkeys(("around", "round"), positional.around),
    "astype": positional.astype,
    "clip": positional.clip,
    "divmod": positional.divmod,
    "frexp": positional.frexp,
    "isclose": positional.isclose,
}
"""Functions with several results, more arrays or static parameters."""


def _unary(name: str, source: Source) -> Callable[..., Any]:
    function = Positional(source)
    by_type = function.by_type
    find = function.found
    named = NamedArray
    new = _new

    def apply(a: Any, /) -> Any:
        if type(a) is named:
            x = a.array
            out = new(named)
            out.array = (by_type.get(type(x)) or find(x))(x)
            out.names = a.names
            return out
        x = a if is_array(a) else default_namespace().asarray(a)
        return function.of(x)(x)

    return apply


def _binary(name: str, source: Source) -> Callable[..., Any]:
    function = Positional(source)
    by_type = function.by_type
    find = function.found
    named = NamedArray
    new = _new
    plans = _ALIGNMENTS

    def apply(x1: Any, x2: Any, /) -> Any:
        if type(x1) is named and type(x2) is named:
            names = x1.names
            a, b = x1.array, x2.array
            if names is x2.names and type(a) is type(b) and a.shape == b.shape:
                out = new(named)
                out.array = (by_type.get(type(a)) or find(a))(a, b)
                out.names = names
                return out
            key = (names, x2.names)
            plan = plans.get(key) or alignment(key)
            shape1, shape2 = a.shape, b.shape
            if len(shape1) != len(names) or len(shape2) != len(x2.names):
                check_rank(name, x1)
                check_rank(name, x2)
            for _, i, _, j in plan.same:
                if shape1[i] != shape2[j]:
                    check_sizes(name, plan, (x1, x2))
            step1, step2 = plan.steps
            if step1 is not None:
                a = stepped(a, step1)
            if step2 is not None:
                b = stepped(b, step2)
            if type(a) is not type(b):
                array_namespace(a, b)
            out = new(named)
            out.array = (by_type.get(type(a)) or find(a))(a, b)
            out.names = plan.names
            return out
        return _with_number(name, function, x1, x2)

    return apply


def _with_number(name: str, function: Positional, x1: Any, x2: Any) -> Any:
    if isinstance(x1, NamedArray):
        without_axes(name, x2)
        return make(function.of(x1.array)(x1.array, x2), x1.names)
    if isinstance(x2, NamedArray):
        without_axes(name, x1)
        return make(function.of(x2.array)(x1, x2.array), x2.names)
    if not is_array(x1) and not is_array(x2):
        x1 = default_namespace().asarray(x1)
    return function.of(x1 if is_array(x1) else x2)(x1, x2)


def elementwise(name: str, source: Source) -> Callable[..., Any]:
    """Make an operation of any number of arrays that broadcast, with static parameters by keyword."""
    function = Positional(source)
    named = NamedArray

    def apply(*operands: Any, **params: Any) -> Any:
        first = operands[0]
        if type(first) is named:
            x, names = first.array, first.names
            kind, shape = type(x), x.shape
            for other in operands[1:]:
                if type(other) is not named or other.names is not names:
                    break
                if type(other.array) is not kind or other.array.shape != shape:
                    break
            else:
                return _renamed(function.of(x)(*[each.array for each in operands], **params), names)
        if not any(isinstance(x, NamedArray) for x in operands):
            arrays = [x for x in operands if is_array(x)]
            if not arrays:
                operands = (default_namespace().asarray(operands[0]), *operands[1:])
                arrays = [operands[0]]
            return function.of(arrays[0])(*operands, **params)
        names, arrays = aligned(name, operands)
        return _renamed(function.of(next(x for x in arrays if is_array(x)))(*arrays, **params), names)

    return apply


def _renamed(found: Any, names: tuple[str, ...]) -> Any:
    """Name the axes of an array, or of several."""
    return tuple([make(x, names) for x in found]) if type(found) is tuple else make(found, names)


for _name, _source in UNARY.items():
    setattr(call, _name, _unary(_name, _source))
for _name, _source in BINARY.items():
    setattr(call, _name, _binary(_name, _source))
for _name, _source in SEVERAL.items():
    setattr(call, _name, elementwise(_name, _source))


# --- Python's operators ----------------------------------------------------------------------------------------------

_OPERATORS: Final = {
    **{name: name for name in ("add", "divmod")},
    **{name: f"bitwise_{name}" for name in ("and", "or", "xor")},
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
_COMPARISONS: Final = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
_UNARY_OPERATORS: Final = {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, other: function(other, self)


for _name, _operation in (*_OPERATORS.items(), *_COMPARISONS.items(), *_UNARY_OPERATORS.items()):
    setattr(Operators, f"__{_name}__", getattr(call, _operation))
for _name, _operation in _OPERATORS.items():
    setattr(Operators, f"__r{_name}__", _reflected(getattr(call, _operation)))
