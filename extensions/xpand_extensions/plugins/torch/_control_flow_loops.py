"""Loops that end by a condition or a count, on PyTorch."""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from xpand._typing import Array

from ...generic._control_flow_loops import counted, looped
from ._control_flow_compiled import compiled_scan, compiled_while
from ._control_flow_known import holds, is_known

Arrays: TypeAlias = "tuple[Array, ...]"
Function: TypeAlias = Callable[..., Any]


def while_loop(cond_fun: Function, body_fun: Function, init_val: Arrays, *, max_iter: Any = None) -> Arrays:
    if torch.compiler.is_compiling():
        return compiled_while(cond_fun, body_fun, init_val, max_iter)
    return looped(cond_fun, body_fun, init_val, max_iter, lambda active, bounded: holds(active))


def fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Arrays, *, unroll: Any = None) -> Arrays:
    if torch.compiler.is_compiling() and isinstance(lower, int) and isinstance(upper, int) and lower < upper:
        numbers = torch.arange(lower, upper, device=init_val[0].device)
        return compiled_scan(lambda carry, i: (body_fun(*i, *carry), ()), init_val, (numbers,), upper - lower, False)[0]
    return counted(lower, upper, body_fun, init_val, is_known, while_loop)
