"""Calls of scikit-learn: all estimators and metrics that support the array API."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any, Final

import numpy as np

import xpand
from tests.clients.verdicts import Call

_RNG: Final = np.random.default_rng(3)
X: Final = _RNG.normal(size=(8, 3))
NEARBY: Final = X + 0.05 * _RNG.normal(size=X.shape)
NEW: Final = _RNG.normal(size=(4, 3))
TARGET: Final = X @ np.asarray([1.0, -2.0, 0.5]) + 0.1 * _RNG.normal(size=8)
LABELS: Final = np.asarray([0, 1, 0, 1, 1, 0, 1, 0])
THREE_LABELS: Final = np.asarray([0, 1, 2, 1, 0, 2, 1, 2])
COUNTS: Final = np.asarray([1.0, 0.0, 3.0, 2.0, 1.0, 4.0, 0.0, 2.0])

SCORES: Final = np.asarray([0.35, 0.8, 0.15, 0.6, 0.45, 0.55, 0.9, 0.25])
"""Of the class 1, one for each label."""
PREDICTED: Final = np.asarray([0, 1, 0, 1, 0, 1, 1, 0])
WEIGHTS: Final = np.asarray([1.0, 0.5, 2.0, 1.5, 0.7, 1.1, 0.9, 1.3])
VALUES: Final = np.asarray([1.2, 0.4, 2.1, 0.9, 1.6, 0.7, 1.4, 0.3])
POSITIVE: Final = np.asarray([1.0, 0.63, 1.85, 1.07, 1.32, 0.94, 1.71, 0.22])

NOT_SELECTED: Final = "NaN: it divides 0 samples by 0 and does not select the result. JAX's gradient is NaN, too"


def _on(x: Any) -> Any:
    return xpand.array_namespace(x)


def _alike(x: Any, constant: np.ndarray) -> Any:
    """Make a constant an array of the namespace of `x`: scikit-learn wants all arrays of a call in one namespace."""
    return _on(x).asarray(constant)


def calls() -> Mapping[str, Call]:
    """Set scikit-learn's switches, and return all calls."""
    import sklearn

    sklearn.set_config(array_api_dispatch=True, assume_finite=True)
    return {**estimators(), **of_metrics(), **in_two_namespaces()}


def _of_data(function: Callable[[Any], Any], x: np.ndarray = X, nearby: np.ndarray = NEARBY, **options: Any) -> Call:
    return Call(function, x, nearby, **options)


