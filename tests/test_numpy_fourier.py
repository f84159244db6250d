"""NumPy's Fourier transforms on traced arrays: against NumPy itself and central differences."""

from typing import Any, Final

import numpy as np
import pytest

from tests.numpy_calls import Call, calls, check, check_aliases, check_types
from xpand_extensions.jit import jit

V: Final = np.array([0.31, 1.2, 0.73, 2.1, 1.5, 0.9])
X: Final = np.array([[0.31, 1.2, 0.73], [2.1, 1.5, 0.9]])
D: Final = np.array([1 + 0.5j, 0.3 - 1j, 2j, 0.7, -0.2 + 0.1j, 0.4j])
CONSTANTS: Final = {"D": D, "E": D.reshape(2, 3)}
NAMES: Final = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")

ONE_AXIS_CALLS: Final = [
    *[
        call
        for name in NAMES
        for call in calls(
            CONSTANTS,
            V,
            f"np.fft.{name}(x)",
            f"np.fft.{name}(x, 4)",
            f"np.fft.{name}(x, n=9, norm='ortho')",
            f"np.fft.{name}(x, norm='forward')",
            f"np.fft.{name}(x, None, -1, 'backward')",
            f"np.fft.{name}(np.reshape(x, (2, 3)), axis=0)",
            f"np.fft.{name}(np.reshape(x, (3, 2)), 4, 0)",
        )
    ],
    *[
        call
        for name in ("fft", "ifft", "irfft", "hfft")
        for call in calls(CONSTANTS, V, f"np.fft.{name}(x * D)", f"np.fft.{name}(x * D, 5)")
    ],
    *calls(
        CONSTANTS,
        V,
        "np.fft.fftshift(x)",
        "np.fft.ifftshift(x)",
        "np.fft.fftshift(x[:5], 0)",
        "np.fft.ifftshift(x[:5], axes=[0])",
    ),
]

SEVERAL_AXES_CALLS: Final = [
    *[
        call
        for name in ("fft", "ifft", "rfft", "irfft")
        for kind in ("2", "n")
        for call in calls(
            CONSTANTS,
            X,
            f"np.fft.{name}{kind}(x)",
            f"np.fft.{name}{kind}(x, s=(3, 4), axes=(0, 1))",
            f"np.fft.{name}{kind}(x, axes=(1, 0))",
            f"np.fft.{name}{kind}(x, [-1, 4], (-1, -2), 'ortho')",
            f"np.fft.{name}{kind}(x, axes=(1, 1))",
            f"np.fft.{name}{kind}(x, s=(2, 4, 3), axes=(1, 0, 1))",
            f"np.fft.{name}{kind}(x[None], axes=(0, 2), norm='forward')",
            f"np.fft.{name}{kind}(x, axes=[1])",
        )
    ],
    *calls(
        CONSTANTS,
        X,
        "np.fft.irfft2(x * E)",
        "np.fft.irfftn(x * E, (2, -1), axes=(0, 1))",
        "np.fft.fftn(x * E)",
        "np.fft.ifft2(x * E, norm='ortho')",
        "np.fft.fftshift(x, axes=1)",
        "np.fft.fftshift(x)",
        "np.fft.ifftshift(x, axes=(0, -1))",
        "np.fft.fft(x, out=x * 0j)",
        "np.fft.fft2(x, out=x * 0j)",
    ),
]


ALL_CALLS: Final = [*ONE_AXIS_CALLS, *SEVERAL_AXES_CALLS]
DTYPES: Final = ("bool", "int8", "int64", "float32", "complex128")


@pytest.mark.parametrize("call", ALL_CALLS)
def test_values_and_derivatives(call: Call) -> None:
    check(call)


@pytest.mark.parametrize("call", ALL_CALLS)
def test_types(call: Call) -> None:
    check_types(call, *DTYPES)


@pytest.mark.parametrize("call", ALL_CALLS)
def test_aliases(call: Call) -> None:
    check_aliases(call)


OTHER: Final[Any] = "other"


def test_errors() -> None:
    functions: list[tuple[Any, str]] = [
        (lambda x: np.fft.fft2(x, s=(3,)), "s must have a size for each of the axes"),
        (lambda x: np.fft.fft(x, 0), "at least one|points"),
        (lambda x: np.fft.fft(x, norm=OTHER), "norm"),
    ]
    for function, message in functions:
        with pytest.raises(ValueError, match=message):
            jit(function)(X)
