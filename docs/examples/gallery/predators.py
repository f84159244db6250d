r"""An ODE and its adjoint, compiled for NumPy.

The populations $x$ of prey and $y$ of predators follow two differential equations,

$$\dot x = a x - b x y, \qquad \dot y = c x y - d y,$$

which a Runge-Kutta scheme integrates within `scan`. `grad` integrates the adjoint equations backwards in time, and
`jit` compiles both, on NumPy into machine code. `minimize` then recovers the four rates from noisy observations.
"""

from matplotlib.figure import Figure

from xpand import array_namespace, grad, jit, library_name, random, scan
from xpand.extend import Array, Namespace
from xpand_extensions.optimize import minimize

from . import Results, Values

LIBRARIES = ("numpy", "jax")
SMALL = {"steps": 60}
COMPILERS = {"numpy": "native"}
STEP = 0.05
RATES = (1.1, 0.4, 0.1, 0.4)


def slope(rates: Array, y: Array) -> Array:
    """Return the growth of both populations."""
    xp = array_namespace(rates, y)
    return xp.stack([rates[0] * y[0] - rates[1] * y[0] * y[1], rates[2] * y[0] * y[1] - rates[3] * y[1]])


def path(rates: Array, start: Array, steps: int, dt: float = STEP) -> Array:
    """Integrate by the classical Runge-Kutta scheme; return the populations after each step."""

    def step(y: Array, _: None) -> tuple[Array, Array]:
        k1 = slope(rates, y)
        k2 = slope(rates, y + 0.5 * dt * k1)
        k3 = slope(rates, y + 0.5 * dt * k2)
        k4 = slope(rates, y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return y, y

    return scan(step, start, None, length=steps)[1]


def misfit(logarithms: Array, start: Array, observed: Array) -> Array:
    """Return the mean squared error of the path for the logarithms of the rates."""
    xp = array_namespace(logarithms)
    return xp.mean((path(xp.exp(logarithms), start, observed.shape[0]) - observed) ** 2)


def compute(xp: Namespace, steps: int = 300) -> Results:
    """Fit the rates to a noisy path."""
    start = xp.asarray([10.0, 3.0], dtype=xp.float64)
    noise = random.normal(random.key(0, xp=xp), (steps, 2), dtype=xp.float64)
    observed = path(xp.asarray(RATES, dtype=xp.float64), start, steps) + 0.4 * noise
    guess = xp.asarray([0.9, 0.35, 0.12, 0.45], dtype=xp.float64)

    compiler = COMPILERS.get(library_name(xp))
    compiled = jit(misfit, compiler=compiler)
    adjoint = jit(grad(misfit), compiler=compiler)
    found = minimize(compiled, xp.log(guess), args=(start, observed), gradient=adjoint)
    return {
        "rates": xp.exp(found.x),
        "observed": observed,
        "misfit": found.fun,
        "before": path(guess, start, steps),
        "after": path(xp.exp(found.x), start, steps),
    }


def summary(r: Values) -> str:
    """Return the result in one sentence."""
    rates = ", ".join(f"{rate:.3f}" for rate in r["rates"])
    return f"Fitted rates: {rates}; those that made the data: {', '.join(map(str, RATES))}."


def draw(figure: Figure, r: Values) -> None:
    """Draw the observations with the paths before and after the fit."""
    time = [STEP * i for i in range(len(r["observed"]))]
    panels = figure.subplots(1, 2, sharey=True)
    for axes, part, title in zip(panels, ("before", "after"), ("Before", "After the fit")):
        for i, name in enumerate(("prey", "predators")):
            axes.plot(time[::4], r["observed"][::4, i], ".", color=f"C{i}", ms=3, alpha=0.5)
            axes.plot(time[::4], r[part][::4, i], color=f"C{i}", label=name)
        axes.set(title=title, xlabel="time")
    panels[1].legend()
