"""Types after transformations, by mypy and Pyright: the parameters of the function stay, and no result is `Any`."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import xpand_extensions

pytest.importorskip("mypy")
from mypy import api

ROOT: Final = Path(__file__).resolve().parent.parent
PATHS: Final = [str(ROOT / folder) for folder in ("src", "extensions", "docs/examples")]

PROGRAM: Final = """
import xpand
from xpand import checkpoint, cond, fori_loop, grad, hessian, jit, jvp, scan, value_and_grad, vjp, vmap, while_loop
from xpand.extend import Namespace
from xpand.typing import Array


def loss(w: Array, x: Array, scale: float = 1.0) -> Array:
    xp = xpand.array_namespace(w)
    reveal_type(xp)  # StandardNamespace
    reveal_type(xp.sum(w * x))  # Array
    xp.sum(w, axs=0)  # error
    xp.summ(w)  # error
    return scale * xp.sum(w * x)


def square(x: Array) -> Array:
    return x * x


def both(w: Array, x: Array) -> tuple[Array, dict[str, Array]]:
    return loss(w, x), {"w": w}


def use(xp: Namespace, w: Array) -> None:
    reveal_type(grad(loss)(w, w))  # Array
    reveal_type(grad(loss, 1)(w, x=w))  # error
    reveal_type(grad(loss, argnums=(0, 1))(w, w, scale=2.0))  # tuple[Array, Array]
    reveal_type(grad(both, has_aux=True)(w, w))  # tuple[Array, dict[str, Array]]
    reveal_type(value_and_grad(loss)(w, w))  # tuple[Array, Array]
    reveal_type(hessian(square)(w))  # Array
    reveal_type(jit(loss)(w, x=w))  # Array
    reveal_type(vmap(grad(loss), in_axes=(None, 0))(w, w))  # Array
    reveal_type(jit(vmap(checkpoint(square)))(w))  # Array
    reveal_type(xpand.vmap.vectorize(square)(w))  # Array
    reveal_type(jit.lower(square)(w))  # Lowered
    reveal_type(jvp(square, (w,), (w,)))  # tuple[Array, Array]
    reveal_type(vjp(square, w)[0])  # Array
    reveal_type(scan(lambda c, x: (loss(c, x), square(x)), w, w))  # tuple[Array, Array]
    reveal_type(while_loop(lambda c: True, square, w))  # Array
    reveal_type(fori_loop(0, 3, lambda i, c: square(c), w))  # Array
    reveal_type(cond(True, square, square, w))  # Array
    grad(loss)(w)  # error
    value_and_grad(loss)(w)  # error
    jit(loss)(w)  # error
    jit(loss)(w, w, step=1)  # error
    vmap(loss, in_axs=0)  # error
    vmap(loss)(w)  # error
    checkpoint(loss)(w)  # error
    hessian(square)()  # error
    square(xp.zeros(3))


@jit(static_argnames="scale")
def compiled(w: Array, scale: float) -> Array:
    return w * scale


class Model:
    @jit
    def apply(self, x: Array) -> Array:
        return x


def call(w: Array) -> None:
    reveal_type(compiled(w, 2.0))  # Array
    compiled(w)  # error
    reveal_type(Model().apply(w))  # Array
    Model().apply()  # error
