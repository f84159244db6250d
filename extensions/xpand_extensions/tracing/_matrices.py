"""The derivative of the logarithm of matrices, as an operation: what has loops that depend on values isn't traced."""

from collections.abc import Callable
from typing import Any, Final

from xpand import array_namespace
from xpand._typing import Array


def block(xp: Any, x: Array, e: Array) -> Array:
    """Make matrices `[[x, e], [0, x]]`, of whose functions the upper right block is the derivative along `e`."""
    lower = xp.concat([xp.zeros_like(x), x], axis=-1)
    return xp.concat([xp.concat([x, e], axis=-1), lower], axis=-2)


def _logm_along(base: Any) -> Callable[..., Any]:
    def logm_along(x: Array, e: Array) -> Array:
        """Take the derivative of the logarithm at `x` along `e`.

        (R. Mathias, SIAM J. Matrix Anal. Appl. 17 (1996) 610.)
        """
        from xpand_extensions import linalg

        size = x.shape[-1]
        return linalg.logm(block(array_namespace(x), x, e))[..., :size, size:]

    return logm_along


MATRICES: Final[dict[str, Callable[[Any], Callable[..., Any]]]] = {"linalg.logm_along": _logm_along}
"""Operations that are no functions of the namespace."""
