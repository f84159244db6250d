"""`xpand_extensions.testing`: its list of libraries, and checks that pass what is right and find what is wrong."""

import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import xpand
from xpand_extensions.autodiff import custom_jvp
from xpand_extensions.testing import ArrayLibrary, assert_close, check_transforms, libraries
from xpand_extensions.tracing import TracedArray

ALL = libraries(dtypes=(None, "float32"), all_devices=True)
VALUES = np.asarray([[0.3, -0.7, 1.2], [1.5, 0.4, -0.2]])


def smooth(tree: Any, n: Any) -> Any:
    xp = xpand.array_namespace(tree["x"], n)
    x = tree["x"]
    return {"a": xp.exp(x) * xp.astype(n, x.dtype), "b": (xp.sum(xp.sin(x)), n + 1)}


# Libraries


def test_installed_libraries_are_listed() -> None:
    ids = [str(library) for library in ALL]
    assert len(set(ids)) == len(ids)
    assert {"numpy", "numpy-traced", "numpy-float32", "numpy-traced-float32"} <= set(ids)
    installed = [name for name in ("torch", "jax", "dask", "array_api_strict") if find_spec(name) is not None]
    assert {name for name in installed if {name, f"{name}-float32"} <= set(ids)} == set(installed)
    assert ("array_api_strict-float32-device1" in ids) == ("array_api_strict" in installed)
    assert [str(library) for library in libraries(["numpy"], traced=False)] == ["numpy"]
    with pytest.raises(ValueError, match="libraries: 'absent' is not installed"):
        libraries(["absent"])


@pytest.mark.parametrize("library", ALL, ids=str)
def test_arrays_have_the_data_type_and_device_of_their_entry(library: ArrayLibrary) -> None:
    x = library.asarray(VALUES)
    assert xpand.array_namespace(x) is library.xp
    defaults = library.xp.__array_namespace_info__().default_dtypes()
    assert x.dtype == (defaults["real floating"] if library.dtype is None else library.xp.float32)
    assert library.asarray([1, 2]).dtype == defaults["integral"]
    assert library.asarray([True]).dtype == library.xp.bool
    assert library.asarray([1.0], "float32").dtype == library.xp.float32
    if library.device is not None:
        assert xpand.device(x) == library.device
    if library.name == "numpy":
        assert not x.flags.writeable
    assert_close(x, VALUES)


@pytest.mark.parametrize("library", ALL, ids=str)
def test_functions_are_called_on_each_library(library: ArrayLibrary) -> None:
    seen = []

    def function(tree: Any, n: Any) -> Any:
        seen.append((tree["x"], n))
        return smooth(tree, n)

    n = library.asarray([3, 1, 2])
    result = library.call(function, {"x": library.asarray(VALUES)}, n)
    assert_close(result, {"a": np.exp(VALUES) * [3, 1, 2], "b": (np.sum(np.sin(VALUES)), np.asarray([4, 2, 3]))})
    assert [isinstance(x, TracedArray) for x in seen[0]] == [library.is_traced, False]
    assert not isinstance(result["a"], TracedArray)


def test_traced_numpy_has_values() -> None:
    library = ArrayLibrary("numpy", is_traced=True)
    result = library.call(lambda x: x if x > 1.0 else -x, library.asarray(0.5))
    assert float(result) == -0.5
    assert library.call(len, library.asarray([1, 2])) == 2


# Comparisons


@pytest.mark.parametrize("library", ALL, ids=str)
def test_arrays_of_any_library_are_compared_with_numpy(library: ArrayLibrary) -> None:
    x = library.asarray([1.0, float("nan"), 0.0])
    assert_close(x, [1.0, np.nan, 0.0])
    assert_close({"x": x, "y": (1, 2.0)}, {"x": np.asarray([1.0, np.nan, 0.0]), "y": (1, 2.0)})
    for wrong in ([1.1, np.nan, 0.0], [1.0, 0.0, 0.0], [1.0, np.nan, 1e-3]):
        with pytest.raises(AssertionError, match=r"(?s)Not equal.*assert_close: result"):
            assert_close(x, wrong)
    with pytest.raises(AssertionError, match=r"assert_close: result has shape \(3,\), not \(\)"):
        assert_close(x, 1.0)
    with pytest.raises(AssertionError, match="assert_close: the result has the structure"):
        assert_close({"x": x}, {"y": x})
    assert_close(x, [1.1, np.nan, 0.0], rtol=0.2)
    assert_close(x, [1.1, np.nan, 0.1], atol=0.2)


def test_the_less_precise_data_type_sets_the_tolerance() -> None:
    x = np.asarray([1.0])
    assert_close(x.astype(np.float32), x * (1 + 1e-4))
    assert_close(x, x * (1 + 1e-8))
    with pytest.raises(AssertionError, match="Not equal"):
        assert_close(x, x * (1 + 1e-4))
    with pytest.raises(AssertionError, match="Not equal"):
        assert_close(np.asarray([100_000_000]), np.asarray([100_000_001]))
    with pytest.raises(AssertionError, match="result has data type float32, not float64"):
        assert_close(x.astype(np.float32), x, check_dtype=True)


# Transformations


@pytest.mark.parametrize("library", [library for library in ALL if not library.is_traced], ids=str)
def test_transformable_functions_pass(library: ArrayLibrary) -> None:
    check_transforms(smooth, {"x": library.asarray(VALUES)}, library.asarray([3, 1, 2]))


def test_wrong_derivatives_are_found() -> None:
    wrong = custom_jvp(lambda x: np.sin(x))
    wrong.defjvp(lambda p, t: (wrong(p[0]), 1.001 * np.cos(p[0]) * t[0]))
    with pytest.raises(AssertionError, match="check_grads") as raised:
        check_transforms(wrong, VALUES)
    assert raised.value.__notes__ == ["check_transforms: under `grad`"]
    check_transforms(wrong, VALUES, rtol=0.1)
    check_transforms(wrong, VALUES, transforms=["jit", "vmap"])


def test_functions_that_remember_a_value_are_found() -> None:
    def remembers(x: Any) -> Any:
        memory.setdefault("x", 1.0 if xpand.is_concrete(x) else 2.0)
        return x * memory["x"]

    memory: dict[str, float] = {}
    check_transforms(remembers, VALUES)

    def is_compiled(x: Any) -> Any:
        return x * (1.0 if xpand.is_concrete(x) else 2.0)

    for transform in ("jit", "vmap"):
        with pytest.raises(AssertionError, match="Not equal") as raised:
            check_transforms(is_compiled, VALUES, transforms=[transform])  # type: ignore[list-item]
        assert raised.value.__notes__ == [f"check_transforms: under `{transform}`"]


def test_errors_name_the_transformation() -> None:
    with pytest.raises(TypeError) as raised:
        check_transforms(lambda x: x if x[0, 0] > 0 else -x, VALUES)
    assert "check_transforms: under `jit`" in raised.value.__notes__
    with pytest.raises(TypeError, match="check_transforms: takes at least one array"):
        check_transforms(abs, 1.0)
    with pytest.raises(ValueError, match="transforms must be"):
        check_transforms(abs, VALUES, transforms=["pmap"])  # type: ignore[list-item]


def test_pytest_and_libraries_are_not_imported() -> None:
    program = """
import sys
from xpand_extensions.testing import libraries
libraries()
assert not {"pytest", "torch", "jax", "dask", "array_api_strict"} & set(sys.modules), sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", program], check=True)
