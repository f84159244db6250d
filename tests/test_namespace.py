"""`array_namespace`, library detection, the names of libraries."""

import gc
import importlib
import subprocess
import sys
import threading
import types
import warnings

import array_api_compat
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.flop_counter import FlopCounterMode

import xpand
from tests.libraries import LIBRARIES
from xpand import _namespace, array_namespace

NATIVE = {"numpy": np, "torch": torch, "jax": jnp}


def test_one_array(library):
    assert array_namespace(library.asarray([1.0, 2.0])) is library.xp


def test_several_arrays_scalars_and_none(library):
    x = library.asarray([1.0])
    for arrays in [(x, x), (x, x, x), (1.0, x), (x, None), (None, True, x, 2, 3j), (x, x, x, 1)]:
        assert array_namespace(*arrays) is library.xp
        assert xpand.get_namespace(*arrays) is library.xp


@given(st.lists(st.sampled_from(range(len(LIBRARIES) + 2)), max_size=4))
def test_any_mix_agrees_with_its_parts(indices):
    """The answer for several values follows from that for each one, cached or not."""
    pool = [*(library.asarray([1.0]) for library in LIBRARIES), 1.5, None]
    values = [pool[i] for i in indices]
    expected = {array_namespace(v).__name__ for v in values if v is not None and not isinstance(v, float)}
    for _ in range(2):
        if len(expected) == 1:
            assert array_namespace(*values).__name__ == expected.pop()
            expected = {array_namespace(*values).__name__}
        else:
            with pytest.raises(TypeError, match="two libraries" if expected else "no array"):
                array_namespace(*values)


def test_same_answers_as_array_api_compat():
    for x in [np.ones(2), np.float32(1), np.ma.ones(2), torch.ones(2), jnp.ones(2), torch.nn.Parameter(torch.ones(2))]:
        ours, theirs = array_namespace(x), array_api_compat.array_namespace(x)
        assert xpand.library_name(ours) == xpand.library_name(theirs) or theirs.__name__.startswith("array_api_compat")
        assert array_namespace(x, use_compat=False) is array_api_compat.array_namespace(x, use_compat=False)


def test_use_compat():
    for name, module in NATIVE.items():
        x = module.ones(2)
        assert array_namespace(x, use_compat=False) is module
        assert array_namespace(x, use_compat=True) is array_namespace(x) is xpand.namespace(name)
    import array_api_strict

    with pytest.raises(ValueError, match="use_compat"):
        array_namespace(array_api_strict.ones(2), use_compat=True)
    with pytest.raises(ValueError, match="use_compat"):
        array_namespace(np.ones(2), use_compat="yes")


def test_api_version():
    assert array_namespace(np.ones(2), api_version="2025.12") is xpand.namespace("numpy")
    with pytest.warns(UserWarning, match=r"2023\.12"):
        assert array_namespace(np.ones(2), api_version="2023.12") is xpand.namespace("numpy")
    with pytest.raises(ValueError, match=r"api_version='1999\.01'"):
        array_namespace(np.ones(2), api_version="1999.01")


@pytest.mark.parametrize("bad", [[1.0], "x", object(), {}, np, torch.Tensor, np.dtype("float64")])
def test_no_array(bad):
    with pytest.raises(TypeError, match="array_namespace: .* is not a supported array"):
        array_namespace(bad)
    with pytest.raises(TypeError, match="array_namespace: .* is not a supported array"):
        array_namespace(np.ones(2), bad)


def test_names_that_the_package_lacks():
    """The error tells an import that is missing from a name of the other package."""
    code = "import xpand\ntry:\n    xpand.{}\nexcept AttributeError as error:\n    print(error)"
    for name, advice in (
        ("numpy", "write `import xpand.numpy`"),
        ("zeros", "the standard's functions are in `xpand.array_namespace(x)` and in `xpand.default_namespace()`"),
    ):
        done = subprocess.run([sys.executable, "-c", code.format(name)], capture_output=True, text=True, check=True)
        assert done.stdout == f"module 'xpand' has no attribute {name!r}; {advice}\n"
    assert not hasattr(xpand, "_grad")


def test_nothing_to_infer_from():
    for values in [(), (1,), (None, 2.0)]:
        with pytest.raises(TypeError, match="array_namespace: no array among the arguments.*default_namespace"):
            array_namespace(*values)


def test_phrases_of_array_api_compat():
    """Tests of packages look for these parts of its errors."""
    with pytest.raises(TypeError, match="Multiple namespaces"):
        array_namespace(np.ones(2), torch.ones(2))
    with pytest.raises(TypeError, match="array_namespace requires at least one"):
        array_namespace(1.0)


