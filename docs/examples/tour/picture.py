"""The tour's picture: what one library made of the tasks."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from xpand import namespace
from xpand.typing import Array
from xpand_extensions.plot import convergence

from .results import TASKS, Column
from .tasks import probability

_BENIGN: Final = "#2a7fb8"
_MALIGNANT: Final = "#d1495b"
_INK: Final = "#333333"

np = namespace("numpy")


def draw(column: Column) -> Figure:
    """Draw the results of one library; in place of a task that failed stands the error."""
    figure = Figure(figsize=(15, 12.6), dpi=110)
    figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.1)
    figure.suptitle(f"One source file, written against the array API standard, run by {column.library.name}", size=15)
    rows = figure.add_gridspec(2, 1, height_ratios=(2.2, 1))
    grid = rows[0].subgridspec(1, 2, width_ratios=(1, 1.35))
    bottom = rows[1].subgridspec(1, 4)
    left = grid[0].subgridspec(2, 1, height_ratios=(2.7, 1))
    right = grid[1].subgridspec(2, 2)
    panels: Sequence[tuple[Callable[..., None], Any]] = (
        (_correlations, right[1, 0]),
        (_digits_plane, left[0]),
        (_ridge_paths, right[0, 0]),
        (_log_odds, right[0, 1]),
        (_centres, left[1]),
        (_pixel_pairs, right[1, 1]),
        (_influences, bottom[0]),
        (_diffusion, bottom[1]),
        (_smoothed, bottom[2]),
        (_row_products, bottom[3]),
    )
    for (panel, place), task, result in zip(panels, TASKS, column.results, strict=True):
        part = figure.add_subfigure(place)
        if result.error is None:
            panel(part, *result.outputs)
        else:
            part.text(0.5, 0.5, f"{task.name} failed\n{result.error}", ha="center", wrap=True, color=_MALIGNANT)
    return figure


def _axes(part: Any, title: str, x: str, y: str) -> Any:
    axes = part.subplots()
    axes.set_title(title, loc="left", size=11, weight="bold", color=_INK)
    axes.set_xlabel(x, color=_INK)
    axes.set_ylabel(y, color=_INK)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _correlations(part: Any, x: Array) -> None:
    """Draw how the columns of the standardised data go together: their products are correlations."""
    names = load_breast_cancer().feature_names
    axes = _axes(part, "Standardised: correlations of 30 features", "", "")
    image = axes.imshow(np.matmul(x.T, x) / x.shape[0], cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    groups = [name.split()[-1] if name.endswith("error") else name.split()[0] for name in names[::10]]
    axes.set_xticks((4.5, 14.5, 24.5), groups)
    axes.set_yticks((4.5, 14.5, 24.5), groups, rotation="vertical", va="center")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    part.colorbar(image, ax=axes)


def _digits_plane(part: Any, coordinates: Array, explained: Array) -> None:
    """Draw each image as its digit's colour in the plane of the first two components, and each digit at its mean."""
    labels = load_digits().target
    names = [f"component {i + 1} ({share:.0%} of the variance)" for i, share in enumerate(explained)]
    axes = _axes(part, "PCA by SVD: 1,797 handwritten digits", *names)
    axes.scatter(*coordinates.T, c=labels, cmap="tab10", s=14, alpha=0.65, linewidths=0)
    outline = {"boxstyle": "circle,pad=0.25", "facecolor": "white", "edgecolor": _INK, "alpha": 0.9}
    for digit in range(10):
        x, y = coordinates[labels == digit].mean(axis=0)
        axes.text(x, y, str(digit), size=13, weight="bold", ha="center", va="center", bbox=outline, color=_INK)


def _ridge_paths(part: Any, weights: Array) -> None:
    """Draw each feature's weight against the penalty, named where the path starts."""
    axes = _axes(part, "Ridge regression: progression of diabetes", "penalty", "weight of the standardised feature")
    penalties = 10.0 ** np.linspace(-2, 5, weights.shape[0])
    axes.axhline(0, color="#bbbbbb", linewidth=0.8)
    for i, name in enumerate(load_diabetes().feature_names):
        axes.semilogx(penalties, weights[:, i], color=f"C{i}", label=name)
    axes.legend(ncols=2, fontsize=8, frameon=False, loc="upper right")


