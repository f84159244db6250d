"""The estimators of docs/examples: scikit-learn's conditions, scikit-learn's results, every library."""

import doctest
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from sklearn import cluster, config_context, decomposition, linear_model
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import xpand
from tests.libraries import Library

EXAMPLES = Path(__file__).parent.parent / "docs" / "examples"
sys.path.insert(0, str(EXAMPLES))
estimators: ModuleType = importlib.import_module("estimators")

NAMES = ["PCA", "Ridge", "LogisticRegression", "KMeans"]


@pytest.fixture(autouse=True)
def _scipy_array_api(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let scikit-learn dispatch: it looks at this variable whenever dispatching is switched on."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")


def blobs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    return rng.normal(size=(90, 4)) + 3 * np.eye(3, 4)[labels], labels


def fit(name: str, library: Library, **parameters: Any) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Fit an estimator to the blobs; return it, the features and the target."""
    x, labels = blobs()
    y = {"Ridge": x @ np.arange(4.0) + labels, "LogisticRegression": labels}.get(name)
    estimator = getattr(estimators, name)(**parameters)
    estimator.fit(library.asarray(x), None if y is None else library.asarray(y))
    return estimator, x, y


def values(library: Library, x: Any) -> np.ndarray:
    return np.asarray(library.to_numpy(x))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_check_estimator(name: str) -> None:
    results = check_estimator(getattr(estimators, name)(), on_fail=None, on_skip=None)
    failed = [f"{r['check_name']}: {r['exception']!r}" for r in results if r["status"] not in ("passed", "skipped")]
    assert not failed
    assert sum(r["status"] == "passed" for r in results) >= 50
    # Hardware and libraries that aren't here are the only reasons to skip.
    absent = re.compile("(cupy|dpnp|pandas) is not installed|requires cuda|no XPU device|MPS|no SYCL")
    skipped = [f"{r['check_name']}: {r['exception']}" for r in results if r["status"] == "skipped"]
    assert not [line for line in skipped if not absent.search(line)]
    checked = [r["check_name"] for r in results if r["status"] == "passed" and "array_api" in r["check_name"]]
    assert len(checked) >= 7  # NumPy, PyTorch and array-api-strict in two precisions, mixed, and not mixed


@pytest.mark.parametrize("whiten", [False, True])
def test_pca_is_that_of_scikit_learn(library: Library, whiten: bool) -> None:
    pca, x, _ = fit("PCA", library, n_components=2, whiten=whiten)
    reference = decomposition.PCA(2, whiten=whiten, svd_solver="full").fit(x)
    library.assert_equal(pca.components_, reference.components_, rtol=1e-9)
    library.assert_equal(pca.explained_variance_, reference.explained_variance_, rtol=1e-9)
    library.assert_equal(pca.explained_variance_ratio_, reference.explained_variance_ratio_, rtol=1e-9)
    coordinates = pca.transform(library.asarray(x))
    library.assert_equal(coordinates, reference.transform(x), rtol=1e-9, atol=1e-12)
    back = reference.inverse_transform(reference.transform(x))
    library.assert_equal(pca.inverse_transform(coordinates), back, rtol=1e-9, atol=1e-12)
    assert list(pca.get_feature_names_out()) == ["pca0", "pca1"]


@pytest.mark.parametrize("targets", [None, 2])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_ridge_is_that_of_scikit_learn(library: Library, targets: int | None, fit_intercept: bool) -> None:
    x, labels = blobs()
    y = x @ np.arange(4.0) + labels if targets is None else x[:, :targets] * 2 + labels[:, None]
    ridge = estimators.Ridge(0.3, fit_intercept=fit_intercept).fit(library.asarray(x), library.asarray(y))
    reference = linear_model.Ridge(0.3, fit_intercept=fit_intercept).fit(x, y)
    library.assert_equal(ridge.coef_, reference.coef_, rtol=1e-9, atol=1e-12)
    library.assert_equal(ridge.predict(library.asarray(x)), reference.predict(x), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression_is_that_of_scikit_learn(library: Library, classes: int) -> None:
    x, labels = blobs()
    rows = labels < classes
    x, y = x[rows], 10 * labels[rows] - 5
    steps = 8 if library.lazy else 30
    ours = estimators.LogisticRegression(0.5, max_iter=steps).fit(library.asarray(x), library.asarray(y))
    reference = linear_model.LogisticRegression(C=0.5, solver="newton-cg", tol=1e-12, max_iter=1000).fit(x, y)
    library.assert_equal(ours.classes_, reference.classes_)
    library.assert_equal(ours.coef_, reference.coef_, rtol=1e-6, atol=1e-8)
    library.assert_equal(ours.intercept_, reference.intercept_, rtol=1e-6, atol=1e-8)
    z = library.asarray(x)
    library.assert_equal(ours.decision_function(z), reference.decision_function(x), rtol=1e-6, atol=1e-7)
    library.assert_equal(ours.predict_proba(z), reference.predict_proba(x), rtol=1e-6, atol=1e-8)
    library.assert_equal(ours.predict_log_proba(z), reference.predict_log_proba(x), rtol=1e-6, atol=1e-7)
    library.assert_equal(ours.predict(z), reference.predict(x))


def test_kmeans_is_that_of_scikit_learn(library: Library) -> None:
    x, _ = blobs()
    steps = 10 if library.lazy else 100
    ours = estimators.KMeans(3, init=x[:3].tolist(), max_iter=steps).fit(library.asarray(x))
    reference = cluster.KMeans(3, init=x[:3], n_init=1, tol=0).fit(x)
    library.assert_equal(ours.cluster_centers_, reference.cluster_centers_, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(values(library, ours.labels_), reference.labels_)
    np.testing.assert_allclose(values(library, ours.inertia_), reference.inertia_, rtol=1e-9)
    np.testing.assert_array_equal(values(library, ours.predict(library.asarray(x + 0.1))), reference.predict(x + 0.1))


def test_kmeans_finds_its_own_start(library: Library) -> None:
    x, labels = blobs()
    groups = values(library, estimators.KMeans(3, max_iter=10).fit_predict(library.asarray(x * 4)))
    # Each blob is one group: as many pairs of (blob, group) as there are blobs.
    assert len(set(zip(labels.tolist(), groups.tolist(), strict=True))) <= 5
    assert len(set(groups.tolist())) == 3


@pytest.mark.parametrize("name", NAMES)
def test_everything_fitted_stays_on_library_and_device(library: Library, name: str) -> None:
    parameters = {"max_iter": 5} if name in ("KMeans", "LogisticRegression") and library.lazy else {}
    estimator, x, _ = fit(name, library, **parameters)
    arrays = [v for v in vars(estimator).values() if xpand.is_array_api_obj(v)]
    assert len(arrays) >= 2
    results = [
        getattr(estimator, method)(library.asarray(x))
        for method in ("transform", "predict", "predict_proba", "decision_function")
        if hasattr(estimator, method)
    ]
    assert results
    for array in arrays + results:
        assert xpand.array_namespace(array) is library.xp
        assert xpand.device(array) == library.expected_device


@pytest.mark.parametrize("name", NAMES)
def test_single_precision_stays(library: Library, name: str) -> None:
    x, labels = blobs()
    y = x[:, 0] if name == "Ridge" else labels
    parameters = {"max_iter": 5} if name in ("KMeans", "LogisticRegression") and library.lazy else {}
    estimator = getattr(estimators, name)(**parameters).fit(library.asarray(x, "float32"), library.asarray(y))
    for key in ("components_", "mean_", "coef_", "intercept_", "cluster_centers_"):
        if hasattr(estimator, key):
            assert getattr(estimator, key).dtype == library.xp.float32


@pytest.mark.parametrize("name", ["PCA", "Ridge", "KMeans"])
def test_dask_computes_nothing_before_it_is_asked(name: str) -> None:
    import dask
    import dask.array as da

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("something was computed")

    x, labels = blobs()
    lazy_x, lazy_y = da.from_array(x, chunks=(30, 4)), da.from_array(labels * 1.0, chunks=30)
    parameters = {"n_clusters": 3, "max_iter": 8} if name == "KMeans" else {}
    estimator = getattr(estimators, name)(**parameters)
    method = "transform" if name == "PCA" else "predict"
    with dask.config.set(scheduler=refuse):
        result = getattr(estimator.fit(lazy_x, lazy_y), method)(lazy_x)
        with pytest.raises(AssertionError, match="something was computed"):
            result.compute()
    eager = getattr(estimators, name)(**parameters).fit(x, labels * 1.0)
    np.testing.assert_allclose(result.compute(), getattr(eager, method)(x), rtol=1e-9, atol=1e-12)


def test_target_follows_features(eager_library: Library) -> None:
    x, labels = blobs()
    for y in (labels, labels.tolist()):
        classifier = estimators.LogisticRegression().fit(eager_library.asarray(x), y)
        assert xpand.array_namespace(classifier.classes_) is eager_library.xp
    ridge = estimators.Ridge().fit(x, eager_library.asarray(labels))
    assert isinstance(ridge.coef_, np.ndarray)


def test_labels_may_be_text_on_numpy_alone() -> None:
    import torch

    x, labels = blobs()
    text = np.asarray(["setosa", "versicolor", "virginica"])[labels]
    classifier = estimators.LogisticRegression().fit(x, text)
    assert np.mean(classifier.predict(x) == text) > 0.9
    with pytest.raises(ValueError, match="encode the labels first"):
        estimators.LogisticRegression().fit(torch.asarray(x), text)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_classifier_in_pipeline_and_grid_search(kind: str) -> None:
    import torch

    data = load_digits()
    x, y = data.data[:400] / 16, data.target[:400]
    model = make_pipeline(estimators.PCA(whiten=True), estimators.LogisticRegression())
    grid = {"pca__n_components": [5, 12], "logisticregression__C": [0.1, 1.0]}
    search = GridSearchCV(model, grid, cv=3, error_score="raise")
    reference = search.fit(x, y)
    scores = reference.cv_results_["mean_test_score"]
    assert reference.best_params_["pca__n_components"] == 12
    assert reference.best_score_ > 0.85
    if kind == "numpy":
        assert isinstance(reference.predict(x), np.ndarray)
        return
    with config_context(array_api_dispatch=True):
        search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(torch.asarray(x), torch.asarray(y))
        predicted = search.predict(torch.asarray(x))
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores, atol=1e-12)
    assert isinstance(predicted, torch.Tensor)
    assert isinstance(search.best_estimator_[0].components_, torch.Tensor)
    np.testing.assert_array_equal(predicted.numpy(), reference.predict(x))


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_regressor_in_pipeline_and_grid_search(kind: str) -> None:
    import torch

    data = load_diabetes()
    model = make_pipeline(estimators.PCA(), estimators.Ridge())
    grid = {"ridge__alpha": [1e-3, 1e-1, 10.0], "pca__n_components": [3, 10]}
    reference = GridSearchCV(model, grid, cv=3).fit(data.data, data.target)
    assert reference.best_score_ > 0.4
    assert isinstance(reference.predict(data.data), np.ndarray)
    if kind == "torch":
        x, y = torch.asarray(data.data), torch.asarray(data.target)
        with config_context(array_api_dispatch=True):
            search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(x, y)
            predicted = search.predict(x)
        assert isinstance(predicted, torch.Tensor)
        assert search.best_params_ == reference.best_params_
        np.testing.assert_allclose(predicted.numpy(), reference.predict(data.data), rtol=1e-9)


def test_newton_converges_on_data_that_are_not_scaled() -> None:
    data = load_breast_cancer()
    with pytest.warns(ConvergenceWarning, match="scale the features"):
        estimators.LogisticRegression(max_iter=2).fit(data.data, data.target)
    # Steps that are too long are shortened, so the loss can't grow.
    classifier = estimators.LogisticRegression(max_iter=60).fit(data.data, data.target)
    assert classifier.score(data.data, data.target) > 0.94


@pytest.mark.parametrize("name", NAMES)
class TestBadInput:
    def target(self, library: Library, rows: int) -> Any:
        return library.asarray(np.arange(rows) % 2)

    def test_rank(self, library: Library, name: str) -> None:
        with pytest.raises(ValueError, match=r"(?i)2D|two dimensions"):
            getattr(estimators, name)().fit(library.asarray(np.ones(10)), self.target(library, 10))

    def test_complex(self, library: Library, name: str) -> None:
        with pytest.raises(ValueError, match=r"(?i)complex data"):
            getattr(estimators, name)().fit(library.asarray(np.ones((10, 2)) * 1j), self.target(library, 10))

    def test_nan(self, eager_library: Library, name: str) -> None:
        x = np.ones((10, 2))
        x[3, 1] = np.nan
        with pytest.raises(ValueError, match="NaN"):
            getattr(estimators, name)().fit(eager_library.asarray(x), self.target(eager_library, 10))

    def test_no_features(self, library: Library, name: str) -> None:
        with pytest.raises(ValueError, match=r"0 feature\(s\)"):
            getattr(estimators, name)().fit(library.asarray(np.ones((10, 0))), self.target(library, 10))

    def test_features_differ_from_those_fitted(self, eager_library: Library, name: str) -> None:
        estimator, x, _ = fit(name, eager_library)
        method = estimator.transform if name == "PCA" else estimator.predict
        with pytest.raises(ValueError, match="3 features.*4 features"):
            method(eager_library.asarray(x[:, :3]))

    def test_not_fitted(self, library: Library, name: str) -> None:
        estimator = getattr(estimators, name)()
        with pytest.raises(NotFittedError):
            (estimator.transform if name == "PCA" else estimator.predict)(library.asarray(np.ones((3, 2))))

    def test_other_library_or_device_than_fitted(self, eager_library: Library, name: str) -> None:
        import array_api_strict as strict

        estimator, x, _ = fit(name, eager_library)
        method = estimator.transform if name == "PCA" else estimator.predict
        with pytest.raises(ValueError, match="must use the same namespace and the same device"):
            method(strict.asarray(x, device=strict.Device("device2")))


@pytest.mark.parametrize("name", ["Ridge", "LogisticRegression"])
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y|y is None"),
        (np.ones(7), "(?i)inconsistent|samples, y has"),
        (np.ones((10, 1, 1)), "(?i)dim|shape"),
    ],
)
def test_bad_target(library: Library, name: str, y: np.ndarray | None, message: str) -> None:
    x = library.asarray(np.ones((10, 2)))
    with pytest.raises(ValueError, match=message):
        getattr(estimators, name)().fit(x, None if y is None else library.asarray(y))


def test_labels_that_are_measurements(eager_library: Library) -> None:
    x, _ = blobs()
    with pytest.raises(ValueError, match="Unknown label type"):
        estimators.LogisticRegression().fit(eager_library.asarray(x), eager_library.asarray(x[:, 0]))


def test_labels_of_one_class(library: Library) -> None:
    with pytest.raises(ValueError, match="at least two classes"):
        estimators.LogisticRegression().fit(library.asarray(np.eye(4)), library.asarray(np.ones(4, np.int64)))


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("PCA", {"n_components": 5}, "n_components must be from 1 to 4"),
        ("PCA", {"n_components": 0}, "n_components must be from 1 to 4"),
        ("Ridge", {"alpha": -1.0}, "alpha must be at least 0"),
        ("LogisticRegression", {"C": 0.0}, "C must be above 0"),
        ("LogisticRegression", {"max_iter": 0}, "max_iter must be above 0"),
        ("KMeans", {"n_clusters": 91}, "n_clusters must be from 1"),
        ("KMeans", {"max_iter": 0}, "max_iter must be above 0"),
        ("KMeans", {"init": "random"}, 'init must be "farthest"'),
        ("KMeans", {"n_clusters": 2, "init": [[0.0]]}, r"shape \(n_clusters, n_features\) = \(2, 4\)"),
    ],
)
def test_bad_parameters(library: Library, name: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit(name, library, **parameters)


@pytest.mark.parametrize("name", NAMES)
def test_inputs_are_left_as_they_were(eager_library: Library, name: str) -> None:
    x, _ = blobs()
    z = eager_library.asarray(x)
    estimator, _, _ = fit(name, eager_library)
    (estimator.transform if name == "PCA" else estimator.predict)(z)
    np.testing.assert_array_equal(values(eager_library, z), x)


def test_script_finds_the_same_model_on_numpy_and_torch() -> None:
    environment = {key: value for key, value in os.environ.items() if key != "SCIPY_ARRAY_API"}
    result = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / "select_model.py")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    on_numpy, on_torch = result.stdout.splitlines()
    assert on_numpy.startswith("xpand.numpy: 0.8")
    assert on_torch == on_numpy.replace("xpand.numpy", "xpand.torch")


def test_example_in_the_docstring() -> None:
    assert doctest.testmod(estimators).attempted >= 4
    assert doctest.testmod(estimators).failed == 0
