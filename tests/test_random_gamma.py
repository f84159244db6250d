"""The gamma distribution and those made of it: samples, laws, and derivatives in the parameters."""

import itertools
from functools import partial
from typing import Any

import jax
import mpmath
import numpy as np
import pytest
import torch
from scipy import stats
from torch.autograd import forward_ad

from tests.distributions import SEED, Distribution, check_agrees, check_law, spread
from tests.libraries import EAGER_LIBRARIES, LIBRARIES, Library
from xpand import array_namespace
from xpand_extensions import random
from xpand_extensions.autodiff import grad, hessian, jvp
from xpand_extensions.control_flow import scan
from xpand_extensions.generic import random as generic
from xpand_extensions.generic.random._gamma import log_gamma_slope
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

SHAPES = spread(0.01, 0.5, 1.0, 3.0, 100.0)
DISTRIBUTIONS = {
    "gamma": Distribution((SHAPES,), stats.gamma(0.01)),
    "loggamma": Distribution((SHAPES,), scale=1.0),
    # The difference of two logarithms.
    "beta": Distribution((spread(0.5, 2.0, 0.1), spread(3.0, 0.5)), stats.beta(0.5, 3.0), scale=1.0),
    "chisquare": Distribution((spread(0.5, 1.0, 4.0),), stats.chi2(0.5)),
    "t": Distribution((spread(1.0, 4.0, 0.5),), stats.t(1.0)),
    "f": Distribution((spread(1.0, 4.0), 5.0), stats.f(1.0, 5.0)),
    "generalized_normal": Distribution((1.5,), stats.gennorm(1.5), takes_shape=True),
}
NUMPY, TORCH, JAX, STRICT = LIBRARIES[:4]


def _key(library: Library, seed: int = SEED) -> Any:
    return library.asarray(np.asarray([0, seed], dtype=np.uint32))


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_samples_are_those_of_jax(library: Library, name: str) -> None:
    check_agrees(library, name, DISTRIBUTIONS[name])


