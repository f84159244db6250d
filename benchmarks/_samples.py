"""Arguments of functions: arrays of a library with about `size` elements, with the same values on all libraries."""

from collections.abc import Callable
from functools import cached_property
from math import isqrt
from typing import Any

import numpy as np


class Samples:
    """Sample arrays, which are made on first use and cached.

    `floats` and `others` lie between 0.1 and 0.9, where every elementwise function is defined. `integers` and `shifts`
    lie between 1 and 8. `matrix` is as square as the size allows. `matrices` is a stack of small matrices.
    """

    def __init__(self, asarray: Callable[[np.ndarray], Any], size: int) -> None:
        self.size = size
        self.side = isqrt(size)
        self._asarray = asarray

    def _random(self, seed: int, *shape: int) -> Any:
        return np.random.default_rng(seed).uniform(0.1, 0.9, shape)

    def _whole(self, seed: int, *shape: int) -> Any:
        return np.random.default_rng(seed).integers(1, 8, shape)

    @cached_property
    def floats(self) -> Any:
        return self._asarray(self._random(0, self.size))

    @cached_property
    def others(self) -> Any:
        return self._asarray(self._random(1, self.size))

    @cached_property
    def above_one(self) -> Any:
        return self._asarray(1 + self._random(2, self.size))

    @cached_property
    def integers(self) -> Any:
        return self._asarray(self._whole(3, self.size))

    @cached_property
    def shifts(self) -> Any:
        return self._asarray(self._whole(4, self.size))

    @cached_property
    def booleans(self) -> Any:
        return self._asarray(self._random(5, self.size) < 0.5)

    @cached_property
    def more_booleans(self) -> Any:
        return self._asarray(self._random(6, self.size) < 0.5)

    @cached_property
    def complex(self) -> Any:
        return self._asarray(self._random(7, self.size) + 1j * self._random(8, self.size))

    @cached_property
    def ascending(self) -> Any:
        return self._asarray(np.sort(self._random(9, self.size)))

    @cached_property
    def indices(self) -> Any:
        return self._asarray(np.random.default_rng(10).permutation(self.size))

    @cached_property
    def row(self) -> Any:
        """A short row: its outer product with the column has `size` elements."""
        return self._asarray(self._random(11, self.side))

    @cached_property
    def column(self) -> Any:
        return self._asarray(self._random(12, self.side))

    @cached_property
    def matrix(self) -> Any:
        return self._asarray(self._random(13, self.side, self.side))

    @cached_property
    def with_unit_axis(self) -> Any:
        return self._asarray(self._random(14, 1, self.size))

    @cached_property
    def threes(self) -> Any:
        return self._asarray(self._random(15, max(1, self.size // 3), 3))

    @cached_property
    def more_threes(self) -> Any:
        return self._asarray(self._random(16, max(1, self.size // 3), 3))

    def _stack(self) -> Any:
        k = 2 if self.size < 1000 else 10
        matrices = self._random(17, max(1, self.size // k**2), k, k)
        return matrices @ matrices.mT + np.eye(k)

    @cached_property
    def matrices(self) -> Any:
        """Symmetric positive definite matrices, which every function of `linalg` accepts."""
        return self._asarray(self._stack())

    @cached_property
    def right_hand_sides(self) -> Any:
        return self._asarray(self._stack()[..., :1].copy())

    @cached_property
    def frequencies(self) -> Any:
        """Half a spectrum, for `irfft` and `hfft`."""
        half = self.size // 2 + 1
        return self._asarray(self._random(18, half) + 1j * self._random(19, half))
