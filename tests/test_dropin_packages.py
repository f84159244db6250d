"""Parts of scikit-learn's and SciPy's array API tests, with their array-api-compat replaced by xpand.

`make dropin PACKAGE=scipy` runs all tests of a package.
"""

import pytest

from tests.dropin_swap import PACKAGES, check, lost

# The modules that reach furthest for their time: scikit-learn's array helpers, estimators and metrics that use most of
# the standard, and three of SciPy. One of them is tested each time, the others in turn, as all slow tests are.
MODULES = {
    "sklearn.utils.tests.test_array_api": 600,
    "sklearn.utils.tests.test_indexing": 70,
    "sklearn.utils.tests.test_stats": 30,
    "sklearn.utils.tests.test_validation": 50,
    "sklearn._loss.tests.test_link": 25,
    "sklearn.decomposition.tests.test_pca": 60,
    "sklearn.linear_model.tests.test_ridge": 60,
    "sklearn.metrics.tests.test_pairwise": 70,
    "sklearn.preprocessing.tests.test_data": 70,
    "sklearn.preprocessing.tests.test_label": 45,
    "sklearn.preprocessing.tests.test_polynomial": 80,
    "sklearn.tests.test_naive_bayes": 20,
    "scipy.cluster.tests.test_vq": 20,
    "scipy.ndimage.tests.test_fourier": 60,
    "scipy.special.tests.test_logsumexp": 300,
}
"""Modules, and how many tests of each pass at least."""


@pytest.mark.parametrize("module", MODULES)
def test_nothing_is_lost(module: str) -> None:
    package = PACKAGES[module.partition(".")[0]]
    # On JAX, SciPy compiles each test, which takes minutes.
    check(package, [module] if package.name == "sklearn" else [module, "-k", "torch"], MODULES[module])


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
    assert lost(PACKAGES["sklearn"], without, with_xpand) == [
        "b: passed without, skipped with xpand",
        "c: skipped without, failed: for this reason with xpand",
        "f: passed without, absent with xpand",
        "g: absent without, failed with xpand",
    ]
    assert lost(PACKAGES["scipy"], {"x::TestArrayAPI::test_array_namespace": "passed"}, {}) == []
