"""Schur forms of complex matrices by the QR iteration, with the standard alone.

All matrices of a stack take the same steps, so the functions select with masks.

(G. H. Golub, C. F. Van Loan, Matrix Computations, sections 7.4 and 7.5.)
"""

from typing import Any, Final

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks
from xpand_extensions import control_flow
from xpand_extensions._bounds import index_dtype
from xpand_extensions.linalg._spectra import SchurResult

from ._functions import identity

_STEPS: Final = 30
"""The largest number of steps for each eigenvalue, as in LAPACK."""
_EXCEPTIONAL: Final = 10
"""After each such number of steps, the shift is an arbitrary one, since the usual ones may repeat themselves."""


def schur_factors(x: Array, /) -> SchurResult:
    xp, size = array_namespace(x), x.shape[-1]
    if size < 2 or 0 in x.shape:
        return SchurResult(x, xp.broadcast_to(identity(xp, x), tuple(x.shape)))
    # Scaled matrices don't overflow in products.
    scale = xp.astype(_nonzero(xp, xp.max(xp.abs(x), axis=(-2, -1), keepdims=True)), x.dtype)
    h, unitary = _hessenberg(xp, x / scale)

    def is_running(state: Any) -> Any:
        h, _, steps = state
        return xp.any(_last(xp, h) > 0) & (steps < _STEPS * size)

    def step(state: Any) -> Any:
        h, unitary, steps = state
        number = numbers(xp, h)
        last = _last(xp, h)
        # The rows after the last one are finished.
        inside = (number[:, None] <= last) & (number <= last) & (last > 0)
        one = identity(xp, h)
        q, _ = xp.linalg.qr(xp.where(inside, h - _shift(xp, h, last, steps) * one, one))
        q = xp.where(inside, q, one)
        h = xp.matmul(xp.matmul(adjoint(xp, q), h), q)
        return _deflated(xp, h), xp.matmul(unitary, q), steps + 1

    steps = xp.zeros((), dtype=index_dtype(xp, checks.device_of(x)), device=checks.device_of(x))
    h, unitary, _ = control_flow.while_loop(is_running, step, (_deflated(xp, h), unitary, steps))
    return SchurResult(xp.triu(h) * scale, unitary)


def _hessenberg(xp: Namespace, x: Array) -> tuple[Array, Array]:
    """Make matrices zero below the subdiagonal, by reflections. Return them and the product of the reflections."""
    number = numbers(xp, x)
    row = number[:, None]

    def reflect(k: Any, state: tuple[Array, Array]) -> tuple[Array, Array]:
        h, unitary = state
        vector = xp.sum(xp.where((row > k) & (number == k), h, xp.zeros_like(h)), axis=-1, keepdims=True)
        norm = xp.astype(xp.linalg.vector_norm(vector, axis=-2, keepdims=True), x.dtype)
        first = xp.sum(xp.where(row == k + 1, vector, xp.zeros_like(vector)), axis=-2, keepdims=True)
        phase = xp.where(first == 0, xp.ones_like(first), first / xp.astype(_nonzero(xp, xp.abs(first)), x.dtype))
        vector = xp.where(row == k + 1, vector + phase * norm, vector)
        square = xp.sum(xp.real(vector * xp.conj(vector)), axis=-2, keepdims=True)
        weighted = adjoint(xp, vector) * xp.astype(2 / _nonzero(xp, square), x.dtype)
        h = h - xp.matmul(vector, xp.matmul(weighted, h))
        return h - xp.matmul(xp.matmul(h, vector), weighted), unitary - xp.matmul(xp.matmul(unitary, vector), weighted)

    one = xp.broadcast_to(identity(xp, x), tuple(x.shape))
    found: tuple[Array, Array] = control_flow.fori_loop(0, x.shape[-1] - 2, reflect, (x, one))
    return found


def _deflated(xp: Namespace, h: Array) -> Array:
    """Set elements below the diagonal to 0 that are small in comparison with their neighbors on it."""
    length = xp.abs(xp.linalg.diagonal(h))
    near = _nonzero(xp, length[..., :, None] + length[..., None, :])
    small = xp.abs(h) <= float(xp.finfo(h.dtype).eps) * near
    return xp.where(small & _is_below(xp, h), xp.zeros_like(h), xp.triu(h, k=-1))


def _last(xp: Namespace, h: Array) -> Array:
    """Return the number of the last row with an element below the diagonal, (..., 1, 1); 0 if there is none."""
    rows = xp.any(_is_below(xp, h) & (h != 0), axis=-1)
    number = numbers(xp, h)
    return xp.max(xp.where(rows, number, xp.zeros_like(number)), axis=-1)[..., None, None]


def _shift(xp: Namespace, h: Array, last: Array, steps: Array) -> Array:
    """Return Wilkinson's shift: the eigenvalue of the block that ends in the last row, the one closer to its corner."""
    number = numbers(xp, h)

    def pick(row: Array, column: Array) -> Array:
        chosen = (number[:, None] == row) & (number == column)
        return xp.sum(xp.where(chosen, h, xp.zeros_like(h)), axis=(-2, -1), keepdims=True)

    a, b, c, d = pick(last - 1, last - 1), pick(last - 1, last), pick(last, last - 1), pick(last, last)
    half = (a - d) / 2
    root = xp.sqrt(half * half + b * c)
    root = xp.where(xp.real(xp.conj(half) * root) < 0, -root, root)
    shift = d - xp.where(half + root == 0, xp.zeros_like(d), b * c / _nonzero(xp, half + root))
    return xp.where((steps + 1) % _EXCEPTIONAL == 0, xp.astype(xp.abs(c), h.dtype) + d, shift)


def _is_below(xp: Namespace, h: Array) -> Array:
    number = numbers(xp, h)
    return number[:, None] == number + 1


def _nonzero(xp: Namespace, x: Array) -> Array:
    return xp.where(x == 0, xp.ones_like(x), x)


def numbers(xp: Namespace, x: Array) -> Array:
    """Return the numbers of the columns of matrices."""
    device = checks.device_of(x)
    return xp.arange(x.shape[-1], dtype=index_dtype(xp, device), device=device)


def adjoint(xp: Namespace, x: Array) -> Array:
    """Return the adjoints of complex matrices."""
    return xp.conj(xp.matrix_transpose(x))
