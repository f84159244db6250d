"""Traced arrays over PyTorch: real tensors, so that PyTorch's own functions and modules accept them.

PyTorch hands a call of any of its functions with such an array to `__torch_function__` (`_protocol.py`). A function
that the standard has, too, becomes its operation (`known/`). Any other function is one operation (`_calls.py`),
whose rules (`_rules.py`) PyTorch's own derivatives and `torch.vmap` provide.
"""

import functools
from collections.abc import Callable
from typing import Any, Final

import torch

from xpand.extend import trace_instead
from xpand_extensions.tracing._core import TracedArray, TracedError, compiled

from ._functions import traced_apply
from ._interpreters import Recorded, Staged
from ._protocol import torch_function
from .known.elementwise import promoted

# `debug_unwrap`: a transformation of torch.func that is active during the import would wrap it.
_EMPTY = torch.func.debug_unwrap(torch.empty(0, device="meta"))


def class_of(namespace: Any, base: type[TracedArray], methods: dict[str, Any]) -> type[TracedArray]:
    """Make the class of traced arrays: a subclass of `torch.Tensor` without elements."""
    methods = dict(methods)
    del methods["__slots__"]
    methods |= {
        "__hash__": torch.Tensor.__hash__,  # by identity: modules keep tensors in sets and dictionaries
        "__new__": _new,
        "__torch_dispatch__": classmethod(_refuse),
        "__torch_function__": classmethod(torch_function),
        "_graphed": None,  # the tangent of the array, and its tensor in PyTorch's graph
        "shape": property(lambda x: torch.Size(x._trace.shape(x))),
        "size": torch.Tensor.size,
        "__len__": _length,
    }
    for name in _PROMOTING:
        methods[name] = _promoting(methods[name])
    namespace.linearizer, namespace.stager = Recorded, Staged
    namespace.operations["stop_gradient"].function = torch.Tensor.detach
    for name in ("empty_like", "ones_like", "zeros_like"):
        setattr(namespace, name, _of_own_class(namespace, getattr(namespace, name)))
    traced_apply()
    return type("TracedArray", (base, torch.Tensor), methods)


trace_instead(torch_function, compiled)


def _of_own_class(namespace: Any, create: Callable[..., Any]) -> Callable[..., Any]:
    """Make arrays like others distributed over processes as these are: PyTorch doesn't combine both kinds."""
    native = getattr(torch, create.__name__)

    @functools.wraps(create)
    def created(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
        value = x
        while isinstance(value, TracedArray):
            value = value._value
        if type(value) is torch.Tensor or not isinstance(value, torch.Tensor) or value.shape != x.shape:
            return create(x, dtype=dtype, device=device)
        return namespace.wrap(native(value.detach(), dtype=dtype, device=device))

    return created


_PROMOTING: Final = [
    f"__{reflected}{name}__"
    for reflected in ("", "r")
    for name in ("add", "sub", "mul", "truediv", "pow", "mod", "floordiv")
] + [f"__{name}__" for name in ("lt", "le", "gt", "ge", "eq", "ne")]


def _promoting(operator: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Make an operator that combines data types as PyTorch's: arrays without axes count less."""

    @functools.wraps(operator)
    def promoting(self: Any, other: Any) -> Any:
        mine = self._value.dtype
        if isinstance(other, TracedArray):
            theirs = other._value.dtype
        elif type(other) is float or not isinstance(other, torch.Tensor):
            theirs = mine if mine.is_floating_point or type(other) not in (float, complex) else None
        else:
            theirs = other.dtype
        if theirs is not mine:
            self, other = promoted(self, other)
        return operator(self, other)

    return promoting


def _length(x: Any) -> int:
    if not x.shape:
        raise TypeError("len() of an array without axes; `torch.stack([x, y])` replaces `torch.tensor([x, y])`")
    return int(x.shape[0])


def _new(cls: Any, *args: Any) -> Any:
    return _EMPTY.as_subclass(cls)


def _refuse(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    raise TracedError(
        f"{func}: PyTorch's compiled code got an array that a transformation of xpand traces, from `torch.func`, "
        "`torch.vmap`, `torch.autograd`, `torch.tensor`, `torch.asarray` or `torch.compile`; use xpand's function of "
        "that name there: "
        "`grad`, `vjp`, `jvp`, `jacrev`, `jacfwd`, `hessian` of `xpand_extensions.autodiff`, `vmap.vmap`, `jit.jit`"
    )
