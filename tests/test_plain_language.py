"""Plain words: identifiers, comments, docstrings and titles use the field's terms, not words made up here.

A word comes onto a list when it is gone from the code; the message of a failure says what to write instead. Words that
also have an ordinary use have a pattern that is only true of the other one.
"""

import ast
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[1]

IDENTIFIERS: Final = {
    "at_once": "eager, eagerly, or the size of a block",
    "asks?|asked|said|told": "the question, the message or the callback that it is",
    "begin|begins|begun": "init, start",
    "beside": "aux, others, with",
    "brought": "captured",
    "followed": "traced, differentiated",
    "foretold": "predicted",
    "forth": "pushforward",
    "goes_on": "continues, is_active",
    "held": "constant, masked, stored",
    "kept": "saved, stored, residuals",
    "kin": "row_kernels",
    "likes": "specs",
    "members?": "lane, element, leaf",
    "mend(ed|s)?": "corrected, fixed; remedy",
    "nowhere": "is_all_false",
    "lent": "captured",
    "places": "positions, indices",
    "right_sides?": "right_hand_sides, rhs",
    "settled": "resolved",
    "spared": "safe",
    "strangers?": "third_party",
    "truths?": "booleans, nonzero",
    "twin": "duplicate",
    "unwarned": "without_warnings",
}
"""Parts of identifiers, and what to write instead."""

_NOUN: Final = (
    r"(?! (system|solver|jacobian|matri(x|ces)|map|functions?|convolutions?|operat(ion|or)s?|products?|preconditioner|"
    r"ones?|arrays?)\b)"
)
PROSE: Final = {
    r"at the door": "in the facade; checked",
    r"(be|is) had": "available, found",
    r"beside": "next to, with, compared with, in addition to",
    r"brought along|brings? along": "captured",
    r"go(es)? on": "continue",
    r"hand(s|ed)? on": "pass on",
    r"handed over|hands over": "passed",
    r"(functions?|methods?) of the user's": "user functions",
    r"(is|are) said to be": "is declared to be",
    r"whatever": "for every, also if, all that",
    r"anew": "again",
    r"kin": "related functions, variants",
    r"left out": "omitted; by default",
    r"members?": "lane, batch element, leaf",
    r"mend(s|ed|ing)?": "fix, correct",
    r"of one's own": "custom, your own",
    r"of ours": "xpand's",
    r"nobody knows": "unknown",
    r"right sides?": "right-hand side",
    r"(does not|doesn't|don't) tell": "does not report, does not determine",
    r"(have|has) a say": "affects",
    r"spared": "not needed; safe value",
    r"strangers?": "third-party",
    r"tell whether": "return whether",
    r"(the|its) transposed" + _NOUN: "the transpose",
    r"truth values?|truths": "boolean",
    r"unless told": "by default",
    r"work(s|ed)? out (of|for)": "computed from, computed for",
}
"""Words in comments and docstrings, and what to write instead."""

CLAUSE: Final = r"(?:What|Who|Whose|Of which)\b(?![^.]*\?)"
"""A sentence that is a clause: a noun, or a verb such as "Return", says the same in fewer words."""

_PIECE: Final = re.compile(
    r'(?P<docstring>^[ \t]*r?""".*?""")|(?P<comment>\#[^\n]*)'
    r"""|\"{3}.*?\"{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""",
    re.MULTILINE | re.DOTALL,
)
"""A docstring, a comment, or another string."""
_CODE: Final = "\0"
"""Stands for code in prose, so that no phrase spans it."""
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_PART: Final = re.compile(f"_({'|'.join(IDENTIFIERS)})_")
_SPACE: Final = r"\s+(?:#\s*)?"
_PHRASE: Final = re.compile(rf"(?<![\w`-])({'|'.join(PROSE).replace(' ', _SPACE)})(?![\w`-])")
_CLAUSE: Final = re.compile(rf'(?:^\s*"""\s*|# ?|[.:]\s+(?:#\s*)?)({CLAUSE}.*)', re.MULTILINE)


def divided(source: str) -> tuple[str, str]:
    """Divide a module's source into code without strings, and prose: docstrings and comments. Both keep their lines."""
    code, prose, end = [], [], 0
    for piece in _PIECE.finditer(source):
        before, text = source[end : piece.start()], piece[0]
        lines = "\n" * text.count("\n")
        code += [before, lines]
        prose += [_CODE + "\n" * before.count("\n") if before.strip() else before]
        prose += [text if piece.lastgroup else _CODE + lines]
        end = piece.end()
    return "".join([*code, source[end:]]), "".join(prose)


