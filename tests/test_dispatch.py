"""From a facade to the implementation: `pluggable`, `capabilities`, and the walk over all plug-ins."""

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
import threading
import timeit
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

import xpand
import xpand_extensions
import xpand_extensions.plugins
from tests.libraries import Library
from xpand_extensions import UnsupportedError, capabilities, check_plugin, pluggable
from xpand_extensions._capabilities import _HOOKS, facade_names, import_facades, support_of
from xpand_extensions._dispatch import OPERATIONS, forwards_to, plugin_package

pytestmark = pytest.mark.usefixtures("own_operations")

OURS = xpand_extensions.__name__
PLUGINS = [f"{OURS}.plugins.{info.name}" for info in pkgutil.iter_modules(xpand_extensions.plugins.__path__)]


# The walk over all plug-ins


def test_plugins_are_for_known_libraries() -> None:
    names = {package.rpartition(".")[2] for package in PLUGINS}
    assert {"numpy", "torch", "jax", "cupy"} <= names <= {*xpand.wrapped_libraries(), "traced"}


def _is_installed(package: str) -> bool:
    return find_spec(package.rpartition(".")[2]) is not None


@pytest.mark.parametrize("package", [*filter(_is_installed, PLUGINS), f"{OURS}.generic"])
def test_every_implementation_overrides_a_facade(package: str) -> None:
    check_plugin(package)


def _sources(package: str) -> Iterator[tuple[str, Path]]:
    """Name the capabilities of a package, each a module or a package of its own, and where they are.

    A plug-in may also have modules for tracing.
    """
    for path in importlib.import_module(package).__path__:
        for file in sorted(Path(path).glob("[!_]*")):
            if file.stem in _HOOKS:
                continue
            if file.suffix == ".py":
                yield file.stem, file
            elif (file / "__init__.py").exists():
                yield file.name, file / "__init__.py"


def _bare(node: ast.FunctionDef) -> str:
    kept = [each for each in zip(node.args.kwonlyargs, node.args.kw_defaults) if each[0].arg != "progress"]
    node.args.kwonlyargs, node.args.kw_defaults = [x for x, _ in kept], [x for _, x in kept]
    for argument in ast.walk(node.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    return ast.unparse(node.args)


@pytest.mark.parametrize("package", [*PLUGINS, f"{OURS}.generic"])
def test_signatures_in_the_source(package: str) -> None:
    """The check that needs no library, for the plug-ins of libraries that aren't installed here."""
    facades = {
        name: {
            node.name: _bare(node)
            for part in (path.parent.glob("*.py") if path.stem == "__init__" else [path])
            for node in ast.parse(part.read_text("utf-8")).body
            if isinstance(node, ast.FunctionDef) and "pluggable" in map(ast.unparse, node.decorator_list)
        }
        for name, path in _sources(OURS)
    }
    for capability, path in _sources(package):
        assert capability in facades, f"{path}: no such capability"
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.Assign):
                names = {target.id for target in node.targets if isinstance(target, ast.Name)}
                stray = {name for name in names if name.islower() and not name.startswith("_")} - set(
                    facades[capability]
                )
                assert not stray, f"{path}: {stray} override nothing"
            elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                assert node.name in facades[capability], f"{path}: {node.name} overrides nothing"
                if any("forwards_to" in ast.unparse(each) for each in node.decorator_list):
                    continue  # `check_plugin` compares the signature that it has by then
                assert _bare(node) == facades[capability][node.name], f"{path}: {node.name} has another signature"


def test_forwards_to_gives_the_signature_of_another_function(monkeypatch: pytest.MonkeyPatch) -> None:
    from xpand_extensions.plugins.numpy import scatter

    @forwards_to(scatter.scatter)
    def right(x: Any, indices: Any, values: Any, /, **options: Any) -> Any:
        return scatter.scatter(x, indices, values, **options)

    @forwards_to(scatter.scatter_nd)
    def wrong(x: Any, indices: Any, values: Any, /, **options: Any) -> Any:
        return scatter.scatter_nd(x, indices, values, **options)

    assert inspect.signature(right) == inspect.signature(scatter.scatter)
    for function in (right, wrong):
        function.__module__ = scatter.__name__
    monkeypatch.setattr(scatter, "scatter", right)
    check_plugin(f"{OURS}.plugins.numpy")
    monkeypatch.setattr(scatter, "scatter", wrong)
    with pytest.raises(AssertionError, match="differs from the facade"):
        check_plugin(f"{OURS}.plugins.numpy")


