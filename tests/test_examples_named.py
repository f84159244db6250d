"""The example of docs/examples that trains a model with named axes: from one source, alike on three libraries."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

import xpand

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "examples"))
example: ModuleType = importlib.import_module("named_attention")


@pytest.fixture(scope="module")
def reference() -> list[float]:
    losses: list[float] = example.train(xpand.namespace("numpy"), 12, count=200)[1]
    return losses


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_training_lowers_the_loss_alike_on_every_library(library: str, reference: list[float]) -> None:
    xp = xpand.namespace(library)
    # Single steps on JAX would compile each operation; Inductor takes longer than the steps.
    parameters, losses = example.train(xp, 12, count=200, compiled=library == "jax")
    assert losses[-1] < losses[0] - 0.3
    assert losses == pytest.approx(reference, rel=1e-4)
    assert all(xpand.array_namespace(x.array) is xp for x in parameters.values())


def test_the_model_learns_digits() -> None:
    xp = xpand.namespace("numpy")
    parameters, _ = example.train(xp, 150)
    assert example.accuracy(parameters, *example.load(xp, 500, 1000)) > 0.7