def test_two_libraries_are_named():
    with pytest.raises(TypeError, match=r"numpy\.ndarray and torch\.Tensor"):
        array_namespace(np.ones(2), torch.ones(2))


def test_subclasses():
    class Sub(np.ndarray):
        pass

    class Tensor(torch.Tensor):
        pass

    assert array_namespace(np.ones(2).view(Sub)) is xpand.namespace("numpy")
    assert array_namespace(torch.ones(2).as_subclass(Tensor)) is xpand.namespace("torch")
    assert array_namespace(np.float64(1.0), np.ones(2)) is xpand.namespace("numpy")


def test_tracers_of_jax():
    seen = []

    def f(x):
        seen.append(array_namespace(x))
        return xpand.array_namespace(x, x).sum(x * x)

    x = jnp.arange(3.0)
    jax.jit(f)(x)
    jax.grad(f)(x)
    jax.vmap(f)(jnp.ones((2, 3)))
    jax.jit(jax.vmap(jax.grad(f)))(jnp.ones((2, 3)))
    assert set(seen) == {xpand.namespace("jax")}


def test_zero_gradients_of_jax():
    """`float0` arrays are NumPy's by type and JAX's by meaning, whatever was asked before."""
    assert array_namespace(np.ones(2)) is xpand.namespace("numpy")
    zero = jax.grad(lambda x: jnp.sum(x).astype(float), allow_int=True)(jnp.arange(3))
    assert isinstance(zero, np.ndarray)
    assert array_namespace(zero) is xpand.namespace("jax")
    assert array_namespace(zero, zero, jnp.ones(2)) is xpand.namespace("jax")
    for arrays in [(np.ones(2), zero), (zero, np.ones(2)), (np.ones(2), np.ones(2), zero), (np.ones(2), zero, 1.0)]:
        with pytest.raises(TypeError, match="two libraries"):
            array_namespace(*arrays)
    assert array_namespace(np.ones(2)) is xpand.namespace("numpy")
    assert array_namespace(np.zeros(2, dtype="V4")) is xpand.namespace("numpy")


def test_functorch_wrappers():
    xp = xpand.namespace("torch")

    def f(x):
        assert array_namespace(x) is xp
        return (x * x).sum()

    torch.func.vmap(f)(torch.ones(2, 3))
    torch.func.vmap(torch.func.grad(f))(torch.ones(2, 3))
    torch.func.jvp(f, (torch.ones(3),), (torch.ones(3),))


def test_inside_torch_compile():
    def f(x, y):
        return array_namespace(x, y).sum(array_namespace(x).exp(x) + y)

    x = torch.arange(3.0)
    compiled = torch.compile(f, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x, x), f(x, x))


def test_third_party_namespace_may_depend_on_the_array():
    """A wrapper's arrays are asked one by one: nothing of theirs is remembered."""

    class Wrapped:
        def __init__(self, xp):
            self.xp = xp

        def __array_namespace__(self, *, api_version=None):
            return self.xp

    one, two = types.ModuleType("one"), types.ModuleType("two")
    assert array_namespace(Wrapped(one)) is one
    assert array_namespace(Wrapped(two), 1.0) is two
    with pytest.raises(TypeError, match="two libraries"):
        array_namespace(Wrapped(one), Wrapped(two))


def test_pydata_sparse():
    sparse = pytest.importorskip("sparse")
    assert array_namespace(sparse.zeros((2, 2))) is sparse


def test_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(_namespace, "_MAX_TYPES", len(_namespace._BY_TYPE) + 3)
    for i in range(10):
        cls = type(f"Sub{i}", (np.ndarray,), {})
        assert array_namespace(np.ones(2).view(cls)) is xpand.namespace("numpy")
    assert len(_namespace._BY_TYPE) <= _namespace._MAX_TYPES
    monkeypatch.undo()
    for cls in [c for c in _namespace._BY_TYPE if c.__name__.startswith("Sub")]:
        del _namespace._BY_TYPE[cls]
    gc.collect()


def test_many_threads():
    arrays = [library.asarray([1.0]) for library in LIBRARIES]
    errors = []

    def work():
        try:
            for _ in range(200):
                for library, x in zip(LIBRARIES, arrays, strict=True):
                    assert array_namespace(x, x) is library.xp
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors


