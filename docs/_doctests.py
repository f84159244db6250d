"""Shows docstrings on the site: examples as code, and with each function how the libraries have it."""

import re
from ast import literal_eval
from functools import cache
from typing import Any, Final

from _tables import name_of
from griffe import Attribute, Docstring, ExprCall, Extension, Function, Object

from xpand_extensions import capabilities

_EXAMPLE: Final = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


_IN_TERMS_OF: Final = {"autodiff": "autodiff.vjp", "control_flow": "control_flow.scan", "vmap": "vmap.vmap"}
"""Functions used by those of a capability that have no implementations."""
_MAKERS: Final = ("unary", "binary", "reduction", "deviation", "search")
"""The functions of `named` that make functions, from a name and a description."""


def fenced(text: str) -> str:
    """Put each example, from its first prompt to the next blank line, into a fence.

    Markdown would take `>>>` for a quotation in a quotation in a quotation.
    """
    return _EXAMPLE.sub(lambda match: f"```pycon\n{match.group()}\n```", text)


def badges(path: str) -> str:
    """Write how each library has a function, by its full path; nothing for what is no function of a capability."""
    if path.count(".") < 2:
        return ""
    _, capability, *_, name = path.split(".")
    found = _capabilities()
    support = found.get(f"{capability}.{name}") or found.get(_IN_TERMS_OF.get(capability, ""))
    if support is None:
        return ""
    spans = (f'<span class="badge {kind}">{name_of(library)}: {kind}</span>' for library, kind in support.items())
    return f'<span class="badges">{" ".join(spans)}</span>'


def described(value: object) -> str | None:
    """Read the description in a call such as `unary("cos", "Compute the cosine.")`, which makes a function."""
    if not isinstance(value, ExprCall) or str(value.function) not in _MAKERS:
        return None
    return str(literal_eval(str(value.arguments[1])))


@cache
def _capabilities() -> dict[str, Any]:
    return dict(capabilities())


class Doctests(Extension):
    """Fences the examples in every docstring, and puts badges after the first paragraph of a function's."""

    def on_instance(self, *, obj: Object, **kwargs: Any) -> None:
        if obj.docstring is None and isinstance(obj, Attribute) and (text := described(obj.value)):
            obj.docstring = Docstring(text, parent=obj)
        if obj.docstring is None:
            return
        text = fenced(obj.docstring.value)
        if isinstance(obj, Function) and obj.parent and obj.parent.is_module and (shown := badges(obj.path)):
            summary, _, rest = text.partition("\n\n")
            text = f"{summary}\n\n{shown}\n\n{rest}"
        obj.docstring.value = text
