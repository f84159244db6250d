r"""Heat conduction with a sparse matrix.

The steady temperature $u$ of a plate with conductivity $k$ and heat sources $q$ solves a Poisson equation,

$$-\nabla \cdot (k \nabla u) = q.$$

Conjugate gradients with a multilevel preconditioner solve the sparse system. From measured temperatures, `grad` finds
how the misfit depends on the conductivity in every cell, by one more solve with the same matrix, and `minimize`
recovers the conductivity.
"""

from typing import Any

from matplotlib.figure import Figure

from xpand import array_namespace, grad, sparse
from xpand.extend import Array, Namespace
from xpand_extensions.linear_solve import multilevel, solve
from xpand_extensions.optimize import minimize

from . import Results, Values

LIBRARIES = ("numpy", "torch", "jax")
SMALL = {"n": 4, "steps": 100}


def matrix(log_conductivity: Array) -> Any:
    """Return the sparse matrix of the Poisson equation on a square of cells; its edge is kept at temperature 0."""
    xp = array_namespace(log_conductivity)
    n = log_conductivity.shape[0]
    k = xp.exp(log_conductivity)
    cells = xp.reshape(xp.arange(n * n), (n, n))
    first = xp.concat([xp.reshape(cells[:-1, :], (-1,)), xp.reshape(cells[:, :-1], (-1,))])
    second = xp.concat([xp.reshape(cells[1:, :], (-1,)), xp.reshape(cells[:, 1:], (-1,))])
    means = 0.5 * xp.concat([xp.reshape(k[1:, :] + k[:-1, :], (-1,)), xp.reshape(k[:, 1:] + k[:, :-1], (-1,))])
    edge = xp.concat([cells[0, :], cells[-1, :], cells[:, 0], cells[:, -1]])
    outwards = 2.0 * xp.concat([k[0, :], k[-1, :], k[:, 0], k[:, -1]])
    # Entries at the same position are summed.
    values = xp.concat([means, means, -means, -means, outwards])
    rows = xp.concat([first, second, first, second, edge])
    columns = xp.concat([first, second, second, first, edge])
    return sparse.COO(values, (rows, columns), (n * n, n * n)).tocsr()


def temperature(log_conductivity: Array, heat: Array, preconditioner: Any) -> Array:
    """Return the steady temperature."""
    xp = array_namespace(log_conductivity)
    right = xp.reshape(heat, (-1,))
    result = solve(matrix(log_conductivity), right, positive_definite=True, preconditioner=preconditioner, rtol=1e-11)
    return xp.reshape(result.x, heat.shape)


def compute(xp: Namespace, n: int = 24, steps: int = 60) -> Results:
    """Recover the conductivity of a plate with a conducting inclusion from its temperature."""
    line = xp.linspace(0.0, 1.0, n, dtype=xp.float64)
    x, y = xp.meshgrid(line, line, indexing="ij")
    truth = 1.5 * xp.exp(-((x - 0.35) ** 2 + (y - 0.6) ** 2) / 0.02)
    heat = xp.ones((n, n), dtype=xp.float64) / n**2
    start = xp.zeros((n, n), dtype=xp.float64)
    preconditioner = multilevel(matrix(start))
    measured = temperature(truth, heat, preconditioner)

    def misfit(log_conductivity: Array) -> Array:
        xp = array_namespace(log_conductivity)
        rough = xp.sum(xp.diff(log_conductivity, axis=0) ** 2) + xp.sum(xp.diff(log_conductivity, axis=1) ** 2)
        difference = temperature(log_conductivity, heat, preconditioner) - measured
        return 1e5 * xp.sum(difference**2) / n**2 + 1e-4 * rough

    gradient = grad(misfit)(start)
    found = minimize(misfit, start, max_steps=steps, throw=False)
    return {"truth": truth, "temperature": measured, "gradient": gradient, "found": found.x}


def summary(r: Values) -> str:
    """Return the result in one sentence."""
    return (
        f"The recovered logarithm of the conductivity reaches {r['found'].max():.2f}; "
        f"its true maximum is {r['truth'].max():.2f}."
    )


def draw(figure: Figure, r: Values) -> None:
    """Draw the temperature, the gradient, and the true and recovered conductivities."""
    panels = {"temperature": "Temperature", "gradient": "Gradient", "truth": "Conductivity", "found": "Recovered"}
    for axes, (name, title) in zip(figure.subplots(1, 4), panels.items()):
        shared = {"vmin": 0.0, "vmax": r["truth"].max()} if name in ("truth", "found") else {}
        axes.imshow(r[name].T, origin="lower", cmap="viridis", **shared)
        axes.set_title(title)
        axes.set_axis_off()
