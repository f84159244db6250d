"""Rules of the functions that act element by element."""

from collections.abc import Callable
from typing import Any, Final

from .._core import Aval
from .._derivatives import LINEAR, contribution, factor, scale
from .._functions import BINARY, UNARY
from .._shapes import broadcast

_f = factor


def _where(xp: Any, condition: Any, x: Any, y: Any) -> Any:
    return xp.where(condition, x, y)


def _chosen(pick: Callable[[Any, Any, Any, Any], Any]) -> factor:
    """Make the factor of the argument that a maximum or minimum took: a half where both are equal."""

    def of(xp: Any, out: Any, x1: Any, x2: Any) -> Any:
        mine, other = pick(xp, out, x1, x2)
        is_mine = xp.astype(xp.equal(out, mine), out.dtype)
        return is_mine / (is_mine + xp.astype(xp.equal(out, other), out.dtype))

    return factor(of)


def _conj_sign(xp: Any, t: Any, out: Any, x: Any) -> Any:
    """Push a tangent through the absolute value: along the direction of `x`, zero at zero."""
    if xp.isdtype(x.dtype, "complex floating"):
        return xp.real(t * xp.conj(xp.sign(x)))
    return t * xp.sign(x)


def _sign_of_complex(xp: Any, t: Any, out: Any, x: Any) -> Any:
    """Push a tangent through the direction of a complex number: what is across it, over its length."""
    if not xp.isdtype(x.dtype, "complex floating"):
        return None
    size = xp.abs(x)
    size = xp.where(size == 0, xp.ones_like(size), size)
    along = xp.real(t * xp.conj(out))
    return (t - xp.astype(along, t.dtype) * out) * xp.astype(1 / size, t.dtype)


def _power_of_base(xp: Any, out: Any, x1: Any, x2: Any) -> Any:
    if not hasattr(x2, "dtype"):
        return x2 * xp.pow(x1, x2 - 1) if x2 != 0 else xp.zeros_like(x1)
    one = xp.where(x2 == 0, xp.ones_like(x2), x2 - 1)
    return xp.where(x2 == 0, xp.zeros_like(out), x2 * xp.pow(x1, one))


def _power_of_exponent(xp: Any, out: Any, x1: Any, x2: Any) -> Any:
    if not hasattr(x1, "dtype"):
        x1 = xp.full_like(x2, x1)
    is_zero = x1 == 0
    if not xp.isdtype(x1.dtype, ("real floating", "complex floating")):
        x1 = xp.astype(x1, out.dtype)
    logarithm = xp.log(xp.where(is_zero, xp.ones_like(x1), x1))
    return xp.where(is_zero, xp.zeros_like(out), out * logarithm)


def _reciprocal(x: Any, xp: Any) -> Any:
    if hasattr(x, "dtype"):
        return 1 / x
    return 1 / x if x else float("inf")


def _hypotenuse(xp: Any, out: Any, x: Any) -> Any:
    return x / xp.where(out == 0, xp.ones_like(out), out)


def _of_square(x1: Any, x2: Any) -> Any:
    return 1 / (x1 * x1 + x2 * x2)


def _clipped(xp: Any, out: Any, x: Any, low: Any, high: Any) -> Any:
    """Tell where the array itself is the result of clipping."""
    inside = None
    for bound, is_inside in ((low, xp.greater), (high, xp.less)):
        if bound is not None:
            found = is_inside(x, bound)
            inside = found if inside is None else xp.logical_and(inside, found)
    return 1 if inside is None else xp.astype(inside, out.dtype)


def _bound(is_beyond: str) -> factor:
    def of(xp: Any, out: Any, x: Any, low: Any, high: Any) -> Any:
        mine = low if is_beyond == "less" else high
        return xp.astype(getattr(xp, is_beyond)(x, mine), out.dtype)

    return factor(of)


_LOG2: Final = 0.6931471805599453
_LOG10: Final = 2.302585092994046

