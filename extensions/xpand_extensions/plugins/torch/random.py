"""Threefry-2x32 on PyTorch, and samplers.

PyTorch has few functions of uint32, so words are int32 with the same bits. On the CPU, NumPy hashes concrete keys block
by block. Samplers of many keys, and their derivatives, are one operation each: PyTorch's compiler would take minutes
for their steps.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import torch

from xpand import is_concrete, namespace
from xpand.extend import Device, DType, LibraryArray as Array, Namespace, default_dtype
from xpand.torch._concrete import is_traced
from xpand.torch._dtypes import SIGNED
from xpand_extensions.generic import random as generics
from xpand_extensions.generic.random import _continuous as scales, _uniform as generic
from xpand_extensions.generic.random._gamma import gamma_slope
from xpand_extensions.generic.random._keys import PARITY, ROTATIONS
from xpand_extensions.random._arguments import arrays_of

from ..numpy import random as of_host
from ..numpy.random import _blocks as blocks
from ._operators import define_operation
from ._plain import is_plain


def key_of_seed(seed: Array, /) -> Array:
    wide = _int64(seed)
    high = wide >> 32 if seed.dtype.itemsize == 8 else torch.zeros_like(wide)
    return torch.stack([high, wide], dim=-1).to(torch.int32).view(torch.uint32)


def _int64(x: Array) -> Array:
    return x.view(torch.int64) if x.dtype == torch.uint64 else x.to(torch.int64)


def _is_on_host(key: Array) -> bool:
    """Return whether NumPy can compute the numbers of a key, now or when a compiled program runs."""
    if key.device.type != "cpu":
        return False
    return is_traced() or is_plain(key) or is_concrete(key)


def _made_on_host(key: Array, shape: tuple[int, ...], dtype: DType, finish: blocks.Finish, *each: int) -> Array:
    """Compute the numbers of a key on the host: a tensor of shape (*shape, *each), or one for each of several keys."""
    full = [*shape, *each]
    if key.ndim > 1 or not is_plain(key):
        return _made(key, full, len(shape), dtype, finish.__name__)
    return _filled(key.tolist(), full, len(shape), dtype, finish)


def _filled(key: Sequence[int], full: list[int], axes: int, dtype: DType, finish: blocks.Finish) -> Array:
    first, second = key
    # Fill an array of NumPy: inside torch.func, the memory of a tensor can't be written. The data types of NumPy and
    # PyTorch have the same names.
    out: Any = np.empty((math.prod(full[:axes]), *full[axes:]), dtype=str(dtype).removeprefix("torch."))
    blocks.fill((first, second), out, finish)
    return torch.from_numpy(out.reshape(full))


# One operation of a graph: TorchInductor would take minutes to fuse the hundred operations of hashing.
@torch.library.custom_op("xpand::random", mutates_args=())  # type: ignore[untyped-decorator]
def _made(keys: torch.Tensor, full: list[int], axes: int, dtype: torch.dtype, finish: str) -> torch.Tensor:
    out = torch.empty((*keys.shape[:-1], *full), dtype=dtype)
    for key, row in zip(keys.reshape(-1, 2).tolist(), out.view(math.prod(keys.shape[:-1]), *full)):
        row.copy_(_filled(key, full, axes, dtype, getattr(blocks, finish)))
    return out


@_made.register_fake  # type: ignore[untyped-decorator]
def _(keys: Any, full: Any, axes: int, dtype: DType, finish: str) -> Array:
    return torch.empty((*keys.shape[:-1], *full), dtype=dtype, device=keys.device)


@_made.register_vmap  # type: ignore[untyped-decorator]
def _(info: Any, in_dims: Any, keys: Array, full: Any, axes: int, dtype: DType, finish: str) -> Any:
    return _made(keys.movedim(in_dims[0], 0), full, axes, dtype, finish), 0


def split(key: Array, /, num: Any = 2) -> Array:
    if _is_on_host(key):
        return _made_on_host(key, num, torch.uint32, blocks.both_words, 2)
    return torch.stack(_words(key, num), dim=-1).view(torch.uint32)


def fold_in(key: Array, /, data: Array | int) -> Array:
    if isinstance(data, int):
        data = torch.full((), data, dtype=torch.int64, device=key.device)
    data = _int64(data)
    lanes = torch.broadcast_shapes(data.shape, key.shape[:-1])
    data, key = data.expand(lanes), key.expand(*lanes, 2)
    if _is_on_host(key) and _is_on_host(data):
        return _FOLD_IN(data, key)
    low = data.to(torch.int32).unsqueeze(-1)
    return torch.cat(_hashed(key, torch.zeros_like(low), low), dim=-1).view(torch.uint32)


def _fold_in(data: Array, keys: Array) -> Array:
    pairs = zip(keys.reshape(-1, 2).tolist(), data.reshape(-1).tolist())
    rows = [blocks.hash_one((first, second), number & 0xFFFFFFFF) for (first, second), number in pairs]
    return torch.tensor(rows, dtype=torch.uint32).reshape(keys.shape)


_FOLD_IN: Final = define_operation("fold_in(Tensor data, Tensor keys)", _fold_in)


def bits(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    if _is_on_host(key):
        return _made_on_host(key, shape, dtype, blocks.double_word if dtype == torch.uint64 else blocks.one_word)
    x, y = _words(key, shape)
    if dtype == torch.uint64:
        return ((x.to(torch.int64) << 32) | (y.to(torch.int64) & 0xFFFFFFFF)).view(dtype)
    both = x ^ y
    if dtype == torch.uint32:
        return both.view(dtype)
    return both.to(torch.uint8) if dtype == torch.uint8 else both.to(torch.int16).view(dtype)


def _words(key: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the two words of each position in an array of the given shape, as int32; of several keys, (…, *shape)."""
    x, y = _hashed(key, *_counters(key, 0, math.prod(shape)))
    full = (*key.shape[:-1], *shape)
    return x.reshape(full), y.reshape(full)


