"""Random numbers inside of loops and branches, with bounds and parameters that are arrays, and refused: everywhere."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from xpand import array_namespace
from xpand_extensions import control_flow, random
from xpand_extensions.autodiff import grad

SEED = 11
THEIRS = jax.random.PRNGKey(SEED)
LOW = np.asarray([[-1.5], [0.25]])
HIGH = np.asarray([0.3, 1.0, 7.7])


def key_of(library: Library) -> Any:
    return random.key(library.asarray(np.asarray(SEED)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform_between_bounds_of_many_axes(library: Library, dtype: str) -> None:
    low, high = (x.astype(dtype) for x in (LOW, HIGH))
    expected = jax.random.uniform(THEIRS, (4, 2, 3), dtype, low, high)
    found = random.uniform(
        key_of(library), (4, 2, 3), getattr(library.xp, dtype), library.asarray(low), library.asarray(high)
    )
    library.assert_equal(found, np.asarray(expected))


def test_integers_between_bounds_of_many_axes(library: Library) -> None:
    low, high = np.asarray([[0], [-5]]), np.asarray([3, 100, 1])
    expected = jax.random.randint(THEIRS, (4, 2, 3), low, high, np.int64)
    found = random.randint(
        key_of(library), (4, 2, 3), library.asarray(low), library.asarray(high), dtype=library.xp.int64
    )
    library.assert_equal(found, np.asarray(expected))


@pytest.mark.parametrize("data", [0, 1, 2**31, 2**32 - 1])
def test_large_numbers_are_folded_in(library: Library, data: int) -> None:
    library.assert_equal(random.fold_in(key_of(library), data), np.asarray(jax.random.fold_in(THEIRS, data)))


def test_a_key_that_a_loop_carries(library: Library) -> None:
    """Sums until they are beyond 3: the numbers are those of a loop of Python's over keys of JAX."""
    key, total, steps = THEIRS, 0.0, 0
    while total < 3.0:
        key, used = jax.random.split(key)
        total, steps = total + float(jax.random.uniform(used, (), np.float64)), steps + 1

    def step(state: Any) -> Any:
        key, total, steps = state
        keys = random.split(key)
        return keys[0, ...], total + random.uniform(keys[1, ...], (), total.dtype), steps + 1

    init = (key_of(library), library.asarray(np.asarray(0.0)), library.asarray(np.asarray(0)))
    # A library that is lazy sees no loop end, and needs to know how long it may be.
    bound = {"max_iter": 2 * steps} if library.lazy else {}
    found = control_flow.while_loop(lambda state: state[1] < 3.0, step, init, **bound)
    library.assert_equal(found[0], np.asarray(key))
    library.assert_equal(found[1], np.asarray(total), rtol=1e-14)
    library.assert_equal(found[2], np.asarray(steps))


@pytest.mark.parametrize("heads", [True, False])
def test_a_branch_draws(library: Library, heads: bool) -> None:
    dtype = library.xp.float64
    found = control_flow.cond(
        library.asarray(np.asarray(heads)),
        lambda key: random.normal(key, (3,), dtype),
        lambda key: random.uniform(key, (3,), dtype),
        key_of(library),
    )
    draw = jax.random.normal if heads else jax.random.uniform
    library.assert_equal(found, np.asarray(draw(THEIRS, (3,), np.float64)), rtol=1e-13)