def estimators() -> dict[str, Call]:
    """Return a call for each estimator: it is fitted to what is traced, or applies what it has learned to it."""
    from sklearn import (
        calibration,
        decomposition,
        discriminant_analysis,
        kernel_approximation,
        linear_model,
        mixture,
        model_selection,
        naive_bayes,
        pipeline,
        preprocessing,
    )

    pre, linear = preprocessing, linear_model
    ridge = partial(linear.Ridge, solver="svd")
    transformers: dict[str, Callable[[], Any]] = {
        "preprocessing.Binarizer": pre.Binarizer,
        "preprocessing.MaxAbsScaler": pre.MaxAbsScaler,
        "preprocessing.MinMaxScaler": pre.MinMaxScaler,
        "preprocessing.Normalizer": pre.Normalizer,
        "preprocessing.PolynomialFeatures": pre.PolynomialFeatures,
        "preprocessing.StandardScaler": pre.StandardScaler,
        "decomposition.PCA": lambda: decomposition.PCA(2, svd_solver="full"),
        "decomposition.PCA of covariances": lambda: decomposition.PCA(2, svd_solver="covariance_eigh"),
        "decomposition.PCA by random projections": lambda: decomposition.PCA(
            2, svd_solver="randomized", random_state=0, power_iteration_normalizer="QR"
        ),
        "kernel_approximation.Nystroem": lambda: kernel_approximation.Nystroem(n_components=4, random_state=0),
    }
    predictors: dict[str, tuple[Callable[[], Any], Any]] = {
        "linear_model.Ridge": (ridge, TARGET),
        "linear_model.RidgeCV": (linear.RidgeCV, TARGET),
        "linear_model.PoissonRegressor": (lambda: linear.PoissonRegressor(tol=1e-10), COUNTS),
    }
    classifiers: dict[str, tuple[Callable[[], Any], Any]] = {
        "linear_model.RidgeClassifier": (lambda: linear.RidgeClassifier(solver="svd"), LABELS),
        "linear_model.RidgeClassifierCV": (linear.RidgeClassifierCV, LABELS),
        "discriminant_analysis.LinearDiscriminantAnalysis": (
            discriminant_analysis.LinearDiscriminantAnalysis,
            THREE_LABELS,
        ),
    }
    probabilities: dict[str, tuple[Callable[[], Any], Any]] = {
        "linear_model.LogisticRegression": (lambda: linear.LogisticRegression(tol=1e-10), LABELS),
        "naive_bayes.GaussianNB": (naive_bayes.GaussianNB, LABELS),
        "calibration.CalibratedClassifierCV": (
            lambda: calibration.CalibratedClassifierCV(
                discriminant_analysis.LinearDiscriminantAnalysis(), method="temperature", cv=2
            ),
            LABELS,
        ),
    }
    found = {f"{name}.fit_transform": _of_data(_fit_transform(make)) for name, make in transformers.items()}
    found |= {f"{name}.fit, transform": _of_data(_fit_then_transform(make)) for name, make in transformers.items()}
    found |= {f"{name}.transform": _of_data(_transform(make)) for name, make in transformers.items()}
    for method in ("fit_transform", "fit, transform"):
        name = f"preprocessing.StandardScaler.{method}"
        found[name] = replace(found[name], wrong={"grad": NOT_SELECTED})
    for methods, table in (
        ("predict", predictors),
        ("decision_function", classifiers),
        ("predict_proba", probabilities),
    ):
        for name, (make, y) in table.items():
            found[f"{name}.fit, {methods}"] = _of_data(_fit(make, y, methods))
            found[f"{name}.{methods}"] = _of_data(_apply(make, y, methods), NEW, NEW + 0.03)
    for name, (make, y) in predictors.items():
        found[f"{name}.fit to traced targets"] = _of_data(_fit_targets(make), y + 0.1, y + 0.2)
        found[f"{name}.fit with traced weights"] = _of_data(_fit_weights(make, y), WEIGHTS, WEIGHTS + 0.1)
        found[f"{name}.score"] = _of_data(_score(make, y))
    found["preprocessing.KernelCenterer.fit_transform"] = _of_data(
        lambda x: pre.KernelCenterer().fit_transform(x @ x.T)
    )
    found["preprocessing.LabelEncoder.fit_transform"] = _of_data(
        lambda x: _times(x, pre.LabelEncoder().fit_transform(x)), VALUES, VALUES + 0.01
    )
    found["preprocessing.LabelBinarizer.fit_transform"] = _of_data(
        lambda x: x[:, None] * pre.LabelBinarizer().fit_transform(_classes(x)), SCORES, SCORES + 0.01
    )
    found["mixture.GaussianMixture.fit, score_samples"] = _of_data(
        lambda x: (
            mixture.GaussianMixture(2, init_params="random", random_state=0, max_iter=2, tol=0.0, reg_covar=0.3)
            .fit(x)
            .score_samples(_alike(x, NEW))
        )
    )
    found["pipeline.Pipeline of PolynomialFeatures, PCA and Ridge"] = _of_data(
        lambda x: (
            pipeline.make_pipeline(
                pre.PolynomialFeatures(2), decomposition.PCA(2, svd_solver="full"), linear.Ridge(solver="svd")
            )
            .fit(x, TARGET)
            .predict(_alike(x, NEW))
        )
    )
    found["model_selection.train_test_split"] = _of_data(
        lambda x: model_selection.train_test_split(x, random_state=0)[0]
    )
    found["model_selection.cross_val_predict of Ridge"] = _of_data(
        lambda x: model_selection.cross_val_predict(ridge(), x, TARGET, cv=2)
    )
    found["model_selection.GridSearchCV of Ridge"] = _of_data(
        lambda x: (
            model_selection.GridSearchCV(ridge(), {"alpha": [0.1, 1.0]}, cv=2).fit(x, TARGET).predict(_alike(x, NEW))
        )
    )
    return found


