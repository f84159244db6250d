# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false
"""The influence of training points, through scikit-learn.

Which training points harm a model? `test_error` fits a pipeline of scikit-learn and returns the error of its
predictions for other data. `grad` differentiates it with respect to the weights of the training points, through `fit`
and `predict`, on NumPy's arrays. A positive derivative says that the model would be better without the point. So one
gradient takes the place of a fit for each point.

scikit-learn computes with traced arrays if its array API dispatch is on. It asks for the environment variable
`SCIPY_ARRAY_API=1`, which must be set before SciPy is imported. Only the features have to be traced arrays, like the
weights: scikit-learn takes the library from them, and converts the rest.
"""

from typing import Any

import numpy as np
import sklearn
from matplotlib.figure import Figure
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

from xpand import grad
from xpand.extend import Namespace

from . import Results, Values

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

LIBRARIES = ("numpy",)
SMALL = {"n": 12}
WRONG = (3, 11, 17, 24)


def data(n: int, seed: int) -> tuple[Floats, Floats]:
    """Return points of a curve, with noise."""
    rng = np.random.default_rng(seed)
    x = np.linspace(-1, 1, n)[:, None]
    return x, np.sin(2.5 * x[:, 0]) + 0.1 * rng.standard_normal(n)


def compute(xp: Namespace, n: int = 30) -> Results:
    """Compute the influence of each training point, and the errors after it is removed."""
    x, y = data(n, 0)
    wrong = [i for i in WRONG if i < n]
    shift = np.zeros(n)
    shift[wrong] = np.resize([1.2, -1.0, -1.2, -1.3], len(wrong))
    y = y + shift
    x_test, y_test = data(200, 1)
    model: Any = make_pipeline(PolynomialFeatures(3, include_bias=False), Ridge(alpha=0.1, solver="svd"))

    def test_error(weights: Floats) -> np.float64:
        model.fit(np.asarray(x, like=weights), y, ridge__sample_weight=weights)
        residual = model.predict(np.asarray(x_test, like=weights)) - y_test
        return residual @ residual / len(residual)

    with sklearn.config_context(array_api_dispatch=True):
        ones = np.ones(n)
        influence = grad(test_error)(ones)
        removed = np.stack([test_error(ones - one) for one in np.eye(n)]) - test_error(ones)
        kept = np.where(influence > 0.1 * np.max(influence), 0.0, 1.0)
        errors: list[np.float64] = []
        curves: list[Floats] = []
        for weights in (ones, kept):
            errors.append(test_error(weights))
            curves.append(model.predict(x_test))
    results = {
        "x": x[:, 0],
        "y": y,
        "influence": influence,
        "removed": removed,
        "at": x_test[:, 0],
        "curves": np.stack(curves),
        "error": np.stack(errors),
        "wrong": np.asarray(wrong),
    }
    return {name: xp.asarray(result) for name, result in results.items()}


def summary(r: Values) -> str:
    """Return the result in one sentence."""
    harmful = int(np.sum(r["influence"] > 0.1 * r["influence"].max()))
    before, after = r["error"]
    return (
        f"The {harmful} points with the largest influence are those that were made wrong. "
        f"Without them, the test error is {after:.3f} instead of {before:.3f}."
    )


def draw(figure: Figure, r: Values) -> None:
    """Draw the points with their influence, and compare the influence with the change when a point is removed."""
    left, right = figure.subplots(1, 2, width_ratios=[2, 1])
    size = r["influence"].max()
    left.plot(r["at"], r["curves"][0], "--", color="#9aa3a8", label="all points")
    left.plot(r["at"], r["curves"][1], label="without the red points")
    colours = {"cmap": "coolwarm", "vmin": -size, "vmax": size, "edgecolor": "#9aa3a8", "linewidth": 0.6}
    points = left.scatter(r["x"], r["y"], c=r["influence"], s=45, zorder=3, **colours)
    left.set_title("Which training points harm the model?")
    left.legend(loc="upper left")
    figure.colorbar(points, ax=left, label="influence on the test error", ticks=[-size, 0, size], format="%.2f")
    right.axline((0, 0), slope=-1, color="#9aa3a8", linewidth=0.8)
    right.scatter(r["influence"], r["removed"], c=r["influence"], s=30, zorder=3, **colours)
    right.set(title="Fitted again without each point", xlabel="influence (one gradient)", ylabel="change of the error")