@cache
def _fault_of_name(name: str) -> str | None:
    """Return the fault of an identifier; a part of it, or several, may be on the list."""
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    part = _PART.search(f"_{parts}_")
    return None if part is None else f"the name {name}: write {_instead(IDENTIFIERS, part[1])}"


def _instead(words: Mapping[str, str], found: str) -> str:
    plain = re.sub(_SPACE, " ", found)
    return next(new for old, new in words.items() if re.match(f"({old})$", plain))


def faults(source: str) -> list[str]:
    """List the words of a module's source that should be others, with their lines."""
    found = set()
    code, prose = divided(source)
    for name in set(_WORD.findall(code)):
        if fault := _fault_of_name(name):
            places = re.finditer(rf"\b{name}\b", code)
            found.update((code.count("\n", 0, place.start()), fault) for place in places)
    lower = prose.lower()
    for phrase in _PHRASE.finditer(lower):
        found.add((lower.count("\n", 0, phrase.start()), f"{phrase[1]!r}: write {_instead(PROSE, phrase[1])}"))
    for clause in _CLAUSE.finditer(prose):
        found.add((prose.count("\n", 0, clause.start(1)), f"{clause[1]!r}: write a noun, or a verb first"))
    return [f"{line + 1}: {text}" for line, text in sorted(found)]


@cache
def _modules() -> tuple[Path, ...]:
    return tuple(
        sorted(
            path for folder in ("src", "extensions", "benchmarks", "tools") for path in (ROOT / folder).rglob("*.py")
        )
    )


def test_names_comments_and_docstrings_are_plain() -> None:
    found = [f"{path.relative_to(ROOT)}:{fault}" for path in _modules() for fault in faults(path.read_text("utf-8"))]
    assert len(_modules()) > 500
    assert not found, "\n".join(found)


def test_docstrings_of_functions_start_with_a_verb() -> None:
    noun = re.compile(r"(The|An?|Whether|Where|How|Each|[a-z`\d].*)\b")
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {text.partition(chr(10))[0]}"
        for path in _modules()
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (text := ast.get_docstring(node)) is not None
        if noun.match(text) and not any("property" in ast.dump(each) for each in node.decorator_list)
    ]
    assert not found, "\n".join(found)


def test_titles_of_the_documentation_are_plain() -> None:
    pages = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    assert len(pages) > 10
    titles = [
        (page, title) for page in pages for title in re.findall(r"^#+ (.*)", page.read_text("utf-8"), re.MULTILINE)
    ]
    found = [f"{page.relative_to(ROOT)}: {title}" for page, title in titles if re.match(CLAUSE, title)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "instead"),
    {
        "an identifier": ("def f(x, members_of=1): ...", "lane, element, leaf"),
        "a class": ("class KnownTruths: ...", "booleans, nonzero"),
        "a constant": ("AT_ONCE = 3", "eager, eagerly, or the size of a block"),
        "a comment": ("x = 1  # mended here", "fix, correct"),
        "over two lines": ("# It was left\n# out of it.\nx = 1", "omitted; by default"),
        "a docstring": ('"""Multiply by the transposed of a matrix."""', "the transpose"),
        "an attribute's docstring": (
            'x = 1\n"""Numbers beside arrays."""',
            "next to, with, compared with, in addition to",
        ),
        "a clause": ('def f():\n    """What it returns."""', "write a noun, or a verb first"),
        "a clause later": ('def f():\n    """Return it. What it is."""', "write a noun, or a verb first"),
        "a clause in a comment": ("x = 1  # What it is", "write a noun, or a verb first"),
    }.values(),
)
def test_faults_are_found(source: str, instead: str) -> None:
    (fault,) = faults(source)
    assert fault.endswith(instead)


@pytest.mark.parametrize(
    "source",
    [
        "def remember(kind, token): ...",
        'raise ValueError("what was left out")',
        '"""Solve the transposed system; the transposed convolution."""',
        "# the right side of `a = b` and of a `kind`\nx = 1".replace("right side ", "right-hand side "),
        '"""Return what the function returns. What is this?"""',
        '"""Call a method besides others, as `mend` is."""',
    ],
)
def test_other_words_are_let_through(source: str) -> None:
    assert faults(source) == []
