"""Shows the examples of docstrings as code: Markdown would take `>>>` for a quotation in a quotation in a quotation."""

import re
from typing import Any, Final

from griffe import Extension, Object

_EXAMPLE: Final = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


def fenced(text: str) -> str:
    """Put each example, from its first prompt to the next blank line, into a fence."""
    return _EXAMPLE.sub(lambda match: f"```pycon\n{match.group()}\n```", text)


class Doctests(Extension):
    """Fences the examples in every docstring."""

    def on_instance(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
