"""Banks of linear systems: many kinds of matrices with solvable right-hand sides, and systems without a solution."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
import scipy.sparse


@dataclass(frozen=True)
class LinearSystem:
    """A matrix with known properties, and a solution, from which the right-hand side is computed."""

    name: str
    matrix: np.ndarray
    """A dense matrix of float64 or complex128."""
    is_symmetric: bool = False
    """Whether the matrix equals its adjoint."""
    is_definite: bool = False
    """Whether the matrix is symmetric, with positive eigenvalues."""
    is_sparse: bool = False
    """Whether the matrix is mostly zeros."""
    is_singular: bool = False
    """Whether the matrix is square without an inverse. The right-hand side still has solutions."""

    @property
    def is_square(self) -> bool:
        return self.matrix.shape[0] == self.matrix.shape[1]

    @property
    def is_complex(self) -> bool:
        return self.matrix.dtype.kind == "c"

    @cached_property
    def condition(self) -> float:
        """The condition number; infinite without full rank."""
        if self.matrix.size == 0:
            return 1.0
        values = np.linalg.svd(self.matrix, compute_uv=False)
        return float(values[0] / values[-1]) if values[-1] > values[0] * 1e-15 else np.inf

    @cached_property
    def solution(self) -> np.ndarray:
        """The solution, from which the right-hand side is computed."""
        return vector(self.matrix.shape[1], self.matrix.dtype, seed=len(self.name))

    @cached_property
    def b(self) -> np.ndarray:
        return np.asarray(self.matrix @ self.solution)

    @cached_property
    def csr(self) -> scipy.sparse.csr_array:
        return scipy.sparse.csr_array(self.matrix)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Unsolvable:
    """A system without a solution, or one that a method can't find."""

    name: str
    matrix: np.ndarray
    b: np.ndarray
    is_symmetric: bool = False
    is_finite: bool = True
    """Whether the matrix and the right-hand side are finite."""

    def __str__(self) -> str:
        return self.name


def vector(size: int, dtype: object = np.float64, seed: int = 0) -> np.ndarray:
    """Make a vector of normally distributed numbers."""
    random = np.random.default_rng(seed)
    x = random.normal(size=size)
    return (x + 1j * random.normal(size=size) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def poisson(*shape: int) -> np.ndarray:
    """Make minus the Laplacian on a grid with zero boundaries, by finite differences."""
    return grid_operator(shape, lambda n: (-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)))


def convection_diffusion(peclet: float, *shape: int) -> np.ndarray:
    """Make the same with convection along all axes, by central differences."""
    return grid_operator(
        shape, lambda n: (-(1 + peclet) * np.ones(n - 1), 2 * np.ones(n), (peclet - 1) * np.ones(n - 1))
    )


def grid_operator(shape: tuple[int, ...], diagonals: object) -> np.ndarray:
    total = np.zeros((1, 1))
    for n in shape:
        lower, middle, upper = diagonals(n)  # type: ignore[operator]
        one = np.diag(middle) + np.diag(lower, -1) + np.diag(upper, 1)
        total = np.kron(total, np.eye(n)) + np.kron(np.eye(len(total)), one)
    return total


