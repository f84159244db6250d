"""All public functions, classes and modules are pickled by name, and functions that use them work in notebooks."""

import copy
import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle
import numpy as np
import pytest

import xpand
import xpand_extensions
from xpand_extensions import UnsupportedError, linear_solve, named as hax, random, scatter, sparse
from xpand_extensions._modules import CallableModule

DUMPS = [pickle.dumps, cloudpickle.dumps]


def _modules() -> Iterator[ModuleType]:
    """Yield the public modules."""
    for package in (xpand, xpand_extensions):
        yield package
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            parts = found.name.split(".")
            if not any(part.startswith("_") for part in parts) and not {"cupy", "generic", "plugins"} & set(parts):
                yield importlib.import_module(found.name)


MODULES = list(_modules())


def _is_ours(x: Any) -> bool:
    """Return whether xpand defines an object. Functions that JAX compiles are not pickled, as those of `jax.numpy`."""
    if type(x).__name__ == "PjitFunction":
        return False
    modules = (getattr(x, "__module__", ""), x.__globals__.get("__name__") if inspect.isfunction(x) else "")
    return any(str(module).startswith("xpand") for module in modules)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
@pytest.mark.parametrize("dumps", DUMPS, ids=["pickle", "cloudpickle"])
def test_public_objects_are_pickled_by_name(module: ModuleType, dumps: Callable[[Any], bytes]) -> None:
    for name in getattr(module, "__all__", ()):
        x = inspect.getattr_static(module, name, None)
        if _is_ours(x):
            again = pickle.loads(dumps(x))
            assert again is x or again == x, name


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_modules_are_pickled_by_name(module: ModuleType) -> None:
    assert pickle.loads(cloudpickle.dumps(module)) is module
    if isinstance(module, CallableModule):  # others are not pickled by the standard library
        assert pickle.loads(pickle.dumps(module)) is module
        assert copy.deepcopy(module) is module
        assert copy.copy(module) is module


def _error() -> BaseException:
    with pytest.raises(linear_solve.ConvergenceError) as caught:
        linear_solve.solve(np.eye(3) * [1.0, 2.0, 3.0], np.ones(3), method="cg", max_steps=1)
    return caught.value


A = np.asarray([[4.0, 1.0], [1.0, 3.0]])
OBJECTS: dict[str, Callable[[], Any]] = {
    "named array": lambda: hax.named(A, ("a", "b")),
    "axis": lambda: hax.Axis("a", 2),
    "part of an axis": lambda: hax.dslice(0, 2),
    "array at an index": lambda: scatter.at(A)[0],
    **{format: lambda format=format: sparse.from_dense(A, format=format) for format in ("coo", "csr", "csc")},
    "key": lambda: random.key(0, xp="numpy"),
    "solution": lambda: linear_solve.solve(A, A[0]),
    "minimum": lambda: xpand_extensions.optimize.minimize(lambda x: ((x - 1.0) ** 2).sum(), A[0]),
    "factors": lambda: linear_solve.factorize(A),
    "spec": lambda: xpand_extensions.jit.ShapeDtype((2,), np.float64),
    "graph": lambda: xpand_extensions.jit.make_graph(lambda x: 2 * x)(A),
    "error of a solver": _error,
    "error": lambda: UnsupportedError("f: text"),
}


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("dumps", DUMPS, ids=["pickle", "cloudpickle"])
def test_objects_and_results(name: str, dumps: Callable[[Any], bytes]) -> None:
    x = OBJECTS[name]()
    again = pickle.loads(dumps(x))
    assert type(again) is type(x)
    assert str(again) == str(x)


# The functions are defined in `__main__`, as in a notebook. They look up xpand's modules as globals, and in closures.
_NOTEBOOK = """
import joblib
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.model_selection import GridSearchCV

import xpand_extensions as xe
from xpand_extensions import convert, jit, named, profile, vmap


def direct(x):
    return xe.jit(lambda x: xe.vmap(lambda y: 2.0 * y)(x))(convert(x, "numpy"))


def by_module(x):
    with profile():
        return vmap(jit(lambda y: 2.0 * y))(x)


def closure(jit):
    return lambda x: jit(lambda y: 2.0 * y)(x)


class Ridge(RegressorMixin, BaseEstimator):
    def __init__(self, l2=1.0):
        self.l2 = l2

    def fit(self, x, y):
        loss = xe.jit(lambda w: ((x @ w - y) ** 2).sum() + self.l2 * (w * w).sum())
        self.coef_ = xe.optimize.minimize(loss, np.zeros(x.shape[1])).x
        return self

    def predict(self, x):
        return x @ self.coef_


def of_named(x):
    return named.poly.polyval(named.named(x, "p"), named.named(x, "a")).array


functions = [direct, by_module, closure(jit), closure(xe.jit), lambda x: of_named(x) + 2 * x - of_named(x)]
x = np.asarray([0.0, 2.0])
for found in joblib.Parallel(n_jobs=2)(joblib.delayed(f)(x) for f in functions):
    np.testing.assert_array_equal(found, 2 * x)
data = np.random.default_rng(0).normal(size=(40, 3))
search = GridSearchCV(Ridge(), {"l2": [1e-3, 10.0]}, cv=2, n_jobs=2).fit(data, data @ [1.0, 2.0, 3.0])
assert search.best_params_ == {"l2": 1e-3}, search.cv_results_
"""


def test_functions_of_notebooks(tmp_path: Path) -> None:
    script = tmp_path / "notebook.py"
    script.write_text(_NOTEBOOK)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