@pytest.mark.parametrize("name", ["gamma", "loggamma"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_samples_of_narrower_types_are_those_of_jax(name: str, dtype: str) -> None:
    for library in (NUMPY, TORCH):
        check_agrees(library, name, Distribution((spread(0.5, 1.0, 3.0, 20.0),), scale=1.0), dtype)


def test_dirichlet_is_that_of_jax(library: Library) -> None:
    alpha = np.asarray([[0.1, 2.0, 3.0], [1.0, 1.0, 1.0]])
    for shape in (None, (4, 2)):
        expected = np.asarray(jax.random.dirichlet(jax.random.PRNGKey(SEED), alpha, shape))
        found = library.to_numpy(random.dirichlet(_key(library), library.asarray(alpha), shape))
        np.testing.assert_allclose(found, expected, rtol=1e-13)
        np.testing.assert_allclose(found.sum(axis=-1), 1.0, rtol=1e-14)


@pytest.mark.parametrize("name", [name for name, case in DISTRIBUTIONS.items() if case.law is not None])
def test_samples_follow_the_law(name: str) -> None:
    case = DISTRIBUTIONS[name]
    check_law(name, tuple(x.flat[0] if isinstance(x, np.ndarray) else x for x in case.parameters), case.law)


@pytest.mark.parametrize(("name", "parameters", "law"), [
    ("generalized_normal", (100.0,), stats.gennorm(100.0)),
    ("generalized_normal", (1000.0,), stats.uniform(-1.0, 2.0)),  # SciPy's function underflows
    ("t", (0.2,), stats.t(0.2)),
])  # fmt: skip
def test_powers_of_small_samples_do_not_underflow(
    library: Library, name: str, parameters: tuple[float, ...], law: Any
) -> None:
    """In float32, samples of the gamma distribution are 0 for these parameters, but not their roots."""
    given = [library.asarray(np.asarray(x), "float32") for x in parameters]
    samples = library.to_numpy(getattr(random, name)(_key(library), *given, (2000,), library.xp.float32))
    assert np.mean(samples == 0.0) < 0.01
    assert stats.kstest(samples.astype(np.float64), law.cdf).pvalue > 1e-3


@pytest.mark.parametrize("a", [0.3, 1.0, 7.0, 1e4])
def test_gamma_follows_the_law(a: float) -> None:
    check_law("gamma", (a,), stats.gamma(a))
    check_law("gamma", (a,), stats.gamma(a), {"dtype": np.float32})
    samples = random.loggamma(random.key(4), a, (20_000,))
    assert stats.kstest(samples, stats.loggamma(a).cdf).pvalue > 1e-3


def test_marginals_of_dirichlet_follow_the_law() -> None:
    samples = random.dirichlet(random.key(1), np.asarray([0.5, 2.0, 1.5]), (20_000,))
    for i, a in enumerate((0.5, 2.0, 1.5)):
        assert stats.kstest(samples[:, i], stats.beta(a, 4.0 - a).cdf).pvalue > 1e-3


def test_elements_are_as_if_alone() -> None:
    # The key of an element is that of its place.
    a = np.asarray([0.2, 1.0, 5.0, 50.0])
    keys = random.split(random.key(SEED), 4)
    whole = random.gamma(random.key(SEED), a)
    alone = [generic.gamma_elements(keys[i : i + 1], a[i : i + 1], log_space=False)[0] for i in range(4)]
    np.testing.assert_allclose(whole, alone, rtol=1e-14)


def test_the_loop_of_all_elements_makes_the_same() -> None:
    for dtype, rtol in ((np.float64, 1e-13), (np.float32, 1e-5)):
        a = np.resize(np.asarray([0.02, 0.7, 1.0, 2.5, 30.0], dtype), 3000)
        keys = random.split(random.key(2), 3000)
        for log_space in (False, True):
            found = generic.gamma_elements(keys, a, log_space=log_space)
            expected = (
                random.loggamma(random.key(2), a, dtype=dtype)
                if log_space
                else random.gamma(random.key(2), a, dtype=dtype)
            )
            np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol if log_space else 1e-36)


def test_edges(library: Library) -> None:
    a = library.asarray(np.asarray([0.0, np.nan, np.inf, 1e-5]))
    found = library.to_numpy(random.gamma(_key(library), a))
    np.testing.assert_array_equal(found[:3], [0.0, np.nan, np.inf])
    logarithms = library.to_numpy(random.loggamma(_key(library), a))
    np.testing.assert_array_equal(logarithms[:3], [-np.inf, np.nan, np.inf])
    assert np.isfinite(logarithms[3])
    assert logarithms[3] < -100.0
    assert np.isnan(library.to_numpy(random.beta(_key(library), 0.0, library.asarray(np.zeros(2))))).all()
    assert tuple(random.gamma(_key(library), library.asarray(np.ones((0, 2)))).shape) == (0, 2)
    assert random.gamma(_key(library), 2.0).shape == ()


# Derivatives


@pytest.mark.parametrize("a", [1e-3, 0.4, 1.0, 1.7, 30.0, 1e4])
def test_derivative_of_a_sample(a: float) -> None:
    """It is -(dP/da) / (dP/dx), to the last digits, and that of JAX where JAX is right."""
    for quantile in (0.02, 0.5, 0.999):
        x = float(stats.gamma(a).ppf(quantile))
        if x < 1e-280:
            continue
        with mpmath.workdps(40):
            h = mpmath.mpf(a) * mpmath.mpf(10) ** -12
            lower, upper = (mpmath.gammainc(a + s * h, 0, x, regularized=True) for s in (-1, 1))
            density = mpmath.exp((a - 1) * mpmath.log(x) - x - mpmath.loggamma(a))
            expected = float(-(upper - lower) / (2 * h) / density / x)
        found = log_gamma_slope(*(np.asarray([each]) for each in (a, x, np.log(x))))[0]
        # The logarithm is rounded.
        assert found == pytest.approx(expected, rel=1e-13 + 1e-14 * abs(np.log(x)))
        single = log_gamma_slope(*(np.asarray([each], np.float32) for each in (a, x, np.log(x))))[0]
        assert x < 1e-30 or single == pytest.approx(expected, rel=2e-5 + 1e-6 * np.sqrt(a))


def _total(name: str) -> Any:
    def total(key: Any, a: Any) -> Any:
        return array_namespace(a).sum(getattr(random, name)(key, a) * 1.0)

    return total


PARAMETERS = np.asarray([0.3, 1.0, 2.0, 10.0])


@pytest.mark.parametrize("name", ["gamma", "loggamma", "chisquare", "t"])
@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_gradients_are_those_of_jax(library: Library, name: str) -> None:
    expected = jax.grad(lambda a: getattr(jax.random, name)(jax.random.PRNGKey(SEED), a).sum())(PARAMETERS)
    key, a = _key(library), library.asarray(PARAMETERS)
    found = library.to_numpy(grad(_total(name), 1)(key, a))
    np.testing.assert_allclose(found, np.asarray(expected), rtol=1e-9)
    _, pushed = jvp(lambda a: getattr(random, name)(key, a), (a,), (library.xp.ones_like(a),))
    np.testing.assert_allclose(library.to_numpy(pushed), np.asarray(expected), rtol=1e-9)


def test_gradients_of_beta_and_dirichlet_are_those_of_jax() -> None:
    key = jax.random.PRNGKey(SEED)
    weights = np.asarray([1.0, -2.0, 3.0, 0.5])
    ours = {
        "beta": (lambda k, a: random.beta(k, a, 2.0)[0], lambda a: jax.random.beta(key, a, 2.0)[0]),
        "dirichlet": (lambda k, a: random.dirichlet(k, a) @ weights, lambda a: jax.random.dirichlet(key, a) @ weights),
    }
    for function, reference in ours.values():
        expected = np.asarray(jax.grad(reference)(PARAMETERS))
        np.testing.assert_allclose(grad(function, 1)(_key(NUMPY), PARAMETERS), expected, rtol=1e-9)


@pytest.mark.parametrize("library", [NUMPY, TORCH, STRICT], ids=str)
def test_second_derivatives(library: Library) -> None:
    """Those at a fixed probability, by differences of quantiles."""
    a = 2.3
    key = _key(library)
    x = float(library.to_numpy(random.gamma(key, library.asarray(np.asarray([a]))))[0])
    with mpmath.workdps(50):
        level = mpmath.gammainc(a, 0, x, regularized=True)
        h = mpmath.mpf(10) ** -6

        def quantile(a: Any) -> Any:
            return mpmath.findroot(lambda t: mpmath.gammainc(a, 0, t, regularized=True) - level, x)

        expected = float((quantile(a + h) - 2 * quantile(a) + quantile(a - h)) / h**2)
    found = hessian(lambda a: _total("gamma")(key, a))(library.asarray(np.asarray([a])))
    assert float(library.to_numpy(found)[0, 0]) == pytest.approx(expected, rel=1e-8)


def test_third_derivatives_by_any_modes_of_pytorch() -> None:
    key = _key(TORCH)
    modes = {
        "forward": lambda f: lambda a: torch.func.jvp(f, (a,), (torch.ones_like(a),))[1],
        "reverse": torch.func.grad,
    }
    a = np.asarray(0.5)
    expected = grad(grad(grad(lambda a: random.gamma(_key(NUMPY), a))))(a)
    for names in itertools.product(modes, repeat=3):
        function = partial(random.gamma, key)
        for name in names:
            function = modes[name](function)
        assert float(function(TORCH.asarray(a))) == pytest.approx(float(expected), rel=1e-12), names


def test_backward_of_pytorch() -> None:
    a = torch.tensor(PARAMETERS, requires_grad=True)
    random.gamma(_key(TORCH), a).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), grad(_total("gamma"), 1)(_key(NUMPY), PARAMETERS), rtol=1e-12)
    # Twice, and in what forward mode has made.
    (slope,) = torch.autograd.grad(random.gamma(_key(TORCH), a).sum(), a, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), a)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(a, torch.ones_like(a))
        pushed = forward_ad.unpack_dual(random.gamma(_key(TORCH), dual)).tangent
        np.testing.assert_allclose(pushed.detach().numpy(), a.grad.numpy(), rtol=1e-14)
        (through,) = torch.autograd.grad(pushed.sum(), a)
    np.testing.assert_allclose(through.numpy(), curvature.numpy(), rtol=1e-13)


