"""Windows compared with scipy.ndimage on NumPy, and with PyTorch's and JAX's own functions."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
from scipy import ndimage

from xpand_extensions import windows

from ._measure import Call, Row, of_facade
from .namespaces import libraries

SMALL_CALL: Final = "checks, and a call and two slices for each pass, take longer than the passes"

REASONS: Final = {"jax": "XLA reduces small windows in one pass, xpand takes three"}
"""Why a library's windows are over the budget."""

SMALL: Final[dict[str, Any]] = {"sizes": (36, 100)}
"""The sizes with which the tests run every row."""


def rows(sizes: tuple[int, ...] = (1_000, 100_000, 10_000_000)) -> Iterator[Row]:
    for size in sizes:
        for library in libraries():
            side = int(size**0.5)
            values = np.random.default_rng(0).uniform(size=size)
            row, image = library.xp.asarray(values), library.xp.asarray(values[: side * side].reshape(side, side))
            for function, what, x, window in (
                ("window_max", "5 elements", row, 5),
                ("window_sum", "15 elements", row, 15),
                ("window_max", "5×5 elements", image, 5),
                ("window_sum", "5×5 elements", image, 5),
            ):
                ours = getattr(windows, function)
                recipes = RECIPES[library.name](function, x, window)
                call = Call(ours, x, window)
                reason = SMALL_CALL if size <= 1000 else REASONS.get(library.name, "")
                topic = f"{function} of {size:,} elements"
                yield Row(
                    topic,
                    f"{library.name}, {what}",
                    call,
                    recipes,
                    of_facade(library.name, 1.2 if library.name == "numpy" else 1.1),
                    reason,
                )


def _numpy(function: str, x: Any, window: int) -> Mapping[str, Call]:
    # These filters return arrays of the input's size. In the interior, both results are the same.
    if function == "window_max":
        filters = (ndimage.maximum_filter1d, ndimage.maximum_filter)
    else:
        filters = (ndimage.uniform_filter1d, ndimage.uniform_filter)
    return {filters[x.ndim - 1].__name__: Call(filters[x.ndim - 1], x, window)}


def _torch(function: str, x: Any, window: int) -> Mapping[str, Call]:
    import torch.nn.functional as F

    batch = x[None, None] if x.ndim == 2 else x[None]
    if function == "window_max":
        pool = F.max_pool1d if x.ndim == 1 else F.max_pool2d
        return {pool.__name__: Call(pool, batch, window, 1)}
    if x.ndim == 1:
        return {"avg_pool1d": Call(F.avg_pool1d, batch, window, 1)}
    return {"avg_pool2d": Call(F.avg_pool2d, batch, window, 1, divisor_override=1)}


def _jax(function: str, x: Any, window: int) -> Mapping[str, Call]:
    import jax

    initial, reduction = (-np.inf, jax.lax.max) if function == "window_max" else (0.0, jax.lax.add)

    @jax.jit
    def reduce_window(x: Any) -> Any:
        return jax.lax.reduce_window(x, initial, reduction, (window,) * x.ndim, (1,) * x.ndim, "VALID")

    return {"lax.reduce_window, jitted": Call(reduce_window, x)}


RECIPES: Final[Mapping[str, Callable[[str, Any, int], Mapping[str, Call]]]] = {
    "numpy": _numpy,
    "torch": _torch,
    "jax": _jax,
}
