"""The tour's computations: pure functions of arrays, written once against the standard and xpand's extensions.

No library is named here, no value is asked for on the way, and no array is changed, so every function runs on eager,
lazy and traced arrays, on the device where its arguments lie.
"""

from functools import partial

from xpand import array_namespace, device, grad, jit, named, scan, sparse, vmap
from xpand.typing import Array
from xpand_extensions.linear_solve import solve
from xpand_extensions.scatter import segment_sum


def standardise(x: Array) -> Array:
    """Shift and scale each column of `x`, (n, p), to mean 0 and standard deviation 1; constant columns become 0."""
    xp = array_namespace(x)
    spread = xp.std(x, axis=0)
    return (x - xp.mean(x, axis=0)) / xp.where(spread == 0, xp.ones_like(spread), spread)


def principal_components(x: Array, *, count: int) -> tuple[Array, Array]:
    """Find the directions in which `x`, (n, p), varies most, by its singular value decomposition.

    A singular vector's sign is arbitrary; here the largest weight of each is positive, so that all libraries agree.

    Returns:
        The coordinates of each row along the first `count` directions, (n, count), and the share of the variance that
        each of them explains, (count,).
    """
    xp = array_namespace(x)
    centred = x - xp.mean(x, axis=0)
    u, s, vt = xp.linalg.svd(centred, full_matrices=False)
    u, vt = u[:, :count], vt[:count, :]
    one = xp.ones_like(s[:count])
    sign = xp.where(xp.max(vt, axis=1) >= -xp.min(vt, axis=1), one, -one)
    return u * (sign * s[:count]), s[:count] ** 2 / xp.sum(s**2)


def ridge_path(x: Array, y: Array, penalties: Array) -> Array:
    """Fit `y`, (n,), by a linear function of `x`, (n, p), for each of the `penalties`, (k,), on squared weights.

    One decomposition serves all penalties: with x = U S Vᵀ, the weights are V diag(s / (s² + penalty)) Uᵀ y.

    Returns:
        The weights, (k, p); the intercept is omitted, both `x` and `y` are centred first.
    """
    xp = array_namespace(x, y, penalties)
    u, s, vt = xp.linalg.svd(x - xp.mean(x, axis=0), full_matrices=False)
    along = xp.matmul(u.T, y - xp.mean(y))
    return xp.matmul(s * along / (s**2 + penalties[:, None]), vt)


def logistic_regression(x: Array, y: Array, *, penalty: float, steps: int) -> tuple[Array, Array]:
    """Fit the probability of `y`, (n,) of 0 and 1, given `x`, (n, p), by Newton's method.

    Returns:
        The weights, (p + 1,), the intercept (which is not penalised) last, and the log-odds of each row, (n,).
    """
    xp = array_namespace(x, y)
    x = xp.concat((x, xp.ones_like(x[:, :1])), axis=1)
    penalised = xp.concat((xp.full_like(x[0, :-1], penalty), xp.zeros_like(x[0, -1:])))
    curvature = penalised * xp.eye(x.shape[1], dtype=x.dtype, device=device(x))
    w = xp.zeros_like(penalised)
    for _ in range(steps):
        p = probability(xp.matmul(x, w))
        gradient = xp.matmul(x.T, p - y) + penalised * w
        hessian = xp.matmul(x.T * (p * (1 - p)), x) + curvature
        w = w - xp.linalg.solve(hessian, gradient)
    return w, xp.matmul(x, w)


def probability(log_odds: Array) -> Array:
    """Turn log-odds of any shape into probabilities; nothing overflows, however large they are."""
    return 0.5 * (1 + array_namespace(log_odds).tanh(0.5 * log_odds))


def k_means(x: Array, centres: Array, *, steps: int) -> tuple[Array, Array]:
    """Group the rows of `x`, (n, p), around centres, by Lloyd's algorithm from the given `centres`, (k, p).

    Returns:
        The centres after `steps` steps, (k, p), and the group of each row, (n,).
    """
    xp = array_namespace(x, centres)
    groups = xp.arange(centres.shape[0], device=device(x))
    for _ in range(steps):
        # With as few groups as this a product with 0 and 1 is the fastest sum, lazy arrays included.
        belongs = xp.astype(nearest(x, centres)[:, None] == groups, x.dtype)
        totals = xp.matmul(belongs.T, x)
        sizes = xp.sum(belongs, axis=0)[:, None]
        # A group that has lost all its rows keeps its centre.
        centres = xp.where(sizes > 0, totals / xp.where(sizes > 0, sizes, xp.ones_like(sizes)), centres)
    return centres, nearest(x, centres)


