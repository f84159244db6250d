"""Steps of Krylov methods on NumPy for one system of real numbers, in place by BLAS.

They take and return the states of the generic methods.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

import numpy as np
from scipy.linalg import blas

from xpand.extend import LibraryArray as Array
from xpand_extensions.generic.linear_solve._krylov_bicg import BICGSTAB
from xpand_extensions.generic.linear_solve._krylov_gmres import GMRES, Gmres
from xpand_extensions.generic.linear_solve._krylov_pieces import BROKEN, CONTINUE, RESTART, Method
from xpand_extensions.generic.linear_solve._krylov_symmetric import CG

ROUTINES: Final = {
    np.dtype(np.float32): (blas.saxpy, blas.sdot, blas.sscal),
    np.dtype(np.float64): (blas.daxpy, blas.ddot, blas.dscal),
}
"""The routines for each data type: add a multiple, multiply, scale."""
_CANCELLED: Final = 0.1
"""If less of a vector's norm is left, it is orthogonalized again (Rutishauser, 1967)."""

Linear = Callable[[Array], Array]


class Steps(Protocol):
    """The interface of a running method."""

    def __init__(self, state: Any, precondition: Linear | None, order: int) -> None: ...

    def step(self, multiply: Linear) -> tuple[float, int]:
        """Take a step. Return the norm of the recursion's residual, and a flag."""
        ...

    def state(self) -> Any:
        """Return the state of the generic method."""
        ...


def _ratio(x: float, y: float) -> float:
    return x / y if y else 0.0


class Conjugate:
    """Conjugate gradients."""

    def __init__(self, state: Any, precondition: Linear | None, order: int) -> None:
        self.last, self.precondition = state, precondition
        self.x, self.r, self.p = (np.array(each) for each in state[:3])
        self.rz, self.rr = float(state.rz), float(state.rr)
        self.axpy, self.dot, self.scale = ROUTINES[self.x.dtype]

    def step(self, multiply: Linear) -> tuple[float, int]:
        r, p, dot = self.r, self.p, self.dot
        z = r if self.precondition is None else self.precondition(r)
        new = self.rr if self.precondition is None else float(dot(r, z))
        self.scale(_ratio(new, self.rz), p)
        self.axpy(z, p)
        q = multiply(p)
        curvature = float(dot(p, q))
        length = _ratio(new, curvature)
        self.axpy(p, self.x, a=length)
        self.axpy(q, r, a=-length)
        self.rz, self.rr = new, float(dot(r, r))
        return self.rr**0.5, CONTINUE if curvature and new else BROKEN

    def state(self) -> Any:
        numbers = [np.asarray(each, dtype=self.x.dtype) for each in (self.rz, self.rr)]
        return type(self.last)(self.x, self.r, self.p, *numbers)


class Stabilised:
    """Stabilised biconjugate gradients of any order."""

    def __init__(self, state: Any, precondition: Linear | None, order: int) -> None:
        self.last, self.precondition, self.order = state, precondition, order
        self.change, r, u = (np.array(each) for each in (state.change, state.r, state.u))
        self.r, self.u = ([each, *(np.empty_like(r) for _ in range(order))] for each in (r, u))
        self.rho, self.alpha, self.omega = float(state.rho), float(state.alpha), float(state.omega)
        self.axpy, self.dot, self.scale = ROUTINES[r.dtype]
        self.spacing = 4.0 * float(np.finfo(r.dtype).eps)
        self.size = float(self.dot(r, r)) ** 0.5

    def step(self, multiply: Linear) -> tuple[float, int]:
        axpy, dot, r, u, shadow = self.axpy, self.dot, self.r, self.u, self.last.shadow
        least, is_broken, is_left = self.size * self.spacing, False, self.size > 0.0
        self.rho *= -self.omega
        for j in range(self.order):
            if j:
                is_left = float(dot(r[0], r[0])) ** 0.5 > least
            new = float(dot(shadow, r[j]))
            beta = self.alpha * _ratio(new, self.rho) if is_left else 0.0
            is_broken |= is_left and (self.rho == 0.0 or new == 0.0)
            self.rho = new
            for above, below in zip(r[: j + 1], u):
                self.scale(-beta, below)
                axpy(above, below)
            self._multiply(multiply, u[j], u[j + 1])
            along = float(dot(shadow, u[j + 1]))
            self.alpha = _ratio(self.rho, along) if is_left else 0.0
            is_broken |= is_left and along == 0.0
            for above, below in zip(r[: j + 1], u[1:]):
                axpy(below, above, a=-self.alpha)
            self._multiply(multiply, r[j], r[j + 1])
            axpy(u[0], self.change, a=self.alpha)
        is_left = float(dot(r[0], r[0])) ** 0.5 > least
        weights = self._least() if is_left else [0.0] * self.order
        for j, weight in enumerate(weights):
            axpy(u[j + 1], u[0], a=-weight)
            axpy(r[j], self.change, a=weight)
            axpy(r[j + 1], r[0], a=-weight)
        self.omega, self.size = weights[-1], float(dot(r[0], r[0])) ** 0.5
        return self.size, BROKEN if is_broken or not is_left or self.omega == 0.0 else CONTINUE

    def _multiply(self, multiply: Linear, x: Array, out: Array) -> None:
        out[:] = multiply(x if self.precondition is None else self.precondition(x))

    def _least(self) -> list[float]:
        """Return the weights of r[1:] that best approximate r[0], by the generic method's orthogonal basis."""
        dot, basis, squares, upper = self.dot, self.r[1:], [0.0] * self.order, np.eye(self.order)
        if self.order > 1:
            basis = [each.copy() for each in basis]
        for j, vector in enumerate(basis):
            for i in range(j):
                upper[i, j] = _ratio(float(dot(basis[i], vector)), squares[i])
                self.axpy(basis[i], vector, a=-upper[i, j])
            squares[j] = float(dot(vector, vector))
        weights = [_ratio(float(dot(each, self.r[0])), square) for each, square in zip(basis, squares)]
        for j in reversed(range(self.order)):
            for i in range(j):
                weights[i] -= float(upper[i, j]) * weights[j]
        return weights

    def state(self) -> Any:
        numbers = [np.asarray(each, dtype=self.change.dtype) for each in (self.rho, self.alpha, self.omega)]
        return type(self.last)(self.last.base, self.change, self.last.shadow, self.r[0], self.u[0], *numbers)