# Transformations


@pytest.mark.parametrize("library", [NUMPY, TORCH, JAX, STRICT], ids=str)
def test_mapped(library: Library) -> None:
    keys = random.split(_key(library), 3)
    a = library.asarray(PARAMETERS)
    expected = np.stack([library.to_numpy(random.gamma(keys[i, ...], a)) for i in range(3)])
    found = library.to_numpy(vmap(lambda key: random.gamma(key, a))(keys))
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    # The same key for all, and parameters of their own.
    found = library.to_numpy(vmap(lambda a: random.gamma(keys[0, ...], a))(a))
    expected = [library.to_numpy(random.gamma(keys[0, ...], a[i])) for i in range(4)]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_compiled() -> None:
    for library in (NUMPY, STRICT):
        key, a = _key(library), library.asarray(PARAMETERS)
        found = library.to_numpy(jit(random.t)(key, a))
        np.testing.assert_allclose(found, library.to_numpy(random.t(key, a)), rtol=1e-13)
    gradient = jit(grad(_total("gamma"), 1))(_key(NUMPY), PARAMETERS)
    np.testing.assert_allclose(gradient, grad(_total("gamma"), 1)(_key(NUMPY), PARAMETERS), rtol=1e-12)


# Dynamo makes an instance of an autograd function, and PyTorch warns of such.
@pytest.mark.filterwarnings("ignore:.*should not be instantiated")
def test_compiled_by_pytorch() -> None:
    """Where torch.compile can't have the derivative, it raises: samples would be constants, and say nothing."""
    key, a = _key(TORCH), TORCH.asarray(PARAMETERS)
    draw = lambda a: random.gamma(key, a)
    torch.compiler.reset()
    compiled = torch.compile(draw, fullgraph=True, backend="eager")
    np.testing.assert_allclose(compiled(a).numpy(), draw(a).numpy(), rtol=1e-14)
    given = a.clone().requires_grad_()
    compiled(given).sum().backward()
    np.testing.assert_allclose(given.grad.numpy(), grad(_total("gamma"), 1)(_key(NUMPY), PARAMETERS), rtol=1e-12)
    slope = lambda a: torch.func.jvp(draw, (a,), (torch.ones_like(a),))[1]
    for function in (torch.func.vmap(draw), torch.func.grad(lambda a: draw(a).sum()), slope):
        with pytest.raises(torch._dynamo.exc.TorchDynamoException, match="derivatives of their own"):
            torch.compile(function, fullgraph=True, backend="eager")(a)


