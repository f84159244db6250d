"""Choose a model by cross-validation, on NumPy and on PyTorch, with the same estimators: the scores are the same.

Run `python docs/examples/select_model.py`.
"""

import os

# scikit-learn asks for it before SciPy is imported, to hand arrays of other libraries than NumPy through.
os.environ["SCIPY_ARRAY_API"] = "1"

from estimators import PCA, LogisticRegression
from sklearn import config_context
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import xpand
from xpand.typing import Namespace


def select(xp: Namespace, count: int = 500) -> None:
    """Search a grid on handwritten digits, with the arrays of one library, and print what was found."""
    data = load_digits()
    x, y = xp.asarray(data.data[:count] / 16, dtype=xp.float64), xp.asarray(data.target[:count])
    grid = {"pca__n_components": [5, 10, 20], "logisticregression__C": [0.1, 1.0]}
    search = GridSearchCV(make_pipeline(PCA(whiten=True), LogisticRegression()), grid, cv=3)
    with config_context(array_api_dispatch=True):
        search.fit(x, y)
        fitted = search.best_estimator_[0].components_
    print(f"{xpand.array_namespace(fitted).__name__}: {search.best_score_:.4f} with {search.best_params_}")


if __name__ == "__main__":
    for library in ("numpy", "torch"):
        select(xpand.namespace(library))
