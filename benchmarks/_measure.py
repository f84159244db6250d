"""Measures the times of calls, interleaved in short batches, takes the smallest of each, and checks the budget.

Times are wall-clock times, with one thread in each library. CPU time would exclude other processes, but counts the
threads of libraries such as JAX late or not at all. Other processes still disturb. So a batch lasts a tenth of a
millisecond, less than a scheduler's time slice, and the smallest time of many batches is taken. A row over its budget
is measured again for longer before it counts as missed.
"""

import gc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter
from timeit import Timer
from typing import Any, Final, Protocol

NOISE: Final = 0.03
"""The relative difference between two measurements of a call. It is added to the ratio of every budget."""
NOISE_SECONDS: Final = 3e-8
"""The same in seconds, for calls below a microsecond: memory layout and caches cause such differences."""

_BATCH: Final = 1e-4  # seconds
_LEAST_ROUNDS: Final = 4
_PATIENCE: Final = 3.0  # seconds; after these, fewer rounds are enough


class Timed(Protocol):
    """An operation that can be timed."""

    def time(self, number: int) -> float:
        """Run the operation `number` times; return the seconds taken."""
        ...


class Call:
    """A call of a function with fixed arguments. The time excludes the cost of a lambda around the call."""

    def __init__(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        self.function, self.args, self.kwargs = function, args, kwargs
        names = {f"a{i}": value for i, value in enumerate(args)} | {f"k_{key}": value for key, value in kwargs.items()}
        arguments = [f"a{i}" for i in range(len(args))] + [f"{key}=k_{key}" for key in kwargs]
        # The set-up makes the arguments local variables of the timed loop.
        setup = "; ".join(f"{name} = _values[{name!r}]" for name in ("f", *names))
        values = {"_values": {"f": function, **names}}
        self._timer = Timer(f"f({', '.join(arguments)})", setup, perf_counter, values)

    def __call__(self) -> Any:
        return self.function(*self.args, **self.kwargs)

    def time(self, number: int) -> float:
        return self._timer.timeit(number)

    def is_same_as(self, other: Timed) -> bool:
        """Return whether both run the same function on the same arguments. Their times would differ only by noise."""
        return (
            isinstance(other, Call)
            and self.function is other.function
            and len(self.args) == len(other.args)
            and all(mine is theirs for mine, theirs in zip(self.args, other.args))
            and self.kwargs.keys() == other.kwargs.keys()
            and all(self.kwargs[key] is other.kwargs[key] for key in self.kwargs)
        )


@dataclass(frozen=True)
class Budget:
    """The budget of a call: `ratio` times the reference, plus `extra` seconds, plus an allowance for noise."""

    ratio: float = 1.0
    extra: float = 0.0

    def allows(self, ours: float, reference: float) -> bool:
        noise = max(NOISE * self.ratio * reference, NOISE_SECONDS)
        return ours <= self.ratio * reference + self.extra + noise

    def __str__(self) -> str:
        extra = f"{self.extra * 1e6:g} µs" if self.extra < 1e-3 else f"{self.extra * 1e3:g} ms"
        return f"{self.ratio:g}×" if not self.extra else f"{self.ratio:g}× + {extra}"


def of_facade(library: str, ratio: float = 1.1) -> Budget:
    """Return the budget of a facade, which finds the plan of the call and the implementation in 2 µs, on JAX in 4."""
    return Budget(ratio, extra=4e-6 if library == "jax" else 2e-6)


@dataclass(frozen=True)
class Row:
    """One comparison: a call of xpand, its references (the fastest one counts), and its budget."""

    topic: str
    name: str
    ours: Timed
    references: Mapping[str, Timed]
    budget: Budget
    reason: str = ""
    """Why the budget can't be met, if that is known."""
    fault: str = ""
    """A fault that makes the row count as missed, regardless of its time."""
    unit: str = "s"
    """The unit of the measurement: seconds, or bytes (B)."""


@dataclass(frozen=True)
class Result:
    """The result of a row, in seconds or bytes per call."""

    topic: str
    name: str
    reference_name: str
    ours: float
    reference: float
    budget: Budget
    reason: str = ""
    fault: str = ""
    same: bool = False
    """Whether xpand's call is the reference itself. Then nothing is timed."""
    unit: str = "s"

    @property
    def ratio(self) -> float:
        return 1.0 if self.same or self.ours == inf else self.ours / self.reference

    @property
    def ok(self) -> bool:
        return not self.fault and (self.same or self.budget.allows(self.ours, self.reference))

    @property
    def excess(self) -> float:
        """The time divided by the budget: above one if the call exceeds its budget."""
        return 1.0 if self.same else self.ours / (self.budget.ratio * self.reference + self.budget.extra)

    def as_dict(self) -> dict[str, Any]:
        """Convert to the form of the JSON file: microseconds or megabytes, rounded to three digits."""
        figures: dict[str, Any] = {"row": self.name, "reference": self.reference_name, "budget": str(self.budget)}
        if self.same:
            return figures | {"same": True, "ratio": 1.0, "ok": self.ok}
        if self.ours < inf:
            name, factor = ("us", 1e6) if self.unit == "s" else ("mb", 1e-6)
            figures[f"ours_{name}"] = _three_digits(self.ours * factor)
            figures[f"reference_{name}"] = _three_digits(self.reference * factor)
        figures |= {"ratio": _three_digits(self.ratio), "ok": self.ok}
        return figures if self.ok else figures | {"note": self.note}

    @property
    def note(self) -> str:
        """Why the budget is missed, if it is."""
        return "" if self.ok else self.fault or self.reason or "no reason known"


def _three_digits(value: float) -> float:
    return float(f"{value:.3g}")


def measure(row: Row, seconds: float = 0.1, attempts: int = 3) -> Result:
    """Measure a row for about `seconds`. While it misses its budget, try up to `attempts` times, each twice as long."""
    result = Result(row.topic, row.name, next(iter(row.references)), inf, inf, row.budget, row.reason, row.fault)
    result = replace(result, unit=row.unit)
    for name, reference in row.references.items():
        if isinstance(row.ours, Call) and row.ours.is_same_as(reference):
            return replace(result, reference_name=name, same=True)
    try:
        calls = [finished(call) for call in (row.ours, *row.references.values())]
    except Exception as error:  # a broken function must not stop other rows
        return replace(result, fault=f"raises {type(error).__name__}: {error}")
    times = [inf] * len(calls)
    for attempt in range(attempts):
        try:
            again = smallest_times(calls, seconds * 2**attempt)
        except Exception as error:
            return replace(result, fault=f"raises {type(error).__name__}: {error}")
        times = [min(old, new) for old, new in zip(times, again)]
        fastest, name = min(zip(times[1:], row.references))
        result = replace(result, reference_name=name, ours=times[0], reference=fastest)
        if result.ok or row.fault or sum(times) > _PATIENCE / _LEAST_ROUNDS:
            break
    return result


_OTHER_THREADS: Final = 2e-5  # seconds: shorter calls compute nothing in other threads


def finished(call: Timed) -> Timed:
    """Return a call that includes the time of its result: the same call, or one that waits for the result.

    Some of JAX's kernels compute outside the program's threads, even if the program has one.
    """
    if not isinstance(call, Call):
        return call
    _wait(call())  # compilation
    start = perf_counter()
    result = call()
    returned = perf_counter()
    _wait(result)
    waited = perf_counter() - returned
    if waited < _OTHER_THREADS or waited < 0.1 * (returned - start):
        return call
    return Call(lambda *args, **kwargs: _wait(call.function(*args, **kwargs)), *call.args, **call.kwargs)


def _wait(result: Any) -> None:
    for part in result if isinstance(result, (tuple, list)) else (result,):
        if hasattr(part, "block_until_ready"):
            part.block_until_ready()


def smallest_times(calls: Sequence[Timed], seconds: float) -> list[float]:
    """Return the smallest time of each call among short, interleaved batches, which take about `seconds` in all."""
    numbers = [_batch_size(call) for call in calls]
    best = [inf] * len(calls)
    collecting = gc.isenabled()
    gc.disable()
    try:
        start, rounds = perf_counter(), 0
        end, latest = start + seconds, start + max(_PATIENCE, seconds)
        while not rounds or perf_counter() < end or (rounds < _LEAST_ROUNDS and perf_counter() < latest):
            for k in range(len(calls)):
                i = (k + rounds) % len(calls)  # each call takes its turn as the first, which finds other caches
                best[i] = min(best[i], calls[i].time(numbers[i]) / numbers[i])
            rounds += 1
    finally:
        if collecting:
            gc.enable()
    return best


def _batch_size(call: Timed) -> int:
    call.time(1)  # compilation, caches
    once = call.time(1)
    if once < 1000 * _BATCH:
        once = min(once, call.time(1), call.time(1))
    return max(1, int(_BATCH / max(once, 1e-8)))