def test_names():
    for name in ("numpy", "torch", "jax", "dask"):
        xp = xpand.namespace(name)
        assert xpand.library_name(xp) == name
        assert xpand.namespace(xp.__name__) is xp
        assert hasattr(xp, "__array_namespace_info__")
        assert xp.__array_api_version__ == "2025.12"
    assert xpand.library_name(torch) == "torch"
    assert xpand.library_name(jnp) == "jax"
    import array_api_strict

    assert xpand.namespace("array_api_strict") is array_api_strict
    assert xpand.library_name(array_api_strict) == "array_api_strict"


@pytest.mark.parametrize(
    "bad", [np.ones(2), jnp.ones(2), torch.ones(2), 1.0, None, "numpy"], ids=lambda x: type(x).__name__
)
def test_only_namespaces_have_a_library(bad):
    with pytest.raises(TypeError, match=r"library_name: xp must be a namespace, got .*array_namespace\(x\)"):
        xpand.library_name(bad)


@pytest.mark.parametrize("bad", ["numpyy", "", "os", "xpand", "../numpy", "torch.nn"])
def test_unknown_name(bad):
    with pytest.raises(ValueError, match="namespace: .* is no known array library; known are numpy, torch, jax"):
        xpand.namespace(bad)


def test_wrong_type_of_name():
    with pytest.raises(TypeError, match="name must be a string"):
        xpand.namespace(3)


def test_library_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)  # as good as absent
    for name in [name for name in sys.modules if name == "xpand.cupy" or name.startswith("xpand.cupy.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'xpand\[cupy\]'") as found:
        xpand.namespace("cupy")
    assert found.value.name == "cupy"


def test_library_whose_own_dependency_is_missing(monkeypatch):
    def fail(name):
        raise ModuleNotFoundError("No module named 'cupy_backends'", name="cupy_backends")

    monkeypatch.setattr(_namespace, "import_module", fail)
    with pytest.raises(ModuleNotFoundError, match="cupy_backends"):
        xpand.namespace("cupy")


@pytest.mark.parametrize("name", ["numpy", "torch", "jax", "dask"])
def test_is_namespace(name):
    test = getattr(xpand, f"is_{name}_namespace")
    assert test(xpand.namespace(name))
    assert test(importlib.import_module(_namespace.LIBRARIES[name].native))
    for other in {"numpy", "torch", "jax", "dask"} - {name}:
        assert not test(xpand.namespace(other))
    if name != "jax":
        assert test(array_api_compat.array_namespace(LIBRARIES[[lib.id for lib in LIBRARIES].index(name)].asarray([1])))


def test_is_concrete():
    assert xpand.is_concrete(np.ones(2))
    assert xpand.is_concrete(torch.ones(2))
    assert xpand.is_concrete(torch.nn.Parameter(torch.ones(2)))
    assert not xpand.is_concrete(torch.ones(2, device="meta"))
    assert xpand.is_concrete(jnp.ones(2))
    assert xpand.is_concrete(1.0)
    for library in LIBRARIES:
        assert xpand.is_concrete(library.asarray([1.0])) is not library.lazy

    def not_here(x):
        assert not xpand.is_concrete(x)
        return x.sum()

    jax.jit(not_here)(jnp.ones(2))
    jax.grad(not_here)(jnp.ones(2))
    torch.func.vmap(not_here)(torch.ones(2, 2))
    torch.func.grad(not_here)(torch.ones(2))
    make_fx(not_here)(torch.ones(2))
    make_fx(lambda x: x + not_here(torch.ones(2)))(torch.ones(2))  # it would be a constant of the graph
    with FlopCounterMode(display=False):
        assert xpand.is_concrete(torch.ones(2))


def test_import_loads_no_array_library():
    code = (
        "import sys, xpand, xpand_extensions\n"
        "print([m for m in ('numpy', 'torch', 'jax', 'cupy', 'dask', 'scipy', 'optree') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_a_gradient_of_numpy_arrays_imports_little():
    slow = ("array_api_compat.numpy", "email", "importlib.metadata", "numpy.f2py", "numpy.testing", "pathlib", "random")
    code = (
        "import sys, numpy\n"
        "from xpand_extensions.autodiff import grad\n"
        "assert grad(lambda x: x * x)(numpy.asarray(1.0)) == 2.0\n"
        f"print([m for m in {slow} if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_public_names():
    for module in (xpand, __import__("xpand.common", fromlist=["common"])):
        for name in module.__all__:
            assert getattr(module, name) is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        namespace = {}
        exec("from xpand import *", namespace)
    assert set(xpand.__all__) <= set(namespace)
