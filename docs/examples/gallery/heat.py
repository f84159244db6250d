r"""Transient heat, and its gradient with respect to conductivity.

A pulse heats one side of a plate. The temperature $u$ follows the heat equation with the conductivity $k$,

$$\frac{\partial u}{\partial t} = \nabla \cdot (k \nabla u) + q,$$

which `scan` integrates by explicit Euler steps with a sparse matrix. The data are the temperatures of a plate with an
insulating disc. For a plate without the disc, `grad` differentiates the misfit with respect to the conductivity of
every cell, through all steps. The gradient is large where less conduction would keep the plate as warm as measured:
in front of the disc, and at the cold edge next to the heat.
"""

from matplotlib.figure import Figure

from xpand import array_namespace, scan, value_and_grad
from xpand.extend import Array, Namespace

from . import Results, Values
from .poisson import matrix

LIBRARIES = ("numpy", "torch", "jax")
SMALL = {"n": 8, "steps": 6}


def temperatures(log_conductivity: Array, heat: Array, pulse: Array, dt: float) -> Array:
    """Return the temperature of every cell after each step."""
    xp = array_namespace(log_conductivity)
    n = log_conductivity.shape[0]
    conduction = n**2 * matrix(log_conductivity)
    source = xp.reshape(heat, (-1,))

    def step(u: Array, power: Array) -> tuple[Array, Array]:
        u = u + dt * (power * source - conduction @ u)
        return u, u

    history = scan(step, xp.zeros_like(source), pulse)[1]
    return xp.reshape(history, (pulse.shape[0], n, n))


def compute(xp: Namespace, n: int = 20, steps: int = 300) -> Results:
    """Compute the temperatures with and without the disc, and the gradient of the misfit."""
    line = xp.linspace(0.0, 1.0, n, dtype=xp.float64)
    x, y = xp.meshgrid(line, line, indexing="ij")
    disc = xp.astype((x - 0.55) ** 2 + (y - 0.5) ** 2 < 0.03, xp.float64)
    heat = xp.exp(-((x - 0.15) ** 2) / 0.01)
    pulse = xp.astype(xp.arange(steps) < steps // 2, xp.float64)
    dt = 0.15 / n**2  # above 0.25 / n**2, the steps would be unstable
    measured = temperatures(-3.0 * disc, heat, pulse, dt)

    def misfit(log_conductivity: Array) -> Array:
        found = temperatures(log_conductivity, heat, pulse, dt)
        return array_namespace(found).sum((found - measured) ** 2)

    plain = xp.zeros((n, n), dtype=xp.float64)
    value, gradient = value_and_grad(misfit)(plain)
    # The derivative along the gradient is its squared length. Central differences must agree.
    length = xp.sum(gradient**2)
    size = 1e-2 / xp.sqrt(length)
    differences = (misfit(plain + size * gradient) - misfit(plain - size * gradient)) / (2 * size)
    return {
        "history": measured,
        "without": temperatures(plain, heat, pulse, dt),
        "misfit": value,
        "gradient": gradient,
        "disc": disc,
        "error": xp.abs(differences / length - 1.0),
    }


def summary(r: Values) -> str:
    """Return the result in one sentence."""
    return f"Central differences along the gradient agree with it within a relative error of {float(r['error']):.0e}."


def draw(figure: Figure, r: Values) -> None:
    """Draw the temperature at two times, the gradient, and the temperature behind the disc."""
    steps, n, _ = r["history"].shape
    panels = figure.subplots(1, 4, width_ratios=[1, 1, 1, 1.4])
    for axes, (title, values) in zip(
        panels,
        {
            "End of the pulse": r["history"][steps // 2 - 1],
            "Later": r["history"][-1],
            "Gradient": r["gradient"],
        }.items(),
    ):
        axes.imshow(values.T, origin="lower", cmap="viridis")
        axes.contour(r["disc"].T, levels=[0.5], colors="white", linewidths=0.8)
        axes.set_title(title)
        axes.set_axis_off()
    behind = (slice(None), 3 * n // 4, n // 2)
    panels[3].plot(r["history"][behind], label="with disc")
    panels[3].plot(r["without"][behind], "--", label="without")
    panels[3].set(title="Behind the disc", xlabel="step", ylabel="temperature")
    panels[3].legend()
