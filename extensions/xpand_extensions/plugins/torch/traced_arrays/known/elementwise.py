"""Functions of elements, and data types of results.

Absent are functions whose derivatives differ from PyTorch's at some points, such as `abs` at 0.
"""

import operator
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import torch

from xpand_extensions.tracing._core import bind

from ._table import Known, arithmetic, both, is_real_floating

_T: Final = torch.Tensor

_ANY: Final = {"negative": "neg", "positive": "", "square": ""}
"""Functions of all numbers, with another name in PyTorch."""
_REAL: Final = ("ceil", "floor", "isinf", "isnan", "sign", "signbit", "trunc")
_FLOATING: Final = {
    **dict.fromkeys(("cos", "cosh", "exp", "expm1", "isfinite", "log", "log1p", "log2", "log10", "reciprocal"), ""),
    **dict.fromkeys(("sin", "sinh", "sqrt", "tan"), ""),
    **{f"a{name}": f"arc{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
}


def _unary(name: str, is_taken: Callable[[Any], bool]) -> Known:
    def apply(xp: Any, input: Any) -> Any:
        # The operation itself is faster than the function of the namespace, which has options and checks.
        return xp.wrap(bind(xp.operations[name], (input,), {})) if is_taken(input) else NotImplemented

    return apply


def _is_number(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.dtype is not torch.bool


def _is_floating_or_complex(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and (x.dtype.is_floating_point or x.dtype.is_complex)


for _name, _other in _ANY.items():
    arithmetic(*both(_name, _other) if _other else both(_name))(_unary(_name, _is_number))
arithmetic(_T.__neg__)(_unary("negative", _is_number))
for _name in _REAL:
    arithmetic(*both(_name))(_unary(_name, is_real_floating))
arithmetic(*both("fix"))(_unary("trunc", is_real_floating))
for _name, _other in _FLOATING.items():
    arithmetic(*both(_name, _other) if _other else both(_name))(_unary(_name, _is_floating_or_complex))
arithmetic(*both("logical_not"))(_unary("logical_not", lambda x: x.dtype == torch.bool))
arithmetic(*both("conj", "conj_physical"))(lambda xp, input: xp.conj(input) if input.dtype.is_complex else input)
arithmetic(*both("resolve_conj", "resolve_neg"))(lambda xp, input: input)


@arithmetic(*both("round"))
def _round(xp: Any, input: Any, *, decimals: int = 0) -> Any:
    return xp.round(input) if decimals == 0 and is_real_floating(input) else NotImplemented


@arithmetic(*both("rsqrt"))
def _rsqrt(xp: Any, input: Any) -> Any:
    return xp.reciprocal(xp.sqrt(input)) if is_real_floating(input) else NotImplemented


# Two arguments


@cache
def _common(x: torch.dtype, has_x_axes: bool, y: torch.dtype, has_y_axes: bool) -> torch.dtype:
    """Return the data type of a combination. Arrays without axes count less."""
    of_x = torch.empty((1,) if has_x_axes else (), dtype=x, device="meta")
    of_y = torch.empty((1,) if has_y_axes else (), dtype=y, device="meta")
    return torch.result_type(of_x, of_y)


@cache
def _with_number(x: torch.dtype, has_axes: bool, number: complex) -> torch.dtype:
    return torch.result_type(torch.empty((1,) if has_axes else (), dtype=x, device="meta"), number)


def promoted(x: Any, y: Any) -> tuple[Any, Any]:
    """Return two operands, one a traced array, with the data type that PyTorch computes in."""
    if isinstance(x, torch.Tensor):
        if isinstance(y, torch.Tensor):
            if x.dtype is y.dtype:
                return x, y
            dtype = _common(x.dtype, bool(x.ndim), y.dtype, bool(y.ndim))
            return cast(x, dtype), cast(y, dtype)
        if x.dtype.is_floating_point and type(y) in (float, int):
            return x, y
        if type(y) in (bool, int, float, complex):
            return cast(x, _with_number(x.dtype, bool(x.ndim), type(y)(1))), y
        return x, y
    x, y = promoted(y, x)
    return y, x


def cast(x: Any, dtype: torch.dtype) -> Any:
    """Convert an array."""
    if x.dtype is dtype:
        return x
    return x._namespace.astype(x, dtype) if hasattr(x, "_namespace") else x.to(dtype)


def _operator(of: Known, is_reflected: bool = False) -> Known:
    def apply(xp: Any, input: Any, other: Any) -> Any:
        x, y = promoted(*((other, input) if is_reflected else (input, other)))
        return of(xp.wrap(x) if isinstance(x, torch.Tensor) else x, y)

    return apply


_OPERATORS: Final = {
    "matmul": operator.matmul,
    "mul": operator.mul,
    "pow": operator.pow,
    "truediv": operator.truediv,
}
_COMPARISONS: Final = {
    "lt": ("less", operator.lt),
    "le": ("less_equal", operator.le),
    "gt": ("greater", operator.gt),
    "ge": ("greater_equal", operator.ge),
    "eq": ("equal", operator.eq),
    "ne": ("not_equal", operator.ne),
}
arithmetic(*both("mul", "multiply"))(_operator(operator.mul))
arithmetic(*both("pow"))(_operator(operator.pow))
for _name, (_other, _of) in _COMPARISONS.items():
    arithmetic(*both(_name), *(both(_other) if _name != "eq" else ()), getattr(_T, f"__{_name}__"))(_operator(_of))
for _name, _of in {**_OPERATORS, "add": operator.add, "sub": operator.sub, "mod": operator.mod}.items():
    for _method, _is_reflected in ((f"__{_name}__", False), (f"__r{_name}__", True)):
        if hasattr(_T, _method):
            arithmetic(getattr(_T, _method))(_operator(_of, _is_reflected))
arithmetic(_T.__div__)(_operator(operator.truediv))
arithmetic(_T.__rdiv__)(_operator(operator.truediv, True))
arithmetic(*both("true_divide"))(_operator(operator.truediv))


def _added(of: Known) -> Known:
    def apply(xp: Any, input: Any, other: Any, *, alpha: Any = 1) -> Any:
        if alpha != 1:
            return NotImplemented
        x, y = promoted(input, other)
        return of(xp.wrap(x) if isinstance(x, torch.Tensor) else x, y)

    return apply


arithmetic(*both("add"))(_added(operator.add))
arithmetic(*both("sub", "subtract"))(_added(operator.sub))


@arithmetic(*both("div", "divide"))
def _div(xp: Any, input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    return NotImplemented if rounding_mode is not None else _operator(operator.truediv)(xp, input, other)


def _binary(name: str) -> Known:
    def apply(xp: Any, input: Any, other: Any) -> Any:
        if not (isinstance(input, torch.Tensor) and isinstance(other, torch.Tensor)):
            return NotImplemented
        if not (is_real_floating(input) and is_real_floating(other)):
            return NotImplemented
        return getattr(xp, name)(*promoted(input, other))

    return apply


for _name in ("maximum", "minimum", "nextafter"):
    arithmetic(*both(_name))(_binary(_name))
arithmetic(*both("atan2", "arctan2"))(_binary("atan2"))


def _logical(name: str) -> Known:
    def apply(xp: Any, input: Any, other: Any) -> Any:
        are_booleans = all(isinstance(x, torch.Tensor) and x.dtype == torch.bool for x in (input, other))
        return getattr(xp, name)(input, other) if are_booleans else NotImplemented

    return apply


for _name in ("logical_and", "logical_or", "logical_xor"):
    arithmetic(*both(_name))(_logical(_name))


@arithmetic(*both("where"))
def _where(xp: Any, condition: Any, input: Any = None, other: Any = None) -> Any:
    if input is None or other is None or not isinstance(condition, torch.Tensor) or condition.dtype != torch.bool:
        return NotImplemented
    if not (isinstance(input, torch.Tensor) or isinstance(other, torch.Tensor)):
        return NotImplemented
    return xp.where(condition, *promoted(input, other))


@arithmetic(*both("masked_fill"))
def _masked_fill(xp: Any, input: Any, mask: Any, value: Any) -> Any:
    if not isinstance(mask, torch.Tensor) or mask.dtype != torch.bool:
        return NotImplemented
    if isinstance(value, torch.Tensor):
        if value.ndim:
            return NotImplemented
        value = cast(value, input.dtype)
    elif not is_real_floating(input) or isinstance(value, complex):
        return NotImplemented
    return xp.where(mask, value, input)
