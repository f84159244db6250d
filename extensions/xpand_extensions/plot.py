"""Plots of matrices, iterations, programs, profiles and samples, by matplotlib.

Each function draws on the axes `ax`, or on a new figure, and returns the axes. `axes.figure.savefig("p.png")` saves a
picture. `graph` returns SVG and needs no other package. Functions accept arrays of all libraries. matplotlib is in the
extra `plot`.

>>> import numpy as np
>>> from xpand_extensions.linear_solve import solve
>>> found = solve(np.diag([1.0, 2.0, 3.0]), np.ones(3), method="cg", record_history=True)
>>> axes = convergence(found)
>>> axes.get_ylabel()
'residual'
"""

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

from xpand import is_concrete, namespace
from xpand.extend import Array, LibraryNamespace, Namespace, checks, describe

from ._dispatch import pluggable
from ._drawing import SVG, Drawing, drawn
from ._optional import import_optional
from .convert import to_numpy
from .jit import make_graph
from .jit._statics import name_of
from .linear_solve import SolveResult
from .optimize import History, OptimizeResult
from .profile import Entry, Profile
from .sparse import Sparse, tocoo
from .sparse._convert import any_sparse
from .tracing import Graph

__all__ = ["SVG", "convergence", "graph", "memory", "samples", "sparsity", "timeline"]
__dir__ = __all__.copy

Axes: TypeAlias = Any
"""Axes of matplotlib."""

_MOST_CELLS: Final = 512
"""The number of rows and columns of pixels for large matrices."""
_MOST_INTEGERS: Final = 10_000
"""The largest range in which the density is drawn at all integers, not only at the samples."""
_MOST_NAMES: Final = 8
"""The largest number of lines for which each gets a name."""
_KINDS: Final = {
    "namespace": "#2a9fc9",
    "extension": "#e0842c",
    "call": "#5aa469",
    "compiled": "#8a7fd1",
    "compilation": "#c25b8e",
}
"""The colours of the kinds of calls."""


def sparsity(a: Any, /, *, ax: Axes = None) -> Axes:
    """Draw the sparsity pattern of a matrix.

    Args:
        a: A matrix: a container of `sparse`, a library's own sparse matrix, or a dense array. Of a dense array, the
            nonzero elements are drawn. For matrices larger than 512 by 512, each pixel shows the fraction of entries in
            its block.
        ax: Where to draw; by default on a new figure.

    Raises:
        TypeError: No matrix.
        ValueError: Not two axes, or values that aren't concrete.

    Source: `matplotlib.pyplot.spy`.

    >>> import numpy as np
    >>> from xpand import sparse
    >>> axes = sparsity(sparse.eye(3))
    >>> axes.get_title()
    '3 × 3, 3 entries'
    """
    container = any_sparse("sparsity", "a", a)
    matrix = container if isinstance(container, Sparse) else a
    if len(matrix.shape) != 2:
        raise ValueError(f"sparsity: a must be a matrix, got the shape {tuple(matrix.shape)}; draw one of a batch")
    np: LibraryNamespace = namespace("numpy")
    if isinstance(matrix, Sparse):
        rows, columns = (_on_host("sparsity", "a", x) for x in tocoo(matrix).coords)
    else:
        rows, columns = np.nonzero(_on_host("sparsity", "a", matrix))
    cells = [min(size, _MOST_CELLS) for size in matrix.shape]
    # In 64 bits: products with indices of a large matrix overflow 32 bits.
    place = [
        np.astype(x, np.int64) * cell // max(size, 1) for x, cell, size in zip((rows, columns), cells, matrix.shape)
    ]
    counts = np.zeros(cells[0] * cells[1])
    found, amounts = np.unique_counts(place[0] * cells[1] + place[1])
    counts[found] = amounts
    ax = _axes("sparsity", ax)
    if 0 not in matrix.shape:  # matplotlib warns of empty pictures
        shares = np.reshape(counts, tuple(cells)) / max(int(np.max(counts)), 1)
        extent = (-0.5, matrix.shape[1] - 0.5, matrix.shape[0] - 0.5, -0.5)
        ax.imshow(shares, cmap="Blues", vmin=0, vmax=1, interpolation="nearest", extent=extent)
    ax.set_title(f"{matrix.shape[0]} × {matrix.shape[1]}, {rows.shape[0]} entries")
    ax.set(xlabel="column", ylabel="row")
    return ax


