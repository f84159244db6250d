"""A clusterer: k-means."""

import warnings
from typing import Any, Self

from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

import xpand
from xpand import array_namespace, is_concrete
from xpand.typing import Array

from ._validation import features, fitted_features


class KMeans(ClusterMixin, BaseEstimator):
    """Group data around centres, by Lloyd's algorithm.

    Args:
        n_clusters: The number of groups.
        init: The first centres, (n_clusters, p); or "farthest": the row nearest to the mean, then each time the row
            farthest from all centres so far, which takes no random numbers.
        max_iter: The most steps; on lazy arrays, their number.

    Attributes:
        cluster_centers_: The centres, (n_clusters, p).
        labels_: The group of each row of the training data, (n,).
        inertia_: The sum of squared distances of the rows from their centres, of shape ().
        n_iter_: The number of steps taken.
    """

    def __init__(self, n_clusters: int = 8, *, init: Any = "farthest", max_iter: int = 100) -> None:
        """Keep the parameters; `fit` checks them."""
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter

    def fit(self, X: Any, y: None = None) -> Self:
        """Find the groups of `X`, (n, p); `y` is not used."""
        X = features(self, X)
        if not 1 <= self.n_clusters <= X.shape[0]:
            raise ValueError(
                f"KMeans: n_clusters must be from 1 to the number of samples, got n_clusters={self.n_clusters} and "
                f"n_samples={X.shape[0]}"
            )
        if not self.max_iter > 0:
            raise ValueError(f"KMeans: max_iter must be above 0, got {self.max_iter}")
        xp = array_namespace(X)
        centres = self._first_centres(X)
        labels = _nearest(X, centres)
        step, converged = 0, False
        while step < self.max_iter and not converged:
            step += 1
            centres = _means(X, labels, centres)
            previous, labels = labels, _nearest(X, centres)
            # A lazy or traced array keeps its values to itself: there, all steps are taken.
            converged = is_concrete(labels) and bool(xp.all(labels == previous))
            if converged:
                break
        if is_concrete(labels) and not converged:
            warnings.warn(
                f"KMeans: not converged after {self.max_iter} steps; raise max_iter", ConvergenceWarning, stacklevel=2
            )
        self.cluster_centers_, self.labels_, self.n_iter_ = centres, labels, step
        self.inertia_ = xp.sum((X - xp.take(centres, labels, axis=0)) ** 2)
        return self

    def predict(self, X: Any) -> Array:
        """Return the group of each row of `X`, (n, p): the number of its nearest centre, (n,)."""
        return _nearest(fitted_features(self, X, "cluster_centers_", "predict"), self.cluster_centers_)

    def _first_centres(self, X: Array) -> Array:
        if isinstance(self.init, str):
            if self.init != "farthest":
                raise ValueError(f'KMeans: init must be "farthest" or an array of centres, got {self.init!r}')
            return _spread(X, self.n_clusters)
        xp = array_namespace(X)
        centres = xp.asarray(self.init, dtype=X.dtype, device=xpand.device(X))
        if centres.shape != (self.n_clusters, X.shape[1]):
            raise ValueError(
                f"KMeans: init must be of shape (n_clusters, n_features) = {(self.n_clusters, X.shape[1])}, "
                f"got {centres.shape}"
            )
        return centres

    def __sklearn_tags__(self) -> Tags:
        """Say that arrays of any library are taken."""
        tags = super().__sklearn_tags__()
        tags.array_api_support = True
        return tags


def _spread(X: Array, count: int) -> Array:
    """Choose `count` rows of `X` that lie far from each other, (count, p)."""
    xp = array_namespace(X)
    row = xp.argmin(xp.sum((X - xp.mean(X, axis=0)) ** 2, axis=1))
    centres = xp.take(X, xp.reshape(row, (1,)), axis=0)
    distance = xp.sum((X - centres) ** 2, axis=1)
    for _ in range(count - 1):
        centre = xp.take(X, xp.reshape(xp.argmax(distance), (1,)), axis=0)
        centres = xp.concat((centres, centre))
        distance = xp.minimum(distance, xp.sum((X - centre) ** 2, axis=1))
    return centres


def _nearest(X: Array, centres: Array) -> Array:
    """Return the number of the nearest centre to each row, (n,)."""
    xp = array_namespace(X)
    # The squared distance without |x|², which is the same for all centres.
    return xp.argmin(xp.sum(centres**2, axis=1) - 2 * xp.matmul(X, centres.T), axis=1)


def _means(X: Array, labels: Array, centres: Array) -> Array:
    """Move each centre to the mean of its group; one without a group stays."""
    xp = array_namespace(X)
    groups = xp.arange(centres.shape[0], device=xpand.device(X))
    belongs = xp.astype(labels[:, None] == groups, X.dtype)  # no larger than the table of distances
    totals, sizes = xp.matmul(belongs.T, X), xp.sum(belongs, axis=0)[:, None]
    return xp.where(sizes > 0, totals / xp.maximum(sizes, xp.ones_like(sizes)), centres)