def neumann(*shape: int) -> np.ndarray:
    """Make minus the Laplacian on a grid without flow across the boundary. Constants are its null space."""

    def diagonals(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        middle = 2 * np.ones(n)
        middle[0] -= 1
        middle[-1] -= 1
        return -np.ones(n - 1), middle, -np.ones(n - 1)

    return grid_operator(shape, diagonals)


def graph_laplacian(nodes: int, share: float, seed: int) -> np.ndarray:
    """Make the Laplacian of a connected random graph with weights."""
    random = np.random.default_rng(seed)
    weights = np.triu(random.uniform(0.5, 2.0, (nodes, nodes)) * (random.uniform(size=(nodes, nodes)) < share), 1)
    weights += np.diag(np.ones(nodes - 1), 1)  # a path connects all nodes
    weights += weights.T
    return np.diag(weights.sum(axis=1)) - weights


def of_condition(
    size: int, condition: float, seed: int, *, definite: bool = True, indefinite: bool = False
) -> np.ndarray:
    """Make a random matrix with singular values from 1 down to the inverse of the condition number."""
    random = np.random.default_rng(seed)
    values = np.logspace(0, -np.log10(condition), size)
    q, _ = np.linalg.qr(random.normal(size=(size, size)))
    if definite or indefinite:
        signs = np.where(np.arange(size) % 3 == 1, -1.0, 1.0) if indefinite else 1.0
        found = (q * (values * signs)) @ q.T
        return (found + found.T) / 2
    p, _ = np.linalg.qr(random.normal(size=(size, size)))
    return (q * values) @ p


def _definite() -> Iterator[tuple[str, np.ndarray]]:
    for shape in [(1,), (2,), (5,), (20,), (50,), (100,), (2, 2), (3, 3), (5, 5), (8, 8), (12, 12), (3, 7), (9, 4)]:
        yield f"poisson {shape}", poisson(*shape)
    for shape in [(1, 17), (2, 2, 2), (3, 3, 3), (4, 4, 4), (5, 5, 5), (2, 3, 4), (6, 1, 6)]:
        yield f"poisson {shape}", poisson(*shape)
    for shift in (1e-3, 0.1, 1.0, 10.0):
        for nodes in (8, 20, 50):
            yield f"graph of {nodes} shifted by {shift}", graph_laplacian(nodes, 0.2, nodes) + shift * np.eye(nodes)
    for shape in [(10,), (30,), (5, 6), (8, 8)]:
        for shift in (1e-2, 1.0):
            yield f"neumann {shape} shifted by {shift}", neumann(*shape) + shift * np.eye(int(np.prod(shape)))


def _dense_definite() -> Iterator[tuple[str, np.ndarray]]:
    for condition in (1e0, 1e1, 1e3, 1e6, 1e9, 1e12):
        for size in (3, 10, 25, 60):
            yield f"definite {size} of condition {condition:g}", of_condition(size, condition, size)
    for size in (2, 4, 6, 9):
        yield f"hilbert {size}", scipy.linalg.hilbert(size)
        yield f"pascal {size}", scipy.linalg.pascal(size).astype(float)
        index = np.arange(1, size + 1)
        yield f"minimum {size}", np.minimum.outer(index, index).astype(float)
        yield f"lehmer {size}", np.minimum.outer(index, index) / np.maximum.outer(index, index)
    for power in (-12, -3, 0, 5, 12):
        yield f"scaled by 1e{power}", of_condition(12, 50.0, 3) * 10.0**power
    for condition in (1e3, 1e6, 1e12):
        yield f"diagonal of condition {condition:g}", np.diag(np.logspace(0, -np.log10(condition), 15))
    yield "one by one", np.asarray([[3.0]])
    yield "small one by one", np.asarray([[1e-9]])
    yield "none by none", np.zeros((0, 0))
    yield "identity", np.eye(7)


def _symmetric() -> Iterator[tuple[str, np.ndarray]]:
    for condition in (1e1, 1e3, 1e6):
        for size in (4, 12, 30):
            yield f"indefinite {size} of condition {condition:g}", of_condition(size, condition, size, indefinite=True)
    for shape in [(10,), (6, 6)]:
        yield f"minus poisson {shape}", -poisson(*shape)
        yield f"helmholtz {shape}", poisson(*shape) - 0.9 * np.eye(int(np.prod(shape)))
    for size, constraints in ((6, 2), (12, 4), (20, 5)):
        random = np.random.default_rng(size)
        a, c = of_condition(size, 10.0, size), random.normal(size=(constraints, size))
        yield f"saddle {size}, {constraints}", np.block([[a, c.T], [c, np.zeros((constraints, constraints))]])
    yield "exchange", np.asarray([[0.0, 1.0], [1.0, 0.0]])
    yield "negative one by one", np.asarray([[-2.0]])


def _general() -> Iterator[tuple[str, np.ndarray, bool]]:
    for peclet in (0.1, 0.5, 1.0, 2.0):
        for shape in [(5,), (20,), (60,), (4, 4), (8, 8), (3, 3, 3)]:
            yield f"convection {peclet} on {shape}", convection_diffusion(peclet, *shape), True
    for size in (2, 3, 8, 20, 45):
        for seed in (0, 1):
            random = np.random.default_rng(size + seed)
            yield f"dominant {size}, {seed}", random.normal(size=(size, size)) + 2 * size**0.5 * np.eye(size), False
    for condition in (1e1, 1e3, 1e6, 1e9, 1e12):
        for size in (4, 12, 30):
            found = of_condition(size, condition, size, definite=False)
            yield f"general {size} of condition {condition:g}", found, False
    for size in (1, 4, 15):
        random = np.random.default_rng(size)
        triangle = np.tril(random.normal(size=(size, size)), -1) * 0.3 + np.diag(1.0 + random.uniform(size=size))
        yield f"lower triangle {size}", triangle, True
        yield f"upper triangle {size}", triangle.T.copy(), True
    for size in (5, 11):
        yield f"circulant {size}", scipy.linalg.circulant(1.0 / np.arange(1, size + 1)), False
        yield f"rotation of {size}", np.roll(np.eye(size), 1, axis=0), True
        yield f"permutation of {size}", np.eye(size)[np.random.default_rng(size).permutation(size)], True
        yield (
            f"toeplitz {size}",
            scipy.linalg.toeplitz(np.r_[2.0, np.ones(size - 1) / 3], np.r_[2.0, -np.ones(size - 1)]),
            False,
        )


def _rectangular() -> Iterator[tuple[str, np.ndarray]]:
    for rows, columns in [(5, 2), (12, 7), (30, 12), (2, 5), (7, 12), (12, 30), (4, 1), (1, 4)]:
        random = np.random.default_rng(rows * columns)
        full = random.normal(size=(rows, columns))
        yield f"rectangular {rows}, {columns}", full
        low = random.normal(size=(rows, 1)) @ random.normal(size=(1, columns))
        yield f"rank one {rows}, {columns}", low
    empty = np.random.default_rng(3).normal(size=(9, 4))
    empty[[0, 4, 8]] = 0.0
    yield "empty rows", empty
    yield "empty columns", empty.T.copy()


def _complex() -> Iterator[LinearSystem]:
    for size in (1, 4, 12, 25):
        random = np.random.default_rng(size)
        a = random.normal(size=(size, size)) + 1j * random.normal(size=(size, size))
        yield LinearSystem(f"complex {size}", a + 3 * size**0.5 * np.eye(size))
        definite = a @ a.conj().T / size + np.eye(size)
        yield LinearSystem(f"hermitian {size}", definite, True, True)
        yield LinearSystem(f"hermitian indefinite {size}", a + a.conj().T + 0.5 * np.eye(size), True)


def _systems() -> Iterator[LinearSystem]:
    for name, a in _definite():
        yield LinearSystem(name, a, True, True, is_sparse=True)
    for name, a in _dense_definite():
        yield LinearSystem(name, a, True, True)
    for name, a in _symmetric():
        yield LinearSystem(name, a, True)
    for name, a, is_sparse in _general():
        yield LinearSystem(name, a, is_sparse=is_sparse)
    for name, a in _rectangular():
        yield LinearSystem(name, a)
    yield from _complex()
    for shape in [(2,), (12,), (5, 5), (3, 3, 3)]:
        yield LinearSystem(f"neumann {shape}", neumann(*shape), True, is_sparse=True, is_singular=True)
    for nodes in (6, 25):
        yield LinearSystem(f"graph of {nodes}", graph_laplacian(nodes, 0.2, nodes), True, is_singular=True)


SYSTEMS: list[LinearSystem] = list(_systems())
"""All systems of the bank."""

SOLVABLE: list[LinearSystem] = [system for system in SYSTEMS if system.is_square and not system.is_singular]
"""Systems with exactly one solution."""

MILD: list[LinearSystem] = [system for system in SOLVABLE if system.condition < 1e4]
"""Well-conditioned systems: float64 determines many digits of their solutions."""


def _unsolvable() -> Iterator[Unsolvable]:
    ones = np.ones(12)
    yield Unsolvable("neumann with a source", neumann(12), np.eye(12)[0], True)
    yield Unsolvable("neumann with a source on a grid", neumann(4, 4), np.eye(16)[3], True)
    yield Unsolvable("graph with a source", graph_laplacian(12, 0.3, 1), ones, True)
    yield Unsolvable("zeros", np.zeros((4, 4)), np.ones(4), True)
    yield Unsolvable("zero one by one", np.zeros((1, 1)), np.ones(1), True)
    empty_row = np.diag([1.0, 2.0, 0.0, 3.0])
    yield Unsolvable("an empty row", empty_row, np.ones(4), True)
    yield Unsolvable("nilpotent", np.diag(np.ones(4), 1), np.ones(5))
    low = np.outer([1.0, 2.0, 3.0], [1.0, -1.0, 0.5])
    yield Unsolvable("rank one", low, np.asarray([1.0, 0.0, 0.0]))
    yield Unsolvable("rank one, symmetric", np.ones((3, 3)), np.asarray([1.0, 0.0, 0.0]), True)
    random = np.random.default_rng(0)
    singular = random.normal(size=(8, 7)) @ random.normal(size=(7, 8))
    yield Unsolvable("rank seven of eight", singular, random.normal(size=8))
    for value in (np.nan, np.inf, -np.inf):
        b = np.ones(6)
        b[2] = value
        yield Unsolvable(f"{value} in b", poisson(6), b, True, is_finite=False)
        a = poisson(6)
        a[1, 2] = a[2, 1] = value
        yield Unsolvable(f"{value} in A", a, np.ones(6), True, is_finite=False)


UNSOLVABLE: list[Unsolvable] = list(_unsolvable())
"""The second bank: no method may report convergence, except least squares."""