DERIVATIVES: Final[dict[str, Any]] = {
    "abs": (contribution(_conj_sign),),
    "acos": (_f(lambda xp, y, x: -1 / xp.sqrt((1 - x) * (1 + x))),),
    "acosh": (_f(lambda xp, y, x: 1 / (xp.sqrt(x - 1) * xp.sqrt(x + 1))),),
    "add": (1, 1),
    "asin": (_f(lambda xp, y, x: 1 / xp.sqrt((1 - x) * (1 + x))),),
    "asinh": (_f(lambda xp, y, x: 1 / xp.sqrt(x * x + 1)),),
    "astype": (LINEAR,),
    "atan": (_f(lambda xp, y, x: 1 / (1 + x * x)),),
    "atan2": (
        _f(lambda xp, z, x, y: y * _of_square(x, y)),
        _f(lambda xp, z, x, y: -x * _of_square(x, y)),
    ),
    "atanh": (_f(lambda xp, y, x: 1 / ((1 - x) * (1 + x))),),
    "clip": (_f(_clipped), _bound("less"), _bound("greater")),
    "conj": (LINEAR,),
    "copysign": (_f(lambda xp, z, x, y: xp.sign(x) * xp.sign(z)), None),
    "cos": (_f(lambda xp, y, x: -xp.sin(x)),),
    "cosh": (_f(lambda xp, y, x: xp.sinh(x)),),
    "divide": (
        scale(lambda xp, z, x, y: _reciprocal(y, xp)),
        _f(lambda xp, z, x, y: -z / y),
    ),
    "exp": (_f(lambda xp, y, x: y),),
    "expm1": (_f(lambda xp, y, x: y + 1),),
    "hypot": (_f(lambda xp, z, x, y: _hypotenuse(xp, z, x)), _f(lambda xp, z, x, y: _hypotenuse(xp, z, y))),
    "imag": (LINEAR,),
    "log": (_f(lambda xp, y, x: 1 / x),),
    "log10": (_f(lambda xp, y, x: 1 / (x * _LOG10)),),
    "log1p": (_f(lambda xp, y, x: 1 / (1 + x)),),
    "log2": (_f(lambda xp, y, x: 1 / (x * _LOG2)),),
    "logaddexp": (
        _f(lambda xp, z, x, y: xp.exp(x - z)),
        _f(lambda xp, z, x, y: xp.exp(y - z)),
    ),
    "maximum": (_chosen(lambda xp, z, x, y: (x, y)), _chosen(lambda xp, z, x, y: (y, x))),
    "minimum": (_chosen(lambda xp, z, x, y: (x, y)), _chosen(lambda xp, z, x, y: (y, x))),
    "multiply": (scale(lambda xp, z, x, y: y), scale(lambda xp, z, x, y: x)),
    "negative": (-1,),
    "positive": (1,),
    "pow": (_f(_power_of_base), _f(_power_of_exponent)),
    "real": (LINEAR,),
    "reciprocal": (_f(lambda xp, y, x: -y * y),),
    "remainder": (1, _f(lambda xp, z, x, y: -xp.floor(x / y))),
    "sign": (contribution(_sign_of_complex),),
    "sin": (_f(lambda xp, y, x: xp.cos(x)),),
    "sinh": (_f(lambda xp, y, x: xp.cosh(x)),),
    "sqrt": (_f(lambda xp, y, x: 0.5 / y),),
    "square": (_f(lambda xp, y, x: 2 * x),),
    "stop_gradient": (None,),
    "subtract": (1, -1),
    "tan": (_f(lambda xp, y, x: 1 + y * y),),
    "tanh": (_f(lambda xp, y, x: 1 - y * y),),
    "to_device": (LINEAR,),
    "where": (None, LINEAR, LINEAR),
}

TRANSPOSES: Final[dict[str, Any]] = {
    "astype": (lambda xp, ct, x, dtype, **params: ct,),  # the caller brings it to the argument's data type
    "conj": (lambda xp, ct, x: xp.conj(ct),),
    "imag": (lambda xp, ct, x: xp.astype(ct, x.dtype) * -1j,),
    "real": (lambda xp, ct, x: xp.astype(ct, x.dtype),),
    "to_device": (lambda xp, ct, x, device: xp.asarray(ct, device=x.device) if x.device is not None else ct,),
    "where": (
        None,
        lambda xp, ct, i, c, x, y: _where(xp, c, ct, xp.zeros_like(ct)),
        lambda xp, ct, i, c, x, y: _where(xp, c, xp.zeros_like(ct), ct),
    ),
}

