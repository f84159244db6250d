"""Type checks of programs that use xpand, by mypy and Pyright."""

import importlib
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import xpand
import xpand_extensions

pytest.importorskip("mypy")
from mypy import api

ROOT = Path(__file__).resolve().parent.parent

PROGRAM = """
from typing import Any

import numpy as np

from xpand.extend import Array
from xpand_extensions import convert, jit, scatter


def accepted(x: np.ndarray[Any, Any]) -> Array:
    return scatter.segment_sum(x, np.asarray([0, 1, 0]))


result = accepted(np.ones(3))
reveal_type(result)
reveal_type(result.shape)
reveal_type(scatter.at(result).add(1.0))
result.shape + 1
result.numpy()
scatter.segment_sum([1.0, 2.0], result)
scatter.segment_sum(result, 1)
scatter.segment_sum(result, result, num_segments=2.5)
convert.to_numpy(convert(result, "numpy"))
jit.make_graph(jit(accepted))
"""

_WRONG = 'error: Argument {} to "__call__" of "Pluggable"'
_OPTION = '"num_segments"'

EXPECTED = {
    14: 'note: Revealed type is "xpand.typing.Array"',
    15: 'note: Revealed type is "tuple[int, ...]"',
    16: 'note: Revealed type is "xpand.typing.Array"',
    17: 'error: No overload variant of "__add__" of "tuple" matches argument type "int"  [operator]',
    18: 'error: "Array" has no attribute "numpy"  [attr-defined]',
    19: f'{_WRONG.format("1")} has incompatible type "list[float]"; expected "Array"  [arg-type]',
    20: f'{_WRONG.format("2")} has incompatible type "int"; expected "Array"  [arg-type]',
    21: f'{_WRONG.format(_OPTION)} has incompatible type "float"; expected "int | None"  [arg-type]',
}


def test_arrays_are_accepted_and_other_arguments_rejected(tmp_path, monkeypatch):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.lstrip())
    monkeypatch.setenv("MYPYPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT / "extensions")]))
    monkeypatch.chdir(tmp_path)
    cache = ["--cache-dir", str(tmp_path / "cache")]
    output, errors, _ = api.run(
        ["--config-file=", "--strict", "--python-executable", sys.executable, *cache, str(program)]
    )
    found = {}
    for line in output.splitlines():
        path, _, rest = line.partition(".py:")
        number, _, message = rest.partition(": ")
        if path.endswith("program") and number.isdigit():
            found.setdefault(int(number), message)
    assert not errors
    assert found == EXPECTED


def public_names() -> list[str]:
    """Return the public names of all public modules, but for those of array-api-compat, which has types of its own."""
    names = []
    for package in (xpand, xpand_extensions):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            parts = set(module.name.split("."))
            own = any(part.startswith("_") for part in parts) or parts & {"cli", "generic", "plugins", "tracing"}
            if own or parts & {"cupy", "dask", "jax", "numpy", "torch"}:
                continue
            found = importlib.import_module(module.name)
            names += [
                f"{module.name}.{name}"
                for name in getattr(found, "__all__", ())
                if not getattr(getattr(found, name), "__module__", "").startswith("array_api_compat")
            ]
    return names


def test_pyright_knows_the_types_of_public_names_and_accepts_the_gallery(tmp_path):
    pytest.importorskip("basedpyright")
    names = public_names()
    assert len(names) > 900
    modules = sorted({name.rpartition(".")[0] for name in names})
    program = tmp_path / "names.py"
    program.write_text(
        "\n".join(["# pyright: strict", *(f"import {name}" for name in modules), f"print({', '.join(names)})"])
    )
    config = tmp_path / "pyrightconfig.json"
    settings = {
        "include": [str(program), str(ROOT / "docs" / "examples" / "gallery")],
        "extraPaths": [str(ROOT / folder) for folder in ("src", "extensions", "docs/examples")],
        "typeCheckingMode": "strict",
        "reportUnknownMemberType": False,  # the types of Matplotlib's functions are incomplete
    }
    config.write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--project", str(config), "--pythonpath", sys.executable]
    done = subprocess.run([*command, "--outputjson"], capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    errors = [f"{e['file']}:{e['range']['start']['line'] + 1}: {e['message']}" for e in report["generalDiagnostics"]]
    assert not errors, "\n".join(errors)
    assert report["summary"]["filesAnalyzed"] > 10
