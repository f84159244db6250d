"""The table of derivatives at singular points is current."""

import json

import pytest

from tests import singular_points


@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_the_table_is_current(library: str) -> None:
    """`python -m tests.singular_points` writes it."""
    recorded = json.loads(singular_points.OUTPUT.read_text(encoding="utf-8"))
    assert recorded[library] == singular_points.measured(library)


def test_points_differ() -> None:
    """Each point is named once, and written as it is called."""
    names = list(map(str, singular_points.PROBES))
    assert len(set(names)) == len(names)
    assert "linalg.vector_norm([0, 2], ord=1)" in names