LINEAR_IN_ALL: Final = ("where",)


def _aligned(name: str) -> Callable[..., Any]:
    """Make the rule of an elementwise function for batches: members of fewer axes gain some after the first."""

    def rule(xp: Any, mapped: tuple[bool, ...], *args: Any, **params: Any) -> Any:
        ndim = max(x.ndim - is_mapped for x, is_mapped in zip(args, mapped) if hasattr(x, "dtype"))
        given = [lengthened(xp, x, is_mapped, ndim) for x, is_mapped in zip(args, mapped)]
        return _function(xp, name)(*given, **params)

    return rule


def lengthened(xp: Any, x: Any, is_mapped: bool, ndim: int) -> Any:
    """Give the members of a batch axes of length 1 in front, to make them `ndim`."""
    if not is_mapped or x.ndim > ndim:
        return x
    return xp.reshape(x, (x.shape[0], *(1,) * (ndim - x.ndim + 1), *x.shape[1:]))


def _function(xp: Any, name: str) -> Callable[..., Any]:
    for part in name.split("."):
        xp = getattr(xp, part)
    return xp  # type: ignore[no-any-return]


def result_of(name: str) -> Callable[..., Any]:
    """Make the rule for the shape and data type of an elementwise function."""

    def rule(namespace: Any, *args: Any, **params: Any) -> Any:
        arrays = [x for x in args if isinstance(x, Aval)]
        dtype = dtype_of_result(namespace, name, args, params)
        device = next((x.device for x in arrays if x.device is not None), None)
        return Aval(broadcast(*(x.shape for x in arrays)), dtype, device)

    return rule


def dtype_of_result(namespace: Any, name: str, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
    """Find the data type of a function's result: that of the function on single elements, remembered."""
    key = (name, tuple(_kind(x) for x in args), tuple(map(repr, params.items())))
    found = namespace.dtypes_of_results.get(key)
    if found is None:
        base = namespace.base
        ones = [base.ones((1,) * min(x.ndim, 1), dtype=x.dtype) if isinstance(x, Aval) else x for x in args]
        found = namespace.dtypes_of_results[key] = namespace.operations[name].function(*ones, **params).dtype
    return found


def _kind(x: Any) -> Any:
    if isinstance(x, Aval):
        return type(x.dtype), x.dtype, min(x.ndim, 1)
    # Whether a number fits depends on the number itself only for integers.
    return (int, x) if type(x) is int else type(x)


_ALL: Final = (*UNARY, *BINARY, "clip", "where")

BATCHING: Final[dict[str, Any]] = {
    **{name: _aligned(name) for name in _ALL},
    "stop_gradient": lambda xp, mapped, x: x,
    "to_device": lambda xp, mapped, x, device: x.to_device(device),
    "astype": lambda xp, mapped, x, dtype, **params: xp.astype(x, dtype, **params),
}

SHAPES: Final[dict[str, Any]] = {
    **{name: result_of(name) for name in _ALL},
    "stop_gradient": lambda namespace, x: x,
    "to_device": lambda namespace, x, device: Aval(x.shape, x.dtype, device),
    "astype": lambda namespace, x, dtype, device=None, **params: Aval(x.shape, dtype, device or x.device),
}

_STEP: Final = "piecewise constant"
_TRUTH: Final = "its result is a truth value"
_INTEGER: Final = "a function of integers"

CONSTANT: Final[dict[str, str]] = {
    **dict.fromkeys(["ceil", "floor", "floor_divide", "round", "trunc", "nextafter"], _STEP),
    **dict.fromkeys(
        [
            "equal",
            "greater",
            "greater_equal",
            "isfinite",
            "isinf",
            "isnan",
            "less",
            "less_equal",
            "logical_and",
            "logical_not",
            "logical_or",
            "logical_xor",
            "not_equal",
            "signbit",
        ],
        _TRUTH,
    ),
    **dict.fromkeys(
        ["bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor"],
        _INTEGER,
    ),
}
