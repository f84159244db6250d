"""The private names of PyTorch are in one module, and each is needed: without it, a clear error."""

import ast
import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import xpand
import xpand_extensions
from xpand import UnsupportedError, torch as xp
from xpand.torch import _private as private
from xpand_extensions.devices import free
from xpand_extensions.jit import jit

X = torch.eye(2, dtype=torch.float64) + 0.5
INDEX = torch.tensor([0, 0])


BREAKS: dict[str, Callable[[], Any]] = {
    "are_levels_active": lambda: xp.linalg.det(X),
    "in_forward_mode": lambda: xp.linalg.slogdet(X),
    "count_uses": lambda: free(torch.ones(3)),
    "count_function_modes": lambda: jit(torch.sin)(X),
    "count_modes": lambda: xpand.is_concrete(X),
    "watched": lambda: jit(torch.nn.functional.dropout)(X),
    "lookup_backend": lambda: jit(lambda x: [x + i for i in range(9)], compiler="inductor")(X),
    "is_graph_mode_active": lambda: make_fx(lambda x: x if xpand.is_concrete(x) else 2.0 * x)(X),
}
"""One line for each name, which needs it."""

NOTHING_BREAKS = {
    "register_node": "without it, transformations of PyTorch's own refuse xpand's containers",
    "TESTED": "not a name of PyTorch's",
    "missing": "not a name of PyTorch's",
    "missing_class": "not a name of PyTorch's",
    "F": "not a name of PyTorch's",
    "T": "not a name of PyTorch's",
}


def defined(tree: ast.Module) -> Iterator[str]:
    """List the names that a module defines and doesn't import."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        for target in node.targets if isinstance(node, ast.Assign) else []:
            if isinstance(target, ast.Name):
                yield target.id
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def test_every_name_is_tested() -> None:
    names = {name for name in defined(ast.parse(Path(private.__file__).read_text())) if not name.startswith("_")}
    assert names == {*BREAKS, *NOTHING_BREAKS}


@pytest.mark.parametrize("name", BREAKS)
def test_without_a_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = private.missing_class if isinstance(getattr(private, name), type) else private.missing
    monkeypatch.setattr(private, name, stand_in(f"torch._of_old:{name}"))
    with pytest.raises(UnsupportedError, match=rf"`torch\._of_old\.{name}`.*{re.escape(torch.__version__)}"):
        BREAKS[name]()


def test_without_a_class_to_derive_from() -> None:
    class Derived(private.missing_class("torch._of_old:Base")):  # type: ignore[misc]
        pass

    for use in (Derived, Derived.apply, lambda: isinstance(X, Derived)):
        with pytest.raises(UnsupportedError, match="torch._of_old.Base"):
            use()


def test_names_that_are_looked_up_late() -> None:
    with pytest.raises(UnsupportedError, match="torch._of_old.name"):
        private._late("torch._of_old:name")()
    with pytest.raises(UnsupportedError, match="torch.func.of_old"):
        private._needs("torch.func:vmap", "torch.func:of_old")(torch.sin)(X)
    assert private._needs("torch.func:vmap")(torch.sin) is torch.sin


def test_import_succeeds_where_all_names_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(name: str) -> Any:
        raise ModuleNotFoundError(name)

    spec: Any = importlib.util.spec_from_file_location("xpand.torch._without_names", private.__file__)
    module: Any = importlib.util.module_from_spec(spec)
    monkeypatch.setattr(importlib, "import_module", fails)
    spec.loader.exec_module(module)
    for name in BREAKS:
        with pytest.raises(UnsupportedError, match="a private name that PyTorch"):
            getattr(module, name)()


PACKAGES = [Path(xpand.__file__).parent, Path(xpand_extensions.__file__).parent]
OF_TENSORS = {name for name in (*dir(torch.Tensor), *dir(torch.UntypedStorage)) if re.match("_[^_]", name)}
ALLOWED = {
    (
        "_imports.py",
        "_dynamo_marked_constant",
    ): "torch.compiler.assume_constant_result, without importing torch",
    ("_imports.py", "_torchdynamo_inline"): "a mark on functions, without importing torch",
    ("_imports.py", "_torchdynamo_orig_callable"): "a mark on functions, without importing torch",
    ("_imports.py", "_torchdynamo_wrapper_id"): "a mark on functions, without importing torch",
    ("_trees.py", "_values"): "an attribute of xpand's own containers",
}


def private_names(tree: ast.Module, is_about_torch: bool) -> Iterator[str]:
    """List the private names of PyTorch that a module uses."""
    from_torch = {"torch"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] == "torch":
            from_torch.update(alias.asname or alias.name for alias in node.names)
            yield from filter(is_private, [*str(node.module).split("."), *[alias.name for alias in node.names]])
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "torch":
                    yield from filter(is_private, alias.name.split("."))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            root: ast.AST = node
            while isinstance(root, ast.Attribute):
                root = root.value
            name = root.id if isinstance(root, ast.Name) else ""
            of_tensor = is_about_torch and node.attr in OF_TENSORS and name not in ("self", "cls")
            if name in from_torch or of_tensor or node.attr.startswith(("_dynamo", "_torchdynamo")):
                yield node.attr
        if isinstance(node, ast.Constant) and re.fullmatch(r"torch(\.\w+)*\._\w+(\.\w+)*", str(node.value)):
            yield str(node.value)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def test_private_names_are_in_one_module() -> None:
    found = {}
    for package in PACKAGES:
        for path in package.rglob("*.py"):
            if path != Path(private.__file__) and "torch" in (text := path.read_text()):
                names = set(private_names(ast.parse(text), "torch" in path.relative_to(package).parts))
                if rest := {name for name in names if (path.name, name) not in ALLOWED}:
                    found[str(path)] = rest
    assert not found


@pytest.mark.parametrize(
    "line",
    [
        "import torch._dynamo",
        "from torch._C import _functorch",
        "from torch.autograd.function import _SingleLevelFunction",
        "from torch.autograd import forward_ad; forward_ad._current_level",
        "import torch; torch._C.DisableTorchFunction",
        "x.untyped_storage()._cdata",
        "x._is_view()",
        "import_module('torch._inductor.exc')",
        "f._dynamo_marked_constant = True",
    ],
)
def test_private_names_are_found(line: str) -> None:
    assert list(private_names(ast.parse(line), True))
