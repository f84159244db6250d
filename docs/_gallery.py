"""The pages of the gallery: its programs run, and are drawn, while the site is built."""

import os
import sys
from pathlib import Path
from typing import Final

EXAMPLES: Final = Path(__file__).parent / "examples"
sys.path.insert(0, str(EXAMPLES))

import _notebook  # noqa: E402 - found by who imports this module
import gallery  # noqa: E402 - found once the folder is on the path
from _tables import name_of, sources  # noqa: E402 - found by who imports this module

PROGRAMS: Final = {name: gallery.load(name) for name in gallery.PROGRAMS}
"""Loaded here: MkDocs takes the folder off the path again."""

NEEDS_MORE: Final = {"attention": EXAMPLES / "named_attention.py"}
"""Programs with a part of their source elsewhere."""

_INDEX: Final = """# Gallery

Most programs are one source for several libraries; the first two transform code for NumPy. Each picture is drawn
when this site is built, and the tests run the program on every library that its page names.
To run one in a clone of the repository:

```bash
cd docs/examples
python -m gallery kalman torch
```

[Results in a notebook](notebook.md) shows how results, sparse arrays, programs and profiles look there.

<div class="gallery" markdown>

{cards}
</div>
"""

_PAGE: Final = """# {title}

{picture}

{text}

{summary} Tested on {libraries}.

{sources}"""


def paths() -> list[str]:
    """Name the pages of the gallery."""
    return ["gallery/index.md", *(f"gallery/{name}.md" for name in gallery.PROGRAMS), "gallery/notebook.md"]


def files() -> dict[str, str]:
    """Return the pages of the gallery and their pictures, by path."""
    os.environ.setdefault("SCIPY_ARRAY_API", "1")  # scikit-learn asks for it
    found: dict[str, str] = {}
    cards = []
    for name, program in PROGRAMS.items():
        results = gallery.run(name, program.LIBRARIES[0])
        for theme in ("light", "dark"):
            found[f"gallery/{name}-{theme}.svg"] = gallery.picture(name, results, dark=theme == "dark")
        title, _, text = (program.__doc__ or "").strip().partition("\n\n")
        title = title.rstrip(".")
        summary = program.summary(results)
        found[f"gallery/{name}.md"] = _PAGE.format(
            title=title,
            picture=_picture(name, summary),
            text=text,
            summary=summary,
            libraries=", ".join(map(name_of, program.LIBRARIES)),
            sources=_source(name),
        )
        cards.append(f"[{_picture(name, '')}\n{title}]({name}.md)\n")
    found["gallery/notebook.md"] = _notebook.page(EXAMPLES / "notebooks" / "results.py")
    found["gallery/index.md"] = _INDEX.format(cards="\n".join(cards))
    return found


def _source(name: str) -> str:
    text = (EXAMPLES / "gallery" / f"{name}.py").read_text(encoding="utf-8")
    code = text.split('"""', 2)[2].lstrip()  # the page has the text of the docstring
    return (
        f"## Source\n\nTo run `docs/examples/gallery/{name}.py`: `python -m gallery {name}` in `docs/examples`.\n\n"
        f"```python\n{code}```\n\n" + (sources(NEEDS_MORE[name]) if name in NEEDS_MORE else "")
    )


def _picture(name: str, text: str) -> str:
    return " ".join(f"![{text}]({name}-{theme}.svg#only-{theme})" for theme in ("light", "dark"))