def _log_odds(part: Any, weights: Array, log_odds: Array) -> None:
    """Draw how the two diagnoses spread along the fitted log-odds, and the probability that these stand for."""
    malignant = load_breast_cancer().target == 0
    axes = _axes(part, "Logistic regression: tumours", "log-odds of malignant", "tumours")
    low, high = -20.0, 32.0  # one tumour in a hundred lies farther out
    bins, fine = np.linspace(low, high, 53), np.linspace(low, high, 400)
    right = np.mean(np.astype((log_odds > 0) == malignant, np.float64))
    groups: Sequence[tuple[str, Array, str]] = (
        ("benign", ~malignant, _BENIGN),
        ("malignant", malignant, _MALIGNANT),
    )
    for name, rows, colour in groups:
        axes.hist(log_odds[rows], bins=bins, color=colour, alpha=0.7, label=name)
    curve = axes.twinx()
    curve.plot(fine, probability(fine), color=_INK, linewidth=1.5)
    curve.yaxis.set_major_formatter(PercentFormatter(1))
    curve.set_ylabel("probability of malignant", color=_INK)
    curve.spines[["top"]].set_visible(False)
    curve.text(
        1,
        0.5,
        f"{right:.1%} right\n(training data)",
        transform=curve.transAxes,
        ha="right",
        va="center",
        size=9,
        color=_INK,
    )
    axes.legend(frameon=False, loc="center right", bbox_to_anchor=(1, 0.68), fontsize=9)


def _centres(part: Any, centres: Array) -> None:
    """Draw the centres as the images that they are, in two rows with a gap of one pixel."""
    axes = _axes(part, "K-means: the centres of ten groups of digits", "", "")
    tiles = np.full((2, 9, 5, 9), np.nan)
    tiles[:, :8, :, :8] = np.permute_dims(np.reshape(centres, (2, 5, 8, 8)), (0, 2, 1, 3))
    axes.imshow(np.reshape(tiles, (18, 45))[:-1, :-1], cmap="gray_r", vmin=0, vmax=1)
    axes.set(xticks=(), yticks=())
    axes.spines[:].set_visible(False)


def _pixel_pairs(part: Any, counts: Array) -> None:
    """Draw how often a pixel and its right neighbour have which intensities."""
    axes = _axes(part, "Histogram by scatter: pairs of pixels", "intensity of the right pixel", "of the left pixel")
    image = axes.imshow(counts, origin="lower", cmap="magma", norm=LogNorm(vmin=10), aspect="auto")
    axes.spines[:].set_visible(False)
    part.colorbar(image, ax=axes, label="pairs")


def _influences(part: Any, norms: Array) -> None:
    """Draw how the gradients of the two diagnoses differ in length."""
    malignant = load_breast_cancer().target == 0
    axes = _axes(part, "Gradients of single tumours", "norm of the gradient", "tumours")
    for name, rows, colour in (("benign", ~malignant, _BENIGN), ("malignant", malignant, _MALIGNANT)):
        axes.hist(norms[rows], bins=30, color=colour, alpha=0.7, label=name)
    axes.legend(frameon=False, fontsize=9)


def _diffusion(part: Any, image: Array, spreads: Array) -> None:
    """Draw the contrast during the steps, and the last image."""
    axes = _axes(part, "Compiled loop: blurred digits", "step", "contrast")
    axes.plot(spreads, color=_BENIGN)
    inset = axes.inset_axes((0.52, 0.45, 0.46, 0.52))
    inset.imshow(image, cmap="gray_r")
    inset.set(xticks=(), yticks=())


def _smoothed(part: Any, image: Array, history: Array) -> None:
    """Draw how the sparse solver converges, and the smooth image."""
    axes = _axes(part, "Sparse solve: convergence", "", "")
    convergence(history, ax=axes)
    axes.set_xlabel("step of conjugate gradients", color=_INK)
    inset = axes.inset_axes((0.52, 0.45, 0.46, 0.52))
    inset.imshow(image, cmap="gray_r")
    inset.set(xticks=(), yticks=())


def _row_products(part: Any, products: Array) -> None:
    """Draw how the rows of the digits go together."""
    axes = _axes(part, "Named axes: rows of digits", "row", "other row")
    limit = np.max(np.abs(products))
    image = axes.imshow(products, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    axes.spines[:].set_visible(False)
    part.colorbar(image, ax=axes, label="covariance")