def _fit_transform(make: Callable[[], Any]) -> Callable[[Any], Any]:
    return lambda x: make().fit_transform(x)


def _fit_then_transform(make: Callable[[], Any]) -> Callable[[Any], Any]:
    return lambda x: make().fit(x).transform(_alike(x, NEW))


def _transform(make: Callable[[], Any]) -> Callable[[Any], Any]:
    return lambda x: make().fit(_alike(x, NEW)).transform(x)


def _fit(make: Callable[[], Any], y: Any, method: str) -> Callable[[Any], Any]:
    return lambda x: getattr(make().fit(x, y), method)(_alike(x, NEW))


def _apply(make: Callable[[], Any], y: Any, method: str) -> Callable[[Any], Any]:
    return lambda x: getattr(make().fit(_alike(x, X), y), method)(x)


def _fit_targets(make: Callable[[], Any]) -> Callable[[Any], Any]:
    return lambda y: make().fit(_alike(y, X), y).predict(_alike(y, NEW))


def _fit_weights(make: Callable[[], Any], y: Any) -> Callable[[Any], Any]:
    def function(weights: Any) -> Any:
        fitted = make().fit(_alike(weights, X), _alike(weights, y), sample_weight=weights)
        return fitted.predict(_alike(weights, NEW))

    return function


def _score(make: Callable[[], Any], y: Any) -> Callable[[Any], Any]:
    return lambda x: make().fit(_alike(x, X), y).score(x, y)


def _times(x: Any, integers: Any) -> Any:
    return x * _on(x).astype(integers, x.dtype)


def _classes(x: Any) -> Any:
    xp = _on(x)
    return xp.astype(x > 0.5, xp.int64)


# Metrics

OF_CLASSES: Final = (
    *("accuracy_score", "balanced_accuracy_score", "cohen_kappa_score", "confusion_matrix", "f1_score"),
    *("hamming_loss", "jaccard_score", "multilabel_confusion_matrix", "precision_score", "recall_score"),
    "zero_one_loss",
)
OF_SCORES: Final = ("average_precision_score", "brier_score_loss", "d2_brier_score", "d2_log_loss_score", "log_loss")
OF_VALUES: Final = (
    *("d2_absolute_error_score", "d2_pinball_score", "d2_tweedie_score", "explained_variance_score", "max_error"),
    *("mean_absolute_error", "mean_absolute_percentage_error", "mean_gamma_deviance", "mean_pinball_loss"),
    *("mean_poisson_deviance", "mean_squared_error", "mean_squared_log_error", "mean_tweedie_deviance"),
    *("median_absolute_error", "r2_score", "root_mean_squared_error", "root_mean_squared_log_error"),
)
OF_PAIRS: Final = (
    *("additive_chi2_kernel", "chi2_kernel", "cosine_distances", "cosine_similarity", "euclidean_distances"),
    *("laplacian_kernel", "linear_kernel", "manhattan_distances", "paired_cosine_distances"),
    *("paired_euclidean_distances", "paired_manhattan_distances", "pairwise_distances", "pairwise_kernels"),
    *("polynomial_kernel", "rbf_kernel", "sigmoid_kernel"),
)