def test_samples_are_one_operation_of_a_program() -> None:
    key, a = _key(TORCH), TORCH.asarray(PARAMETERS)
    compiled = jit(grad(_total("gamma"), 1))
    np.testing.assert_allclose(compiled(key, a).numpy(), grad(_total("gamma"), 1)(key, a).numpy(), rtol=1e-14)
    assert compiled.lower(key, a).as_text().count("custom_jvp(") == 1


KEY = random.key(0)
BAD = {
    "gamma": (lambda: random.gamma(KEY, -1.0), ValueError, "gamma: a must not be negative"),
    "loggamma": (lambda: random.loggamma(KEY, np.asarray([1, -1])), ValueError, "loggamma: a must not be negative"),
    "beta": (lambda: random.beta(KEY, 1.0, -2.0), ValueError, "beta: b must not be negative"),
    "chisquare": (lambda: random.chisquare(KEY, -1.0), ValueError, "chisquare: df must not be negative"),
    "t": (lambda: random.t(KEY, 0.0), ValueError, "t: df must be above 0"),
    "f": (lambda: random.f(KEY, 1.0, 0.0), ValueError, "f: dfden must be above 0"),
    "exponent": (lambda: random.generalized_normal(KEY, 0.0, (2,)), ValueError, "p must be above 0"),
    "dirichlet": (lambda: random.dirichlet(KEY, np.asarray([1.0, -1.0])), ValueError, "alpha must not be negative"),
    "number": (lambda: random.dirichlet(KEY, 1.0), ValueError, "alpha must be an array with the numbers"),
    "stack": (lambda: random.dirichlet(KEY, np.ones((2, 3)), (3,)), ValueError, "dirichlet: "),
    "shape": (lambda: random.gamma(KEY, np.ones(3), (4,)), ValueError, "does not broadcast to shape"),
    "dtype": (lambda: random.gamma(KEY, 1.0, dtype=np.complex128), TypeError, "dtype must be a real floating-point"),
}


@pytest.mark.parametrize("case", BAD.values(), ids=BAD)
def test_bad_input(case: tuple) -> None:
    call, error, match = case
    with pytest.raises(error, match=match):
        call()


def test_gradients_through_loops_are_those_of_the_samples(library: Library) -> None:
    keys = random.split(_key(library), 3)

    def through(a: Any) -> Any:
        start = array_namespace(a).zeros_like(a)
        return scan(lambda total, key: (total + random.gamma(key, a), total), start, keys)[0]

    a = library.asarray(2.5)
    each = [library.to_numpy(grad(lambda a, key=keys[i, ...]: random.gamma(key, a))(a)) for i in range(3)]
    library.assert_equal(grad(through)(a), sum(each), rtol=1e-12)
    mapped = vmap(lambda key: grad(lambda a: random.gamma(key, a))(a))(keys)
    library.assert_equal(mapped, np.stack(each), rtol=1e-12)
