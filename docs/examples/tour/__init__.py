"""`xpand tour`: real work on real data, from one source file, on every installed library."""

import difflib
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Final

from xpand import namespace
from xpand.typing import Array, DType, Namespace
from xpand_extensions.cli._info import progress
from xpand_extensions.cli._libraries import Library, UsageError, find, known_names
from xpand_extensions.convert import to_numpy

from .results import TASKS, Column, Data, Result, Task

_SECONDS_PER_TASK: Final = 1.0
"""Where a task has been timed for so long, it is timed no more."""
_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC", "DASK_NUM_WORKERS")
"""The variables from which BLAS, PyTorch, JAX and Dask read their numbers of threads, when they are imported."""


def tour(
    *, libraries: Sequence[str] | None, repeats: int, as_json: bool, picture: Path | None, threads: int = 1
) -> int:
    """Run the tour and write its report.

    Args:
        libraries: The names of the libraries; None for all that are installed.
        repeats: How often each task is timed.
        as_json: Print JSON, not a table.
        picture: Where to draw the results; None for no picture.
        threads: The number of threads that each library may use.

    Returns:
        The exit code: 1 where a library is broken, failed a task, or differs from NumPy by more than rounding.

    Raises:
        UsageError: A library that was asked for can't be used, scikit-learn or matplotlib is missing, or the picture
            can't be saved.
    """
    from .report import write_report

    os.environ.setdefault("JAX_ENABLE_X64", "1")  # without it, JAX has no 64-bit types
    with _limited_to(threads):
        _check_requirements(picture)
        found, columns = _run(libraries, repeats, picture)
    absent = [library for library in found if library.status != "ready"]
    write_report(columns, absent, repeats=repeats, as_json=as_json, picture=picture, threads=threads)
    broken = any(library.status == "broken" for library in absent)
    return int(broken or not all(column.agrees(result) for column in columns for result in column.results))


@contextmanager
def _limited_to(threads: int) -> Iterator[None]:
    """Let libraries that are imported in this block use so many threads.

    With all cores, times on a busy machine are those of waiting for a core.
    """
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _run(libraries: Sequence[str] | None, repeats: int, picture: Path | None) -> tuple[list[Library], list[Column]]:
    """Import the libraries, run the tasks, and save the picture."""
    names = known_names() if libraries is None else list(dict.fromkeys(libraries))
    # A step for each import and each task; one for the data and their reference, one for the picture.
    with progress(len(names) * (1 + len(TASKS)) + 2) as step:
        found = []
        for name in names:
            step(f"import {name}")
            found.append(_find_requested(name) if libraries is not None else find(name))
        columns = run_tasks([library for library in found if library.status == "ready"], repeats, step)
        if picture is not None:
            from .picture import draw

            step(f"draw {picture}")
            _save(draw(columns[0]), picture)
    return found, columns


def _check_requirements(picture: Path | None) -> None:
    needed = {"sklearn": "scikit-learn, for its data"}
    if picture is not None:
        needed["matplotlib"] = "matplotlib, to draw the picture (or give --no-picture)"
    missing = [what for module, what in needed.items() if find_spec(module) is None]
    if missing:
        raise UsageError(f"needs {' and '.join(missing)}; `pip install 'xpand[tour]'` adds them")
    if picture is not None and not picture.absolute().parent.is_dir():
        raise UsageError(f"--output: there is no folder {picture.parent}; make it first, or name another file")
    if picture is not None:
        from matplotlib.backend_bases import FigureCanvasBase

        formats = FigureCanvasBase.get_supported_filetypes()
        if picture.suffix[1:].lower() not in formats:
            raise UsageError(f"--output: the ending of {picture} must be one of {', '.join(sorted(formats))}")