def convergence(
    result: Any,
    /,
    *,
    quantity: Literal["optimality", "objective"] = "optimality",
    label: str | None = None,
    ax: Axes = None,
) -> Axes:
    """Draw the convergence of a solver or an optimizer, with a line for each system or problem of a batch.

    Args:
        result: The result of a function called with `record_history=True`, or a history.
        quantity: For optimizers: "optimality", the quantity compared with the tolerance, or "objective".
        label: The name of the line in the legend.
        ax: Where to draw; by default on a new figure. Several calls may draw on the same axes.

    Raises:
        TypeError: No result.
        ValueError: A result without history, a history without steps, an unknown quantity, or values that aren't
            concrete.

    >>> import numpy as np
    >>> from xpand_extensions.optimize import minimize
    >>> found = minimize(lambda x: (x**2).sum(), np.ones(2), record_history=True)
    >>> axes = convergence(found, quantity="objective")
    >>> axes.get_xlabel(), axes.get_ylabel(), len(axes.lines)
    ('iteration', 'objective', 1)
    """
    checks.choice("convergence", "quantity", quantity, ("optimality", "objective"))
    history = result if isinstance(result, History) or checks.is_array(result) else getattr(result, "history", result)
    is_missing = history is None or (isinstance(history, tuple) and not history)
    if is_missing and isinstance(result, (SolveResult, OptimizeResult)):
        raise ValueError(
            "convergence: the result has no history; call the solver with `record_history=True`, and linear solvers "
            "with an iterative method"
        )
    name = quantity if isinstance(history, History) else "residual"
    values = getattr(history, quantity) if isinstance(history, History) else history
    if not checks.is_array(values):
        raise TypeError(
            f"convergence: result must be a result of linear_solve.solve or of optimize, or a history, got "
            f"{describe(result)}"
        )
    host = _on_host("convergence", "result", values)
    if not host.ndim or not host.shape[-1]:
        raise ValueError(
            f"convergence: a history has its steps, at least one, along the last axis, got the shape {host.shape}"
        )
    np: LibraryNamespace = namespace("numpy")
    ax = _axes("convergence", ax)
    lines = np.reshape(host, (-1, host.shape[-1]))
    for number in range(lines.shape[0]):
        several = lines.shape[0] > 1
        text = f"{label or 'problem'} {number}" if several and lines.shape[0] <= _MOST_NAMES else label
        ax.plot(lines[number, :], marker="." if host.shape[-1] < 50 else "", label=text)
    if bool(np.all(~(host < 0))) and bool(np.any(host > 0)):
        ax.set_yscale("log")
    ax.set(xlabel="iteration", ylabel=name)
    if label is not None or 1 < lines.shape[0] <= _MOST_NAMES:
        ax.legend()
    return ax


