"""While-loops and counted loops on PyTorch."""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from xpand.extend import Array
from xpand.torch._concrete import is_traced
from xpand_extensions.generic.control_flow._loops import counted, looped

from ._blocks import bounded_in_blocks, is_long
from ._compiled import compiled_while
from ._known import holds, is_known
from ._scans import scan

Arrays: TypeAlias = "tuple[Array, ...]"
Function: TypeAlias = Callable[..., Any]


def while_loop(cond_fun: Function, body_fun: Function, init_val: Arrays, *, max_iter: Any = None) -> Arrays:
    if is_traced():
        return compiled_while(cond_fun, body_fun, init_val, max_iter)
    if isinstance(max_iter, int) and is_long(max_iter):
        return bounded_in_blocks(cond_fun, body_fun, init_val, max_iter)
    return looped(cond_fun, body_fun, init_val, max_iter, lambda active, bounded: holds(active))


def fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Arrays, *, unroll: Any = None) -> Arrays:
    bounds = (lower, upper)
    if not all(isinstance(x, int) or is_known(x) for x in bounds):
        return counted(lower, upper, body_fun, init_val, is_known, while_loop)
    dtype = next((x.dtype for x in bounds if not isinstance(x, int)), torch.int64)
    first, last = int(lower), max(int(lower), int(upper))
    if first == last:
        return init_val
    numbers = torch.arange(first, last, dtype=dtype, device=init_val[0].device)
    carry, _ = scan(lambda carry, i: (body_fun(*i, *carry), ()), init_val, (numbers,), last - first)
    return carry
