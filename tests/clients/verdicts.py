"""Judges one call of a client under each transformation: right, or where it stops."""

import linecache
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import numpy as np

import xpand
from xpand_extensions.autodiff import grad, jvp
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

Function = Callable[[Any], Any]
Verdict = str | dict[str, str]
"""`RIGHT`, or the reason of a wrong result, or where the call stops: the `file` of the client, the `code` there, the
type of the `error` and the beginning of its `message`."""

RIGHT: Final = "right"
TRANSFORMATIONS: Final = ("grad", "jvp", "jit", "vmap")
STEP: Final = 1e-6
TO_DIFFERENCES: Final = 2e-6
"""How near derivatives come to central differences of a step of 1e-6: rounding alone makes 1e-9 of what is about 1, and
`cluster.whiten` divides by a deviation of 1e-2, which makes 4e-7 of it. Relative to the largest derivative above 1."""
TO_VALUES: Final = 1e-10
"""Compiled and batched products add in another order, and solvers enlarge the difference."""


@dataclass(frozen=True)
class Call:
    """A call of a client's function, and the array at which it is differentiated, batched and compiled."""

    function: Function
    x: np.ndarray = field(default_factory=lambda: np.asarray([1.3, 0.45, 1.9, 0.8, 1.1, 0.62]))
    nearby: np.ndarray | None = None
    """The other array of a batch, and of the second call of the compiled function. By default, 1.05 x + 0.01."""
    read_only: bool = True
    """Whether the arrays can't be written. Some compiled functions refuse those."""
    wrong: Mapping[str, str] = field(default_factory=dict)
    """Why transformations give another result than the function, by their names. JAX's give the same."""


@dataclass(frozen=True)
class Client:
    """A package, and calls of its functions."""

    name: str
    distribution: str
    module: str
    """The modules of the package, of which an error names the last."""
    calls: Callable[[], Mapping[str, Call | Function]]
    """Imports the package, and returns the calls by their names."""
    about: str = ""
    """A sentence for the docs."""
    in_tests: bool = True
    """Whether the tests' dependencies have it. Otherwise `make clients` installs it."""

    def all_calls(self) -> dict[str, Call]:
        """Return the calls by their names."""
        return {name: call if isinstance(call, Call) else Call(call) for name, call in self.calls().items()}


def judge(client: Client) -> dict[str, dict[str, Verdict]]:
    """Judge all calls of a client."""
    return {name: verdicts(client.module, call) for name, call in client.all_calls().items()}


def verdicts(module: str, call: Call) -> dict[str, Verdict]:
    """Judge a call under each transformation."""
    x = np.array(call.x)
    nearby = x * 1.05 + 0.01 if call.nearby is None else np.array(call.nearby)
    x.flags.writeable = nearby.flags.writeable = not call.read_only
    function, loss = call.function, _weighted(call.function)
    value, other = np.asarray(function(x)), np.asarray(function(nearby))
    directions = np.cos(np.arange(3 * x.size)).reshape(3, *x.shape)
    slopes = np.asarray([_difference(loss, x, direction) for direction in directions])
    runs: dict[str, tuple[Callable[[], Any], Any]] = {
        "grad": (lambda: np.sum(np.reshape(directions * grad(loss)(x), (3, -1)), axis=1), slopes),
        "jvp": (lambda: [jvp(loss, (x,), (direction,))[1] for direction in directions], slopes),
        "jit": (lambda: _compiled(function, x, nearby), np.stack([value, other])),
        "vmap": (lambda: vmap(function)(np.stack([x, nearby])), np.stack([value, other])),
    }
    return {name: _verdict(module, name, run, expected, call.wrong) for name, (run, expected) in runs.items()}


def _verdict(module: str, name: str, run: Callable[[], Any], expected: Any, wrong: Mapping[str, str]) -> Verdict:
    try:
        result = np.asarray(run())
    except Exception as error:
        return {**stopped_at(error.__traceback__, module), **describe(error)}
    tolerance = TO_DIFFERENCES if name in ("grad", "jvp") else TO_VALUES
    if result.shape != expected.shape:
        return f"wrong: the shape {result.shape}, not {expected.shape}"
    distance = _distance(result, expected)
    if name in wrong:
        return wrong[name] if not distance <= tolerance else "right, although it should not be"
    return RIGHT if distance <= tolerance else f"wrong: {distance:.1e} from the right result"


def _distance(result: np.ndarray, expected: np.ndarray) -> float:
    return float(np.max(np.abs(result - expected), initial=0.0) / max(1.0, np.max(np.abs(expected), initial=0.0)))


def _weighted(function: Function) -> Function:
    """Add up the function's results with weights that no symmetry of them cancels."""

    def weighted(x: Any) -> Any:
        result = function(x)
        xp = xpand.array_namespace(x, result) if xpand.is_array_api_obj(result) else xpand.array_namespace(x)
        return xp.sum(xp.sin(xp.asarray(result)))

    return weighted


def _difference(function: Function, x: np.ndarray, direction: np.ndarray) -> float:
    step = STEP * direction
    return float(function(x + step) - function(x - step)) / (2 * STEP)


def _compiled(function: Function, *points: np.ndarray) -> np.ndarray:
    compiled = jit(function)
    return np.stack([np.asarray(compiled(x)) for x in points])


# Where a call stops


def stopped_at(found: TracebackType | None, module: str) -> dict[str, str]:
    """Name the last file of a package in a traceback, and the expression there."""
    frames = [frame for frame in traceback.extract_tb(found) if _is_of(frame.filename, module)]
    if not frames:
        return {}
    frame = frames[-1]
    parts = Path(frame.filename).parts
    start = len(parts) - 1 - parts[::-1].index(module)
    return {"file": "/".join(parts[start:]), "code": shortened(_expression(frame))}


def _is_of(file: str, module: str) -> bool:
    """Return whether a file is of a package, but not of another package's copy in it."""
    parts = Path(file).parts
    return module in parts and "tests" not in parts and not {"externals", "_external"} & set(parts)


def _expression(frame: traceback.FrameSummary) -> str:
    """Return the expression that raised, or its first line where Python does not know its columns."""
    if None in (frame.lineno, frame.end_lineno, frame.colno, frame.end_colno):
        return frame.line or ""
    lines = [linecache.getline(frame.filename, i).encode() for i in range(frame.lineno, frame.end_lineno + 1)]
    lines[-1] = lines[-1][: frame.end_colno]
    lines[0] = lines[0][frame.colno :]
    return b"".join(lines).decode()


def shortened(text: str, length: int = 60) -> str:
    """Write a text on one line of at most a length."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 2] + " …"


def describe(error: BaseException) -> dict[str, str]:
    """Name the type of an error, and quote the beginning of its message: xpand's begin with the operation."""
    head = str(error).strip().partition("\n")[0].partition(": ")[0]
    return {"error": type(error).__name__, "message": shortened(head, 100)}


def quiet() -> None:
    """Ignore warnings of clients, such as those of divisions in branches that are not selected."""
    if not sys.warnoptions:
        warnings.simplefilter("ignore")
    np.seterr(all="ignore")
