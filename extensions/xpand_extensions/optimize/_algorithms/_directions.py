"""Descent directions: the gradient, BFGS with and without limited memory, and Newton's method."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from xpand import array_namespace
from xpand.extend import Array

from ...linalg import triangular_solve
from ._states import is_known, looped, stepped
from ._vectors import apply, dot, eps_of, full_like, identity, norm, quotient, select, times


class Directions(Protocol):
    """The interface of a method, which `_descent` calls for the directions of steps."""

    is_steepest: bool
    """Whether the first direction is that of the gradient."""

    def init(self, x: Array, gradient: Array) -> Any:
        """Return the initial memory."""
        ...

    def reset(self, x: Array, gradient: Array) -> Any:
        """Return a memory for which the direction is that of the gradient."""
        ...

    def update(self, memory: Any, moved: Array, changed: Array) -> Any:
        """Return the memory after a step, given the changes of the point and of the gradient."""
        ...

    def direction(self, memory: Any, x: Array, gradient: Array) -> Array:
        """Return the direction of the next step."""
        ...


def first_scale(gradient: Array) -> Array:
    """Return the factor of the gradient that makes the length of the first step at most one."""
    xp = array_namespace(gradient)
    length = norm(gradient)
    one = xp.ones_like(length)
    return quotient(one, xp.maximum(length, one), 1.0)


def is_curved(moved: Array, changed: Array) -> Array:
    """Return whether the curvature along a step is positive beyond rounding errors."""
    xp = array_namespace(moved, changed)
    return dot(moved, changed) > eps_of(xp, moved.dtype) * norm(moved) * norm(changed)


class Gradient:
    """Steepest descent, scaled by the curvature of the previous step: Barzilai and Borwein (1988)."""

    is_steepest = True

    def init(self, x: Array, gradient: Array) -> Array:
        return first_scale(gradient)

    reset = init

    def update(self, memory: Array, moved: Array, changed: Array) -> Array:
        return select(is_curved(moved, changed), quotient(dot(moved, moved), dot(moved, changed), 1.0), memory)

    def direction(self, memory: Array, x: Array, gradient: Array) -> Array:
        return -times(memory, gradient)


class Pairs(NamedTuple):
    """The last steps of L-BFGS, from old to new; zeros for steps not taken yet."""

    moved: Array
    """Shape `(*batch, history, n)`."""
    changed: Array
    scale: Array
    """The initial inverse Hessian, a multiple of the identity: shape `(*batch)`."""


class LimitedMemory:
    """L-BFGS, in the compact form of Byrd, Nocedal and Schnabel (1994), theorem 2.2.

    It needs a few products of matrices, instead of two loops over the history with many small operations.
    """

    is_steepest = True

    def __init__(self, history: int) -> None:
        """Store this number of steps."""
        self.history = history

    def init(self, x: Array, gradient: Array) -> Pairs:
        none = full_like(gradient[..., None, :], 0.0)
        empty = array_namespace(x).concat([none] * self.history, axis=-2)
        return Pairs(empty, empty, first_scale(gradient))

    reset = init

    def update(self, memory: Pairs, moved: Array, changed: Array) -> Pairs:
        xp = array_namespace(moved)

        def appended(rows: Array, row: Array) -> Array:
            return xp.concat([rows[..., 1:, :], row[..., None, :]], axis=-2)

        # Scale the pair so that its product is one; then all matrices have the same scale.
        product = dot(moved, changed)
        weight = quotient(xp.ones_like(product), xp.sqrt(xp.abs(product)))
        rows = appended(memory.moved, times(weight, moved)), appended(memory.changed, times(weight, changed))
        found: Pairs = select(
            is_curved(moved, changed), Pairs(*rows, quotient(product, dot(changed, changed), 1.0)), memory
        )
        return found

    def direction(self, memory: Pairs, x: Array, gradient: Array) -> Array:
        xp = array_namespace(x)
        moved, changed = memory.moved, memory.changed
        columns = xp.matrix_transpose(changed)
        squares = xp.matmul(changed, columns)
        # The products of each step with later changes; ones on the diagonal for steps not taken yet.
        eye = identity(squares[..., 0, :])
        is_new = xp.astype(xp.all(moved == 0.0, axis=-1), x.dtype)
        upper = xp.triu(xp.matmul(moved, columns)) + eye * is_new[..., None, :]
        diagonal = xp.sum(upper * eye, axis=-1)
        inner = triangular_solve(upper, apply(moved, gradient)[..., None], lower=False)[..., 0]
        right = diagonal * inner + times(memory.scale, apply(squares, inner) - apply(changed, gradient))
        outer = triangular_solve(upper, right[..., None], lower=False, transpose=True)[..., 0]
        back = apply(xp.matrix_transpose(moved), outer) - times(memory.scale, apply(columns, inner))
        return -(times(memory.scale, gradient) + back)


class Inverse(NamedTuple):
    """The approximate inverse Hessian of BFGS."""

    matrix: Array
    """Shape `(*batch, n, n)`."""
    is_new: Array
    """Whether no step has been taken: booleans, shape `(*batch)`."""


class BFGS:
    """BFGS: Nocedal and Wright, Numerical Optimization, algorithm 6.1, with the initial scale (6.20)."""

    is_steepest = True

    def init(self, x: Array, gradient: Array) -> Inverse:
        xp = array_namespace(x)
        scale = first_scale(gradient)
        return Inverse(scale[..., None, None] * identity(gradient), xp.ones_like(scale, dtype=xp.bool))

    reset = init

    def update(self, memory: Inverse, moved: Array, changed: Array) -> Inverse:
        xp = array_namespace(moved)
        product = dot(moved, changed)
        scale = quotient(product, dot(changed, changed), 1.0)
        before = select(memory.is_new, scale[..., None, None] * identity(moved), memory.matrix)
        weight = quotient(xp.ones_like(product), product)
        back = apply(before, changed)
        crossed = moved[..., :, None] * back[..., None, :]
        squared = moved[..., :, None] * moved[..., None, :]
        factor = weight * (1.0 + weight * dot(changed, back))
        matrix = before - weight[..., None, None] * (crossed + xp.matrix_transpose(crossed))
        matrix = matrix + factor[..., None, None] * squared
        found: Inverse = select(is_curved(moved, changed), Inverse(matrix, xp.zeros_like(memory.is_new)), memory)
        return found

    def direction(self, memory: Inverse, x: Array, gradient: Array) -> Array:
        return -apply(memory.matrix, gradient)


class _Conjugate(NamedTuple):
    """The state of conjugate gradients for the Newton direction."""

    result: Array
    residual: Array
    search: Array
    square: Array
    ended: Array
    number: Array


class NewtonCG:
    """Newton's method with inexact solutions by conjugate gradients, which stop at negative curvature.

    Source: Nocedal and Wright, Numerical Optimization, algorithm 7.1.
    """

    is_steepest = False

    def __init__(self, product: Callable[[Array, Array], Array], max_products: int) -> None:
        """Store the function that multiplies the Hessian at a point by a vector, and the limit of its calls."""
        self.product, self.max_products = product, max_products

    def init(self, x: Array, gradient: Array) -> Array:
        return 0.0 * first_scale(gradient)

    def reset(self, x: Array, gradient: Array) -> Array:
        return first_scale(gradient)

    def update(self, memory: Array, moved: Array, changed: Array) -> Array:
        return full_like(memory, 0.0)

    def direction(self, memory: Array, x: Array, gradient: Array) -> Array:
        xp = array_namespace(x)
        length = norm(gradient)
        target = xp.minimum(full_like(length, 0.5), xp.sqrt(length)) * length
        square = dot(gradient, gradient)
        start = _Conjugate(
            xp.zeros_like(gradient), -gradient, -gradient, square, memory > 0.0, xp.zeros_like(square, dtype=xp.int32)
        )

        def running(state: _Conjugate) -> Array:
            return ~state.ended & (xp.sqrt(state.square) > target) & (state.number < self.max_products)

        def step(state: _Conjugate) -> _Conjugate:
            product = self.product(x, state.search)
            curvature = dot(state.search, product)
            is_bad = ~(curvature > 0.0)
            share = quotient(state.square, curvature)
            residual = state.residual - times(share, product)
            after = dot(residual, residual)
            search = residual + times(quotient(after, state.square), state.search)
            new = _Conjugate(state.result + times(share, state.search), residual, search, after, is_bad, state.number)
            # In the first step, a direction of negative curvature is that of the gradient, and so a descent direction.
            bad = state._replace(ended=is_bad)
            found: _Conjugate = select(is_bad, bad, new)
            after_it: _Conjugate = select(running(state), found._replace(number=state.number + 1), state)
            return after_it

        known = is_known((start, x))
        last = stepped(step, start, running, None) if known else looped(step, start, running, None)
        scale = select(memory > 0.0, memory, first_scale(gradient))
        is_zero = last.number == 0
        return select(is_zero | (norm(last.result) == 0.0), -times(scale, gradient), last.result)
