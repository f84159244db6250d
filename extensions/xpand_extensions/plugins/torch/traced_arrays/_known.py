"""PyTorch's functions that the standard has, too, with PyTorch's signatures.

A function that is missing here works as well, but slower: it is one call of PyTorch.
"""

import math
import operator
from collections.abc import Callable
from typing import Any, Final

import torch

from xpand_extensions.tracing._core import TracedArray, TracedError, bind
from xpand_extensions.tracing._views import linked

Known = Callable[..., Any]

KNOWN: Final[dict[Any, Known]] = {}
"""For a function or method of PyTorch, a function of the traced namespace and the arguments.

It returns `NotImplemented` for options that the standard doesn't have.
"""

_T: Final = torch.Tensor


def _known(*functions: Any) -> Callable[[Known], Known]:
    def add(known: Known) -> Known:
        KNOWN.update(dict.fromkeys(functions, known))
        return known

    return add


def _both(name: str) -> list[Any]:
    """Return the function and the method of a name."""
    return [getattr(owner, name) for owner in (torch, _T) if hasattr(owner, name)]


def _unary(name: str) -> Known:
    def apply(xp: Any, input: Any, *options: Any, **rest: Any) -> Any:
        return NotImplemented if options or rest else getattr(xp, name)(input)

    return apply


for _name in (
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "exp", "expm1", "floor"),
    *("isfinite", "isinf", "isnan", "log", "log1p", "log2", "log10", "logical_not", "negative", "reciprocal"),
    *("sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc"),
):
    _known(*_both(_name))(_unary(_name))
_known(*_both("neg"), _T.__neg__)(_unary("negative"))


def _operator(of: Callable[[Any, Any], Any], is_reflected: bool = False) -> Known:
    def apply(xp: Any, input: Any, other: Any, **options: Any) -> Any:
        if options:
            return NotImplemented
        x, y = (other, input) if is_reflected else (input, other)
        return of(xp.wrap(x) if isinstance(x, torch.Tensor) else x, y)

    return apply


_OPERATORS: Final = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "matmul": operator.matmul,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "eq": operator.eq,
    "ne": operator.ne,
}
for _name, _of in _OPERATORS.items():
    if _name not in ("mod", "floordiv"):
        _known(*_both(_name))(_operator(_of))
    for _method, _is_reflected in ((f"__{_name}__", False), (f"__r{_name}__", True)):
        if hasattr(_T, _method):
            _known(getattr(_T, _method))(_operator(_of, _is_reflected))
_known(torch.multiply, _T.multiply)(_operator(operator.mul))


@_known(_T.__getitem__)
def _getitem(xp: Any, input: Any, key: Any) -> Any:
    return xp.wrap(input)[key]


@_known(torch.where, _T.where)
def _where(xp: Any, condition: Any, input: Any = None, other: Any = None) -> Any:
    if input is None or other is None:
        return NotImplemented
    if not isinstance(condition, torch.Tensor) or condition.dtype != torch.bool:
        return NotImplemented
    return xp.where(condition, input, other)


@_known(_T.detach, torch.detach)
def _detach(xp: Any, input: Any) -> Any:
    op = xp.operations["stop_gradient"]
    return linked(xp.wrap(bind(op, (input,), {})), input, op, {})


@_known(_T.clone, torch.clone)
def _clone(xp: Any, input: Any, *, memory_format: Any = None) -> Any:
    return xp.asarray(input, copy=True)


# Sizes and other questions


@_known(_T.size)
def _size(xp: Any, input: Any, dim: int | None = None) -> Any:
    return input.shape if dim is None else input.shape[dim]


@_known(_T.dim, _T.ndimension)
def _dim(xp: Any, input: Any) -> int:
    return len(input.shape)


@_known(_T.numel, _T.nelement, torch.numel)
def _numel(xp: Any, input: Any) -> int:
    return math.prod(input.shape)


@_known(_T.is_floating_point, torch.is_floating_point)
def _is_floating_point(xp: Any, input: Any) -> bool:
    return bool(input.dtype.is_floating_point)


@_known(_T.is_complex, torch.is_complex)
def _is_complex(xp: Any, input: Any) -> bool:
    return bool(input.dtype.is_complex)


@_known(_T.is_contiguous)
def _is_contiguous(xp: Any, input: Any, memory_format: Any = None) -> bool:
    return True


@_known(_T.contiguous)
def _contiguous(xp: Any, input: Any, memory_format: Any = None) -> Any:
    return input


@_known(_T.get_device)
def _get_device(xp: Any, input: Any) -> int:
    return -1 if input.device.index is None else int(input.device.index)


@_known(_T.item)
def _item(xp: Any, input: Any) -> Any:
    kind = complex if input.dtype.is_complex else float if input.dtype.is_floating_point else int
    return bool(input) if input.dtype == torch.bool else kind(input)


def _refused(*names: str, advice: str) -> None:
    for name in names:

        def refuse(xp: Any, input: Any, *args: Any, name: str = name, **kwargs: Any) -> Any:
            raise TracedError(f"x.{name}: `{input._trace.what}` traces this array; {advice}")

        _known(getattr(_T, name))(refuse)


_refused("backward", "requires_grad_", "retain_grad", "register_hook", advice="take derivatives with `autodiff.grad`")
_refused(
    *("numpy", "tolist", "data_ptr", "untyped_storage", "storage"),
    advice="its values are known outside of the transformation: return the array, or use `pure_callback`",
)


@_known(torch.is_tensor)
def _is_tensor(xp: Any, input: Any) -> bool:
    return isinstance(input, (torch.Tensor, TracedArray))
