"""A part of scikit-learn's own array API tests, with its array-api-compat replaced by xpand (all: `make dropin`)."""

import pytest

from tests.sklearn_swap import lost, run

# The modules that reach furthest for their time: scikit-learn's array helpers, and estimators and metrics that use most
# of the standard; `make dropin` runs all. One of them is tested each time, the others in turn, as all slow tests are.
MODULES = {
    "utils.tests.test_array_api": 600,
    "utils.tests.test_indexing": 70,
    "utils.tests.test_stats": 30,
    "utils.tests.test_validation": 50,
    "_loss.tests.test_link": 25,
    "decomposition.tests.test_pca": 60,
    "linear_model.tests.test_ridge": 60,
    "metrics.tests.test_pairwise": 70,
    "preprocessing.tests.test_data": 70,
    "preprocessing.tests.test_label": 45,
    "preprocessing.tests.test_polynomial": 80,
    "tests.test_naive_bayes": 20,
}
"""Modules, and how many tests of each pass at least."""


@pytest.mark.parametrize("module", MODULES)
def test_nothing_is_lost(module: str) -> None:
    with_xpand = run([f"sklearn.{module}", "-k", "array_api"], swapped=True)
    others = {test: outcome for test, outcome in with_xpand.items() if outcome != "passed"}
    assert len(with_xpand) - len(others) >= MODULES[module], "the module has lost its tests"
    # Results that pass are kept: only the others must run without xpand.
    if others:
        assert lost(run([*others], swapped=False), others) == []


def test_what_is_lost() -> None:
    without = {"a": "passed", "b": "passed", "c": "skipped", "d": "xfailed", "e": "failed: why", "f": "passed"}
    with_xpand = {
        "a": "passed",
        "b": "skipped",
        "c": "failed: for this reason",
        "d": "passed",
        "e": "error",
        "g": "failed",
    }
    assert lost(without, with_xpand) == [
        "b: passed without, skipped with xpand",
        "c: skipped without, failed: for this reason with xpand",
        "f: passed without, absent with xpand",
        "g: absent without, failed with xpand",
    ]
