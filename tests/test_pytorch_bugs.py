"""The programs on the page of PyTorch's bugs can be reported as they are; `test_docs.py` runs them."""

import ast
import builtins
import re
import sys

import pytest

from tests.test_docs import ROOT, blocks_of

PAGE = (ROOT / "docs" / "pytorch-bugs.md").read_text(encoding="utf-8")
ENTRIES = dict(re.findall(r"^### (.*?)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("title", ENTRIES)
def test_an_entry_can_be_reported(title: str) -> None:
    """It has a program of PyTorch alone, which says what it prints, the right result, and what xpand does."""
    text = ENTRIES[title]
    (block,) = blocks_of(text)
    tree = list(ast.walk(ast.parse(block.code)))
    modules = {alias.name for node in tree if isinstance(node, ast.Import) for alias in node.names}
    modules |= {str(node.module) for node in tree if isinstance(node, ast.ImportFrom)}
    assert {module.partition(".")[0] for module in modules} <= {"torch", *sys.stdlib_module_names}
    assert re.search(r"print\(.*\)  # \S", block.code), "it says what PyTorch prints"
    assert "**Right:** " in text
    assert re.search(r"^\*\*xpand:\*\* ", text, re.MULTILINE)


@pytest.mark.parametrize("title", ENTRIES)
def test_a_program_needs_no_other_one(title: str) -> None:
    (block,) = blocks_of(ENTRIES[title])
    made, read = set(dir(builtins)), set()
    for node in ast.walk(ast.parse(block.code)):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else made).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            made.add(node.name)
        elif isinstance(node, ast.arg):
            made.add(node.arg)
        elif isinstance(node, ast.alias):
            made.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler):
            made.add(str(node.name))
    assert not read - made
