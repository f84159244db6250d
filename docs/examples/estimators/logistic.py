"""A classifier: logistic regression, for two classes or more."""

import warnings
from typing import Any, Self

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

import xpand
from xpand import array_namespace, is_concrete
from xpand.typing import Array

from ._validation import features_and_labels, fitted_features

_STEP_LENGTHS = (1.0, 0.25, 0.0625, 0.015625)


class LogisticRegression(ClassifierMixin, BaseEstimator):
    """Fit the log-odds of classes by linear functions, with a penalty on squared weights, by Newton's method.

    Two classes share one function, the log-odds of the second; more classes have one each (the multinomial model).

    Args:
        C: The inverse of the penalty, above 0: minimized is C times the negative log-likelihood plus half the squares
            of the weights.
        tol: The relative decrease of what is minimized below which the fit has converged.
        max_iter: The most Newton steps; on lazy arrays, their number.

    Attributes:
        classes_: The classes, sorted, (k,).
        coef_: The weights, (1, p) for two classes, else (k, p).
        intercept_: (1,) or (k,).
        n_iter_: The number of Newton steps taken.
    """

    def __init__(self, C: float = 1.0, *, tol: float = 1e-8, max_iter: int = 30) -> None:
        """Keep the parameters; `fit` checks them."""
        self.C = C
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the classes `y`, (n,), by `X`, (n, p)."""
        for name in ("C", "max_iter"):
            if not getattr(self, name) > 0:
                raise ValueError(f"LogisticRegression: {name} must be above 0, got {getattr(self, name)}")
        X, y, self.classes_ = features_and_labels(self, X, y)
        xp = array_namespace(X)
        problem = _Problem(X, xp.astype(y[:, None] == self.classes_[None, :], X.dtype), self.C)
        weights = problem.start()
        loss = problem.loss(weights)
        step, converged = 0, False
        while step < self.max_iter and not converged:
            step += 1
            weights, least = problem.improve(weights, loss)
            # A lazy or traced array keeps its values to itself: there, all steps are taken.
            converged = is_concrete(loss) and bool(loss - least <= self.tol * least)
            loss = least
            if converged:
                break
        if is_concrete(loss) and not converged:
            warnings.warn(
                f"LogisticRegression: not converged after {self.max_iter} steps; scale the features, or raise max_iter",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.coef_, self.intercept_, self.n_iter_ = weights[:, :-1], weights[:, -1], step
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the log-odds of the second of two classes, (n,), or a score for each of more, (n, k)."""
        return self._scores(X, "decision_function")

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of the probability of each class, (n, k)."""
        return self._log_probabilities(X, "predict_log_proba")

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, (n, k)."""
        log_probabilities = self._log_probabilities(X, "predict_proba")
        return array_namespace(log_probabilities).exp(log_probabilities)

    def predict(self, X: Any) -> Array:
        """Return the likeliest class, (n,)."""
        scores = self._scores(X, "predict")
        xp = array_namespace(scores)
        likeliest = xp.argmax(scores, axis=1) if scores.ndim == 2 else xp.astype(scores > 0, xp.int64)
        return array_namespace(self.classes_).take(self.classes_, likeliest, axis=0)

    def _scores(self, X: Any, method: str) -> Array:
        X = fitted_features(self, X, "coef_", method)
        scores = array_namespace(X).matmul(X, self.coef_.T) + self.intercept_
        return scores if self.classes_.shape[0] > 2 else scores[:, 0]

    def _log_probabilities(self, X: Any, method: str) -> Array:
        scores = self._scores(X, method)
        return _log_softmax(scores if scores.ndim == 2 else scores[:, None])

    def __sklearn_tags__(self) -> Tags:
        """Say that arrays of any library are taken."""
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags


