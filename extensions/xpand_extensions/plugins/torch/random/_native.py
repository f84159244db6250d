"""PyTorch's own random numbers."""

from typing import Any

import torch

from xpand import namespace
from xpand.extend import Device, DType, Namespace, default_dtype
from xpand.extend import LibraryArray as Array


class _Source:
    def __init__(self, seed: int, device: Device) -> None:
        self._source = torch.Generator(device=device).manual_seed(seed)
        self._device = device

    def uniform(self, shape: Any = (), dtype: DType | None = None, minval: float = 0.0, maxval: float = 1.0) -> Array:
        return self._empty(shape, dtype, "real floating").uniform_(minval, maxval, generator=self._source)

    def normal(self, shape: Any = (), dtype: DType | None = None) -> Array:
        return self._empty(shape, dtype, "real floating").normal_(generator=self._source)

    def randint(self, shape: Any, minval: int, maxval: int, dtype: DType | None = None) -> Array:
        return self._empty(shape, dtype, "integral").random_(minval, maxval, generator=self._source)

    def bernoulli(self, p: float = 0.5, shape: Any = ()) -> Array:
        return self._empty(shape, torch.bool, "integral").bernoulli_(p, generator=self._source)

    def permutation(self, x: int) -> Array:
        dtype = default_dtype(namespace("torch"), "integral")
        return torch.randperm(x, generator=self._source, dtype=dtype, device=self._device)

    def _empty(self, shape: Any, dtype: DType | None, kind: Any) -> Array:
        dtype = default_dtype(namespace("torch"), kind, self._device) if dtype is None else dtype
        return torch.empty(shape, dtype=dtype, device=self._device)


def native_generator(seed: int, /, *, xp: Namespace | str | None = None, device: Device | None = None) -> Any:
    return _Source(seed, torch.get_default_device() if device is None else torch.device(device))
