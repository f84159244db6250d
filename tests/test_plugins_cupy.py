"""CuPy's plug-ins against a stand-in: NumPy under CuPy's name, with what its scatter kernels refuse.

As with the namespace (`test_namespace_cupy`), this shows that our Python code does what it says, for every data type
and update. That CuPy does what we think takes a GPU. What the kernels take is CuPy 14's list of data types.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_namespace_cupy import STAND_IN

CUPYX = """
import sys
import types
import numpy as np
import scipy.sparse

sys.modules["cupyx.scipy"] = types.SimpleNamespace(sparse=scipy.sparse)
sys.modules["cupyx.scipy.sparse"] = scipy.sparse

_TAKEN = {
    "add": "int32 int64 float16 float32 float64 uint32 uint64".split(),
    "fmin": "int32 float32 float64 uint32 uint64".split(),
    "fmax": "int32 float32 float64 uint32 uint64".split(),
}

def _scatter(name):
    def scatter(a, slices, value):
        value = value.astype(a.dtype)
        if a.dtype.name not in _TAKEN[name]:
            raise TypeError(f"cupy.{name}.at doesn't support {a.dtype}")
        getattr(np, name).at(a, slices % len(a), value)
    return scatter

scatter_add, scatter_min, scatter_max = map(_scatter, ("add", "fmin", "fmax"))
"""

RUNTIME = """
class CUDARuntimeError(RuntimeError):
    def __init__(self, status):
        super().__init__(f"status {status}")
        self.status = status

def count():
    if runtime.error:
        raise CUDARuntimeError(runtime.error)
    return 2

runtime = cuda.runtime = types.SimpleNamespace(
    getDeviceCount=count, CUDARuntimeError=CUDARuntimeError, is_hip=False, error=0)
"""

KERNEL = """
class RawKernel:
    launched = []

    def __init__(self, code, name):
        assert f"void {name}(" in code and code.count("{") == code.count("}")
        names = {"float": "float32", "double": "float64", "int": "int32", "long long": "int64"}
        given = code.partition("(")[2].partition(")")[0].split(",")
        self.types = [names[each.strip().removeprefix("const ").rpartition(" ")[0].rstrip("*")] for each in given]

    def __call__(self, grid, block, args):
        arrays, (size, width, lanes) = args[:5], args[5:]
        assert [each.dtype.name for each in arrays] + ["int64"] * 3 == self.types
        assert ([type(each) for each in grid + block + (size, width, lanes)]) == [int] * 5
        assert np.all([each.flags.c_contiguous for each in arrays])
        assert lanes in (1, 2, 4, 8, 16, 32) and block[0] % 32 == 0
        assert (grid[0] - 1) * block[0] < size * lanes <= grid[0] * block[0]
        values, indices, indptr, x, out = arrays
        for place in range(size):
            row, column = divmod(place, width)
            used = slice(indptr[row], indptr[row + 1])
            out.reshape(-1)[place] = np.dot(values[used], x.reshape(-1)[indices[used] * width + column])
        RawKernel.launched.append(lanes)
"""


@pytest.mark.every_run
def test_against_a_stand_in(tmp_path: Path) -> None:
    for name, text in {"cupy": STAND_IN + RUNTIME + KERNEL, "cupyx": CUPYX}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(text)
    root = Path(__file__).parent.parent
    paths = [str(tmp_path), *(str(root / each) for each in ("src", "extensions", "."))]
    paths += filter(None, [os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--noconftest", "-c", os.devnull]
    tests = str(root / "tests" / "cupy_plugins.py")
    run = subprocess.run([*command, tests], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    assert " passed" in run.stdout
    assert "skipped" not in run.stdout
