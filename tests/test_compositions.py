"""Programs that put several topics together, each written once: values, transformations and second derivatives."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.special
import scipy.stats

from tests.libraries import LIBRARIES, Library
from tests.operations import Case, Check, as_tuple, check_values, checked
from xpand import array_namespace, polynomial, trees
from xpand_extensions import (
    arithmetic,
    bits,
    convolution,
    histograms,
    indexing,
    interpolation,
    linalg,
    padding,
    scatter,
    sorting,
    special,
    statistics,
    windows,
)

RNG = np.random.default_rng(7)


# A layer of a graph network: messages along edges, weighted by attention among the edges into a node


def graph_layer(nodes: Any, weight: Any, query: Any, sources: Any, targets: Any) -> Any:
    xp = array_namespace(nodes, weight, query, sources, targets)
    n = nodes.shape[0]
    messages = indexing.take(nodes @ weight, sources, axis=0)
    scores = xp.sum(messages * query, axis=-1)
    highest = scatter.segment_max(scores, targets, num_segments=n)
    exponentials = xp.exp(scores - indexing.take(highest, targets))
    totals = scatter.segment_sum(exponentials, targets, num_segments=n)
    attention = arithmetic.divide_no_nan(exponentials, indexing.take(totals, targets))
    received = scatter.scatter(xp.zeros_like(nodes), targets, attention[:, None] * messages, operation="add")
    return special.softplus(nodes + received), attention


def graph_layer_reference(nodes: Any, weight: Any, query: Any, sources: Any, targets: Any) -> Any:
    messages = (nodes @ weight)[sources]
    attention, received = np.zeros(len(targets)), np.zeros_like(nodes)
    for node in range(len(nodes)):
        into = targets == node
        exponentials = np.exp((messages @ query)[into])
        attention[into] = exponentials / exponentials.sum()
        received[node] = attention[into] @ messages[into]
    return np.logaddexp(0.0, nodes + received), attention


# Images: borders, a filter, pooling, and a warp


def warped_features(images: Any, kernel: Any, places: Any) -> Any:
    xp = array_namespace(images, kernel, places)
    extended = padding.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="reflect")
    features = convolution.conv(extended, kernel)
    pooled = windows.max_pool(features, 2)
    return interpolation.grid_sample(xp.moveaxis(pooled, 1, -1), places, extrapolation="zeros")


def warped_features_reference(images: Any, kernel: Any, places: Any) -> Any:
    extended = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="reflect")
    features = [
        [sum(scipy.signal.correlate(x, k, mode="valid") for x, k in zip(image, each)) for each in kernel]
        for image in extended
    ]
    blocks = np.lib.stride_tricks.sliding_window_view(np.asarray(features), (2, 2), axis=(2, 3))[:, :, ::2, ::2]
    pooled = blocks.max(axis=(-2, -1))
    return np.stack(
        [
            np.stack([scipy.ndimage.map_coordinates(x, at.T, order=1, mode="grid-constant") for x in image], axis=-1)
            for image, at in zip(pooled, places)
        ]
    )


# Give values the distribution of others


def match_histogram(values: Any, weights: Any, target: Any, widths: Any) -> Any:
    xp = array_namespace(values, weights, target, widths)
    edges = xp.cumulative_sum(widths, include_initial=True)
    counts = histograms.histogram(values, edges, weights=weights).hist
    wanted = histograms.histogram(target, edges).hist
    wanted = xp.astype(wanted, values.dtype)
    cumulated = xp.cumulative_sum(counts / xp.sum(counts), include_initial=True)
    # A slope everywhere, so that the inverse is a function.
    wanted = xp.cumulative_sum((wanted + 1.0) / xp.sum(wanted + 1.0), include_initial=True)
    ranks = interpolation.interp(values, edges, cumulated)
    return interpolation.interp(ranks, wanted, edges), sorting.searchsorted(wanted, ranks)


def match_histogram_reference(values: Any, weights: Any, target: Any, widths: Any) -> Any:
    edges = np.concatenate([[0.0], np.cumsum(widths)])
    counts = np.histogram(values, edges, weights=weights)[0]
    wanted = np.histogram(target, edges)[0] + 1.0
    cumulated = np.concatenate([[0.0], np.cumsum(counts / counts.sum())])
    wanted = np.concatenate([[0.0], np.cumsum(wanted / wanted.sum())])
    ranks = np.interp(values, edges, cumulated)
    return np.interp(ranks, wanted, edges), np.searchsorted(wanted, ranks)


# The evidence of a Gaussian process, averaged over levels of noise


def gaussian_process(points: Any, observed: Any, log_scales: Any, log_noises: Any) -> Any:
    xp = array_namespace(points, observed, log_scales, log_noises)
    differences = points[:, None, :] - points[None, :, :]
    distances = linalg.einsum("ijd,ijd,d->ij", differences, differences, xp.exp(-2.0 * log_scales))
    identity = xp.tril(xp.triu(xp.ones_like(distances)))
    lower = xp.linalg.cholesky(xp.exp(-0.5 * distances) + xp.exp(log_noises)[:, None, None] * identity)
    whitened = linalg.triangular_solve(lower, observed[:, None])
    log_determinant = 2.0 * xp.sum(xp.log(linalg.diagonal(lower)), axis=-1)
    evidence = -0.5 * (
        xp.sum(whitened * whitened, axis=(-2, -1)) + log_determinant + math.log(2.0 * math.pi) * points.shape[0]
    )
    return special.logsumexp(evidence) - math.log(log_noises.shape[0]), special.softmax(evidence)


def gaussian_process_reference(points: Any, observed: Any, log_scales: Any, log_noises: Any) -> Any:
    scaled = points / np.exp(log_scales)
    kernel = np.exp(-0.5 * ((scaled[:, None] - scaled[None]) ** 2).sum(-1))
    evidence = []
    for noise in np.exp(log_noises):
        covariance = kernel + noise * np.eye(len(points))
        quadratic = observed @ np.linalg.solve(covariance, observed)
        evidence.append(-0.5 * (quadratic + np.linalg.slogdet(2.0 * np.pi * covariance)[1]))
    weights = scipy.special.softmax(evidence)
    return np.asarray(scipy.special.logsumexp(evidence) - np.log(len(log_noises))), weights


# Particles in cells: charges onto a periodic grid, smoothed, and the field back at the particles


def particle_in_cell(positions: Any, charges: Any, grid: Any) -> Any:
    xp = array_namespace(positions, charges, grid)
    corners = xp.floor(positions)
    fractions = positions - corners
    cells = xp.astype(corners, xp.int64)
    for offset in itertools.product((0, 1), repeat=2):
        shares = [fractions[:, axis] if step else 1.0 - fractions[:, axis] for axis, step in enumerate(offset)]
        places = xp.stack([cells[:, axis] + step for axis, step in enumerate(offset)], axis=-1)
        grid = scatter.scatter_nd(grid, places, charges * shares[0] * shares[1], operation="add", mode="wrap")
    density = windows.window_sum(padding.pad(grid, 1, mode="wrap"), 3) / 9.0
    field = xp.stack(statistics.gradient(padding.pad(density, 1, mode="wrap")), axis=-1)[1:-1, 1:-1, :]
    return density, indexing.gather_nd(field, cells, mode="wrap")


def particle_in_cell_reference(positions: Any, charges: Any, grid: Any) -> Any:
    grid = grid.copy()
    corners = np.floor(positions).astype(int)
    for (i, j), (u, v), charge in zip(corners, positions - corners, charges):
        share = charge * np.asarray([[(1 - u) * (1 - v), (1 - u) * v], [u * (1 - v), u * v]])
        for a, b in itertools.product((0, 1), repeat=2):
            grid[(i + a) % grid.shape[0], (j + b) % grid.shape[1]] += share[a, b]
    density = scipy.ndimage.uniform_filter(grid, 3, mode="wrap")
    field = np.stack([(np.roll(density, -1, axis) - np.roll(density, 1, axis)) / 2.0 for axis in (0, 1)], axis=-1)
    return density, field[corners[:, 0] % grid.shape[0], corners[:, 1] % grid.shape[1]]


# A line through points with outliers, by reweighted least squares


def robust_line(x: Any, y: Any) -> Any:
    xp = array_namespace(x, y)
    residuals = y - polynomial.polyval(polynomial.polyfit(x, y, 1), x)
    centred = xp.abs(residuals - statistics.median(residuals))
    weights = 1.0 / (1.0 + (centred / (3.0 * statistics.median(centred))) ** 2)
    line = linalg.lstsq(polynomial.vander(x, 2) * weights[:, None], y * weights).x
    return line, statistics.quantile(y - polynomial.polyval(line, x), [0.1, 0.5, 0.9])


def robust_line_reference(x: Any, y: Any) -> Any:
    residuals = y - np.polyval(np.polyfit(x, y, 1), x)
    centred = np.abs(residuals - np.median(residuals))
    line = np.polyfit(x, y, 1, w=1.0 / (1.0 + (centred / (3.0 * np.median(centred))) ** 2))
    return line, np.quantile(y - np.polyval(line, x), [0.1, 0.5, 0.9])


# Classes by the nearest neighbours


def nearest_neighbours(points: Any, labels: Any, queries: Any) -> Any:
    xp = array_namespace(points, labels, queries)
    differences = queries[:, None, :] - points[None, :, :]
    distances = linalg.einsum("qpd,qpd->qp", differences, differences)
    nearest = sorting.top_k(distances, 3, largest=False).indices
    near = indexing.take_along_axis(distances, nearest, axis=-1)
    votes = histograms.bincount(indexing.take(labels, nearest), weights=special.softmax(-near), length=4)
    return votes, xp.argmax(votes, axis=-1), special.entr(votes + 0.01)


def nearest_neighbours_reference(points: Any, labels: Any, queries: Any) -> Any:
    distances = ((queries[:, None] - points[None]) ** 2).sum(-1)
    nearest = np.argsort(distances, axis=-1)[:, :3]
    weights = scipy.special.softmax(-np.take_along_axis(distances, nearest, axis=-1), axis=-1)
    votes = np.zeros((len(queries), 4))
    for row, (chosen, weight) in enumerate(zip(labels[nearest], weights)):
        np.add.at(votes[row], chosen, weight)
    return votes, votes.argmax(-1), scipy.special.entr(votes + 0.01)


# Likelihoods: times that follow a gamma distribution, some cut off; counts; and a probit


def survival(times: Any, observed: Any, covariates: Any, coefficients: Any, log_shape: Any) -> Any:
    xp = array_namespace(times, observed, covariates, coefficients, log_shape)
    rates = xp.exp(linalg.matvec(covariates, coefficients))
    shape = xp.exp(log_shape)
    scaled = times * rates
    events = shape * xp.log(rates) + special.xlogy(shape - 1.0, times) - scaled - special.gammaln(shape)
    return xp.sum(xp.where(observed, events, xp.log(special.gammaincc(shape, scaled))))


def survival_reference(times: Any, observed: Any, covariates: Any, coefficients: Any, log_shape: Any) -> Any:
    distribution = scipy.stats.gamma(np.exp(log_shape), scale=np.exp(-covariates @ coefficients))
    return np.where(observed, distribution.logpdf(times), distribution.logsf(times)).sum()


def counts_and_choices(counts: Any, chosen: Any, covariates: Any, coefficients: Any) -> Any:
    xp = array_namespace(counts, chosen, covariates, coefficients)
    linear = linalg.matvec(covariates, coefficients)
    number = xp.astype(counts, linear.dtype)
    poisson = special.xlogy(number, xp.exp(linear)) - xp.exp(linear) - special.gammaln(number + 1.0)
    probit = special.log_ndtr(6.0 * xp.where(chosen, linear, -linear))
    # Of a Dirichlet distribution, what its logarithms are expected to be
    expected = special.digamma(xp.exp(linear)) - special.digamma(xp.sum(xp.exp(linear)))
    return xp.sum(poisson), probit, expected, statistics.logcumsumexp(probit)


def counts_and_choices_reference(counts: Any, chosen: Any, covariates: Any, coefficients: Any) -> Any:
    linear = covariates @ coefficients
    probit = scipy.stats.norm.logcdf(6.0 * np.where(chosen, linear, -linear))
    expected = scipy.special.digamma(np.exp(linear)) - scipy.special.digamma(np.exp(linear).sum())
    poisson = scipy.stats.poisson.logpmf(counts, np.exp(linear)).sum()
    return poisson, probit, expected, np.logaddexp.accumulate(probit)


# A Bloom filter, packed into bytes


def bloom_filter(table: Any, inserted: Any, queries: Any) -> Any:
    xp = array_namespace(table, inserted, queries)

    def hashes(keys: Any) -> Any:
        mixed = [keys * factor + (factor >> 3) for factor in (40503, 25717, 60493)]
        return xp.stack([bits.shift_right(x ^ bits.shift_right(x, 7), 3) & 127 for x in mixed])

    table = scatter.scatter(table, xp.reshape(hashes(inserted), (-1,)), True)
    packed = bits.packbits(table, bitorder="little")
    places = hashes(queries)
    bytes_of = xp.astype(indexing.take(packed, bits.shift_right(places, 3)), places.dtype)
    found = xp.all(bits.shift_right(bytes_of, places & 7) & 1 == 1, axis=0)
    return packed, found, xp.sum(xp.astype(bits.population_count(packed), xp.int64)), bits.unpackbits(packed, count=100)


def bloom_filter_reference(table: Any, inserted: Any, queries: Any) -> Any:
    def hashes(key: int) -> list[int]:
        mixed = [int(key) * factor + (factor >> 3) for factor in (40503, 25717, 60493)]
        return [((x ^ (x >> 7)) >> 3) % 128 for x in mixed]

    table = table.copy()
    table[[each for key in inserted for each in hashes(key)]] = True
    found = np.asarray([all(table[each] for each in hashes(key)) for key in queries])
    packed = np.packbits(table, bitorder="little")
    return packed, found, np.asarray(table.sum()), np.unpackbits(packed, count=100)


# A linear system of differential equations, its states a tree, its steps exact


def exponential_steps(generator: Any, position: Any, velocities: Any) -> Any:
    propagator = linalg.expm(0.25 * generator)

    def step(state: Any) -> Any:
        return trees.map(lambda x: linalg.dot_general(x, propagator, axes=((-1,), (1,))), state)

    states = [{"position": position, "velocities": [velocities]}]
    for _ in range(3):
        states.append(step(states[-1]))
    history = trees.stack(states)
    middle = trees.unstack(history)[2]
    return history["position"], middle["velocities"][0], linalg.logm(propagator)


def exponential_steps_reference(generator: Any, position: Any, velocities: Any) -> Any:
    at = [scipy.linalg.expm(0.25 * k * generator) for k in range(4)]
    return np.stack([each @ position for each in at]), velocities @ at[2].T, 0.25 * generator


# Peaks of a noisy signal with gaps


def peaks(signal: Any, kernel: Any) -> Any:
    xp = array_namespace(signal, kernel)
    filled = xp.where(xp.isnan(signal), statistics.nanmedian(signal), signal)
    smooth = convolution.convolve(filled, kernel, mode="same")
    highest = windows.window_max(smooth, 5, padding="same")
    threshold = statistics.quantile(smooth, 0.5)
    (places,) = indexing.nonzero((smooth == highest) & (smooth > threshold), size=6, fill_value=-1)
    heights = indexing.take(smooth, places, mode="wrap")
    heights = xp.where(places >= 0, heights, xp.zeros_like(heights))
    return smooth, places, heights, statistics.cumulative_max(heights)


def peaks_reference(signal: Any, kernel: Any) -> Any:
    smooth = np.convolve(np.where(np.isnan(signal), np.nanmedian(signal), signal), kernel, mode="same")
    highest = scipy.ndimage.maximum_filter1d(smooth, 5, mode="nearest")
    found = np.nonzero((smooth == highest) & (smooth > np.median(smooth)))[0]
    places = np.concatenate([found, np.full(6, -1)])[:6]
    heights = np.where(places >= 0, smooth[places], 0.0)
    return smooth, places, heights, np.maximum.accumulate(heights)


INSIDE = (np.arange(9) % 5 + RNG.uniform(0.2, 0.8, 9)) / 5.0
"""Values between the edges, not near any."""

CASES = {
    "graph_layer": Case(
        graph_layer,
        (
            RNG.normal(size=(4, 2)),
            RNG.normal(size=(2, 2)),
            RNG.normal(size=2),
            np.asarray([0, 1, 2, 3, 0, 2]),
            np.asarray([1, 1, 1, 2, 2, 3]),  # none into node 0
        ),
        graph_layer_reference,
        (1, 2),
    ),
    "warped_features": Case(
        warped_features,
        (RNG.normal(size=(2, 1, 4, 6)), RNG.normal(size=(2, 1, 3, 3)), RNG.uniform(-0.4, 2.4, size=(2, 1, 2))),
        warped_features_reference,
        (1, 2),
        atol=1e-14,
    ),
    "match_histogram": Case(
        match_histogram,
        (INSIDE, RNG.uniform(0.5, 1.5, 9), RNG.beta(2.0, 5.0, 20), np.full(5, 0.2)),
        match_histogram_reference,
        (0, 1),
    ),
    "gaussian_process": Case(
        gaussian_process,
        (RNG.normal(size=(4, 2)), RNG.normal(size=4), np.asarray([-0.3, 0.4]), np.asarray([-3.0, -1.0, 0.5])),
        gaussian_process_reference,
        (1, 2),
        rtol=1e-11,  # the covariances have condition numbers of some tens
    ),
    "particle_in_cell": Case(
        particle_in_cell,
        (RNG.integers(-5, 10, size=(4, 2)) + RNG.uniform(0.1, 0.9, (4, 2)), RNG.normal(size=4), np.zeros((4, 5))),
        particle_in_cell_reference,
        (0, 1),
        atol=1e-14,
    ),
    "robust_line": Case(
        robust_line,
        (np.linspace(0.0, 2.0, 7), 0.5 + 1.5 * np.linspace(0.0, 2.0, 7) + RNG.standard_t(2, 7)),
        robust_line_reference,
        (1,),
        rtol=1e-10,
    ),
    "nearest_neighbours": Case(
        nearest_neighbours,
        (RNG.normal(size=(6, 2)), RNG.integers(0, 4, 6), RNG.normal(size=(2, 2))),
        nearest_neighbours_reference,
        (0, 2),
    ),
    "survival": Case(
        survival,
        (
            RNG.gamma(2.0, size=5),
            np.asarray([True, False, True, True, False]),
            RNG.normal(size=(5, 2)),
            np.asarray([0.3, -0.2]),
            np.asarray(0.6),
        ),
        survival_reference,
        (3, 4),
    ),
    "counts_and_choices": Case(
        counts_and_choices,
        (
            np.asarray([0, 3, 1, 7]),
            np.asarray([False, False, True, True]),  # the third is far out in the tail
            np.asarray([[1.0, 0.5], [0.3, -1.0], [1.5, -5.0], [0.7, 0.8]]),
            np.asarray([0.4, 0.9]),
        ),
        counts_and_choices_reference,
        (3,),
    ),
    "bloom_filter": Case(
        bloom_filter,
        (np.arange(128) == 64, np.asarray([3, 141, 5926, 53589]), np.asarray([3, 4, 5926, 7, 53589, 8])),
        bloom_filter_reference,
    ),
    "exponential_steps": Case(
        exponential_steps,
        (
            np.asarray([[0.0, 1.0], [-2.0, -0.3]]),
            RNG.normal(size=2),
            RNG.normal(size=(3, 2)),
        ),
        exponential_steps_reference,
        (0, 1),
        atol=1e-14,
    ),
    "peaks": Case(
        peaks,
        (np.where(np.arange(16) % 7 == 3, np.nan, np.sin(np.arange(16.0)) + 0.1 * RNG.normal(size=16)), np.ones(3) / 3),
        peaks_reference,
        (1,),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


# Transformations of transformations. One library is held against the other: they share no derivative.

SMOOTH = {name: case for name, case in CASES.items() if case.differentiable}
ONE = {library.id: library for library in LIBRARIES}


def number_of(case: Case) -> Callable[..., Any]:
    """Make a real number of the results, none of whose elements is without a part in it."""

    def number(*arrays: Any) -> Any:
        results = as_tuple(case.function(*arrays))
        xp = array_namespace(*results)
        parts = [xp.sum(xp.sin(x)) for x in results if xp.isdtype(x.dtype, "real floating")]
        return sum(parts[1:], parts[0])

    return number


def batches_of(case: Case) -> list[np.ndarray]:
    """Two lanes that differ: each array, and the array with its first axis reversed."""
    return [np.stack([x, x[::-1] if x.ndim else 0.5 * x]) for x in case.arrays]


def assert_near(library: Library, actual: Any, expected: list[np.ndarray], rtol: float) -> None:
    assert len(actual) == len(expected)
    for result, wanted in zip(actual, expected):
        scale = float(np.max(np.abs(wanted), initial=0.0))
        library.assert_equal(result, wanted, rtol=rtol, atol=rtol * scale)


def torch_gradients(case: Case) -> list[np.ndarray]:
    """The gradients for each lane, by PyTorch, one lane at a time."""
    import torch

    gradients = torch.func.grad(number_of(case), case.differentiable)
    lanes = [gradients(*(torch.asarray(x[i].copy()) for x in batches_of(case))) for i in range(2)]
    return [torch.stack(each).numpy() for each in zip(*lanes)]


UNCOMPILED = ["graph_layer", "particle_in_cell", "peaks"]


@pytest.mark.parametrize("name", SMOOTH)
def test_mapped_gradients(name: str) -> None:
    import jax
    import torch

    case = SMOOTH[name]
    expected = torch_gradients(case)
    assert any(np.any(each) for each in expected)
    gradients = torch.func.vmap(torch.func.grad(number_of(case), case.differentiable))
    arrays = [ONE["torch"].asarray(x) for x in batches_of(case)]
    assert_near(ONE["torch"], gradients(*arrays), expected, 1e-9)
    gradients = jax.vmap(jax.grad(number_of(case), case.differentiable))
    arrays = [ONE["jax"].asarray(x) for x in batches_of(case)]
    # Uncompiled, each step is a compilation of its own: where there are many, this takes seconds and adds little.
    for function in (jax.jit(gradients), *((gradients,) if name in UNCOMPILED else ())):
        assert_near(ONE["jax"], function(*arrays), expected, 1e-9)


SECOND = ["graph_layer", "gaussian_process", "particle_in_cell", "nearest_neighbours", "survival", "counts_and_choices"]


@pytest.mark.parametrize("name", [*SECOND, "exponential_steps"])
def test_second_derivatives(name: str) -> None:
    import jax
    import torch

    case = CASES[name]
    position = case.differentiable[0]
    arrays = [ONE["torch"].asarray(x) for x in case.arrays]
    expected = differences_of_gradients(case, position)
    result = torch.func.hessian(number_of(case), position)(*arrays)
    assert_near(ONE["torch"], [result], [expected], 1e-6)
    hessian = jax.jit(jax.hessian(number_of(case), position))
    arrays = [ONE["jax"].asarray(x) for x in case.arrays]
    assert_near(ONE["jax"], [hessian(*arrays)], [expected], 1e-6)


def differences_of_gradients(case: Case, position: int) -> np.ndarray:
    """Central differences of fourth order of PyTorch's gradients; the axes of the steps come last."""
    import torch

    gradient = torch.func.grad(number_of(case), position)
    x = case.arrays[position]
    columns = np.zeros(x.shape + x.shape)

    def at(index: tuple[int, ...], step: float) -> np.ndarray:
        arrays = [np.array(each) for each in case.arrays]
        arrays[position][index] += step
        return gradient(*(torch.asarray(each) for each in arrays)).numpy()

    for index in np.ndindex(x.shape):
        h = 1e-4
        near, far = at(index, h) - at(index, -h), at(index, 2 * h) - at(index, -2 * h)
        columns[(..., *index)] = (8 * near - far) / (12 * h)
    return columns
