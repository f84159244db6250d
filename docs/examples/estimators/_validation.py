"""Checks of the estimators' input.

NumPy arrays and whatever becomes one (lists, data frames) go through scikit-learn's own validation. Arrays of other
libraries stay what and where they are, and are checked here, by the same rules.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

import xpand
from xpand import array_namespace, check
from xpand.typing import Array
from xpand_extensions.convert import to_numpy


def features(estimator: BaseEstimator, x: Any, *, min_samples: int = 1) -> Array:
    """Validate the training data of an estimator, and note the number of features.

    Returns:
        An array, (n, p), of a real floating-point type: of the library and on the device of `x` if that is an array,
        of NumPy if not.

    Raises:
        ValueError: Not two-dimensional, complex, empty, too few rows, or with NaN or infinities.
    """
    return _features(estimator, x, reset=True, min_samples=min_samples)


def features_and_numbers(estimator: BaseEstimator, x: Any, y: Any) -> tuple[Array, Array]:
    """Validate the training data of a regressor: `y`, (n,) or (n, k), goes where `x` is, and gets its data type."""
    if not _is_foreign(x):
        x, y = validate_data(
            estimator, x, _to_numpy(y), dtype=(np.float64, np.float32), multi_output=True, y_numeric=True
        )
        return x, y.astype(x.dtype, copy=False)
    x = _features(estimator, x, reset=True)
    y = _target(estimator, x, y)
    if y.ndim not in (1, 2):
        raise ValueError(f"{_name(estimator)}: y must have one or two dimensions, got shape {y.shape}")
    xp = array_namespace(x)
    if not xp.isdtype(y.dtype, ("bool", "integral", "real floating")):
        raise ValueError(f"{_name(estimator)}: y must hold real numbers, got {y.dtype}")
    y = xp.astype(y, x.dtype, copy=False)
    check(xp.isfinite(y), f"{_name(estimator)}: y contains NaN or infinity")
    return x, y


def features_and_labels(estimator: BaseEstimator, x: Any, y: Any) -> tuple[Array, Array, Array]:
    """Validate the training data of a classifier.

    Returns:
        The features, (n, p), the labels, (n,), and the classes, sorted, (k,): all where `x` is. The labels of a lazy
        array are computed, for the classes.

    Raises:
        ValueError: `x` as `features` says, `y` not of shape (n,), no labels but measurements, or all of one class.
    """
    if not _is_foreign(x):
        x, y = validate_data(estimator, x, _to_numpy(y), dtype=(np.float64, np.float32))
        check_classification_targets(y)
        classes = np.unique(y)
    else:
        x = _features(estimator, x, reset=True)
        y = _target(estimator, x, y)
        xp = array_namespace(x)
        if y.ndim != 1:
            raise ValueError(f"{_name(estimator)}: y must have one dimension, got shape {y.shape}")
        if not xp.isdtype(y.dtype, ("bool", "integral")):
            check(y == xp.round(y), "Unknown label type: labels must be whole numbers; measurements take a regressor")
        if xpand.is_concrete(y):
            classes = xp.unique_values(y)
        else:
            classes = xp.asarray(np.unique(_to_numpy(y)), device=xpand.device(x))
    if classes.shape[0] < 2:
        raise ValueError(f"{_name(estimator)}: needs labels of at least two classes, got one class only")
    return x, y, classes


def fitted_features(estimator: BaseEstimator, x: Any, fitted: str, method: str) -> Array:
    """Validate the data given to a method of a fitted estimator.

    Args:
        estimator: The estimator.
        x: The data, (n, p), with as many features as there were in `fit`.
        fitted: The name of an array that `fit` leaves on the estimator.
        method: The name of the method, for messages.

    Raises:
        NotFittedError: `fit` was not called.
        ValueError: As `features`; or another number of features, another library or another device than in `fit`.
    """
    check_is_fitted(estimator)
    there = getattr(estimator, fitted)
    here = x if _is_foreign(x) else np.empty(0)
    if array_namespace(here) is not array_namespace(there) or xpand.device(here) != xpand.device(there):
        raise ValueError(
            f"Inputs passed to {_name(estimator)}.{method}() must use the same namespace and the same device as those "
            f"passed to fit(): fitted with {_place(there)}, got {_place(here)}; convert one of them"
        )
    return _features(estimator, x, reset=False)


def _features(estimator: BaseEstimator, x: Any, *, reset: bool, min_samples: int = 1) -> Array:
    if not _is_foreign(x):
        return validate_data(estimator, x, reset=reset, dtype=(np.float64, np.float32), ensure_min_samples=min_samples)
    xp = array_namespace(x)
    name = _name(estimator)
    if x.ndim != 2:
        raise ValueError(f"{name}: X must have two dimensions, samples and features, got shape {x.shape}")
    if xp.isdtype(x.dtype, "complex floating"):
        raise ValueError(f"{name}: complex data are not supported, got {x.dtype}")
    if x.shape[0] < min_samples or x.shape[1] < 1:
        raise ValueError(
            f"{name}: X has {x.shape[0]} sample(s) and {x.shape[1]} feature(s); {min_samples} sample(s) and "
            "1 feature(s) are the least"
        )
    validate_data(estimator, x, reset=reset, skip_check_array=True)  # the number of features
    if not xp.isdtype(x.dtype, "real floating"):
        defaults = xp.__array_namespace_info__().default_dtypes(device=xpand.device(x))
        x = xp.astype(x, defaults["real floating"])
    check(xp.isfinite(x), f"{name}: X contains NaN or infinity")
    return x


def _target(estimator: BaseEstimator, x: Array, y: Any) -> Array:
    """Bring the target to the library and device of `x`: it follows the features."""
    if y is None:
        raise ValueError(f"{_name(estimator)} requires y to be passed, but the target y is None")
    xp, device = array_namespace(x), xpand.device(x)
    if not (_is_foreign(y) and array_namespace(y) is xp and xpand.device(y) == device):
        # A copy, because memory that is read-only can't be shared with every library.
        values = np.array(_to_numpy(y))
        if values.dtype.kind not in "biufc":
            raise ValueError(
                f"{_name(estimator)}: y must hold numbers where X is an array of {xp.__name__}, got {values.dtype}; "
                "encode the labels first"
            )
        y = xp.asarray(values, device=device)
    if y.ndim == 0 or y.shape[0] != x.shape[0]:
        raise ValueError(f"{_name(estimator)}: X has {x.shape[0]} samples, y has shape {y.shape}")
    return y


def _is_foreign(x: Any) -> bool:
    """Return whether `x` is an array of another library than NumPy."""
    return xpand.is_array_api_obj(x) and not xpand.is_numpy_array(x)


def _to_numpy(x: Any) -> Any:
    """Turn an array of another library into one of NumPy; leave other objects to scikit-learn."""
    return to_numpy(x) if _is_foreign(x) else x


def _name(estimator: BaseEstimator) -> str:
    return type(estimator).__name__


def _place(x: Array) -> str:
    return f"{array_namespace(x).__name__} on {xpand.device(x)}"
