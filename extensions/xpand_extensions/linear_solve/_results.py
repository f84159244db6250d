"""The result of `linear_solve.solve`."""

from typing import Any, NamedTuple

from xpand import array_namespace, trees
from xpand._typing import Array

from .._solver_status import Status, codes_of, summary


class SolveResult(NamedTuple):
    """A solution and how it was found: a tree of arrays, which passes through every transformation.

    Of a batch, each system has its own number in all fields but `x` and `residual`. Where `max_steps` is a sequence,
    every field has one more axis, the first, for the steps asked for.
    """

    x: trees.Tree
    """The solution, a tree like `b`."""
    residual: trees.Tree
    """The residual `b - A x`, recomputed from `x`; without a derivative."""
    residual_norm: Array
    """Its Euclidean norm, real."""
    iterations: Array
    """How many steps were taken, integers; 0 by a direct method."""
    function_evaluations: Array
    """How many products with A, and with its transpose, there were, integers."""
    status: Array
    """How it ended: integers, `Status`."""

    @property
    def method(self) -> str:
        """The method and the library, as text."""
        return _TEXTS.get(type(self), "")

    @property
    def converged(self) -> Array:
        """Return which systems meet the tolerance: booleans of the shape of `status`."""
        return self.status == int(Status.CONVERGED)

    @property
    def message(self) -> str:
        """How the systems ended, in words; under transformations that it isn't known yet."""
        codes = codes_of(self.status)
        if codes is None:
            return f"{self.method}: not known yet"
        return f"{self.method}: {summary(codes)}"

    def __reduce__(self) -> Any:
        """Say how to make an equal one, for pickling."""
        return result_of, (self.method, *self)


_CLASSES: dict[str, type[SolveResult]] = {}
_TEXTS: dict[type[SolveResult], str] = {}


def result_of(method: str, *fields: Any) -> SolveResult:
    """Make a result of a method.

    The method belongs to the class, not to the fields: so a result is a tree of arrays alone, and a tree to every
    library, for each knows named tuples.
    """
    found = _CLASSES.get(method)
    if found is None:
        found = _CLASSES[method] = type("SolveResult", (SolveResult,), {"__slots__": ()})
        _TEXTS[found] = method
    return found(*fields)


def norm(x: Array) -> Array:
    """The Euclidean norms of vectors along the last axis, real; also where their squares can't be held."""
    xp = array_namespace(x)
    if x.shape[-1] == 0:
        return xp.linalg.vector_norm(x, axis=-1)
    sizes = xp.abs(x)
    largest = xp.max(sizes, axis=-1)
    scale = xp.where((largest > 0) & xp.isfinite(largest), largest, xp.ones_like(largest))
    return xp.linalg.vector_norm(sizes / scale[..., None], axis=-1) * scale
