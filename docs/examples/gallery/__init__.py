"""The programs of the gallery: each is one source for several libraries, with a picture.

`python -m gallery kalman torch`, in `docs/examples`, runs one on a library and draws its picture.

A program has `compute(xp)`, which returns arrays of the library; `summary` and `draw`, which show these as NumPy
arrays; `LIBRARIES`, on which the tests run it; and `SMALL`, the sizes that the tests use.
"""

import importlib
import io
import re
from collections.abc import Callable
from typing import Any, Final, Protocol

import matplotlib
import numpy as np
from cycler import cycler
from matplotlib.figure import Figure

from xpand import namespace
from xpand.extend import Array, Namespace
from xpand_extensions.convert import to_numpy

Results = dict[str, Array]
Values = dict[str, np.ndarray[Any, Any]]
"""The results as arrays of NumPy, which Matplotlib draws."""

PROGRAMS: Final = (
    "waves",
    "influence",
    "gaussian_process",
    "poisson",
    "heat",
    "hamiltonian",
    "predators",
    "registration",
    "attention",
    "graph_diffusion",
    "robust_regression",
    "kalman",
    "kmeans",
    "onnx_gradient",
    "network",
    "climate_index",
)

_LIGHT: Final = {"text": "#333333", "faint": "#9aa3a8"}
_DARK: Final = {"text": "#d5dde2", "faint": "#6b7a83"}
_COLOURS: Final = ("#2a9fc9", "#e0842c", "#5aa469", "#c25b8e", "#8a7fd1")


class Program(Protocol):
    """A module of the gallery."""

    __doc__: str
    LIBRARIES: tuple[str, ...]
    SMALL: dict[str, int]

    def compute(self, xp: Namespace, /, **sizes: int) -> Results:
        """Run the program with arrays of a library."""
        ...

    def summary(self, r: Values, /) -> str:
        """Return the result in one sentence."""
        ...

    def draw(self, figure: Figure, r: Values, /) -> None:
        """Draw the result."""
        ...


def load(name: str) -> Program:
    """Import a program."""
    module: Any = importlib.import_module(f"{__name__}.{name}")
    return module


def run(name: str, library: str) -> Values:
    """Run a program on a library; return its results as NumPy arrays."""
    results = load(name).compute(namespace(library))
    return {key: to_numpy(value) for key, value in results.items()}


def picture(name: str, results: Values, *, dark: bool = False) -> str:
    """Draw the picture of a program as SVG, for a light or a dark page."""
    return drawn(lambda figure: load(name).draw(figure, results), name, dark=dark)


def drawn(draw: Callable[[Figure], None], name: str, *, dark: bool) -> str:
    """Return what a function draws as SVG; its name makes the identifiers within reproducible."""
    colours = _DARK if dark else _LIGHT
    settings: dict[Any, Any] = {
        **dict.fromkeys(("text.color", "axes.labelcolor"), colours["text"]),
        **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), colours["faint"]),
        "axes.facecolor": "none",
        "axes.prop_cycle": cycler(color=_COLOURS),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlelocation": "left",
        "axes.titlesize": 10,
        "font.family": "sans-serif",
        "font.sans-serif": ["Helvetica", "Arial", "Liberation Sans", "DejaVu Sans"],
        "font.size": 9,
        "legend.frameon": False,
        "svg.fonttype": "none",
        "svg.hashsalt": name,
    }
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(7.2, 2.7), dpi=144, layout="constrained", facecolor="none")
        draw(figure)
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None}, bbox_inches="tight", pad_inches=0.05)
    # Without a size of its own, the picture takes the width that the page has.
    return re.sub(r'(<svg [^>]*?)width="[^"]*" height="[^"]*"', r"\1", file.getvalue(), count=1)
