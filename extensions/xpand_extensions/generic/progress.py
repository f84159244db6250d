"""Do nothing: the library has no lazy arrays."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any


def computing(*, xp: Any = None) -> AbstractContextManager[None]:
    return nullcontext()
