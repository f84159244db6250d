"""Progress of long computations: a bar in a terminal, lines in a log file, or calls of a function.

Solvers, optimizers and loops have an argument `progress`: True shows their progress, and a function is called with a
`Progress` after each step. `reporting` does the same for all calls in a block, including computations of Dask arrays.

True writes to the standard error: a bar in a terminal or a notebook (by rich, of the extra `cli`), a line every few
seconds in a file, and nothing in a pipe. The environment variable `XPAND_PROGRESS` overrides this: "bar", "lines" or
"off".

Only the outermost call reports: a minimization of a function that solves linear systems shows one bar. Within compiled
functions, each step calls the host, like `debug.callback`, which costs some microseconds. Such a program is compiled
separately. Its reports may come after the call has returned, and a terminal shows lines instead of a bar. Functions
compiled by `jit` report, those compiled by `torch.compile` don't. Under `vmap`, each lane reports. Lazy arrays of Dask
report when they are computed within `reporting`.
"""

import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from xpand import array_namespace, is_concrete
from xpand.extend import Array, Namespace, checks, describe, imported_libraries, trace_instead

from . import debug
from ._dispatch import pluggable
from ._lazy import is_lazy
from ._optional import import_if_usable

__all__ = ["Progress", "Report", "reporting", "tracked"]
__dir__ = __all__.copy


class Progress(NamedTuple):
    """The state of a computation after a step."""

    name: str
    """The function and its method: "solve: cg"."""
    step: int
    """The number of steps taken; the largest one of a batch."""
    total: int | None
    """The maximum number of steps; None if there is none."""
    value: float | None
    """The residual or the objective value, the largest one of a batch; None if there is none."""
    label: str
    """The name of the value: "residual" or "objective"."""
    seconds: float
    """The time since the start."""
    finished: bool
    """Whether this is the last report. Compiled functions don't report their end."""

    def __str__(self) -> str:
        """Write one line."""
        count = f"{self.step}" if self.total is None else f"{self.step} of {self.total}"
        value = "" if self.value is None else f", {self.label} {self.value:.3g}"
        return f"{self.name}: {count}{value}, {self.seconds:.1f} s" + (", finished" if self.finished else "")


class Report(Protocol):
    """The function that a computation calls after each step."""

    def __call__(self, step: int | Array, value: float | Array | None = None, /) -> None:
        """Report the number of steps and a value: numbers, or arrays for a batch, which may be traced."""
        ...


To: TypeAlias = bool | Callable[[Progress], object]
"""The argument `progress`: True shows the progress, False doesn't, and a function is called with it."""

_TO: Final = ContextVar[To]("progress", default=False)
_CURRENT: Final = ContextVar["_Tracked | None"]("report", default=None)
_SECONDS_PER_LINE: Final = 2.0


@contextmanager
def reporting(to: To = True, /) -> Iterator[None]:
    """Report the progress of solvers, optimizers and computations of Dask arrays in a `with` block.

    Loops of `control_flow` report only if the argument `progress` is given to them, because many functions use loops.
    Dask's local schedulers report; `distributed` has its own progress bar.

    Args:
        to: True shows the progress; a function is called with a `Progress` after each step.

    >>> import numpy as np
    >>> from xpand_extensions.linear_solve import solve
    >>> seen = []
    >>> with reporting(seen.append):
    ...     x = solve(np.diag([1.0, 2.0]), np.asarray([1.0, 1.0]), method="cg").x
    >>> [(each.name, each.step) for each in seen]
    [('solve: cg', 1), ('solve: cg', 2), ('solve: cg', 2)]
    """
    token = _TO.set(check("reporting", to))
    try:
        with ExitStack() as stack:
            if to is not False:
                for computes in {computing.native_for(name) for name in imported_libraries()}:
                    stack.enter_context(computes())
            yield
    finally:
        _TO.reset(token)


@contextmanager
def tracked(name: str, total: int | None = None, label: str = "", *, progress: To = False) -> Iterator[Report | None]:
    """Track your own computation. Calls within it that would report are silent.

    Args:
        name: The name to show.
        total: The number of steps, if known.
        label: The name of the reported values.
        progress: The treatment of reports. False: as the surrounding `reporting` says, if any.

    Yields: The function to call after each step, or None if nothing is reported.

    >>> with tracked("count", 2, progress=lambda each: print(each.step, each.finished)) as report:
    ...     for i in range(2):
    ...         report(i + 1)
    1 False
    2 False
    2 True
    """
    to = _TO.get() if check(name, progress) is False else progress
    report = None if to is False else _Tracked(name, total, label, _Shown() if to is True else to)
    if report is None and _CURRENT.get() is None:
        yield None
        return
    tokens = _TO.set(False), _CURRENT.set(report)
    try:
        yield report
    finally:
        _TO.reset(tokens[0])
        _CURRENT.reset(tokens[1])
        if report is not None:
            report.finish()


