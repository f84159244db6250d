"""The core works as a copy inside another package, as array-api-compat does."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import xpand

CODE = """
import sys
import numpy as np
import torch
from project._vendor.xpand import array_namespace, is_numpy_namespace, library_name
import project._vendor.xpand.torch.linalg
from project._vendor import xpand as copy
xp = array_namespace(np.ones(3))
assert xp.__name__ == "project._vendor.xpand.numpy", xp.__name__
assert library_name(xp) == "numpy" and is_numpy_namespace(xp)
assert array_namespace(torch.ones(3)).linalg is sys.modules["project._vendor.xpand.torch.linalg"]
assert copy.trees.leaves((1, 2)) == [1, 2] and "trees" in dir(copy) and "grad" not in dir(copy)
try:
    copy.grad
except AttributeError as error:
    assert "this copy of xpand has no extensions, `pip install xpand` adds them" in str(error), error
else:
    raise AssertionError("the extensions belong to the original")
assert not [name for name in sys.modules if name.partition(".")[0] == "xpand"], "the copy imports the original"
"""


@pytest.mark.every_run
def test_a_vendored_copy_stands_alone(tmp_path):
    source = Path(xpand.__file__).parent
    target = tmp_path / "project" / "_vendor" / "xpand"
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (target.parent, target.parent.parent):
        (folder / "__init__.py").touch()
    subprocess.run([sys.executable, "-c", CODE], cwd=tmp_path, check=True)
