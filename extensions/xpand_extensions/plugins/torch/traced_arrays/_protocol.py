"""PyTorch's protocol for classes of tensors: what its functions, methods and attributes mean for traced arrays."""

from collections.abc import Callable
from typing import Any, Final

import torch

from xpand_extensions.tracing._core import TracedError

from ._functions import called
from .known import apply_known


def torch_function(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """Apply a function, a method or an attribute of PyTorch. PyTorch calls this for arguments of the class `cls`."""
    namespace, kwargs = cls._namespace, kwargs or {}
    result = apply_known(namespace, func, args, kwargs)
    if result is not NotImplemented:
        return result
    name: str = func.__name__
    if name == "__get__":
        return _attribute(args[0], func.__self__.__name__)
    if name in ("__set__", "__delete__"):
        raise TracedError(f"x.{func.__self__.__name__}: this attribute of a traced array can't be set")
    if name in _DUAL:
        raise TracedError(
            "torch.func.jvp: a transformation of xpand traces the array; use `jvp` of `xpand_extensions.autodiff`"
        )
    return called(namespace, func, args, kwargs)


_DUAL: Final = frozenset({"_make_dual", "_unpack_dual"})
"""Functions of PyTorch's forward mode, which would ignore that an array is traced."""


def _attribute(x: Any, name: str) -> Any:
    answer = _ATTRIBUTES.get(name)
    if answer is not None:
        return answer(x)
    like: Any = torch.empty(x.shape, dtype=x.dtype, device="meta")
    value = getattr(like, name)
    if not isinstance(value, torch.Tensor):
        return value

    def attribute(tensor: torch.Tensor) -> Any:
        return getattr(tensor, name)

    return called(type(x)._namespace, attribute, (x,), {})


_ATTRIBUTES: Final[dict[str, Callable[[Any], Any]]] = {
    "data": lambda x: x.detach(),
    "grad": lambda x: None,
    "grad_fn": lambda x: None,
    "is_cpu": lambda x: x.device.type == "cpu",
    "is_cuda": lambda x: x.device.type == "cuda",
    "is_leaf": lambda x: True,
    "is_meta": lambda x: x.device.type == "meta",
    "requires_grad": lambda x: False,
}