def graph(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> SVG:
    """Draw the program of a compiled function, as SVG.

    Args:
        function: As in `jit`. The program is that of `jit.make_graph`: of JAX or PyTorch, for other libraries of xpand.
        *args: Arrays with the shapes to trace for. Their values aren't used.
        **kwargs: Keyword arguments, likewise.

    Returns:
        The text of an SVG file, with a method `save`. Notebooks show it. Operations lie below their inputs; the bodies
        of loops and branches are drawn below the program.

    Raises:
        TypeError, ValueError: As for `jit.make_graph`.

    >>> import numpy as np
    >>> picture = graph(lambda x: (x * x).sum() + 1, np.ones(3))
    >>> picture[:4], "multiply" in picture
    ('<svg', True)
    """
    if not callable(function):
        raise TypeError(f"graph: takes a function and its arguments, got {describe(function)}")
    made = make_graph(function)(*args, **kwargs)
    library = "" if isinstance(made, Graph) else type(made).__module__.partition(".")[0]
    return drawn(drawing.native_for(library or "numpy")(made, name_of(function)))


@pluggable
def drawing(made: Any, title: str, /, *, xp: Namespace | str | None = None) -> Drawing:
    """Return the nodes of a library's own graph."""
    return drawing.native_for(xp)(made, title)


def timeline(profile: Profile, /, *, ax: Axes = None) -> Axes:
    """Draw the calls of a profile over time. Inner calls and further threads are drawn above.

    Args:
        profile: A finished profile.
        ax: Where to draw; by default on a new figure.

    Raises:
        TypeError: No profile.
        RuntimeError: The profile has not ended.

    >>> import numpy as np
    >>> from xpand import profile, special
    >>> with profile() as p:
    ...     y = special.expit(np.ones(3))
    >>> axes = timeline(p)
    >>> axes.get_xlabel(), [text.get_text() for text in axes.get_legend().get_texts()][0]
    ('seconds', 'extension')
    """
    _check_profile("timeline", profile)
    rows: list[tuple[Entry, int]] = []

    def add(entry: Entry, level: int) -> None:
        rows.append((entry, level))
        for child in entry.children:
            add(child, level + 1)

    ends: list[float] = []
    for entry in profile.entries:  # calls of other threads overlap, and get their own rows
        free = next((i for i, end in enumerate(ends) if end <= entry.start), len(ends))
        ends[free : free + 1] = [entry.stop]
        add(entry, 10_000 * free)
    levels = {level: number for number, level in enumerate(sorted({level for _, level in rows}))}
    ax = _axes("timeline", ax)
    for kind, colour in _KINDS.items():
        found = [(entry, levels[level]) for entry, level in rows if entry.kind == kind]
        if found:
            starts, widths = [e.start for e, _ in found], [e.duration for e, _ in found]
            ax.barh([y for _, y in found], widths, left=starts, height=0.9, color=colour, alpha=0.8, label=kind)
    for entry, level in rows:
        if entry.duration > 0.08 * profile.duration:
            ax.text(entry.start, levels[level], f" {entry.name}", va="center", fontsize=8, clip_on=True)
    ax.set(xlabel="seconds", yticks=[], xlim=(0.0, max(profile.duration, 1e-9)))
    if rows:
        ax.legend()
    return ax


def memory(profile: Profile, /, *, ax: Axes = None) -> Axes:
    """Draw the memory during a profile: the allocations of its calls, and the peak of each call.

    Args:
        profile: A finished profile with `memory=True`.
        ax: Where to draw; by default on a new figure.

    Raises:
        TypeError: No profile.
        ValueError: A profile that didn't measure memory.
        RuntimeError: The profile has not ended.

    >>> import numpy as np
    >>> from xpand import profile
    >>> from xpand_extensions.scatter import segment_sum
    >>> with profile(memory=True) as p:
    ...     y = segment_sum(np.ones(1000), np.zeros(1000, dtype=np.int64), num_segments=5)
    >>> memory(p).get_ylabel()
    'bytes above the start'
    """
    _check_profile("memory", profile)
    if profile.memory is None:
        raise ValueError("memory: the profile has not measured memory; record it with `profile(memory=True)`")
    times, sizes, peaks, size = [0.0], [0], [0], 0
    for entry in profile.entries:
        assert entry.memory is not None, "the profile measures it"
        times += [entry.start, entry.stop]
        peaks += [size + entry.memory.peak] * 2
        sizes += [size, size + entry.memory.allocated]
        size += entry.memory.allocated
    ax = _axes("memory", ax)
    ax.fill_between(times, peaks, step="pre", alpha=0.3, label="peak of the call")
    ax.plot(times, sizes, label="allocated")
    ax.set(xlabel="seconds", ylabel="bytes above the start")
    ax.legend()
    return ax


def samples(
    x: Array, density: Callable[[Array], Array] | None = None, /, *, bins: Any = "auto", ax: Axes = None
) -> Axes:
    """Draw samples of a random variable against their density: a histogram of area one, or frequencies of integers.

    Args:
        x: The samples: real numbers or integers, an array of any shape.
        density: The density, or for integers the probability: takes an array of the samples' library and returns its
            values.
        bins: For real numbers: the bins, as in matplotlib.
        ax: Where to draw; by default on a new figure.

    Raises:
        TypeError: No array of real numbers, or no function.
        ValueError: No samples, or values that aren't finite or not concrete.

    >>> import numpy as np
    >>> from xpand import random
    >>> x = random.normal(random.key(0, xp=np), 1000)
    >>> axes = samples(x, lambda t: np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi))
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['1000 samples', 'density']
    """
    xp = checks.namespace_of("samples", x=x)
    if not xp.isdtype(x.dtype, ("integral", "real floating")):
        raise TypeError(f"samples: x must be real numbers or integers, got {describe(x)} of {x.dtype}")
    if density is not None:
        checks.function("samples", density, "density")
    host = _on_host("samples", "x", x)
    if not host.size:
        raise ValueError(f"samples: x must have samples, got the shape {tuple(x.shape)}")
    np: LibraryNamespace = namespace("numpy")
    flat = np.reshape(host, (-1,))
    is_integer = xp.isdtype(x.dtype, "integral")
    if not is_integer and not np.all(np.isfinite(flat)):
        raise ValueError("samples: x must be finite; draw `x[xp.isfinite(x)]`")
    ax = _axes("samples", ax)
    low, high = np.min(flat), np.max(flat)
    name = f"{flat.shape[0]} samples"
    if is_integer:
        values, counts = np.unique_counts(flat)
        ax.bar(values, counts / flat.shape[0], alpha=0.5, label=name)
        is_narrow = int(high) - int(low) < _MOST_INTEGERS
        points, style = np.arange(int(low), int(high) + 1) if is_narrow else values, "o"
    else:
        ax.hist(flat, bins=bins, density=True, alpha=0.5, label=name)
        points, style = np.linspace(float(low), float(high), 300), "-"
    if density is not None:
        found = density(xp.asarray(points, dtype=x.dtype, device=checks.device_of(x)))
        ax.plot(points, _on_host("samples", "density", found), style, label="density")
    ax.set(xlabel="x", ylabel="probability" if style == "o" else "density")
    ax.legend()
    return ax


def _axes(function: str, ax: Axes) -> Axes:
    """Return the given axes, or those of a new figure."""
    if ax is None:
        return import_optional("matplotlib.pyplot", f"plot.{function}").subplots(layout="constrained")[1]
    if not callable(getattr(ax, "plot", None)):
        raise TypeError(f"{function}: ax must be axes of matplotlib, got {describe(ax)}")
    return ax


def _on_host(function: str, name: str, x: Array) -> Any:
    """Return values as a NumPy array."""
    if not is_concrete(x):
        raise ValueError(
            f"{function}: {name} has no values, since it is lazy or traced; compute it first, or draw outside of `jit`"
        )
    return to_numpy(x)


def _check_profile(function: str, profile: Any) -> None:
    if not isinstance(profile, Profile):
        raise TypeError(f"{function}: takes a finished profile, got {describe(profile)}")
