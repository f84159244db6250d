"""Rules of Fourier transforms: derivatives in both modes, batches and shapes, against JAX's."""

from typing import Any

import numpy as np
import pytest

from tests.cases import Case
from tests.operations import Check, checked
from tests.traced import traced_forward, traced_grad, traced_second, traced_stage, traced_vmap
from xpand import array_namespace
from xpand_extensions.autodiff import grad, linear_transpose
from xpand_extensions.tracing import traced_namespace
from xpand_extensions.tracing._core import Aval
from xpand_extensions.tracing._staging import stage
from xpand_extensions.vmap import vmap

TRACED = [traced_stage, traced_vmap, traced_forward, traced_grad, traced_second]
RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def transform(name: str, **options: Any) -> Any:
    return lambda x: getattr(array_namespace(x).fft, name)(x, **options)


def of_real(name: str, *shape: int, **options: Any) -> Case:
    return Case(transform(name, **options), (normal(*shape),), differentiable=(0,))


def of_complex(name: str, *shape: int, **options: Any) -> Case:
    function = transform(name, **options)
    return Case(lambda a, b: function(a + 1j * b), (normal(*shape), normal(*shape)), differentiable=(0, 1))


CASES = {
    "fft": of_complex("fft", 2, 5),
    "fft, cut": of_complex("fft", 5, 2, n=3, axis=0, norm="ortho"),
    "fft, filled": of_complex("fft", 2, 3, n=6, norm="forward"),
    "ifft": of_complex("ifft", 2, 4, n=6, axis=-1),
    "ifft, first axis": of_complex("ifft", 4, 2, axis=-2, norm="ortho"),
    "rfft": of_real("rfft", 2, 6),
    "rfft, odd": of_real("rfft", 2, 5, norm="ortho"),
    "rfft, cut": of_real("rfft", 6, 2, n=4, axis=0, norm="forward"),
    "rfft, filled": of_real("rfft", 2, 3, n=7),
    "rfft, one": of_real("rfft", 2, 1),
    "irfft": of_complex("irfft", 2, 4),
    "irfft, odd": of_complex("irfft", 2, 4, n=7, norm="ortho"),
    "irfft, cut": of_complex("irfft", 5, 2, n=4, axis=0, norm="forward"),
    "irfft, filled": of_complex("irfft", 2, 3, n=9),
    "hfft": of_complex("hfft", 2, 4),
    "hfft, odd": of_complex("hfft", 4, 2, n=5, axis=0, norm="ortho"),
    "ihfft": of_real("ihfft", 2, 6),
    "ihfft, cut": of_real("ihfft", 5, 2, n=3, axis=0, norm="forward"),
    "fftn": of_complex("fftn", 2, 3, 4),
    "fftn, some": of_complex("fftn", 3, 2, 4, s=(2, 5), axes=(2, 0), norm="ortho"),
    "ifftn": of_complex("ifftn", 3, 4, axes=(-1,)),
    "rfftn": of_real("rfftn", 2, 3, 4),
    "rfftn, some": of_real("rfftn", 3, 2, 4, s=(4, 3), axes=(2, 0), norm="forward"),
    "rfftn, one axis": of_real("rfftn", 3, 4, axes=(0,)),
    "irfftn": of_complex("irfftn", 3, 4),
    "irfftn, some": of_complex("irfftn", 3, 2, 4, s=(5, 6), axes=(0, 2), norm="ortho"),
    "fftshift": of_real("fftshift", 3, 4),
    "fftshift, one axis": of_real("fftshift", 3, 5, axes=1),
    "ifftshift": of_real("ifftshift", 3, 5, axes=(0, -1)),
}


@checked(CASES, TRACED)
def test_derivatives(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("n", [None, 1, 4, 7])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_transposes(name: str, size: int, n: int | None, norm: str) -> None:
    # The products of a result with any array, and of an input with the transposed of that, are the same.
    function = transform(name, n=n, norm=norm)
    x = normal(size) if name in ("rfft", "ihfft") else normal(size) + 1j * normal(size)
    if n is None and size == 1 and name in ("irfft", "hfft"):
        n, function = 2, transform(name, n=2, norm=norm)
    y = function(x)
    ct = normal(*y.shape) if y.dtype.kind == "f" else normal(*y.shape) + 1j * normal(*y.shape)
    (back,) = linear_transpose(function, x)(ct)
    assert back.dtype == x.dtype
    assert np.sum(ct * y).real == pytest.approx(np.sum(back * x).real, abs=1e-12)


@pytest.mark.parametrize("name", ["fft", "rfft", "irfft"])
def test_single_precision_stays(name: str) -> None:
    x = normal(6).astype(np.float32 if name == "rfft" else np.complex64)
    result = grad(lambda x: array_namespace(x).sum(array_namespace(x).abs(transform(name)(x)) ** 2))(x)
    assert result.dtype == x.dtype


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_any_axis_can_be_mapped(axis: int) -> None:
    lanes = normal(3, 4, 5)
    for name, options in (("fft", {"axis": 0}), ("rfft", {"axis": -2}), ("fftn", {"s": (3,), "axes": (1,)})):
        function = transform(name, **options)
        expected = np.stack([function(x) for x in lanes])
        np.testing.assert_allclose(vmap(function, in_axes=axis)(np.moveaxis(lanes, 0, axis)), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("function", "error", "match"),
    [
        (transform("fft", axis=2), IndexError, "axis 2 is out of bounds"),
        (transform("rfftn", axes=(0, 3)), IndexError, "axis 3 is out of bounds"),
        (transform("irfft", n=0), ValueError, "irfft: takes at least one element"),
        (transform("fftn", s=(2, 0)), ValueError, "fft: takes at least one element"),
    ],
)
def test_bad_arguments(function: Any, error: type[Exception], match: str) -> None:
    traced = traced_namespace(array_namespace(np.ones(1)))
    with pytest.raises(error, match=match):
        stage(traced, "jit", lambda x: ((function(x),), ()), [Aval((2, 3), np.dtype(np.complex128))])
