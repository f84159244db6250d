"""NumPy's own integers as axes, sizes and other options of NumPy's functions on traced arrays."""

from typing import Final

import numpy as np
import pytest

from tests.numpy_calls import Call, calls, check

X: Final = np.array([[0.31, 1.2, 0.73], [2.1, 1.5, 0.9]])
M: Final = np.array([[2.0, 0.3, 0.1], [0.4, 3.0, 0.2], [0.5, 0.6, 4.0]])

ALL_CALLS: Final = calls(
    {"M": M, "zero": np.int64(0), "one": np.int32(1), "two": np.uint8(2), "back": np.int8(-1)},
    X,
    "np.reshape(x, (two, two + one))",
    "np.broadcast_to(x, np.array([4, 2, 3]))",
    "np.swapaxes(x, zero, back)",
    "np.moveaxis(x, zero, one)",
    "np.rollaxis(x, one, zero)",
    "np.expand_dims(x, back)",
    "np.squeeze(x[None], axis=zero)",
    "np.flip(x, one)",
    "np.rot90(x, one, (zero, one))",
    "np.roll(x, two, back)",
    "np.roll(x, two)",
    "np.tile(x, (two, one))",
    "np.repeat(x, two, back)",
    "np.resize(x, (two, two))",
    "np.concatenate([x, x], axis=one)",
    "np.stack([x, x], axis=back)",
    "np.append(x, x, axis=one)",
    "np.unstack(x, axis=one)",
    "np.split(x, two, axis=zero)",
    "np.array_split(x, two, axis=back)",
    "np.delete(x, one, axis=one)",
    "np.insert(x, one, 2.0, axis=back)",
    "np.pad(x, one)",
    "np.pad(x, (zero, one), mode='reflect')",
    "np.tril(x, back)",
    "np.diag(x, one)",
    "np.diag(x[0], back)",
    "np.diagonal(x, one, zero, one)",
    "np.trace(x, offset=one)",
    "np.lib.stride_tricks.sliding_window_view(x, two, one)",
    "np.take(x, two, axis=one)",
    "np.take_along_axis(x, np.array([[0], [1]], np.uint8), one)",
    "np.round(x, one)",
    "np.tensordot(x, M, one)",
    "np.tensordot(x, M, (one, zero))",
    "np.cross(x, M[:2], axis=back)",
    "np.linalg.vecdot(x, x, axis=zero)",
    "np.linalg.norm(x, axis=zero)",
    "np.linalg.norm(x, ord=one, axis=(zero, one))",
    "np.linalg.norm(x, ord=two, axis=back)",
    "np.linalg.vector_norm(x, axis=one, ord=one)",
    "np.linalg.matrix_power(M * x[0, 0], two)",
    "np.linalg.tensorinv(M * x[0, 0], ind=one)",
    "np.linalg.cond(M * x[0, 0], one)",
    "np.fft.fft(x, n=two, axis=zero)",
    "np.fft.fft2(x, s=(two, two), axes=(zero, back))",
    "np.fft.fftshift(x, axes=one)",
)


@pytest.mark.parametrize("call", ALL_CALLS)
def test_values_and_derivatives(call: Call) -> None:
    check(call)
