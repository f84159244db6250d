"""The result of `linear_solve.solve`."""

from typing import Any, NamedTuple

from xpand import array_namespace, trees
from xpand.extend import Array, checks

from .._display import as_html, as_text, result_rows
from .._elsewhere import not_an_array
from .._solver_status import Status, codes_of, summary
from ..scatter import at


@not_an_array
class SolveResult(NamedTuple):
    """The solution and statistics of the iteration: a tree of arrays, which passes through every transformation.

    All fields but `x` and `residual` have one number for each system. If `max_steps` is a sequence, every field has an
    additional first axis for the numbers of steps.
    """

    x: trees.Tree
    """The solution, a tree like `b`."""
    residual: trees.Tree
    """The residual `b - A x`, recomputed from `x`, without derivatives."""
    residual_norm: Array
    """The Euclidean norm of the residual."""
    iterations: Array
    """The number of steps; 0 for a direct method."""
    function_evaluations: Array
    """The number of products with A and its transpose."""
    status: Array
    """The `Status` codes: integers."""
    history: Array | tuple[()] = ()
    """With `record_history`, for iterative methods: the method's norm of the residual before the first step and after
    each step, along a last axis; NaN after the last step. Abstract histories have `max_steps + 1` elements. Otherwise
    an empty tuple, since `torch.func` accepts no None in results.
    """

    @property
    def method(self) -> str:
        """The method and the library, as text."""
        return _TEXTS.get(type(self), "")

    @property
    def converged(self) -> Array:
        """Return whether each system meets the tolerance: booleans of the shape of `status`."""
        return self.status == int(Status.CONVERGED)

    @property
    def message(self) -> str:
        """A summary of the status in words; for an abstract status, "not known yet"."""
        codes = codes_of(self.status)
        if codes is None:
            return f"{self.method}: not known yet"
        return f"{self.method}: {summary(codes)}"

    def __str__(self) -> str:
        """Summarize the result, one field per line."""
        return as_text(f"SolveResult, {self.message}", result_rows(self, ("status",)))

    def _repr_html_(self) -> str:
        return as_html(f"SolveResult, {self.message}", result_rows(self, ("status",)))

    def __reduce__(self) -> Any:
        """Pickle the result by its method and fields."""
        return result_of, (self.method, *self)


_CLASSES: dict[str, type[SolveResult]] = {}
_TEXTS: dict[type[SolveResult], str] = {}


def result_of(method: str, *fields: Any) -> SolveResult:
    """Make the result of a method.

    Each method has its own subclass, which stores the name. So the fields of a result are arrays only, and the result
    is a tree for every library.
    """
    found = _CLASSES.get(method)
    if found is None:
        found = _CLASSES[method] = type("SolveResult", (SolveResult,), {"__slots__": ()})
        _TEXTS[found] = method
    return found(*fields)


def recorded(history: Array, steps: Array, values: Array) -> Array:
    """Store values in a history, `(*batch, n)`, at the given numbers of steps, `(*batch, k)`."""
    xp, shape = array_namespace(history, values), history.shape
    if history.ndim == 1:
        return at(history)[steps].set(values)
    flat, steps, values = (xp.reshape(x, (-1, x.shape[-1])) for x in (history, steps, values))
    rows = xp.arange(flat.shape[0], dtype=steps.dtype, device=checks.device_of(history))[:, None]
    return xp.reshape(at(flat)[rows, steps].set(values), shape)


def norm(x: Array) -> Array:
    """Return the Euclidean norms of vectors along the last axis, without overflow or underflow of squares."""
    xp = array_namespace(x)
    if x.shape[-1] == 0:
        return xp.linalg.vector_norm(x, axis=-1)
    sizes = xp.abs(x)
    largest = xp.max(sizes, axis=-1)
    scale = xp.where((largest > 0) & xp.isfinite(largest), largest, xp.ones_like(largest))
    return xp.linalg.vector_norm(sizes / scale[..., None], axis=-1) * scale