@pytest.mark.every_run
def test_every_operation_is_somewhere() -> None:
    import_facades()
    for name, operation in OPERATIONS.items():
        if operation.package == OURS:
            assert operation.capability in facade_names()
            assert {"native", "generic"} & set(support_of(operation).values()), f"{name} is nowhere"


@pytest.mark.parametrize("capability", ["", *sorted(facade_names())])
def test_dir_lists_public_names_only(capability: str) -> None:
    module = importlib.import_module(f"{OURS}.{capability}".removesuffix("."))
    submodules = {found.name for found in pkgutil.iter_modules(getattr(module, "__path__", ()))}
    lazy = set(module._MODULE_OF) if module.__name__ == OURS else set()
    listed = {name for name in dir(module) if not name.startswith("_")}
    assert set(module.__all__) <= listed <= {*module.__all__, *submodules, *lazy}
    assert not {"generic", "plugins", "tracing"} & listed


@pytest.mark.parametrize("capability", sorted(facade_names()))
def test_annotations_of_public_functions_can_be_evaluated(capability: str) -> None:
    module = importlib.import_module(f"{OURS}.{capability}")
    for name in module.__all__:
        found = getattr(module, name)
        methods = [] if not inspect.isclass(found) else list(vars(found).values())
        for function in (found, *methods):
            if inspect.isfunction(function):
                inspect.signature(function, eval_str=True)


def test_the_table_lists_what_users_call() -> None:
    for name in capabilities():
        capability, _, function = name.rpartition(".")
        if capability in facade_names():
            assert function in importlib.import_module(f"{OURS}.{capability}").__all__, name
    assert not {"sparse.eagerly", "optimize.tangent_of", "random.split_each"} & set(capabilities())
    assert {"scatter.segment_sum", "autodiff.vjp"} <= set(capabilities())


# Registration


def test_default_and_registered(library: Library) -> None:
    @pluggable
    def double(x, /):
        "Twice."
        return double.native(x)(x)

    calls = []

    @double.default
    def _(x, /):
        calls.append("default")
        return x + x

    x = library.asarray([1.0, 2.0])
    library.assert_equal(double(x), [2.0, 4.0])

    @double.register(xpand.library_name(library.xp))
    def _(x, /):
        calls.append("registered")
        return 2 * x

    library.assert_equal(double(x), [2.0, 4.0])
    assert calls == ["default", "registered"]


def test_native_for_a_library(library: Library) -> None:
    @pluggable
    def which(*, xp=None):
        return which.native_for(xp)()

    which.default(lambda: "default")
    name = xpand.library_name(library.xp)
    assert which(xp=library.xp) == which(xp=name) == "default"
    which.register(name)(lambda: name)
    assert which(xp=library.xp) == which(xp=name) == name
    with xpand.use(library.xp):
        assert which() == name


@pytest.mark.parametrize(
    ("xp", "error", "message"),
    [
        (3, TypeError, "which: xp must be a namespace or a library's name"),
        ("nosuch", ValueError, "'nosuch' is no known"),
    ],
)
def test_native_for_what_is_no_library(xp: Any, error: type[Exception], message: str) -> None:
    @pluggable
    def which(*, xp=None):
        return which.native_for(xp)()

    which.default(lambda: "default")
    for _ in range(2):
        with pytest.raises(error, match=message):
            which(xp=xp)


def test_the_facade_stays_a_plain_function() -> None:
    def double(x, /, *, times=2):
        "Twice."

    assert pluggable(double) is double
    assert double.__doc__ == "Twice."
    assert str(inspect.signature(double)) == "(x, /, *, times=2)"


def test_register_returns_the_implementation() -> None:
    @pluggable
    def double(x, /):
        return double.native(x)(x)

    def implementation(x, /):
        return x + x

    assert double.register("torch")(implementation) is implementation
    assert double.default(implementation) is implementation


@pytest.mark.parametrize("facade", [print, "double", 3, dict, lambda: 0])
def test_what_is_no_facade(facade: Any) -> None:
    if inspect.isfunction(facade):
        assert pluggable(facade) is facade
    else:
        with pytest.raises(TypeError, match="pluggable: takes a plain function, got"):
            pluggable(facade)


def test_register_takes_a_name() -> None:
    @pluggable
    def double(x, /):
        return double.native(x)(x)

    with pytest.raises(TypeError, match=r"double\.register: library must be a name such as 'torch'"):
        double.register(torch)


# Errors


