"""CuPy's plug-ins against a stand-in: NumPy under CuPy's name, with what its scatter kernels refuse.

As with the namespace (`test_namespace_cupy`), this shows that our Python code does what it says, for every data type
and update. That CuPy does what we think takes a GPU. What the kernels take is CuPy 14's list of data types.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.test_namespace_cupy import STAND_IN

CUPYX = """
import types
import numpy as np

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


def test_against_a_stand_in(tmp_path: Path) -> None:
    for name, text in {"cupy": STAND_IN + RUNTIME, "cupyx": CUPYX}.items():
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