def check(function: str, to: Any) -> To:
    """Check the argument `progress` of a function, which is False, True or a function."""
    if not (isinstance(to, bool) or callable(to)):
        raise TypeError(f"{function}: progress must be True, False or a function of a Progress, got {describe(to)}")
    return to


def is_silent(to: Any) -> bool:
    """Return whether a call with this `progress` reports nothing, and no surrounding call reports."""
    return to is False and _TO.get() is False and _CURRENT.get() is None


def current(function: str) -> Report | None:
    """Return the function to which the current call of a facade reports; None if it doesn't report.

    The name distinguishes the call from calls for its derivatives: the gradient of a minimization's solution calls
    solvers.
    """
    report = _CURRENT.get()
    return report if report is not None and report.last.name.partition(":")[0] == function else None


def emit(report: Report | None, step: Any, value: Any = None) -> None:
    """Report steps and values, directly or from within a compiled program.

    Reports don't compute lazy arrays. Empty batches have nothing to report.
    """
    arrays = [x for x in (step, value) if checks.is_array(x)]
    if report is None or any(0 in x.shape for x in arrays):
        return
    if all(map(is_concrete, arrays)):
        report(step, value)
    elif not any(map(is_lazy, arrays)):
        debug.callback(report, step, value)


# torch.compile can't trace context variables, so functions that users compile have no reports.
trace_instead(tracked, lambda name, total=None, label="", *, progress=False: nullcontext())
trace_instead(current, lambda function: None)


@pluggable
def computing(*, xp: Namespace | str | None = None) -> AbstractContextManager[None]:
    """Return a context in which computations of a library's lazy arrays are tracked."""
    return computing.native_for(xp)(xp=xp)


class _Tracked:
    """A computation that reports its steps, perhaps from another thread."""

    def __init__(self, name: str, total: int | None, label: str, to: Callable[[Progress], object]) -> None:
        self.last = Progress(name, 0, total, None, label, 0.0, False)
        self.to, self.start, self.lock = to, time.monotonic(), threading.Lock()

    def __call__(self, step: int | Array, value: float | Array | None = None, /) -> None:
        number, size = int(_largest(step)), None if value is None else float(_largest(value))
        with self.lock:
            if number != self.last.step:
                self.last = self.last._replace(step=number, value=size, seconds=time.monotonic() - self.start)
                self.to(self.last)

    def finish(self) -> None:
        """Report the end, if there has been a step."""
        with self.lock:
            if self.last.step:
                self.to(self.last._replace(seconds=time.monotonic() - self.start, finished=True))
            if isinstance(self.to, _Shown):
                self.to.end()


def _largest(x: Any) -> Any:
    return array_namespace(x).max(x) if checks.is_array(x) and x.ndim else x


class _Shown:
    """Progress on the standard error."""

    def __init__(self) -> None:
        self.form, self.written = _form(), 0.0
        self.bar: Any = None
        self.task: Any = None

    def __call__(self, progress: Progress) -> None:
        """Move the bar, or write a line if the last line is some seconds old."""
        rich = import_if_usable("rich.progress") if self.form == "bar" else None
        if rich is not None:
            self._draw(rich, progress)
        elif self.form != "off" and (progress.finished or progress.seconds >= self.written + _SECONDS_PER_LINE):
            self.written = progress.seconds
            sys.stderr.write(f"{progress}\n")
            sys.stderr.flush()

    def end(self) -> None:
        """Show later reports of compiled programs as lines, because nothing would end their bar."""
        if self.form == "bar":
            self.form = "lines"

    def _draw(self, rich: Any, progress: Progress) -> None:
        if self.bar is None:
            columns = [rich.TextColumn("{task.description}", markup=False), rich.BarColumn()]
            columns += [rich.MofNCompleteColumn(), rich.TimeElapsedColumn()]
            console = import_if_usable("rich.console").Console(file=sys.stderr)  # type: ignore[union-attr]
            self.bar = rich.Progress(*columns, console=console)
            self.task = self.bar.add_task(progress.name, total=progress.total)
            self.bar.start()
        value = "" if progress.value is None else f", {progress.label} {progress.value:.3g}"
        # A computation that converges early ends with a full bar.
        total = progress.step if progress.finished else progress.total
        self.bar.update(self.task, completed=progress.step, total=total, description=progress.name + value)
        if progress.finished:
            self.bar.stop()
            self.bar = None


def _form() -> str:
    """Choose how to show progress: "bar", "lines" or "off"."""
    wanted = os.environ.get("XPAND_PROGRESS", "")
    if wanted:
        return checks.choice("XPAND_PROGRESS", "the environment variable", wanted, ("bar", "lines", "off"))
    if sys.stderr.isatty():
        return "bar"
    try:
        is_file = stat.S_ISREG(os.fstat(sys.stderr.fileno()).st_mode)
    except (OSError, ValueError):  # no file: a notebook, or a test that captures output
        return "bar" if "ipykernel" in sys.modules else "lines"
    return "lines" if is_file else "off"