def of_metrics() -> dict[str, Call]:
    """Return calls of all metrics: of what is predicted, of sample weights, and of pairs of rows."""
    from sklearn import metrics
    from sklearn.metrics import pairwise

    found = {}
    for name in OF_CLASSES:
        metric = getattr(metrics, name)
        found[f"metrics.{name} of traced classes"] = _of_data(_of_classes(metric), SCORES, SCORES + 0.01)
        if name != "multilabel_confusion_matrix":
            found[f"metrics.{name} with traced weights"] = _of_data(_of_weights(metric), WEIGHTS, WEIGHTS + 0.1)
    found["metrics.fbeta_score with traced weights"] = _of_data(
        _of_weights(partial(metrics.fbeta_score, beta=0.5)), WEIGHTS, WEIGHTS + 0.1
    )
    for name in OF_SCORES:
        found[f"metrics.{name}"] = _of_data(_of_scores(getattr(metrics, name)), SCORES, SCORES + 0.01)
    for name in ("det_curve", "precision_recall_curve", "roc_curve"):
        found[f"metrics.{name}"] = _of_data(_of_curve(getattr(metrics, name)), SCORES, SCORES + 0.01)
    for name in OF_VALUES:
        metric = getattr(metrics, name)
        found[f"metrics.{name}"] = _of_data(partial(metric, VALUES), POSITIVE, POSITIVE + 0.01)
        if "multioutput" in signature(metric).parameters:
            raw = partial(metric, VALUES, multioutput="raw_values")
            found[f"metrics.{name} with multioutput='raw_values'"] = _of_data(raw, POSITIVE, POSITIVE + 0.01)
        if name != "max_error":
            found[f"metrics.{name} with traced weights"] = _of_data(_weighted(metric), WEIGHTS, WEIGHTS + 0.1)
    for name in OF_PAIRS:
        function = getattr(pairwise, name)
        points = np.abs(X[:4]) if "chi2" in name else X[:4]
        found[f"metrics.pairwise.{name}"] = _of_data(
            _of_pairs(function, np.abs(NEW) if "chi2" in name else NEW),
            points,
            points * 1.1,
            read_only="chi2" not in name,
        )
    found["metrics.pairwise_distances_argmin"] = _of_data(
        lambda x: _times(x[:, 0], metrics.pairwise_distances_argmin(x, _alike(x, NEW))), X[:4], X[:4] * 1.01
    )
    for name in ("calinski_harabasz_score", "davies_bouldin_score"):
        metric = getattr(metrics, name)
        found[f"metrics.{name}"] = _of_data(_of_clusters(metric))
    return found


def _of_classes(metric: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda x: metric(_alike(x, LABELS), _classes(x))


def _of_scores(metric: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda x: metric(_alike(x, LABELS), x)


def _of_weights(metric: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda weights: metric(_alike(weights, LABELS), _alike(weights, PREDICTED), sample_weight=weights)


def _weighted(metric: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda weights: metric(_alike(weights, VALUES), _alike(weights, POSITIVE), sample_weight=weights)


def _of_pairs(function: Callable[..., Any], others: Any) -> Callable[[Any], Any]:
    return lambda x: function(x, _alike(x, others))


def _of_clusters(metric: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda x: metric(x, _alike(x, LABELS))


def _of_curve(metric: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda x: metric(_alike(x, LABELS), x)[0]


# Arrays in two namespaces


def in_two_namespaces() -> dict[str, Call]:
    """Return calls whose constants are NumPy's: scikit-learn converts what is not in the namespace of `X` to it."""
    from sklearn import linear_model, metrics

    ridge = linear_model.Ridge(solver="svd")
    mean = metrics.mean_squared_error
    return {
        "linear_model.Ridge fitted to a traced X, applied to NumPy's": _of_data(
            lambda x: ridge.fit(x, TARGET).predict(NEW)
        ),
        "linear_model.Ridge of NumPy's X and traced targets": _of_data(
            lambda y: ridge.fit(X, y).predict(NEW), TARGET, TARGET + 0.1
        ),
        "metrics.accuracy_score of NumPy's and traced classes": _of_data(
            lambda x: metrics.accuracy_score(LABELS, _classes(x)), SCORES, SCORES + 0.01
        ),
        "metrics.confusion_matrix of NumPy's and traced classes": _of_data(
            lambda x: metrics.confusion_matrix(LABELS, _classes(x)), SCORES, SCORES + 0.01
        ),
        "metrics.mean_squared_error of NumPy's with traced weights": _of_data(
            lambda weights: mean(VALUES, POSITIVE, sample_weight=weights), WEIGHTS, WEIGHTS + 0.1
        ),
    }