def test_unsupported_says_what_and_where(library: Library) -> None:
    @pluggable
    def double(x, /):
        return double.native(x)(x)

    name = xpand.library_name(library.xp)
    with pytest.raises(UnsupportedError, match=f"double: not available for {name}.*register\\('{name}'\\)") as caught:
        double(library.asarray([1.0]))
    assert isinstance(caught.value, TypeError)

    @double.register(name)
    def _(x, /):
        return x + x

    library.assert_equal(double(library.asarray([1.0])), [2.0])


def test_mixed_libraries_name_the_function() -> None:
    @pluggable
    def add(x, y, /):
        return add.native(x, y)(x, y)

    @add.default
    def _(x, y, /):
        return x + y

    with pytest.raises(TypeError, match=r"^add: arrays of two libraries: numpy\.ndarray and torch\.Tensor"):
        add(np.ones(2), torch.ones(2))
    # The error is not remembered as an answer.
    np.testing.assert_array_equal(add(np.ones(2), np.ones(2)), [2.0, 2.0])
    np.testing.assert_array_equal(add(np.ones(2), 1.0), [2.0, 2.0])


@pytest.mark.parametrize("x", [[1.0], "x", None, 1.0, object()])
def test_no_array_names_the_function(x: Any) -> None:
    @pluggable
    def double(x, /):
        return double.native(x)(x)

    with pytest.raises(TypeError, match="^double: "):
        double(x)


# The cache


