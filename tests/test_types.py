"""Type checks of programs that use xpand."""

import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
from mypy import api

ROOT = Path(__file__).resolve().parent.parent

PROGRAM = """
from typing import Any

import numpy as np

from xpand.extend import Array
from xpand_extensions import scatter


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