def start_gmres(system: Any, x: Array, r: Array, order: int) -> Gmres:
    """Start like the generic method, with an uninitialized basis."""
    basis = np.zeros((order + 1, r.shape[0]), dtype=r.dtype)
    beta = np.sqrt(np.dot(r, r))
    if beta:
        np.multiply(r, 1.0 / beta, out=basis[0])
    turned, upper = np.eye(order + 1, dtype=r.dtype), np.eye(order, dtype=r.dtype)
    return Gmres(x, basis, basis[0], turned, upper, beta, np.asarray(0, dtype=np.int32))


class Minimal:
    """GMRES, with an orthogonal basis that grows vector by vector."""

    def __init__(self, state: Any, precondition: Linear | None, order: int) -> None:
        # `start_gmres` has made these arrays for this cycle, so they may be overwritten.
        self.last, self.precondition, self.order = state, precondition, order
        self.rows, self.turned, self.upper = list(state.basis), state.turned, state.upper
        self.beta, self.number = float(state.beta), int(state.number)
        self.axpy, self.dot, self.scale = ROUTINES[state.basis.dtype]
        self.column = np.zeros_like(self.turned[0])

    def step(self, multiply: Linear) -> tuple[float, int]:
        dot, axpy, k, column, turned = self.dot, self.axpy, self.number, self.column, self.turned
        vector, w = self.rows[k], self.rows[k + 1]
        w[:] = multiply(vector if self.precondition is None else self.precondition(vector))
        column[:] = 0.0
        before = height = float(dot(w, w)) ** 0.5
        for _ in range(2):
            for i in range(k + 1):
                along = dot(self.rows[i], w)
                axpy(self.rows[i], w, a=-along)
                column[i] += along
            height = float(dot(w, w)) ** 0.5
            if not height < _CANCELLED * before:
                break
        column[k + 1] = height
        self.scale(_ratio(1.0, height), w)
        column = turned @ column
        here, below = float(column[k]), float(column[k + 1])
        length = (here * here + below * below) ** 0.5
        c, s = _ratio(here, length), _ratio(below, length)
        rotation = np.asarray([[c, s], [-s, c]], dtype=turned.dtype)
        turned[k : k + 2] = rotation @ turned[k : k + 2]
        column[k] = length
        self.upper[:, k] = column[: self.order]
        self.upper[k + 1 :, k] = 0.0
        self.number += 1
        flag = BROKEN if length == 0.0 else RESTART if self.number >= self.order or height == 0.0 else CONTINUE
        return abs(float(turned[k + 1, 0])) * self.beta, flag

    def state(self) -> Any:
        return self.last._replace(last=self.rows[self.number], number=np.asarray(self.number, dtype=np.int32))


STEPS: Final[Mapping[Method, type[Steps]]] = {CG: Conjugate, BICGSTAB: Stabilised, GMRES: Minimal}
