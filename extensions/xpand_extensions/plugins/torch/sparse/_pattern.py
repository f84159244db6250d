"""Work on patterns on PyTorch: below torch.func's derivatives, which wrap integers as they wrap all else."""

from collections.abc import Callable
from typing import Any

import torch
from torch._C import _functorch as levels  # torch.func has no public way past its levels
from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

from xpand import is_concrete
from xpand._namespace import torch_is_traced as is_traced
from xpand._typing import Array


def known(*arrays: Array) -> bool:
    return all(is_concrete(x) or is_concrete(_unwrapped(x)) for x in arrays)


def at_once(function: Callable[..., Any], /, *arrays: Array) -> Any:
    if not torch._C._are_functorch_transforms_active():
        return function(*map(_unwrapped, arrays))
    with temporarily_clear_interpreter_stack():
        return function(*map(_unwrapped, arrays))


def _unwrapped(x: Array) -> Array:
    """Return what an array holds that has no derivatives; where it is mapped, the array of all members stays out."""
    if is_traced() or x.is_floating_point() or x.is_complex():
        return x
    while levels.is_gradtrackingtensor(x):
        x = levels.get_unwrapped(x)
    return x
