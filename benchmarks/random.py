"""Random numbers from keys compared with compiled `jax.random`, which makes the same numbers."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from xpand import namespace
from xpand_extensions import random

from ._measure import Budget, Call, Row

BUDGETS: Final = {"uniform": Budget(ratio=1.0), "normal": Budget(ratio=1.2)}

SMALL: Final[dict[str, Any]] = {"size": 40}
"""The size with which the tests run every row."""


def rows(size: int = 10_000_000) -> Iterator[Row]:
    import jax
    import numpy as np

    for name, budget in BUDGETS.items():
        compiled = jax.jit(partial(getattr(jax.random, name), shape=(size,), dtype=np.float32))
        reference = {f"jax.random.{name} under jit": Call(compiled, jax.random.PRNGKey(0))}
        for library in ("numpy", "torch"):
            dtype = namespace(library).float32
            ours = Call(getattr(random, name), random.key(0, xp=library), (size,), dtype)
            yield Row(f"random numbers, {size:,} of float32", f"{name} on {library}", ours, reference, budget)
