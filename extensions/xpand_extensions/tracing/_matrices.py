"""The derivative of the logarithm of matrices as an operation: its loops depend on values and can't be traced."""

from collections.abc import Callable
from typing import Any, Final

from xpand import array_namespace
from xpand.extend import Array


def block(xp: Any, x: Array, e: Array) -> Array:
    """Build matrices `[[x, e], [0, x]]`; the upper right block of a function of one is the derivative along `e`."""
    lower = xp.concat([xp.zeros_like(x), x], axis=-1)
    return xp.concat([xp.concat([x, e], axis=-1), lower], axis=-2)


def _logm_along(base: Any) -> Callable[..., Any]:
    def logm_along(x: Array, e: Array) -> Array:
        """Compute the derivative of the logarithm at `x` along `e`.

        (R. Mathias, SIAM J. Matrix Anal. Appl. 17 (1996) 610.)
        """
        from xpand_extensions import linalg

        size = x.shape[-1]
        return linalg.logm(block(array_namespace(x), x, e))[..., :size, size:]

    return logm_along


MATRICES: Final[dict[str, Callable[[Any], Callable[..., Any]]]] = {"linalg.logm_along": _logm_along}
"""Operations outside of the namespace."""