"""

TRANSFORMATIONS: Final = frozenset(
    {*xpand_extensions.autodiff.__all__, *xpand_extensions.control_flow.__all__, "jit", "vmap"}
) - {"map"}


def expected(program: str) -> dict[int, str]:
    """Return what the comments of a program say, by line."""
    lines = enumerate(program.splitlines(), 1)
    return {i: line.rpartition("  # ")[2] for i, line in lines if "  # " in line}


def mypy_messages(target: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, str]]:
    """Check programs by mypy, strictly. Return the messages with their files and lines."""
    monkeypatch.setenv("MYPYPATH", os.pathsep.join(PATHS[:2]))
    monkeypatch.chdir(folder)
    options = [
        "--config-file=",
        "--strict",
        "--python-executable",
        sys.executable,
        "--cache-dir",
        str(folder / "cache"),
    ]
    output, errors, _ = api.run([*options, *target])
    assert not errors
    matches = [re.match(r"(.*?)([^/\\]+\.py):(\d+): (\w+: .*)", line) for line in output.splitlines()]
    assert all(match is None or not match[1].startswith(str(ROOT)) for match in matches), output
    return [(match[2], int(match[3]), match[4]) for match in matches if match is not None]


def pyright_messages(folder: Path) -> list[tuple[str, int, str]]:
    """Check the programs in a folder by Pyright, strictly. Return the messages with their files and lines."""
    pytest.importorskip("basedpyright")
    settings = {"include": [str(folder)], "extraPaths": PATHS[:2], "typeCheckingMode": "strict"}
    settings |= {"reportUnknownMemberType": False, "reportUnusedExpression": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--project", str(folder), "--pythonpath", sys.executable]
    done = subprocess.run([*command, "--outputjson"], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    return [
        (Path(each["file"]).name, each["range"]["start"]["line"] + 1, f"{each['severity']}: {each['message']}")
        for each in found
    ]


def outcomes(messages: list[tuple[str, int, str]]) -> dict[int, str]:
    """Return the revealed type of each line, or "error"."""
    found: dict[int, str] = {}
    for _, line, message in messages:
        if message.startswith("error"):
            found[line] = "error"
        revealed = re.search(r'^(?:note: Revealed type|information: Type of ".*") is "(.*)"$', message)
        if revealed is not None:
            found.setdefault(line, re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", revealed[1]))
    return found


def test_mypy_keeps_parameters_and_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    assert outcomes(mypy_messages(["program.py"], tmp_path, monkeypatch)) == expected(PROGRAM)


def test_pyright_keeps_parameters_and_results(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    assert outcomes(pyright_messages(tmp_path)) == expected(PROGRAM)


class Revealer(ast.NodeTransformer):
    """Reveals the types of transformed functions and of their results."""

    def __init__(self) -> None:
        self.transformed: set[str] = set()
        self.count = 0

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        """Note the names of transformed functions."""
        if self.is_transformed(node.value):
            self.transformed.update(target.id for target in node.targets if isinstance(target, ast.Name))
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Reveal the type of a call."""
        reveals = self.is_transformation(node) or self.is_transformed(node.func)
        self.generic_visit(node)
        if not reveals:
            return node
        self.count += 1
        return ast.Call(ast.Name("reveal_type", ast.Load()), [node], [])

    def is_transformation(self, node: ast.expr) -> bool:
        """Return whether an expression is a call of a transformation."""
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in TRANSFORMATIONS

    def is_transformed(self, node: ast.expr) -> bool:
        """Return whether an expression is a transformed function."""
        if isinstance(node, ast.IfExp):
            return self.is_transformed(node.body)
        return self.is_transformation(node) or (isinstance(node, ast.Name) and node.id in self.transformed)


@pytest.fixture
def revealing(tmp_path: Path) -> Path:
    """Copy the gallery, with the types revealed."""
    package = tmp_path / "gallery"
    package.mkdir()
    count = 0
    for path in sorted((ROOT / "docs" / "examples" / "gallery").glob("*.py")):
        revealer = Revealer()
        tree = revealer.visit(ast.parse(path.read_text(encoding="utf-8")))
        count += revealer.count
        (package / path.name).write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")
    assert count > 20
    return package


def revealed_types(messages: list[tuple[str, int, str]]) -> list[str]:
    pattern = re.compile(r'^(?:note: Revealed type|information: Type of ".*") is "(.*)"$')
    matches = [(file, line, pattern.search(text)) for file, line, text in messages]
    return [f"{file}:{line}: {match[1]}" for file, line, match in matches if match is not None]


def is_open(revealed: str) -> bool:
    """Return whether a type contains `Any`."""
    return re.search(r"\b(Any|Unknown)\b", revealed) is not None


def test_mypy_knows_all_types_of_the_gallery(revealing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    types = revealed_types(mypy_messages(["-p", "gallery"], revealing.parent, monkeypatch))
    assert len(types) > 20
    assert not list(filter(is_open, types))


def test_pyright_knows_all_types_of_the_gallery(revealing: Path) -> None:
    types = revealed_types(pyright_messages(revealing.parent))
    assert len(types) > 20
    assert not list(filter(is_open, types))
