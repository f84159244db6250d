"""The nodes of xpand's own graphs."""

from typing import Any

from .._drawing import Drawing
from ..tracing._graph import drawing_of


def drawing(made: Any, title: str, /, *, xp: Any = None) -> Drawing:
    return drawing_of(made, title)
