"""The types of namespaces: the stub is the one that its tool writes, and every namespace has what it promises."""

import ast
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.libraries import LIBRARIES, Library

ROOT = Path(__file__).resolve().parents[1]
STUB = ROOT / "src" / "xpand" / "_standard.pyi"


def _tool() -> Any:
    spec = importlib.util.spec_from_file_location("namespace_types", ROOT / "tools" / "namespace_types.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def _attributes() -> dict[str, set[str]]:
    """Return the attributes of each class of the stub."""
    classes = [node for node in ast.parse(STUB.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)]
    return {node.name: {part.name for part in node.body if isinstance(part, ast.FunctionDef)} for node in classes}


def test_the_stub_is_current() -> None:
    assert STUB.read_text(encoding="utf-8") == _tool().text(), "run `python tools/namespace_types.py`"


@pytest.mark.parametrize("library", [library for library in LIBRARIES if library.id != "strict"], ids=str)
def test_namespaces_have_the_attributes_of_the_stub(library: Library) -> None:
    attributes = _attributes()
    assert len(attributes["StandardNamespace"]) > 150
    for name, part in (("StandardNamespace", library.xp), ("LinalgNamespace", library.xp.linalg)):
        assert not {attribute for attribute in attributes[name] if not hasattr(part, attribute)}
    assert all(hasattr(library.xp.fft, attribute) for attribute in attributes["FFTNamespace"])