def _counters(key: Array, start: int, stop: int) -> tuple[Array, Array]:
    """Return the upper words and the lower words of the counters of a range, as int32."""
    if stop <= 2**31:
        low = torch.arange(start, stop, dtype=torch.int32, device=key.device)
        return torch.zeros((1,), dtype=torch.int32, device=key.device), low
    positions = torch.arange(start, stop, dtype=torch.int64, device=key.device)
    return (positions >> 32).to(torch.int32), positions.to(torch.int32)


def _hashed(key: Array, high: Array, low: Array) -> tuple[Array, Array]:
    first, second = key[..., 0:1].view(torch.int32), key[..., 1:2].view(torch.int32)
    schedule = (first, second, first ^ second ^ PARITY)
    x, y = high + first, low + second
    for i in range(5):
        for positions in ROTATIONS[i % 2]:
            x = x + y
            y = x ^ _rotated(y, positions)
        x = x + schedule[(i + 1) % 3]
        y = y + (schedule[(i + 2) % 3] + (i + 1))
    return x, y


def _rotated(x: Array, positions: int) -> Array:
    # A right shift fills the left with copies of the sign. Mask them.
    return (x << positions) | ((x >> (32 - positions)) & ((1 << positions) - 1))


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


def randint(key: Array, /, shape: Any, minval: Array | int, maxval: Array | int, dtype: DType | None = None) -> Array:
    if arrays_of(minval, maxval) or key.device.type != "cpu" or not is_plain(key):
        return generic.randint(key, shape, minval, maxval, dtype)
    # The data types of NumPy and PyTorch have the same names.
    named = np.dtype(str(dtype).removeprefix("torch."))
    words = np.asarray(key.tolist(), dtype=np.uint32)
    return torch.from_numpy(generic.randint(words, shape, minval, maxval, named))


_BITS: Final = {
    torch.float16: (torch.uint16, 10),
    torch.bfloat16: (torch.uint8, 7),
    torch.float32: (torch.uint32, 23),
    torch.float64: (torch.uint64, 52),
}
"""The integer type of the random bits of each data type, and the number of bits that are used."""
_UNIFORM: Final = {torch.float32: blocks.single, torch.float64: blocks.double}
_NORMAL: Final = {torch.float32: blocks.normal_single, torch.float64: blocks.normal_double}


