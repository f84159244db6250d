"""Random numbers of NumPy's generators, and of libraries with the same interface."""

from typing import Any

import numpy as np

from xpand.extend import Array, Device, DType, Namespace, default_dtype, namespace_or_default


class Source:
    """A generator with NumPy's interface that makes arrays of its library."""

    def __init__(self, source: Any, xp: Namespace) -> None:
        """Wrap a generator."""
        self._source, self._xp = source, xp

    def uniform(self, shape: Any = (), dtype: DType | None = None, minval: float = 0.0, maxval: float = 1.0) -> Array:
        u = self._of(self._source.random(size=shape, dtype=self._real(dtype)), dtype)
        return u if (minval, maxval) == (0.0, 1.0) else self._xp.maximum(u * (maxval - minval) + minval, minval)

    def normal(self, shape: Any = (), dtype: DType | None = None) -> Array:
        return self._of(self._source.standard_normal(size=shape, dtype=self._real(dtype)), dtype)

    def randint(self, shape: Any, minval: int, maxval: int, dtype: DType | None = None) -> Array:
        dtype = default_dtype(self._xp, "integral") if dtype is None else dtype
        return self._xp.asarray(self._source.integers(minval, maxval, size=shape, dtype=dtype))

    def bernoulli(self, p: float = 0.5, shape: Any = ()) -> Array:
        return self.uniform(shape) < p

    def permutation(self, x: int) -> Array:
        return self._xp.asarray(self._source.permutation(x), dtype=default_dtype(self._xp, "integral"))

    def _real(self, dtype: DType | None) -> Any:
        """Choose the type to draw in: float32 or float64."""
        return np.float32 if dtype is not None and np.dtype(dtype).itemsize <= 4 else np.float64

    def _of(self, x: Any, dtype: DType | None) -> Array:
        return self._xp.asarray(x, dtype=default_dtype(self._xp) if dtype is None else dtype)


def native_generator(seed: int, /, *, xp: Namespace | str | None = None, device: Device | None = None) -> Any:
    return Source(np.random.Generator(np.random.SFC64(seed)), namespace_or_default(xp, "native_generator"))
