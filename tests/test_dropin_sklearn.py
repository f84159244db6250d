"""A part of scikit-learn's own array API tests, with its array-api-compat replaced by xpand (all: `make dropin`)."""

import pytest

from tests.sklearn_swap import lost, run

# What reaches furthest for its time: scikit-learn's array helpers, and estimators and metrics that use most of the
# standard. No `slow` ones: of 2,865 tests these are about 1,200.
SELECTION = (
    "sklearn.utils.tests.test_array_api",
    "sklearn.utils.tests.test_indexing",
    "sklearn.utils.tests.test_stats",
    "sklearn.utils.tests.test_validation",
    "sklearn._loss.tests.test_link",
    "sklearn.decomposition.tests.test_pca",
    "sklearn.linear_model.tests.test_ridge",
    "sklearn.metrics.tests.test_pairwise",
    "sklearn.preprocessing.tests",
    "sklearn.tests.test_naive_bayes",
    "-k",
    "array_api",
)


@pytest.mark.slow
def test_nothing_is_lost() -> None:
    with_xpand = run(SELECTION, swapped=True)
    others = {test: outcome for test, outcome in with_xpand.items() if outcome != "passed"}
    assert len(with_xpand) - len(others) > 1000, "the selection has lost its tests"
    # What passes isn't lost: only the others have to run without xpand.
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
