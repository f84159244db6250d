"""A transformer: principal components."""

from typing import Any, Self

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags

from xpand import array_namespace
from xpand.typing import Array

from ._validation import features, fitted_features


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Project data on the directions in which they vary most.

    Args:
        n_components: How many directions to keep; None for all.
        whiten: Scale each component to variance 1.

    Attributes:
        components_: The directions, (n_components, p), each with its largest weight positive.
        explained_variance_: The variance along each, (n_components,), greatest first.
        explained_variance_ratio_: Its share of the whole variance, (n_components,).
        mean_: The mean of the training data, (p,).
    """

    def __init__(self, n_components: int | None = None, *, whiten: bool = False) -> None:
        """Keep the parameters; `fit` checks them."""
        self.n_components = n_components
        self.whiten = whiten

    def fit(self, X: Any, y: None = None) -> Self:
        """Find the components of `X`, (n, p) with n of at least 2; `y` is not used."""
        X = features(self, X, min_samples=2)
        xp = array_namespace(X)
        largest = min(X.shape)
        count = largest if self.n_components is None else self.n_components
        if not 1 <= count <= largest:
            raise ValueError(
                f"PCA: n_components must be from 1 to {largest} (the lesser of samples and features), got {count}"
            )
        self.mean_ = xp.mean(X, axis=0)
        _, s, vt = xp.linalg.svd(X - self.mean_, full_matrices=False)
        one = xp.ones_like(s)
        # The sign of a singular vector is arbitrary: without a rule each library, and each device, has its own.
        sign = xp.where(xp.max(vt, axis=1) >= -xp.min(vt, axis=1), one, -one)
        variance = s**2 / (X.shape[0] - 1)
        self.components_ = (vt * sign[:, None])[:count, :]
        self.explained_variance_ = variance[:count]
        self.explained_variance_ratio_ = (variance / xp.sum(variance))[:count]
        return self

    def transform(self, X: Any) -> Array:
        """Return the coordinates of `X`, (n, p), along the components, (n, n_components)."""
        X = fitted_features(self, X, "components_", "transform")
        xp = array_namespace(X)
        return xp.matmul(X - self.mean_, self.components_.T) / self._scale()

    def inverse_transform(self, X: Array) -> Array:
        """Return the data, (n, p), whose coordinates along the components are `X`, (n, n_components)."""
        xp = array_namespace(self.components_)
        return xp.matmul(xp.asarray(X) * self._scale(), self.components_) + self.mean_

    def _scale(self) -> Array:
        """The divisors of coordinates; a direction without variance is not scaled."""
        xp = array_namespace(self.explained_variance_)
        ones = xp.ones_like(self.explained_variance_)
        if not self.whiten:
            return ones
        return xp.where(self.explained_variance_ > 0, xp.sqrt(self.explained_variance_), ones)

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def __sklearn_tags__(self) -> Tags:
        """Say that arrays of any library are taken, and that their precision is kept."""
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
