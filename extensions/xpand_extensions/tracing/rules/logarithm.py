"""Rules of the matrix logarithm, and of its derivative along another matrix."""

from typing import Any, Final

from ...extend._derivatives import LINEAR, contribution
from .._indexing import applied, block
from ._derived import Axes


def _further_along(xp: Any, t: Any, out: Any, x: Any, e: Any) -> Any:
    """Push a tangent of the matrix through the derivative along another matrix."""
    size, zeros = x.shape[-1], xp.zeros_like(x)
    t = xp.concat([xp.concat([t, zeros], axis=-1), xp.concat([zeros, t], axis=-1)], axis=-2)
    return applied(xp, "linalg.logm_along", (block(xp, x, e), t), {})[..., :size, size:]


DERIVATIVES: Final[dict[str, Any]] = {
    "linalg.logm": {"x": contribution(lambda xp, t, out, x: applied(xp, "linalg.logm_along", (x, t), {}))},
    "linalg.logm_along": (contribution(_further_along), LINEAR),
}

TRANSPOSES: Final[dict[str, Any]] = {
    "linalg.logm_along": (None, lambda xp, ct, x, e: applied(xp, "linalg.logm_along", (xp.matrix_transpose(x), ct), {}))
}

AXES: Final[dict[str, Axes]] = {
    "linalg.logm": Axes("...[nn]->...[nn]"),
    "linalg.logm_along": Axes("...[nn],...[nn]->...[nn]", same_shape=True),
}
