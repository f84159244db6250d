"""JAX's own switches for precision, which follow xpand's settings."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax

from .._precision import MATMUL, PRECISION, Precision
from .._settings import ProcessSwitch, ThreadSwitch

# JAX compiles a program again if the value of this context changes, as for its own switches.
_IN_KEY = jax.make_user_context(None)

_LEVELS: dict[str, str] = {"highest": "highest", "high": "high", "medium": "default"}


def _dtypes(blocks: Sequence[Precision | None]) -> Sequence[AbstractContextManager[Any]]:
    wide = any(value is not None and value.is_wide for value in blocks)
    return [_IN_KEY(blocks[-1]), *([jax.enable_x64(True)] if wide else ())]


_wide: ProcessSwitch[Precision, bool] = ProcessSwitch(
    lambda: bool(jax.config.jax_enable_x64),
    lambda value: jax.config.update("jax_enable_x64", True),
    lambda before: jax.config.update("jax_enable_x64", before),
)
_products: ProcessSwitch[str, str | None] = ProcessSwitch(
    lambda: jax.config.jax_default_matmul_precision,
    lambda value: jax.config.update("jax_default_matmul_precision", _LEVELS[value]),
    lambda before: jax.config.update("jax_default_matmul_precision", before),
)


def _process(value: Precision | None) -> None:
    _IN_KEY.set_global(value)
    _wide.process(value if value is not None and value.is_wide else None)


def _levels(blocks: Sequence[str | None]) -> Sequence[AbstractContextManager[Any]] | None:
    value = blocks[-1]
    return None if value is None else [jax.default_matmul_precision(_LEVELS[value])]


PRECISION.follow(ThreadSwitch(_dtypes, _process))
MATMUL.follow(ThreadSwitch(_levels, _products.process))