def uniform(
    key: Array, /, shape: Any = (), dtype: DType | None = None, minval: Array | float = 0.0, maxval: Array | float = 1.0
) -> Array:
    if dtype in _UNIFORM and _is_on_host(key):
        return _scaled(key, _made_on_host(key, shape, dtype, _UNIFORM[dtype]), minval, maxval)
    unsigned, used = _BITS[dtype]
    signed = SIGNED.get(unsigned, unsigned)
    unused = 8 * unsigned.itemsize - used
    drawn = bits(key, shape, unsigned).view(signed)
    u = ((drawn >> unused) & ((1 << used) - 1)).to(dtype) * 2.0**-used
    return _scaled(key, u, minval, maxval)


# One operation of a graph: PyTorch's compiler would repeat its many steps at each use of the result.
_CORRECTION: Final = define_operation(
    "rounding(Tensor span, Tensor low, Tensor u)", lambda span, low, u: scales.correction(u, span, low)
)


def _scaled(key: Array, u: Array, minval: Array | float, maxval: Array | float) -> Array:
    correction = lambda u, span, low: _CORRECTION(span.expand(u.shape), low.expand(u.shape), u)
    return scales.scaled(key, u, minval, maxval, correction=correction)


def normal(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    if dtype in _NORMAL and _is_on_host(key):
        return _made_on_host(key, shape, dtype, _NORMAL[dtype])
    return generic.normal(key, shape, dtype)


def split_each(keys: Array, /, *, num: int) -> Array:
    return torch.stack(_words(keys, (num,)), dim=-1).view(torch.uint32)


def gamma_elements(keys: Array, a: Array, /, *, log_space: bool) -> Array:
    return _GAMMA(log_space, keys, a)


def poisson_elements(keys: Array, lam: Array, /) -> Array:
    return _POISSON(keys, lam)


def binomial_elements(keys: Array, n: Array, p: Array, /) -> Array:
    return _BINOMIAL(keys, n, p)


def _evaluated(of_host: Callable[..., Any], otherwise: Callable[..., Array], *tensors: Array) -> Array:
    """Call a function of NumPy arrays on the memory of tensors if NumPy can read it, otherwise another of tensors."""
    if tensors[-1].device.type != "cpu" or tensors[-1].dtype == torch.bfloat16:
        return otherwise(*tensors).contiguous()
    return torch.from_numpy(of_host(*[x.detach().numpy() for x in tensors]))


def _gamma(log_space: bool, keys: Array, a: Array) -> Array:
    of_torch, of_numpy = (
        lambda keys, a, module=module: module.gamma_elements(keys, a, log_space=log_space)
        for module in (generics, of_host)
    )
    return _evaluated(of_numpy, of_torch, keys, a)


def _slope(log_space: bool, a: Array, sample: Array) -> Array:
    function = lambda a, sample: gamma_slope(a, sample, log_space=log_space)
    return _evaluated(function, function, a, sample)


def _pull_sample(ct: Array, log_space: bool, keys: Array, a: Array, sample: Array) -> tuple[None, Array]:
    return None, ct * _SLOPE(log_space, a, sample)


def _pull_slope(ct: Array, log_space: bool, a: Array, sample: Array, _: Array) -> Sequence[Array]:
    # Differentiate all operations: derivatives of higher order are rare.
    found: Sequence[Array]
    _, pull = torch.func.vjp(lambda a, sample: gamma_slope(a, sample, log_space=log_space), a, sample)
    found = pull(ct)
    return found


_SLOPE = define_operation("gamma_slope(bool log_space, Tensor a, Tensor sample)", _slope, _pull_slope)
_GAMMA = define_operation("gamma(bool log_space, Tensor keys, Tensor a)", _gamma, _pull_sample)
_POISSON = define_operation(
    "poisson(Tensor keys, Tensor lam)",
    lambda *tensors: _evaluated(of_host.poisson_elements, generics.poisson_elements, *tensors),
)
_BINOMIAL = define_operation(
    "binomial(Tensor keys, Tensor n, Tensor p)",
    lambda *tensors: _evaluated(of_host.binomial_elements, generics.binomial_elements, *tensors),
)
