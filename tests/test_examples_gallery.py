"""The gallery's programs: alike on every library that their pages name, and what they find is true."""

import importlib
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import mypy.api
import numpy as np
import pytest

import xpand
from tests.libraries import LIBRARIES, Library

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "examples"))
gallery: Any = importlib.import_module("gallery")

BY_NAME: Final = {library.id.replace("strict", "array_api_strict"): library for library in LIBRARIES}
CASES: Final = [(name, library) for name in gallery.PROGRAMS for library in gallery.load(name).LIBRARIES]


@pytest.fixture(autouse=True)
def _dispatch_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    """scikit-learn asks for the variable when its dispatch is switched on."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


def _reference(program: Any) -> str:
    return "numpy" if "numpy" in program.LIBRARIES else program.LIBRARIES[0]


def _parameter(name: str, library: str) -> Any:
    return pytest.param(name, BY_NAME.get(library, library), id=f"{library}-{name}")


@pytest.mark.parametrize(("name", "library"), [_parameter(*case) for case in CASES])
def test_a_program_computes_the_same_on_every_library(name: str, library: Library | str) -> None:
    program = gallery.load(name)
    expected = program.compute(xpand.namespace(_reference(program)), **program.SMALL)
    found = program.compute(library.xp if isinstance(library, Library) else xpand.namespace(library), **program.SMALL)
    assert found.keys() == expected.keys()
    for key, value in found.items():
        if isinstance(library, Library):
            assert xpand.array_namespace(value) is library.xp
        actual = library.to_numpy(value) if isinstance(library, Library) else np.asarray(value)
        np.testing.assert_allclose(actual, expected[key], rtol=1e-4, atol=1e-5, err_msg=key)


Check = Callable[[dict[str, Any]], bool]
FACTS: Final[dict[str, Check]] = {
    "gaussian_process": lambda r: np.abs(r["mean"] - np.sin(2 * math.pi * r["at"]))[20:-20].max() < 0.3,
    "poisson": lambda r: np.corrcoef(r["found"].ravel(), r["truth"].ravel())[0, 1] > 0.95,
    "heat": lambda r: r["error"] < 1e-4 and r["disc"][5:].flat[r["gradient"][5:].argmax()] == 1.0,
    "hamiltonian": lambda r: abs(r["samples"][:, 30:, 0].std() - 1.0) < 0.15,
    "predators": lambda r: np.allclose(r["rates"], gallery.load("predators").RATES, rtol=0.05),
    "registration": lambda r: np.allclose(r["motion"], gallery.load("registration").MOTION, rtol=1e-3),
    "attention": lambda r: r["accuracy"] > 0.7,
    "graph_diffusion": lambda r: np.all((r["values"] > 0) == r["upper"]),
    "robust_regression": lambda r: abs(r["clipped"][0] - 0.5) < 0.15 < abs(r["plain"][0] - 0.5),
    "kalman": lambda r: np.abs(r["found"] - r["truth"]).mean() < 0.7 * np.abs(r["measured"] - r["truth"]).mean(),
    "kmeans": lambda r: np.abs(r["path"][-1] - np.asarray(gallery.load("kmeans").GROUPS)).max() < 0.3,
    "network": lambda r: np.allclose(r["found"], 0.1 / (0.1 + 0.9 * np.exp(-r["times"])), atol=2e-3),
    "onnx_gradient": lambda r: np.allclose(
        np.diff(r["outputs"].reshape(24, 24), axis=1)[:, :-1] + np.diff(r["outputs"].reshape(24, 24), axis=1)[:, 1:],
        2 * (r["x"][1, 0] - r["x"][0, 0]) * r["gradients"].reshape(24, 24, 2)[:, 1:-1, 0],
        atol=0.05,
    ),
    "influence": lambda r: (
        set(np.argsort(r["influence"])[-4:]) == set(r["wrong"])
        and r["error"][1] < 0.3 * r["error"][0]
        and np.corrcoef(r["influence"], -r["removed"])[0, 1] > 0.95
    ),
    "waves": lambda r: (
        r["error"] < 1e-6
        and np.corrcoef(r["speed"].ravel(), r["truth"].ravel())[0, 1] > 0.9
        and r["history"][-1] < 0.02 * r["history"][0]
    ),
    "climate_index": lambda r: (
        abs(r["by_month"].sum()) < 1e-12  # a constant added to all temperatures changes nothing
        and np.argsort(r["by_month"])[-3:].max() < 26
        and np.argsort(r["by_month"])[-3:].min() > 21
        and (r["by_month"] < -0.01).sum() == 3 * 7
    ),
}
"""For each program, whether what it finds is what its data were made of."""


@pytest.mark.parametrize("name", gallery.PROGRAMS)
def test_what_a_program_finds_is_true_and_can_be_drawn(name: str) -> None:
    results = gallery.run(name, _reference(gallery.load(name)))
    assert FACTS[name](results)
    assert re.search(r"\d", gallery.load(name).summary(results))
    for dark in (False, True):
        picture = gallery.picture(name, results, dark=dark)
        assert picture.count("<svg") == 1
        assert len(picture) < 200_000


def test_mypy_accepts_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parent.parent
    monkeypatch.setenv("MYPYPATH", str(root / "docs" / "examples"))
    out, error, status = mypy.api.run(["--config-file", str(root / "pyproject.toml"), "-p", "gallery"])
    assert not status, out + error
