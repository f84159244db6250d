"""Tensors without values, of what is traced; when that has ended, to use one is an error."""

from typing import Any

import torch

from xpand import trees
from xpand.torch import _private as private

from ._zeros import NOTHING

_OPERATION = type(torch.ops.aten.zeros.default)


class WithoutValues(private.FakeTensorMode):  # type: ignore[misc]
    """The mode in which tensors have no values."""

    supports_higher_order_operators = True
    """Else PyTorch looks for their rules by the very class of a mode."""

    ended: str | None = None
    """The name of the transformation that has ended: a tensor of this mode that is used afterwards has leaked."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Apply an operation to tensors of this mode."""
        if not isinstance(func, _OPERATION):  # a function of functions, whose operations come here themselves
            return super().__torch_dispatch__(func, types, args, kwargs)
        if func is torch.ops.prim.device.default:  # PyTorch asks where an exception would end the process
            return super().__torch_dispatch__(func, types, args, kwargs)
        if self.ended is not None:
            raise _leaked(func, self.ended)
        for x in trees.leaves((args, kwargs)):
            if isinstance(x, private.FakeTensor) and x.fake_mode is not self:  # what is compiled would read its memory
                raise _leaked(func, getattr(x.fake_mode, "ended", None) or "jit")
        if func is NOTHING:
            func = torch.ops.aten.zeros.default
        return super().__torch_dispatch__(func, types, args, kwargs)


def _leaked(func: Any, transformation: str) -> Exception:
    from xpand_extensions.tracing._core import leaked  # nothing else of tracing is needed

    return leaked(func.name(), transformation)
