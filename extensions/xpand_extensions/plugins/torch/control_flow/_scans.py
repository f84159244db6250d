"""Scans along the first axis on PyTorch."""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from xpand.extend import Array
from xpand.torch._concrete import is_traced
from xpand_extensions.generic.control_flow import _scans as generic

from ._blocks import is_long, steps_in_blocks
from ._compiled import compiled_scan

Arrays: TypeAlias = "tuple[Array, ...]"


def scan(
    f: Callable[..., Any], init: Arrays, xs: Any = None, length: Any = None, reverse: bool = False, unroll: Any = 1
) -> tuple[Arrays, Arrays]:
    if is_traced():
        return compiled_scan(f, init, xs, length, reverse)
    if not is_long(length):
        return generic.scan(f, init, xs, length, reverse)
    carry, found = steps_in_blocks(f, init, generic.cut(xs, length, reverse))
    return carry, generic.stacked(torch, found[::-1] if reverse else found)


def map(f: Callable[..., Any], xs: Arrays, *, batch_size: int | None = None) -> Arrays:
    if batch_size is not None and xs[0].shape[0]:
        batches = zip(*[torch.split(x, batch_size) for x in xs])
        over = torch.func.vmap(f)
        found = [over(*batch) for batch in batches]
        return tuple([torch.cat(parts) for parts in zip(*found)])
    return scan(lambda _, x: ((), f(*x)), (), xs, xs[0].shape[0])[1]
