"""The tasks of the tour, and what a library made of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from xpand.typing import Array
from xpand_extensions.cli._libraries import Library

from . import tasks

Data: TypeAlias = Mapping[str, Array]

TOLERANCES: Final = {"float64": 1e-8, "float32": 1e-3}
"""The largest difference from NumPy in 64-bit floats that a library's data type excuses."""


@dataclass(frozen=True)
class Task:
    """One row of the table: a computation on one of the data sets."""

    name: str
    data: str
    run: Callable[[Data], tuple[Array, ...]]


TASKS: Final = (
    Task("standardise", "breast cancer", lambda d: (tasks.standardise(d["cancer"]),)),
    Task("PCA by SVD", "digits", lambda d: tasks.principal_components(d["digits"], count=2)),
    Task(
        "ridge regression",
        "diabetes, 60 penalties",
        lambda d: (tasks.ridge_path(tasks.standardise(d["diabetes"]), d["progression"], d["penalties"]),),
    ),
    Task(
        "logistic regression",
        "breast cancer, 8 Newton steps",
        lambda d: tasks.logistic_regression(tasks.standardise(d["cancer"]), d["malignant"], penalty=1.0, steps=8),
    ),
    # The groups are omitted: one image that lies between two centres would count as a difference of several.
    Task("k-means", "digits, 20 steps", lambda d: tasks.k_means(d["digits"], d["start"], steps=20)[:1]),
    Task(
        "2-d histogram by scatter",
        "digits, pairs of pixels",
        lambda d: (tasks.histogram_2d(d["left"], d["right"], bins=17, low=-0.5, high=16.5),),
    ),
    Task(
        "gradients by vmap",
        "breast cancer, one each",
        lambda d: (tasks.influences(tasks.standardise(d["cancer"]), d["malignant"], d["weights"]),),
    ),
    Task("compiled loop", "digits, 20 steps", lambda d: tasks.diffusion(d["sheet"], steps=20)),
    Task("sparse solve by CG", "digits, 1,024 pixels", lambda d: tasks.smoothed(d["sheet"], steps=6)),
    Task("named axes", "digits, pairs of rows", lambda d: (tasks.row_products(d["images"]),)),
)


@dataclass(frozen=True)
class Result:
    """The result of one task on one library."""

    seconds: float | None = None
    difference: float | None = None
    outputs: tuple[Array, ...] = ()
    """NumPy arrays."""
    error: str | None = None


@dataclass(frozen=True)
class Column:
    """One library's run of all tasks."""

    library: Library
    dtype: str
    results: tuple[Result, ...]

    @property
    def tolerance(self) -> float:
        """The largest difference from NumPy that passes for rounding."""
        return TOLERANCES[self.dtype]

    def agrees(self, result: Result) -> bool:
        """Return whether a result of this column is what NumPy gets."""
        return result.difference is not None and result.difference <= self.tolerance
