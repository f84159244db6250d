"""Padding compared with each library's own."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from xpand_extensions import padding

from ._measure import Call, Row, of_facade
from .namespaces import libraries

SMALL_CALL: Final = "the checks of arguments take 4 µs, longer than copying so few elements"

REASONS: Final = {
    "torch": "F.pad itself runs; the difference is the checks, and views that turn the array into images",
    "jax": "the checks of arguments take 4 µs, before a call of 20",
}
"""Why a library's padding is over the budget."""

SMALL: Final[dict[str, Any]] = {"sizes": (36, 100)}
"""The sizes with which the tests run every row."""


def rows(sizes: tuple[int, ...] = (1_000, 100_000, 10_000_000)) -> Iterator[Row]:
    for size in sizes:
        for library in libraries():
            side = int(size**0.5)
            x = library.xp.asarray(np.random.default_rng(0).uniform(size=(side, side)))
            for mode in ("constant", "edge", "wrap", "reflect"):
                recipes = RECIPES[library.name](x, mode)
                ours = Call(padding.pad, x, 3, mode=mode)
                reason = SMALL_CALL if size <= 1000 else REASONS.get(library.name, "")
                yield Row(
                    f"pad of {side}×{side} elements by 3",
                    f"{library.name}, {mode}",
                    ours,
                    recipes,
                    of_facade(library.name),
                    reason,
                )


def _numpy(x: Any, mode: str) -> Mapping[str, Call]:
    return {"np.pad": Call(np.pad, x, 3, mode=mode)}


def _torch(x: Any, mode: str) -> Mapping[str, Call]:
    import torch.nn.functional as F

    names = {"edge": "replicate", "wrap": "circular"}
    batch = x if mode == "constant" else x[None, None]
    return {"F.pad": Call(F.pad, batch, (3, 3, 3, 3), mode=names.get(mode, mode))}


def _jax(x: Any, mode: str) -> Mapping[str, Call]:
    import jax
    import jax.numpy as jnp

    return {"jnp.pad, jitted": Call(jax.jit(lambda x: jnp.pad(x, 3, mode=mode)), x)}


RECIPES: Final[Mapping[str, Callable[[Any, str], Mapping[str, Call]]]] = {
    "numpy": _numpy,
    "torch": _torch,
    "jax": _jax,
}