def test_an_implementation_is_looked_up_once(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    from xpand_extensions import _dispatch

    asked, searched = [], []
    array_namespace, implementation = _dispatch.array_namespace, _dispatch.Operation.implementation
    monkeypatch.setattr(_dispatch, "array_namespace", lambda *a: asked.append(a) or array_namespace(*a))
    monkeypatch.setattr(
        _dispatch.Operation, "implementation", lambda self, name: searched.append(name) or implementation(self, name)
    )

    @pluggable
    def add(x, y, /):
        return add.native(x, y)(x, y)

    add.default(lambda x, y, /: x + y)
    x = library.asarray([1.0])
    wrapped = xpand.library_name(library.xp) in xpand.wrapped_libraries()
    for _ in range(3):
        library.assert_equal(add(x, x), [2.0])
    assert len(searched) == 1
    assert len(asked) == (1 if wrapped else 3)  # a stranger's namespace may depend on the array
    add.default(lambda x, y, /: x - y)  # forgets what was found
    library.assert_equal(add(x, x), [0.0])
    assert len(searched) == 2


def test_first_calls_of_many_threads() -> None:
    @pluggable
    def double(x, /):
        return double.native(x)(x)

    double.default(lambda x, /: x + x)
    double.register("torch")(lambda x, /: x.mul(2))
    arrays = [np.ones(3), torch.ones(3), jnp.ones(3)] * 8
    start = threading.Barrier(len(arrays))

    def call(x: Any) -> Any:
        start.wait()
        return double(x)

    with ThreadPoolExecutor(len(arrays)) as pool:
        results = list(pool.map(call, arrays))
    for x, result in zip(arrays, results, strict=True):
        assert type(result) is type(x)
        np.testing.assert_array_equal(np.asarray(result), np.full(3, 2.0))


def test_subclasses_of_arrays() -> None:
    class Array(np.ndarray):
        pass

    class Tensor(torch.Tensor):
        pass

    @pluggable
    def which(x, /):
        return which.native(x)(x)

    which.default(lambda x, /: "default")
    which.register("numpy")(lambda x, /: "numpy")
    which.register("torch")(lambda x, /: "torch")
    assert which(np.ones(2).view(Array)) == "numpy"
    assert which(np.float64(1.0)) == "numpy"
    assert which(torch.ones(2).as_subclass(Tensor)) == "torch"
    assert which(torch.nn.Parameter(torch.ones(2))) == "torch"
    assert which(jnp.ones(2)) == "default"


def test_a_call_costs_little() -> None:
    @pluggable
    def same(x, /):
        return same.native(x)(x)

    same.default(lambda x, /: x)
    x = np.ones(4)
    same(x)
    call = min(timeit.repeat(lambda: same(x), number=1000, repeat=20)) / 1000
    # The budget stands in the benchmarks; this notices a look-up on every call (several microseconds).
    assert call < 2e-6, f"{call * 1e6:.2f} us"


# Under the libraries' own transformations


def _norm() -> Callable[[Any], Any]:
    @pluggable
    def norm(x, /):
        return norm.native(x)(x)

    @norm.default
    def _(x, /):
        xp = xpand.array_namespace(x)
        return xp.sqrt(xp.sum(x * x))

    return norm


@pytest.mark.parametrize("called_before", [False, True])
def test_torch_compile(called_before: bool) -> None:
    norm = _norm()
    x = torch.tensor([3.0, 4.0])
    if called_before:
        norm(x)
    torch.compiler.reset()
    compiled = torch.compile(lambda x: norm(x) + 1, fullgraph=True, backend="eager")
    assert compiled(x).item() == 6.0


@pytest.mark.parametrize("convert", [str, xpand.namespace], ids=["name", "namespace"])
def test_torch_compile_of_native_for(convert: Callable[[str], Any]) -> None:
    xp = convert("torch")

    @pluggable
    def which(*, xp=None):
        return which.native_for(xp)()

    which.default(lambda: 1.0)
    which.register("torch")(lambda: 2.0)
    expected = which(xp=xp)
    torch.compiler.reset()
    compiled = torch.compile(lambda x: x + which(xp=xp), fullgraph=True, backend="eager")
    assert compiled(torch.zeros(())).item() == expected


FIRST_CALLS = {
    "statistics.nanmean": "statistics.nanmean(x, axis=0)",
    "scatter.at": "scatter.at(x)[i].add(1.0).sum()",
    "scatter.segment_sum": "scatter.segment_sum(x, i, num_segments=2).sum()",
}


@pytest.mark.parametrize("call", FIRST_CALLS.values(), ids=FIRST_CALLS)
def test_the_first_call_of_a_process_may_be_compiled(call: str) -> None:
    # The namespace and the plug-in are imported while torch.compile traces.
    program = f"""
import torch
from xpand_extensions import scatter, statistics
compiled = torch.compile(lambda x, i: {call}, fullgraph=True, backend="eager")
x, i = torch.ones(3), torch.tensor([0, 1, 0])
first = compiled(x, i).item()
assert first == compiled(x, i).item() == (lambda x, i: {call})(x, i).item()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_torch_func() -> None:
    norm = _norm()
    x = torch.tensor([[3.0, 4.0], [0.0, 2.0]])
    assert torch.func.vmap(norm)(x).tolist() == [5.0, 2.0]
    assert torch.func.grad(norm)(x[1]).tolist() == [0.0, 1.0]
    assert torch.func.vmap(torch.func.grad(norm))(x)[1].tolist() == [0.0, 1.0]


def test_jax_transformations() -> None:
    norm = _norm()
    x = jnp.asarray([[3.0, 4.0], [0.0, 2.0]])
    assert jax.jit(norm)(x[0]) == 5.0
    assert jax.jit(norm)(x[0]) == norm(x[0])
    assert jax.vmap(norm)(x).tolist() == [5.0, 2.0]
    assert jax.jit(jax.vmap(jax.grad(norm)))(x)[1].tolist() == [0.0, 1.0]


# A package of one's own, with a folder of plug-ins


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with one facade `shapes.area`, a generic version and a plug-in for PyTorch."""
    root = tmp_path / "geometry"
    files = {
        "__init__.py": "",
        "shapes.py": (
            "from xpand_extensions import pluggable\n"
            "@pluggable\ndef area(x, /, *, scale=1.0):\n    return area.native(x)(x, scale=scale)\n"
        ),
        "generic/__init__.py": "",
        "generic/shapes.py": "def area(x, /, *, scale=1.0):\n    return 'generic'\n",
        "plugins/__init__.py": "",
        "plugins/torch/__init__.py": "",
        "plugins/torch/shapes.py": "def area(x, /, *, scale=1.0):\n    return 'torch'\n",
        "plugins/jax/__init__.py": "",
        "plugins/jax/shapes.py": "UNSUPPORTED = {'area': 'no areas there; use `volume`'}\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    yield root
    for name in [name for name in sys.modules if name.partition(".")[0] == "geometry"]:
        del sys.modules[name]


def test_plugin_then_generic(package: Path) -> None:
    from geometry.shapes import area

    assert area(torch.ones(2)) == "torch"
    assert area(np.ones(2)) == "generic"
    with pytest.raises(UnsupportedError, match="area: not available for jax: no areas there; use `volume`"):
        area(jnp.ones(2))
    area.register("torch")(lambda x, /, *, scale=1.0: "registered")
    area.default(lambda x, /, *, scale=1.0: "default")
    assert area(torch.ones(2)) == "registered"
    assert area(np.ones(2)) == "default"
    # The plug-ins of another package than ours are its own affair.
    assert plugin_package("torch", "geometry") == "geometry.plugins.torch"
    assert plugin_package("numpy", "geometry") is None


def test_a_module_may_have_the_name_of_a_function(package: Path) -> None:
    (package / "generic" / "__init__.py").write_text("from .shapes import area as shapes\n")
    from geometry.shapes import area

    assert area(np.ones(2)) == "generic"


def test_a_capability_may_be_a_package(package: Path) -> None:
    """Its parts are private, and count as the package that gathers them."""
    for folder in ("", "generic/", "plugins/torch/"):
        (package / f"{folder}shapes").mkdir()
        (package / f"{folder}shapes.py").rename(package / f"{folder}shapes" / "_areas.py")
        (package / f"{folder}shapes" / "__init__.py").write_text("from ._areas import area as area\n")
    from geometry.shapes import area

    assert area.__module__ == "geometry.shapes._areas"
    assert area(torch.ones(2)) == "torch"
    assert area(np.ones(2)) == "generic"
    assert capabilities()["geometry.shapes.area"]["torch"] == "native"


def test_capabilities_of_a_package(package: Path) -> None:
    importlib.import_module("geometry.shapes").area.register("dask")(lambda x, /, *, scale=1.0: "dask")
    row = capabilities()["geometry.shapes.area"]
    assert row == {
        "numpy": "generic",
        "torch": "native",
        "jax": "unsupported",
        "cupy": "generic",
        "dask": "native",
        "other": "generic",
    }


@pytest.mark.parametrize("broken", ["plugins/torch/shapes.py", "plugins/torch/__init__.py"])
def test_a_plugin_that_fails_to_import_raises(package: Path, broken: str) -> None:
    (package / broken).write_text("import a_library_that_is_absent\n")
    from geometry.shapes import area

    for _ in range(2):  # the failure is not remembered as an absent plug-in
        with pytest.raises(ModuleNotFoundError, match="a_library_that_is_absent"):
            area(torch.ones(2))
    assert area(np.ones(2)) == "generic"


def test_a_generic_version_that_fails_to_import_raises(package: Path) -> None:
    (package / "generic" / "shapes.py").write_text("from os import no_such_name\n")
    from geometry.shapes import area

    assert area(torch.ones(2)) == "torch"
    with pytest.raises(ImportError, match="no_such_name"):
        area(np.ones(2))


@pytest.mark.every_run
def test_capabilities_cover_every_library() -> None:
    columns = {*xpand.wrapped_libraries(), "other"}
    for name, row in capabilities().items():
        assert columns <= set(row), name
        assert set(row.values()) <= {"native", "traced", "generic", "unsupported"}, name


def test_transformations_are_traced_where_a_library_has_none() -> None:
    table = capabilities()
    for name in ("autodiff.vjp", "vmap.vmap", "jit.jit", "control_flow.scan"):
        assert table[name] == {**dict.fromkeys(table[name], "traced"), "jax": "native"}, name
    traced = {name for name, row in table.items() if "traced" in row.values()}
    assert {name.partition(".")[0] for name in traced} == {"autodiff", "control_flow", "jit", "vmap"}


def test_a_strangers_library_is_asked_each_time() -> None:
    """A wrapper's namespace may depend on what it wraps, so its type alone doesn't choose the implementation."""

    class Wrapped:
        def __init__(self, xp: Any) -> None:
            self.xp = xp

        def __array_namespace__(self, *, api_version: str | None = None) -> Any:
            return self.xp

    @pluggable
    def which(x: Any, /) -> str:
        return which.native(x)(x)

    @which.default
    def _(x: Any, /) -> str:
        return "default"

    @which.register("torch")
    def _(x: Any, /) -> str:
        return "torch"

    for _ in range(2):
        assert which(Wrapped(xpand.namespace("numpy"))) == "default"
        assert which(Wrapped(xpand.namespace("torch"))) == "torch"
    which.register("numpy")(lambda x, /: "numpy")
    assert which(Wrapped(xpand.namespace("numpy"))) == "numpy"


def test_the_memory_of_types_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    @pluggable
    def same(x: Any, /) -> Any:
        return same.native(x)(x)

    @same.default
    def _(x: Any, /) -> Any:
        return x

    operation = OPERATIONS[f"{__name__}.same"]
    monkeypatch.setattr("xpand_extensions._dispatch._MAX_TYPES", 3)
    for i in range(10):
        same(np.ones(2).view(type(f"Array{i}", (np.ndarray,), {})))
    assert len(operation.by_type) == 3