def _find_requested(name: str) -> Library:
    """Find a library that the user names, which must be there."""
    try:
        library = find(name)
    except ValueError:
        close = difflib.get_close_matches(name, known_names(), n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UsageError(
            f"--library: {name!r} is no known array library; {hint}known are {', '.join(known_names())}"
        ) from None
    if library.status == "missing":
        raise UsageError(f"--library: {name} is not installed; `{library.how_to_add}` adds it")
    if library.status == "broken":
        raise UsageError(f"--library: {name} is installed and can't be used: {library.error}")
    return library


def _save(figure: object, path: Path) -> None:
    try:
        figure.savefig(path)  # type: ignore[attr-defined]
    except (OSError, ValueError) as error:  # a format that matplotlib doesn't know is a ValueError
        raise UsageError(f"--output: the picture can't be saved as {path}: {error}") from error


def load_data() -> dict[str, Array]:
    """Load the data that scikit-learn ships, as NumPy arrays of 64-bit floats."""
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

    np = namespace("numpy")
    digits, cancer, diabetes = load_digits(), load_breast_cancer(), load_diabetes(scaled=False)
    images = digits.images
    data = {
        "digits": digits.data / 16,
        # The first thirty images are the digits 0 to 9, three times. A single image would not do to start with: others
        # are exactly as far from one as from the next, and which is nearer then depends on the device.
        "start": np.mean(np.reshape(digits.data[:30] / 16, (3, 10, -1)), axis=0),
        "images": images / 16,
        # Sixteen images on a sheet of four by four.
        "sheet": np.reshape(np.permute_dims(np.reshape(images[:16] / 16, (4, 4, 8, 8)), (0, 2, 1, 3)), (32, 32)),
        "weights": np.linspace(0.1, 0.4, cancer.data.shape[1]),
        "left": np.reshape(images[:, :, :-1], (-1,)),
        "right": np.reshape(images[:, :, 1:], (-1,)),
        "cancer": cancer.data,
        "malignant": cancer.target == 0,
        "diabetes": diabetes.data,
        "progression": diabetes.target,
        "penalties": 10.0 ** np.linspace(-2, 5, 60),
    }
    return {name: np.asarray(values, dtype=np.float64) for name, values in data.items()}


def run_tasks(libraries: Sequence[Library], repeats: int, step: Callable[[str], None]) -> list[Column]:
    """Run all tasks on all libraries, each compared with NumPy in 64-bit floats."""
    step("load data and compute the reference")
    data = load_data()
    reference = [task.run(data) for task in TASKS]
    return [_run_library(library, data, reference, repeats, step) for library in libraries]


def _run_library(
    library: Library, data: Data, reference: Sequence[tuple[Array, ...]], repeats: int, step: Callable[[str], None]
) -> Column:
    assert library.xp is not None
    dtype, converted = _convert(library.xp, data)
    results = []
    for task, expected in zip(TASKS, reference, strict=True):
        step(f"{library.name}: {task.name}")
        results.append(_run_task(task, converted, expected, repeats))
    return Column(library, dtype, tuple(results))


def _convert(xp: Namespace, data: Data) -> tuple[str, Data]:
    """Hand the data to a library, in the widest floating-point type that it has."""
    floats: Mapping[str, DType] = xp.__array_namespace_info__().dtypes(kind="real floating")
    name = "float64" if "float64" in floats else "float32"
    return name, {key: xp.asarray(values, dtype=floats[name]) for key, values in data.items()}


def _run_task(task: Task, data: Data, expected: Sequence[Array], repeats: int) -> Result:
    """Run a task once to warm up, then time it."""
    try:
        outputs = tuple(to_numpy(x) for x in task.run(data))
        seconds = _shortest_time(task, data, repeats)
        difference = max(_difference(x, y) for x, y in zip(outputs, expected, strict=True))
    except Exception as error:  # one library's failure is a cell of the table; the others go on
        return Result(error=f"{type(error).__name__}: {error}")
    return Result(seconds, difference, outputs)


def _shortest_time(task: Task, data: Data, repeats: int) -> float:
    """Time a task up to `repeats` times: what takes longer than the time allowed is timed once."""
    times: list[float] = []
    while len(times) < repeats and sum(times) < _SECONDS_PER_TASK:
        times.append(_time(task, data))
    return min(times)


def _time(task: Task, data: Data) -> float:
    start = perf_counter()
    for x in task.run(data):
        to_numpy(x)  # the results are small; to have them here is to have them computed, on any library and device
    return perf_counter() - start


def _difference(actual: Array, expected: Array) -> float:
    """Measure the largest difference of two NumPy arrays, in units of the largest expected value; NaN is infinite."""
    np = namespace("numpy")
    if actual.shape != expected.shape:
        raise ValueError(f"a result of shape {actual.shape}, where NumPy's has {expected.shape}")
    scale = float(np.max(np.abs(expected)))
    largest = float(np.max(np.abs(np.astype(actual, np.float64) - expected))) / scale
    return math.inf if math.isnan(largest) else largest
