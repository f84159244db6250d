"""Residuals as functions of vectors, made from functions of trees."""

from collections.abc import Callable
from typing import Any

from xpand import array_namespace, trees
from xpand.extend import Array, checks

from .. import autodiff
from .._transforms import without_arrays
from .._transforms_patterns import in_namespace_of
from ..vmap import vmap
from ._algorithms._residuals import Linearize
from ._arguments import Vectors
from ._results import OptimizeResult
from ._tasks import Record


class Residuals:
    """A function that returns residuals, which a method makes zero or small."""

    def __init__(self, name: str, f: Callable[..., Any], vectors: Vectors, *, is_square: bool, shift: bool = False):
        """Store the function of trees.

        Args:
            name: The name of the function, for messages.
            f: Takes a tree like that of `vectors`, and parameters.
            vectors: The conversion between trees and vectors.
            is_square: Whether `f` returns a tree like the point.
            shift: Whether to subtract the point from the result of `f`.
        """
        self.name, self.f, self.vectors, self.is_square, self.shift = name, f, vectors, is_square, shift

    @property
    def functions(self) -> tuple[Any, ...]:
        """Return the user function."""
        return (self.f,)

    def value(self, x: Array, args: tuple[Any, ...]) -> Array:
        """Evaluate the residuals: shape `(*batch, m)`."""
        vectors = self.vectors
        found = self.f(vectors.unflatten(x), *in_namespace_of([x], args))
        if self.is_square:
            flat = vectors.flatten("the result of f", found)
            return flat - x if self.shift else flat
        if not trees.leaves(found):
            raise TypeError(f"{self.name}: the result of f must hold an array or a number, got {without_arrays(found)}")
        rows = Vectors(self.name, "the result of f", found, vectors.batch_ndim, vectors.tree)
        if rows.batch != vectors.batch:
            raise ValueError(
                f"{self.name}: f must return arrays whose first {vectors.batch_ndim} axes are those of x0, "
                f"{vectors.batch}, got {rows.batch}"
            )
        return rows.start if rows.dtype == vectors.dtype else array_namespace(x).astype(rows.start, vectors.dtype)

    def linearizer(self, args: tuple[Any, ...]) -> Linearize:
        """Make the function that returns residuals and Jacobians, with given parameters."""

        def value(x: Array) -> Array:
            return self.value(x, args)

        def linearize(x: Array) -> tuple[Array, Array]:
            return value(x), matrix_of(lambda direction: autodiff.jvp(value, (x,), (direction,))[1], x)

        return linearize

    def result(self, record: Record, args: tuple[Any, ...], fun: Any = None, /) -> OptimizeResult:
        """Make the result of a record. `fun` has the residuals; None: compute them again, to be differentiable."""
        x = self.vectors.unflatten(record.x)
        return OptimizeResult(x, self.f(x, *in_namespace_of([record.x], args)) if fun is None else fun, *record[1:])


def matrix_of(linear: Callable[[Array], Array], like: Array) -> Array:
    """Return the matrices of a linear function, of shape `(*batch, m, n)`: its values for unit vectors."""
    xp = array_namespace(like)
    units = xp.eye(like.shape[-1], dtype=like.dtype, device=checks.device_of(like))
    columns = vmap(lambda unit: linear(unit + xp.zeros_like(like)))(units)
    return array_namespace(columns).permute_dims(columns, (*range(1, columns.ndim), 0))
