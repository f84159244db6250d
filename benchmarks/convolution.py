"""Convolutions compared with those of the libraries; on NumPy, with SciPy's for small and separable kernels."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from scipy import ndimage, signal

from xpand_extensions import convolution

from ._measure import Call, Row, of_facade
from .namespaces import Library, libraries

SMALL: Final[dict[str, Any]] = {"sides": (6,), "lengths": (9,)}
"""The sizes with which the tests run every row."""

CHECKS: Final = "checks and plans take a few microseconds, and the call itself takes only a few"


def rows(
    sides: tuple[int, ...] = (32, 316, 3162), lengths: tuple[int, ...] = (1000, 100_000, 10_000_000)
) -> Iterator[Row]:
    random = np.random.default_rng(0)
    for library in libraries():
        for length in lengths:
            yield from _signals(library, random.normal(size=length), random.normal(size=5))
        for side in sides:
            yield from _images(library, random.normal(size=(side, side)), random.normal(size=(3, 3)))
        yield from _channels(
            library, random.normal(size=(4, 16, *(min(64, sides[-1]),) * 2)), random.normal(size=(32, 16, 3, 3))
        )


def _row(topic: str, library: Library, name: str, ours: Call, recipes: Mapping[str, Call], size: int) -> Row:
    budget = of_facade(library.name, 1.2 if library.name == "numpy" else 1.1)
    return Row(topic, f"{library.name}{name}", ours, recipes, budget, CHECKS if size <= 100_000 else "")


def _signals(library: Library, x: Any, kernel: Any) -> Iterator[Row]:
    topic = f"convolve {x.size:,} elements with 5 taps"
    x, kernel = library.xp.asarray(x), library.xp.asarray(kernel)
    ours = Call(convolution.convolve, x, kernel, mode="same")
    yield _row(topic, library, "", ours, SIGNALS[library.name](x, kernel), x.shape[0])


def _images(library: Library, x: Any, kernel: Any) -> Iterator[Row]:
    side = x.shape[0]
    x, taps = library.xp.asarray(x), {"3 by 3 taps": kernel, "3 by 1 taps": kernel[:, :1], "1 by 3 taps": kernel[:1]}
    for name, weights in taps.items():
        weights = library.xp.asarray(weights)
        ours = Call(convolution.conv, x[None, None], weights[None, None], padding="same")
        recipes = IMAGES[library.name](x, weights)
        yield _row(f"conv of {side:,} by {side:,} points", library, f", {name}", ours, recipes, side * side)


def _channels(library: Library, x: Any, kernel: Any) -> Iterator[Row]:
    x, kernel = library.xp.asarray(x), library.xp.asarray(kernel)
    size = " by ".join(map(str, x.shape))
    ours = Call(convolution.conv, x, kernel)
    yield _row(f"conv of {size} values to 32 channels", library, "", ours, CHANNELS[library.name](x, kernel), 10**6)


def _numpy_signal(x: Any, kernel: Any) -> Mapping[str, Call]:
    return {
        "np.convolve": Call(np.convolve, x, kernel, "same"),
        "scipy.signal.convolve": Call(signal.convolve, x, kernel, "same", "direct"),
    }


def _torch_signal(x: Any, kernel: Any) -> Mapping[str, Call]:
    import torch

    reverse = lambda x, kernel: torch.conv1d(x[None, None], kernel.flip(0)[None, None], padding=2)[0, 0]
    return {"conv1d": Call(reverse, x, kernel)}


def _jax_signal(x: Any, kernel: Any) -> Mapping[str, Call]:
    import jax

    jitted = jax.jit(jax.numpy.convolve, static_argnames="mode")
    return {"jnp.convolve, jitted": Call(jitted, x, kernel, mode="same")}


def _numpy_image(x: Any, kernel: Any) -> Mapping[str, Call]:
    recipes = {"scipy.ndimage.correlate": Call(ndimage.correlate, x, kernel, mode="constant")}
    if 1 in kernel.shape:
        axis = 0 if kernel.shape[1] == 1 else 1
        recipes["scipy.ndimage.correlate1d"] = Call(ndimage.correlate1d, x, kernel.ravel(), axis, mode="constant")
    return recipes


def _torch_image(x: Any, kernel: Any) -> Mapping[str, Call]:
    import torch

    padding = tuple(taps // 2 for taps in kernel.shape)
    return {"conv2d": Call(torch.conv2d, x[None, None], kernel[None, None], padding=padding)}


def _jax_image(x: Any, kernel: Any) -> Mapping[str, Call]:
    return _lax(x[None, None], kernel[None, None], "SAME")


def _numpy_channels(x: Any, kernel: Any) -> Mapping[str, Call]:
    def windows(x: Any, kernel: Any) -> Any:
        met = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
        return np.moveaxis(np.tensordot(met, kernel, ((1, 4, 5), (1, 2, 3))), -1, 1)

    return {"tensordot of sliding windows": Call(windows, x, kernel)}


def _torch_channels(x: Any, kernel: Any) -> Mapping[str, Call]:
    import torch

    return {"conv2d": Call(torch.conv2d, x, kernel)}


def _jax_channels(x: Any, kernel: Any) -> Mapping[str, Call]:
    return _lax(x, kernel, "VALID")


def _lax(x: Any, kernel: Any, padding: str) -> Mapping[str, Call]:
    import jax

    native = jax.jit(lambda x, kernel: jax.lax.conv_general_dilated(x, kernel, (1, 1), padding))
    return {"lax.conv_general_dilated, jitted": Call(native, x, kernel)}


SIGNALS: Final = {"numpy": _numpy_signal, "torch": _torch_signal, "jax": _jax_signal}
IMAGES: Final = {"numpy": _numpy_image, "torch": _torch_image, "jax": _jax_image}
CHANNELS: Final = {"numpy": _numpy_channels, "torch": _torch_channels, "jax": _jax_channels}
