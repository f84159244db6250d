"""Stored reference values that JAX computed: compiling JAX's derivatives takes most of the tests' time.

`references/test_name.json` holds the values for one test module and one version of JAX, by test and arrays of its case.
Missing values are computed. Without JAX, those of any version are used. If the function of a case has changed, the test
fails on the stored value and never passes by it, so sources need not be compared. `make references` writes the files;
`make test-deep` computes all values again and compares them.
"""

import hashlib
import importlib.metadata
import importlib.util
import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np

from tests.cases import Case

FOLDER: Final = Path(__file__).with_name("references")
RTOL: Final = 1e-11
"""The tolerance of stored values compared with new ones: XLA's programs round differently on other processors."""

mode = "use"
"""Whether stored values are used ("use"), compared ("check"), or written ("write")."""
computed: dict[str, dict[str, Any]] = {}
"""The values computed in this process, by module and name."""
calls: Counter[str] = Counter()
used: set[str] = set()
"""The tests that used stored values."""
HINT: Final = "JAX's stored values were used. If the case has changed, compute the values again: make references"


def stored(case: Case, compute: Callable[[], Sequence[np.ndarray]]) -> tuple[np.ndarray, ...]:
    """Return the stored reference values of the running test, or compute them."""
    module, test = _running_test()
    calls[f"{module}::{test}"] += 1
    name = f"{test} {calls[f'{module}::{test}']} {_digest(*(np.asarray(x).tobytes() for x in case.arrays))}"
    before = [_parsed(x) for x in _values(module).get(name, ())]
    if before and mode == "use":
        used.add(test)
        return tuple(before)
    values = tuple(np.asarray(x) for x in compute())
    if before and mode == "check":
        for x, y in zip(before, values, strict=True):
            assert (x.dtype, x.shape) == (y.dtype, y.shape), f"{name}: run `make references`"
            scale = float(np.max(np.abs(y[np.isfinite(y)]), initial=0.0))
            np.testing.assert_allclose(x, y, rtol=RTOL, atol=RTOL * scale, err_msg=f"{name}: run `make references`")
    computed.setdefault(module, {})[name] = [_written(x) for x in values]
    return values


def write() -> None:
    """Write the values that this process computed. Other values of the same version of JAX stay."""
    FOLDER.mkdir(exist_ok=True)
    for module, values in computed.items():
        lines = [f"{json.dumps(name)}: {json.dumps(x)}" for name, x in sorted({**_values(module), **values}.items())]
        text = ",\n".join([f'"state": {json.dumps(_state())}', *lines])
        (FOLDER / f"{module}.json").write_text(f"{{\n{text}\n}}\n")


def _running_test() -> tuple[str, str]:
    path, _, test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0].partition("::")
    return Path(path).stem, test


@cache
def _values(module: str) -> dict[str, Any]:
    path = FOLDER / f"{module}.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    return found if found.pop("state", None) == _state() or not importlib.util.find_spec("jax") else {}


def _state() -> str:
    return f"jax {importlib.metadata.version('jax')}" if importlib.util.find_spec("jax") else ""


def _digest(*parts: bytes) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()[:12]


def _written(x: np.ndarray) -> list[Any]:
    parts = np.stack([x.real, x.imag]) if np.iscomplexobj(x) else x
    return [str(x.dtype), list(x.shape), parts.ravel().tolist()]


def _parsed(written: list[Any]) -> np.ndarray:
    dtype, shape, numbers = written
    if not np.issubdtype(dtype, np.complexfloating):
        return np.asarray(numbers, dtype=dtype).reshape(shape)
    real, imaginary = np.asarray(numbers).reshape((2, *shape))
    x = np.empty(shape, dtype)
    x.real, x.imag = real, imaginary
    return x
