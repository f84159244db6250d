"""Derivatives on PyTorch."""

from xpand._typing import Array


def stop_gradient(x: Array, /) -> Array:
    return x.detach()
