"""Optional packages: what works without them, the errors where one is needed, and a core that needs none."""

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import xpand
from xpand_extensions import _optional

BLOCK = """
import sys


class Missing:
    "Packages that the interpreter does not find, as if they weren't installed."

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in PACKAGES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Missing())
"""

NUMPY_ALONE = """
import json

import numpy as np

import xpand
from xpand_extensions import linalg, linear_solve, optimize, profile, scatter, sparse, special
from xpand_extensions.autodiff import grad
from xpand_extensions.cli import main

x = np.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
index = np.asarray([1, 0, 1])
square = np.asarray([[4.0, 1.0], [1.0, 3.0]])
a = sparse.from_dense(square, format="csr")
values = {
    "segment_sum": scatter.segment_sum(x, index, num_segments=2),
    "add": scatter.at(np.zeros((2, 2)))[index].add(x),
    "grad": grad(lambda x: xpand.array_namespace(x).sum(scatter.segment_sum(x, index, num_segments=2) ** 2))(x),
    "erf": special.erf(x),
    "einsum": linalg.einsum("ij,kj->ik", x, x),
    "left_to_right": linalg.einsum("ij,kj,k->i", x, x, x[:, 0], optimize=False),
    "triangular_solve": linalg.triangular_solve(square, x.T),
    "sparse_matmul": a @ x.T,
    "solve": linear_solve.solve(square, x[0]).x,
    "solve_sparse": linear_solve.solve(a, x[0], method="cg").x,
    "minimize": optimize.minimize(lambda x: xpand.array_namespace(x).sum((x - 1.0) ** 2), x[0]).x,
}


def message(function):
    try:
        function()
    except ModuleNotFoundError as error:
        return [str(error), error.name]


with profile.profile() as recorded:
    scatter.segment_sum(x, index, num_segments=2)
errors = {
    "to_native": message(lambda: sparse.to_native(a)),
    "minimize": message(lambda: optimize.minimize(lambda x: (x**2).sum(), x[0], method="scipy-bfgs")),
    "einsum": message(lambda: linalg.einsum("ij,kj,k->i", x, x, x[:, 0])),
    "print": message(recorded.print),
    "multilevel": message(lambda: linear_solve.multilevel(a, builder="pyamg")),
}
code = main(["info"])
loaded = sorted(PACKAGES & sys.modules.keys())
values = {name: np.asarray(value).tolist() for name, value in values.items()}
names = [row["name"] for row in recorded.table()]
print(json.dumps({"values": values, "errors": errors, "code": code, "loaded": loaded, "names": names}))
"""

CORE_ALONE = """
import torch

import project.xpand as xpand
from project.xpand import manipulation

x = torch.asarray([1.0, 2.0, 3.0])
xp = xpand.array_namespace(x)
assert abs(float(xp.linalg.vector_norm(x)) ** 2 - 14.0) < 1e-5
assert manipulation.atleast_nd(x, ndim=2).ndim == 2
assert xpand.size(x) == 3
xpand.check(x > 0, "positive")
try:
    xpand.default_namespace()
except ModuleNotFoundError as error:
    assert "`pip install numpy`" in str(error), error
else:
    raise AssertionError("there is no NumPy")
"""


def run(code: str, *packages: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run code in a new process, where packages are missing."""
    program = f"PACKAGES = {set(packages)!r}\n{BLOCK}{code}"
    return subprocess.run([sys.executable, "-W", "ignore", "-c", program], cwd=cwd, capture_output=True, text=True)


@pytest.fixture(scope="module")
def numpy_alone() -> dict[str, Any]:
    done = run(NUMPY_ALONE, "opt_einsum", "pyamg", "rich", "scipy")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found | {"stderr": done.stderr}


@pytest.mark.every_run
def test_functions_work_on_numpy_without_optional_packages(numpy_alone: dict[str, Any]) -> None:
    import numpy as np

    x = np.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
    square = np.asarray([[4.0, 1.0], [1.0, 3.0]])
    sums = np.stack([x[1], x[0] + x[2]])
    expected = {
        "segment_sum": sums,
        "add": sums,
        "grad": 2.0 * sums[[1, 0, 1]],
        "erf": np.vectorize(math.erf)(x),
        "einsum": x @ x.T,
        "left_to_right": x @ x.T @ x[:, 0],
        "triangular_solve": np.linalg.solve(np.tril(square), x.T),
        "sparse_matmul": square @ x.T,
        "solve": np.linalg.solve(square, x[0]),
        "solve_sparse": np.linalg.solve(square, x[0]),
        "minimize": np.ones(2),
    }
    assert numpy_alone["values"].keys() == expected.keys()
    for name, value in expected.items():
        rtol = 1e-6 if name in ("minimize", "solve_sparse") else 1e-13
        np.testing.assert_allclose(numpy_alone["values"][name], value, rtol=rtol, err_msg=name)
    assert numpy_alone["loaded"] == []


@pytest.mark.parametrize(
    ("function", "title", "package", "extra"),
    [
        ("to_native", "SciPy", "scipy", "scipy"),
        ("minimize", "SciPy", "scipy", "scipy"),
        ("einsum", "opt_einsum", "opt_einsum", "einsum"),
        ("print", "rich", "rich", "cli"),
        ("multilevel", "PyAMG", "pyamg", "amg"),
    ],
)
def test_errors_name_the_function_the_package_and_its_extra(
    numpy_alone: dict[str, Any], function: str, title: str, package: str, extra: str
) -> None:
    message, name = numpy_alone["errors"][function]
    start, _, rest = message.partition(": ")
    assert function in start
    assert rest == f"needs {title}, which is not installed; `pip install 'xpand[{extra}]'` adds it"
    assert name == package


def test_command_without_rich(numpy_alone: dict[str, Any]) -> None:
    assert numpy_alone["code"] == 2
    assert "xpand info: error: needs rich" in numpy_alone["stderr"]
    assert "`pip install 'xpand[cli]'`" in numpy_alone["stderr"]
    assert any("segment_sum" in name for name in numpy_alone["names"])  # profiles are recorded without rich


@pytest.mark.every_run
def test_the_core_needs_array_api_compat_and_one_library(tmp_path: Path) -> None:
    source = Path(xpand.__file__).parent
    target = tmp_path / "project" / "xpand"
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    (target.parent / "__init__.py").touch()
    done = run(CORE_ALONE, "numpy", "scipy", "optree", "opt_einsum", "rich", "xpand", "jax", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("missing", ["scipy.nonexistent", "nonexistent"])
def test_a_broken_installation_is_not_taken_for_a_missing_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    (tmp_path / "broken_plug_in.py").write_text(f"import {missing}")
    monkeypatch.syspath_prepend(tmp_path)
    for load in (_optional.import_if_usable, lambda name: _optional.import_optional(name, "f")):
        with pytest.raises(ModuleNotFoundError) as found:
            load("broken_plug_in")
        assert found.value.name == missing


def test_modules_load_what_takes_long_only_where_it_is_needed() -> None:
    program = """
import sys
import numpy as np
from xpand_extensions import autodiff, linear_solve, sparse, vmap

print("importlib.metadata" in sys.modules, "xpand_extensions.tracing" in sys.modules, "scipy" in sys.modules)
linear_solve.solve(np.eye(2), np.ones(2))
print("xpand_extensions.tracing.rules" in sys.modules)
"""
    done = run(program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["False"] * 4