def nearest(x: Array, centres: Array) -> Array:
    """Find the centre, of (k, p), nearest to each row of `x`, (n, p); indices, (n,)."""
    xp = array_namespace(x, centres)
    # The squared distance without |x|², which is the same for all centres.
    return xp.argmin(xp.sum(centres**2, axis=1) - 2 * xp.matmul(x, centres.T), axis=1)


def histogram_2d(x: Array, y: Array, *, bins: int, low: float, high: float) -> Array:
    """Count the pairs of `x` and `y`, (n,) each, in `bins` by `bins` equal cells from `low` to `high`: a scatter."""
    xp = array_namespace(x, y)
    row, column = (xp.astype(xp.floor((v - low) * (bins / (high - low))), xp.int64) for v in (x, y))
    cell = xp.clip(row, 0, bins - 1) * bins + xp.clip(column, 0, bins - 1)
    return xp.reshape(segment_sum(xp.ones_like(x), cell, num_segments=bins * bins), (bins, bins))


def influences(x: Array, y: Array, w: Array) -> Array:
    """Measure how much each row of `x`, (n, p), pulls on the weights `w`, (p,): the norm of its own gradient, (n,).

    The loss of a row is that of logistic regression with the label in `y`, (n,) of 0 and 1.
    """

    def loss(w: Array, row: Array, label: Array) -> Array:
        xp = array_namespace(w, row, label)
        log_odds = xp.sum(row * w)
        return xp.log1p(xp.exp(-xp.abs(log_odds))) + xp.maximum(log_odds, 0 * log_odds) - label * log_odds

    gradients = vmap(grad(loss), in_axes=(None, 0, 0))(w, x, y)
    return array_namespace(gradients).linalg.vector_norm(gradients, axis=-1)


@partial(jit, static_argnames="steps")
def diffusion(image: Array, *, steps: int) -> tuple[Array, Array]:
    """Blur an image, (m, n), by `steps` small steps of the heat equation: a loop that is compiled as a whole.

    Returns:
        The image, and the standard deviation of its pixels before each step, (steps,).
    """

    def step(image: Array, _: None) -> tuple[Array, Array]:
        xp = array_namespace(image)
        sides = [
            xp.eye(size, k=1, dtype=image.dtype, device=device(image))
            + xp.eye(size, k=-1, dtype=image.dtype, device=device(image))
            for size in image.shape
        ]
        around = xp.matmul(sides[0], image) + xp.matmul(image, sides[1])
        return 0.6 * image + 0.1 * around, xp.std(image)

    return scan(step, image, None, length=steps)


def smoothed(image: Array, *, steps: int) -> tuple[Array, Array]:
    """Smooth an image, (m, n), by one large step of the heat equation: a sparse linear system of its pixels.

    Returns:
        The image after `steps` steps of conjugate gradients, and the norm of the residual before the first and after
        each, (steps + 1,).
    """
    xp = array_namespace(image)
    second = []
    for size in image.shape:
        one = xp.ones(size, dtype=image.dtype, device=device(image))
        second.append(sparse.diags([2 * one, -one[1:], -one[1:]], offsets=[0, 1, -1]))
    m, n = (sparse.eye(size, dtype=image.dtype, xp=xp, device=device(image)) for size in image.shape)
    a = sparse.kron(m, n) + 2.0 * (sparse.kron(second[0], n) + sparse.kron(m, second[1]))
    found = solve(a, xp.reshape(image, (-1,)), method="cg", rtol=0.0, max_steps=steps, record_history=True, throw=False)
    assert found.history is not None, "it is recorded"
    return xp.reshape(found.x, image.shape), found.history


def row_products(images: Array) -> Array:
    """Compute how the rows of images, (k, m, n), go together: the mean product of each two, (m, m), by named axes."""
    x = named.named(images, ("image", "row", "column"))
    centred = x - x.mean("image")
    other = centred.rename({"row": "other"})
    return (centred * other).mean(("image", "column")).rearrange(("row", "other")).array