PARAMETERS = np.asarray([0.4, 1.0, 2.5])
WEIGHTS = np.asarray([1.0, -2.0, 3.0])
SAMPLES: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]] = {
    "beta": (lambda k, a: random.beta(k, a, 2.0), lambda a: jax.random.beta(THEIRS, a, 2.0)),
    "dirichlet": (random.dirichlet, lambda a: jax.random.dirichlet(THEIRS, a)),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_gradients_of_samples_of_several_numbers(library: Library, name: str) -> None:
    ours, reference = SAMPLES[name]
    expected = jax.grad(lambda a: (reference(a) * WEIGHTS).sum())(PARAMETERS)
    key, weights = key_of(library), library.asarray(WEIGHTS)
    found = grad(lambda a: array_namespace(a).sum(ours(key, a) * weights))(library.asarray(PARAMETERS))
    library.assert_equal(found, np.asarray(expected), rtol=1e-9)


IN_ONE_PARAMETER: dict[str, tuple[float, ...]] = {
    "truncated_normal": (-1.0, 0.5),
    "triangular": (0.0, 1.0, 2.0),
    "weibull_min": (1.0, 2.0),
    "beta": (2.0, 3.0),
    "f": (2.0, 3.0),
}


@pytest.mark.parametrize("name", IN_ONE_PARAMETER)
@pytest.mark.parametrize("library", [each for each in LIBRARIES if each.id != "jax"], ids=str)  # JAX has its own
def test_gradients_in_one_parameter_of_several(library: Library, name: str) -> None:
    """While the others are constants, arrays of the library or numbers: as all of NumPy's at once."""
    values = IN_ONE_PARAMETER[name]

    def total(key: Any, *parameters: Any) -> Any:
        samples = getattr(random, name)(key, *parameters, shape=(3,))
        return array_namespace(samples).sum(samples)

    places = tuple(range(1, 1 + len(values)))
    expected = grad(total, places)(random.key(SEED), *map(np.asarray, values))
    key, arrays = key_of(library), [library.asarray(np.asarray(x)) for x in values]
    for place, slope in enumerate(expected):
        for others in (arrays, values):
            given = [arrays[i] if i == place else x for i, x in enumerate(others)]
            library.assert_equal(grad(total, 1 + place)(key, *given), slope, rtol=1e-9)


BAD: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "poisson": (lambda k, a: random.poisson(k, a([1.0, -1.0])), "lam must not be negative or infinite"),
    "binomial": (lambda k, a: random.binomial(k, 3, a([0.5, 1.5])), "p must hold probabilities, from 0 to 1"),
    "geometric": (lambda k, a: random.geometric(k, a([0.5, 0.0])), "p must be above 0 and at most 1"),
    "multinomial": (lambda k, a: random.multinomial(k, 3, a([0.5, -0.5])), "p must not be negative"),
    "categorical": (lambda k, a: random.categorical(k, a([0.0, 1.0]), 2), "axis=2 is out of range"),
    "choice": (lambda k, a: random.choice(k, 2, (), p=a([0.5, 0.6])), "p must sum to 1"),
    "gamma": (lambda k, a: random.gamma(k, a([1.0, -1.0])), "gamma: a must not be negative"),
    "beta": (lambda k, a: random.beta(k, 1.0, a([-2.0])), "beta: b must not be negative"),
    "dirichlet": (lambda k, a: random.dirichlet(k, a([1.0, -1.0])), "alpha must not be negative"),
    "t": (lambda k, a: random.t(k, a([0.0])), "t: df must be above 0"),
    "chisquare": (lambda k, a: random.chisquare(k, a([-1.0])), "df must not be negative"),
    "truncated_normal": (lambda k, a: random.truncated_normal(k, a([1.0]), a([1.0])), "lower must be below upper"),
    "pareto": (lambda k, a: random.pareto(k, a([1.0, 1.0, 1.0]), (2,)), "pareto: a parameter of shape"),
    "multivariate_normal": (
        lambda k, a: random.multivariate_normal(k, a([0.0, 0.0]), a([[1.0, 2.0], [2.0, 1.0]])),
        "cov must be positive definite",
    ),
    "ball": (lambda k, a: random.ball(k, 2, 0.0), "ball: p must be above 0"),
    "orthogonal": (lambda k, a: random.orthogonal(k, -1), "orthogonal: n must be at least 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_parameters(eager_library: Library, name: str) -> None:
    function, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        function(key_of(eager_library), lambda x: eager_library.asarray(np.asarray(x)))
