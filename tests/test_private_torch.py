"""The private names of PyTorch are in one module, and each is needed: without it, a clear error."""

import ast
import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import xpand
import xpand_extensions
from xpand import UnsupportedError, torch as xp
from xpand.torch import _private as private
from xpand_extensions.autodiff import checkpoint, grad, jvp
from xpand_extensions.control_flow import cond, scan
from xpand_extensions.convert import exported
from xpand_extensions.devices import free
from xpand_extensions.jit import eval_shape, jit, make_graph
from xpand_extensions.linalg import logm
from xpand_extensions.random import gamma, key
from xpand_extensions.scatter import at
from xpand_extensions.sparse import from_native
from xpand_extensions.vmap import vmap

X = torch.eye(2, dtype=torch.float64) + 0.5
INDEX = torch.tensor([0, 0])


def gamma_of(a: Any) -> Any:
    return gamma(key(0, xp=xp), a)


def repeated(x: Any) -> Any:
    return scan(lambda carry, _: (torch.sin(carry), None), x, None, length=20)[0]


def uncoalesced() -> Any:
    return torch.sparse_coo_tensor(torch.stack([INDEX, INDEX]), X[0], (2, 2), check_invariants=False)


def differentiated() -> Any:
    return jit(torch.sin)(X.clone().requires_grad_())


def recomputed() -> Any:
    return grad(lambda x: checkpoint(torch.sin)(x).sum())(X)


BREAKS: dict[str, Callable[[], Any]] = {
    "are_levels_active": lambda: xp.linalg.det(X),
    "current_level": lambda: jit(torch.sin)(X),
    "level_of": recomputed,
    "is_wrapped": lambda: xpand.is_concrete(X),
    "is_mapped": lambda: vmap(lambda x: cond(x[0] > 1, torch.sin, torch.cos, x))(X),
    "is_grad_wrapped": lambda: at(X, INDEX).power(2.0),
    "unwrap_mapped": lambda: vmap(torch.conj_physical)(X + 0j),
    "wrap_mapped": lambda: vmap(torch.conj_physical)(X + 0j),
    "unwrap_grad": recomputed,
    "wrap_grad": recomputed,
    "interpreter": recomputed,
    "is_vmap": recomputed,
    "without_levels": lambda: vmap(lambda x: x + exported(X, to_host=True).sum())(X),
    "unobserved": lambda: vmap(xp.linalg.det)(X[None]),
    "allow_single_level": recomputed,
    "in_forward_mode": lambda: xp.linalg.slogdet(X),
    "set_forward_mode": lambda: jvp(logm, (X,), (X,)),
    "are_hooks_allowed": lambda: checkpoint(torch.sin)(X),
    "are_hooks_set": lambda: jit(torch.sin)(X),
    "count_uses": lambda: free(torch.ones(3)),
    "is_view": lambda: free(torch.ones(3)),
    "is_zero_tensor": lambda: grad(torch.sum)(X),
    "sparse_indices": lambda: from_native(uncoalesced()),
    "sparse_values": lambda: from_native(uncoalesced()),
    "count_modes": lambda: xpand.is_concrete(X),
    "count_function_modes": lambda: jit(torch.sin)(X),
    "is_autocast_active": lambda: jit(torch.sin)(X),
    "is_graph_mode_active": lambda: eval_shape(lambda x: x if xpand.is_concrete(x) else 2.0 * x, X),
    "without_mapping": lambda: vmap(torch.conj_physical)(X + 0j),
    "FakeTensor": lambda: eval_shape(torch.sin, X),
    "fake_mode_of": lambda: make_graph(repeated)(X),
    "without_functional_mode": lambda: make_graph(repeated)(X),
    "fx_tracing_hidden": lambda: make_graph(torch.sin)(X),
    "compile_lock": lambda: jit(torch.sin)(X),
    "inductor_compile": lambda: jit(torch.sin)(X),
    "inductor_kernels": differentiated,
    "inductor_rules": differentiated,
    "aot_function": differentiated,
    "aot_partition": differentiated,
}
"""One line for each name, which needs it."""

TESTED_BELOW = {
    *["SingleLevelFunction", "FakeTensorMode", "inductor_error", "aot_uncompiled"],
    *["DataDependentOutputException", "DynamicOutputShapeException"],
}
NOTHING_BREAKS = {
    "load_forward_rules": "without it, PyTorch warns in the user's call",
    "has_kernel": "without it, PyTorch's own functions are mapped as PyTorch does",
    "register_node": "without it, transformations of PyTorch's own refuse xpand's containers",
    "FAKE_LOGGER": "without it, PyTorch also logs errors that are raised",
    "TESTED": "not a name of PyTorch's",
    "missing": "not a name of PyTorch's",
    "missing_class": "not a name of PyTorch's",
    "F": "not a name of PyTorch's",
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
    assert names == {*BREAKS, *TESTED_BELOW, *NOTHING_BREAKS}


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


@pytest.mark.filterwarnings("ignore:jit. TorchInductor did not compile sin")
@pytest.mark.parametrize("name", ["inductor_error", "aot_uncompiled"])
def test_without_what_is_used_where_compiling_fails(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    error = private.inductor_error()

    def fails(*args: Any, **kwargs: Any) -> Any:
        raise error(RuntimeError("no compiler"), None)

    monkeypatch.setattr(private, "inductor_kernels", lambda: fails)
    monkeypatch.setattr(private, name, private.missing(f"torch._of_old:{name}"))
    with pytest.raises(UnsupportedError, match=name):
        differentiated()


ASKING = {"DataDependentOutputException": lambda x: x.sum() > 0.0 or x, "DynamicOutputShapeException": torch.nonzero}


@pytest.mark.parametrize("name", ASKING)
def test_without_a_class_of_errors_they_pass(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    error = getattr(private, name)
    with pytest.raises(TypeError, match="depends on the values of a traced array"):
        eval_shape(ASKING[name], X)
    monkeypatch.setattr(private, name, private._exception(f"torch._of_old:{name}"))
    with pytest.raises(error):
        eval_shape(ASKING[name], X)


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
