"""`import xpand` is enough: the names of the extensions are attributes of the core."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import xpand
import xpand_extensions
from xpand._attributes import extension_names

CORE = Path(xpand.__file__).parent


def run(code: str, folder: Path | None = None) -> str:
    """Run a program in a process of its own, and return what it prints."""
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def modules_of(package: ModuleType) -> set[str]:
    return {module.name for module in pkgutil.iter_modules(package.__path__) if not module.name.startswith("_")}


@pytest.mark.parametrize("name", sorted(extension_names(xpand)))
def test_names_of_the_extensions_are_those_of_the_core(name: str) -> None:
    assert getattr(xpand, name) is getattr(xpand_extensions, name)


def test_the_core_has_all_names_of_the_extensions_but_its_own() -> None:
    own = {"UnsupportedError", "extend"}
    assert set(dir(xpand_extensions)) - set(extension_names(xpand)) == own
    assert set(dir(xpand_extensions)) <= set(dir(xpand))
    assert xpand.UnsupportedError is xpand_extensions.UnsupportedError
    assert xpand.extend.__name__ == "xpand.extend"


def test_modules_of_both_packages_have_different_names() -> None:
    assert modules_of(xpand) & modules_of(xpand_extensions) == {"extend"}
    assert not set(xpand.__all__) & modules_of(xpand_extensions)


def test_dir_lists_public_names_only() -> None:
    """Names that the packages import for themselves, such as `Any` and `find_spec`, are not listed."""
    extensions = {*xpand_extensions.__all__, *xpand_extensions._MODULE_OF, *modules_of(xpand_extensions)}
    assert set(dir(xpand_extensions)) == extensions - {"cli", "generic", "plugins", "tracing"}
    core = {*xpand.__all__, "__version__", *modules_of(xpand)}
    assert set(dir(xpand)) <= core | extensions
    assert {"grad", "jit", "scatter", "sparse", "linear_solve", "random", "trees"} <= set(dir(xpand))
    imported = {name for name, value in vars(xpand).items() if inspect.ismodule(value) or not name.startswith("_")}
    assert {name for name in imported if not name.startswith("_")} - set(dir(xpand)) == {"TYPE_CHECKING"}


def test_every_listed_name_can_be_imported() -> None:
    """Tools such as `inspect.getmembers` read them all. That imports no array library and no optional package."""
    code = (
        "import inspect, sys, xpand\n"
        "assert {name for name, _ in inspect.getmembers(xpand)} >= set(dir(xpand))\n"
        "print([name for name in ('torch', 'jax', 'dask', 'matplotlib', 'rich') if name in sys.modules])"
    )
    assert run(code) == "[]"


def test_the_extensions_are_imported_on_first_use() -> None:
    code = (
        "import sys, xpand\n"
        "loaded = lambda: sorted({name.partition('.')[0] for name in sys.modules} & {'numpy', 'xpand_extensions'})\n"
        "print(loaded(), 'xpand.trees' in sys.modules)\n"
        "from xpand import grad, jit, scatter\n"
        "import xpand_extensions.autodiff\n"
        "assert grad is xpand_extensions.autodiff.grad and scatter is xpand_extensions.scatter\n"
        "assert 'grad' in vars(xpand) and xpand.trees.leaves((1, 2)) == [1, 2]\n"
        "from xpand import *\n"
        "print(loaded())"
    )
    assert run(code).splitlines() == ["[] False", "['xpand_extensions']"]


def test_the_error_without_the_extensions_names_the_package() -> None:
    code = (
        "import sys\n"
        "sys.modules['xpand_extensions'] = None\n"
        "import xpand\n"
        "assert 'grad' not in dir(xpand) and 'trees' in dir(xpand)\n"
        "try:\n    xpand.grad\nexcept AttributeError as error:\n    print(error)"
    )
    assert "need the package `xpand_extensions`: `pip install xpand` adds it" in run(code)


def test_names_from_elsewhere_get_advice() -> None:
    with pytest.raises(
        AttributeError, match=r"^module 'xpand' has no attribute 'softmax'; write `xpand\.special\.softmax`$"
    ):
        _ = xpand.softmax  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match="^cannot import 'softmax': module 'xpand' has no such name; write"):
        from xpand import softmax  # type: ignore[attr-defined]  # noqa: F401
    with pytest.raises(ImportError, match="^cannot import name 'nonsense' from 'xpand'"):
        from xpand import nonsense  # type: ignore[attr-defined]  # noqa: F401


def test_type_checkers_see_the_same_names() -> None:
    stub = ast.parse((CORE / "_extensions.pyi").read_text(encoding="utf-8"))
    typed = {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    typed |= {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}  # type: ignore[union-attr]
    assert typed - {None} == extension_names(xpand)
    package = ast.parse((CORE / "__init__.py").read_text(encoding="utf-8"))
    block = next(node for node in package.body if isinstance(node, ast.If))
    core = {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names} - {"*"}
    libraries = {module.name for module in pkgutil.iter_modules(xpand.__path__) if module.ispkg}
    assert core == modules_of(xpand) - libraries - {"common"}
    block = next(node for node in ast.parse(inspect.getsource(xpand_extensions)).body if isinstance(node, ast.If))
    shown = {alias.name for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    shown |= {node.target.id for node in block.body if isinstance(node, ast.AnnAssign)}  # type: ignore[union-attr]
    defined = {name for name in xpand_extensions.__all__ if name not in shown}
    assert shown - {"_callables"} | defined == set(dir(xpand_extensions))


@pytest.mark.parametrize("name", ["convert", "jit", "profile", "vmap"])
def test_type_checkers_see_the_attributes_of_callable_modules(name: str) -> None:
    path = Path(xpand_extensions.__file__).parent / "_callables.pyi"
    classes = {node.name: node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.ClassDef)}
    body = classes[name.capitalize()].body
    assigned = {target.id for node in body if isinstance(node, ast.Assign) for target in node.targets}  # type: ignore
    assert assigned == {"__call__", *importlib.import_module(f"xpand_extensions.{name}").__all__}


def test_core_modules_keep_their_meaning() -> None:
    for name in ("trees", "sets", "polynomial", "extend", "typing"):
        assert getattr(xpand, name) is importlib.import_module(f"xpand.{name}")
