"""Bounds of variables: project points into the bounds, and remove components of gradients that point outside."""

from typing import NamedTuple

from xpand import array_namespace
from xpand.extend import Array

from ._vectors import largest


class Box(NamedTuple):
    """The bounds of all variables, as vectors; None: no bounds."""

    lower: Array | None = None
    upper: Array | None = None

    def project(self, x: Array) -> Array:
        """Return the nearest points within the bounds."""
        if self.lower is not None:
            x = array_namespace(x, self.lower).maximum(x, self.lower)
        if self.upper is not None:
            x = array_namespace(x, self.upper).minimum(x, self.upper)
        return x

    def projected(self, x: Array, gradient: Array) -> Array:
        """Return the projected gradient: `x - project(x - gradient)`."""
        # Written without cancellation.
        if self.lower is not None:
            gradient = array_namespace(x, gradient).minimum(gradient, x - self.lower)
        if self.upper is not None:
            gradient = array_namespace(x, gradient).maximum(gradient, x - self.upper)
        return gradient

    def equation(self, x: Array, gradient: Array) -> Array:
        """Return a measure that is zero at a minimum: the gradient, or for a variable at a bound, the distance from it.

        It equals `projected`, but at a minimum on a bound its derivative is that of the distance.
        """
        found = gradient
        if self.lower is not None:
            xp, above = array_namespace(x, gradient, self.lower), x - self.lower
            found = xp.where(above <= gradient, above, found)
        if self.upper is not None:
            xp, below = array_namespace(x, found, self.upper), x - self.upper
            found = xp.where(below >= found, below, found)
        return found

    def measure(self, x: Array, gradient: Array) -> Array:
        """Return the largest element of the projected gradient."""
        return largest(self.projected(x, gradient))

    def free(self, x: Array, gradient: Array) -> Array | None:
        """Return whether each variable is free: descent does not push it out of a bound. None: all are free."""
        at_bound = None
        if self.lower is not None:
            at_bound = (x <= self.lower) & (gradient > 0.0)
        if self.upper is not None:
            above = (x >= self.upper) & (gradient < 0.0)
            at_bound = above if at_bound is None else at_bound | above
        return None if at_bound is None else ~at_bound