class _Problem:
    """The function to minimize, of the weights, (m, p + 1), the intercepts last; m is 1 for two classes, else k.

    With z the features and a 1, and P, (n, m), the probabilities, the gradient is (P - Y)ᵀ z, and the Hessian has the
    blocks zᵀ diag(P_j) z on its diagonal, less (P z)ᵀ (P z) as a whole.
    """

    def __init__(self, X: Array, is_class: Array, C: float) -> None:
        """Prepare the data: features, (n, p), and for each class whether a row is of it, (n, k) of 0 and 1."""
        xp = self.xp = array_namespace(X)
        self.is_class = is_class
        self.functions = 1 if is_class.shape[1] == 2 else is_class.shape[1]
        self.z = xp.concat((X, xp.ones_like(X[:, :1])), axis=1)
        self.C = C
        size = self.z.shape[1]
        place = {"dtype": X.dtype, "device": xpand.device(X)}
        is_intercept = xp.astype(xp.arange(size, device=place["device"]) == size - 1, X.dtype)
        self.penalised = 1 - is_intercept
        self.identity = xp.eye(self.functions, **place)
        curvature = self.identity[:, None, :, None] * (self.penalised * xp.eye(size, **place))[:, None, :]
        if self.functions > 1:
            # Adding a number to all intercepts changes no probability; this keeps their sum, and the system regular.
            curvature = curvature + (is_intercept[:, None] * is_intercept)[:, None, :]
        self.curvature = xp.reshape(curvature, (self.functions * size,) * 2)

    def start(self) -> Array:
        """Return weights of 0, (m, p + 1)."""
        size = (self.functions, self.z.shape[1])
        return self.xp.zeros(size, dtype=self.z.dtype, device=xpand.device(self.z))

    def loss(self, weights: Array) -> Array:
        """Return what is minimized, at `weights`, (m, p + 1); of shape ()."""
        log_probabilities = _log_softmax(self.xp.matmul(self.z, weights.T))
        likelihood = self.xp.sum(self.is_class * log_probabilities)
        return 0.5 * self.xp.sum(self.penalised * weights**2) - self.C * likelihood

    def improve(self, weights: Array, loss: Array) -> tuple[Array, Array]:
        """Take the best of some Newton steps, whole and shortened, or none if none is better.

        The choice is an expression, not a branch, so that it can be traced and put off.
        """
        xp = self.xp
        p = xp.exp(_log_softmax(xp.matmul(self.z, weights.T)))[:, -self.functions :]
        gradient = self.C * xp.matmul((p - self.is_class[:, -self.functions :]).T, self.z) + self.penalised * weights
        step = xp.reshape(xp.linalg.solve(self._hessian(p), xp.reshape(gradient, (-1,))), weights.shape)
        best, least = weights, loss
        for length in _STEP_LENGTHS:
            candidate = weights - length * step
            its_loss = self.loss(candidate)
            best = xp.where(its_loss < least, candidate, best)
            least = xp.minimum(least, its_loss)
        return best, least

    def _hessian(self, p: Array) -> Array:
        """Return the second derivatives, (m (p + 1), m (p + 1)), given the probabilities, (n, m)."""
        xp = self.xp
        blocks = xp.matmul(self.z.T[None, :, :] * p.T[:, None, :], self.z[None, :, :])
        diagonal = xp.reshape(self.identity[:, None, :, None] * blocks[:, :, None, :], self.curvature.shape)
        pz = xp.reshape(p[:, :, None] * self.z[:, None, :], (p.shape[0], -1))
        return self.C * (diagonal - xp.matmul(pz.T, pz)) + self.curvature


def _log_softmax(scores: Array) -> Array:
    """Turn scores, (n, k), or log-odds of the second of two classes, (n, 1), into log-probabilities, (n, k)."""
    xp = array_namespace(scores)
    if scores.shape[1] == 1:
        scores = xp.concat((xp.zeros_like(scores), scores), axis=1)
    shifted = scores - xp.max(scores, axis=1, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=1, keepdims=True))
