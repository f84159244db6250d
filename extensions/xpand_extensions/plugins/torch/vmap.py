"""Mapping on PyTorch."""

from collections.abc import Callable
from typing import Any

import torch


def vmap(function: Callable[..., Any], /, in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    mapped: Callable[..., Any] = torch.func.vmap(function, in_axes, out_axes)
    return mapped
