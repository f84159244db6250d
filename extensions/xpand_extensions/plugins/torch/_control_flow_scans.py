"""Mapping one after another, on PyTorch."""

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from xpand._typing import Array

from ...generic import _control_flow_scans as generic

Arrays: TypeAlias = "tuple[Array, ...]"


def map(f: Callable[..., Any], xs: Arrays, *, batch_size: int | None = None) -> Arrays:
    if batch_size is None or not xs[0].shape[0]:
        return generic.map(f, xs)
    batches = zip(*[torch.split(x, batch_size) for x in xs])
    found = [torch.func.vmap(f)(*batch) for batch in batches]
    return tuple([torch.cat(parts) for parts in zip(*found)])
