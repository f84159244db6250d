"""A regressor: least squares with a penalty on squared weights."""

from typing import Any, Self

from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags

import xpand
from xpand import array_namespace
from xpand.typing import Array

from ._validation import features_and_numbers, fitted_features


class Ridge(RegressorMixin, BaseEstimator):
    """Fit targets by a linear function: minimize |y - X w - b|² + alpha |w|².

    Args:
        alpha: The penalty, of at least 0. With 0, the columns of the data must be independent.
        fit_intercept: Whether to fit b; if not, it is 0.

    Attributes:
        coef_: The weights w, (p,), or (k, p) for k targets.
        intercept_: b, of shape () or (k,).
    """

    def __init__(self, alpha: float = 1.0, *, fit_intercept: bool = True) -> None:
        """Keep the parameters; `fit` checks them."""
        self.alpha = alpha
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any) -> Self:
        """Fit `y`, (n,) or (n, k), by `X`, (n, p)."""
        if not self.alpha >= 0:
            raise ValueError(f"Ridge: alpha must be at least 0, got {self.alpha}")
        X, y = features_and_numbers(self, X, y)
        xp = array_namespace(X)
        x_mean, y_mean = xp.mean(X, axis=0), xp.mean(y, axis=0)
        if self.fit_intercept:
            X, y = X - x_mean, y - y_mean
        penalty = self.alpha * xp.eye(X.shape[1], dtype=X.dtype, device=xpand.device(X))
        weights = xp.linalg.solve(xp.matmul(X.T, X) + penalty, xp.matmul(X.T, y))
        self.coef_ = weights.T if y.ndim == 2 else weights
        self.intercept_ = y_mean - xp.matmul(self.coef_, x_mean) if self.fit_intercept else xp.zeros_like(y_mean)
        return self

    def predict(self, X: Any) -> Array:
        """Return the fitted function at `X`, (n, p): (n,), or (n, k) for k targets."""
        X = fitted_features(self, X, "coef_", "predict")
        return array_namespace(X).matmul(X, self.coef_.T if self.coef_.ndim == 2 else self.coef_) + self.intercept_

    def __sklearn_tags__(self) -> Tags:
        """Say that arrays of any library are taken, and several targets at once."""
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
