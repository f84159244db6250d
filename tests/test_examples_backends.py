"""The backends of docs/examples: equal to the packages' own, on every library; derivatives on libraries without any."""

import ast
import importlib
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xpand
from tests.libraries import EAGER_LIBRARIES, Library
from xpand_extensions import autodiff, convert

ot = pytest.importorskip("ot")
pyhf = pytest.importorskip("pyhf")
tensorly = pytest.importorskip("tensorly")

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "examples"))
for_pot = importlib.import_module("backends.for_pot")
for_pyhf = importlib.import_module("backends.for_pyhf")
for_tensorly = importlib.import_module("backends.for_tensorly")

RNG = np.random.default_rng(0)
SQUARE = RNG.normal(size=(4, 4)) + 4.0 * np.eye(4)
TALL = RNG.normal(size=(4, 3))
VECTOR = RNG.normal(size=4)
SYMMETRIC = SQUARE @ SQUARE.T


def numbers(found: Any) -> Any:
    """Take the values out of arrays, tuples of arrays and numbers."""
    if isinstance(found, (tuple, list)):
        return [numbers(each) for each in found]
    return convert.to_numpy(found) if xpand.is_array_api_obj(found) else np.asarray(found)


def assert_equal(found: Any, expected: Any, rtol: float = 1e-12) -> None:
    found, expected = numbers(found), numbers(expected)
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for mine, theirs in zip(found, expected):
            np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=1e-12)
    else:
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-12)


# One function after another, with the package's own NumPy backend for a reference

TENSORLY: dict[str, Any] = {
    "abs, clip": lambda tl, a: tl.clip(tl.abs(a(SQUARE)), 0.5, 2.0),
    "arange": lambda tl, a: tl.arange(4) + tl.arange(1, 9, 2),
    "argsort": lambda tl, a: tl.argsort(a(VECTOR), axis=0),
    "concatenate": lambda tl, a: tl.concatenate([a(SQUARE), a(TALL)], axis=1),
    "cumsum": lambda tl, a: (tl.cumsum(a(TALL)), tl.cumsum(a(TALL), 1)),
    "diag": lambda tl, a: (tl.diag(a(SQUARE)), *(tl.diag(a(VECTOR), k) for k in (-1, 0, 2))),
    "digamma": lambda tl, a: tl.digamma(a(np.abs(VECTOR) + 1.0)),
    "dot": lambda tl, a: (
        tl.dot(a(SQUARE), a(TALL)),
        tl.dot(a(SQUARE), a(VECTOR)),
        tl.dot(a(SQUARE.reshape(2, 2, 4)), a(SQUARE)),
        tl.dot(a(SQUARE.reshape(2, 2, 4)), a(SQUARE.reshape(2, 4, 2))),
    ),
    "eigh": lambda tl, a: tl.eigh(a(SYMMETRIC))[0],
    "einsum": lambda tl, a: tl.einsum("ij,jk->ik", a(SQUARE), a(TALL)),
    "eps": lambda tl, a: tl.eps(a(VECTOR).dtype),
    "flip": lambda tl, a: (tl.flip(a(TALL)), tl.flip(a(TALL), axis=1)),
    "index_update": lambda tl, a: tl.index_update(tl.copy(a(TALL)), tl.index[:, 1], a(VECTOR)),
    "kron": lambda tl, a: tl.kron(a(SQUARE), a(TALL)),
    "logsumexp": lambda tl, a: tl.logsumexp(a(TALL), axis=1),
    "lstsq": lambda tl, a: [*tl.lstsq(a(TALL), a(SQUARE))[:2], tl.lstsq(a(TALL[:, [0, 0]]), a(SQUARE))[1]],
    "norm": lambda tl, a: (tl.norm(a(TALL)), tl.norm(a(TALL), 1), tl.norm(a(TALL), order=3, axis=1)),
    "qr": lambda tl, a: tl.matmul(*tl.qr(a(TALL))),
    "reductions": lambda tl, a: [
        tl.max(a(TALL), 1),
        tl.sum(a(TALL), 0),
        tl.mean(a(TALL), axis=0),
        tl.argmin(a(TALL), 1),
    ],
    "solve": lambda tl, a: tl.solve(a(SQUARE), a(TALL)),
    "sort": lambda tl, a: (tl.sort(a(TALL), axis=0), tl.sort(a(TALL), axis=None)),
    "svd": lambda tl, a: tl.svd(a(TALL), full_matrices=False)[1],
    "tensor": lambda tl, a: tl.tensor([a(VECTOR)[0], a(VECTOR)[1]]),
    "tensordot": lambda tl, a: tl.tensordot(a(SQUARE), a(TALL), axes=1),
    "trace": lambda tl, a: tl.trace(a(SQUARE)),
    "where": lambda tl, a: (tl.where(a(TALL) > 0, a(TALL), a(-TALL)), *tl.where(a(VECTOR) > 0)),
    "transpose": lambda tl, a: (tl.transpose(a(TALL)), tl.transpose(a(TALL), (1, 0))),
}


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
@pytest.mark.parametrize("name", TENSORLY)
def test_functions_of_tensorly(library: Library, name: str) -> None:
    with tensorly.backend_context("numpy"):
        expected = numbers(TENSORLY[name](tensorly.backend, np.asarray))
    ours = for_tensorly.backend(library.xp)
    with tensorly.backend_context(ours):
        assert_equal(TENSORLY[name](ours, library.asarray), expected, rtol=1e-9)


POT: dict[str, Any] = {
    "allclose": lambda nx, a: [
        nx.allclose(a(VECTOR), a(VECTOR + 1e-10)),
        nx.allclose(a(VECTOR), a(VECTOR + 1e-3)),
        nx.array_equal(a(VECTOR), a(VECTOR)),
    ],
    "arange": lambda nx, a: nx.arange(9, 1, 2),
    "cumsum": lambda nx, a: [nx.cumsum(a(TALL)), nx.cumsum(a(TALL), 1)],
    "det": lambda nx, a: [nx.det(a(SQUARE)), *nx.slogdet(a(SQUARE))],
    "diag": lambda nx, a: [nx.diag(a(SQUARE), 1), *(nx.diag(a(VECTOR), k) for k in (-1, 0, 2))],
    "dot": lambda nx, a: [nx.dot(a(SQUARE), a(TALL)), nx.dot(a(VECTOR), a(VECTOR)), nx.outer(a(VECTOR), a(VECTOR))],
    "einsum": lambda nx, a: nx.einsum("ij,j->i", a(SQUARE), a(VECTOR)),
    "inv": lambda nx, a: [nx.inv(a(SQUARE)), nx.pinv(a(SQUARE)), nx.solve(a(SQUARE), a(TALL))],
    "kl_div": lambda nx, a: nx.kl_div(a(np.abs(VECTOR)), a(np.abs(VECTOR[::-1].copy())), mass=True),
    "logsumexp": lambda nx, a: [nx.logsumexp(a(TALL)), nx.logsumexp(a(TALL), axis=0)],
    "median": lambda nx, a: [nx.median(a(TALL), axis=0), nx.std(a(TALL), axis=1)],
    "nan_to_num": lambda nx, a: [
        nx.nan_to_num(a(np.asarray([1.0, np.nan, np.inf, -np.inf])), nan=7.0, neginf=-5.0),
        nx.nan_to_num(a(np.asarray([1.0, np.nan, np.inf, -np.inf])), posinf=0.0, neginf=0.0),
    ],
    "norm": lambda nx, a: [nx.norm(a(TALL)), nx.norm(a(TALL), axis=1, keepdims=True)],
    "reductions": lambda nx, a: [nx.sum(a(TALL), 0), nx.max(a(TALL), 1), nx.min(a(TALL)), nx.mean(a(TALL), 0)],
    "repeat": lambda nx, a: [nx.repeat(a(TALL), 2, 1), nx.tile(a(VECTOR), 3), nx.tile(a(TALL), (2, 1))],
    "searchsorted": lambda nx, a: nx.searchsorted(a(np.sort(VECTOR)), a(VECTOR), "right"),
    "set_gradients": lambda nx, a: nx.set_gradients(a(VECTOR), a(SQUARE), a(SQUARE)),
    "sort2": lambda nx, a: [*nx.sort2(a(TALL), 0), nx.argsort(a(VECTOR))],
    "sparse": lambda nx, a: nx.todense(nx.tocsr(nx.coo_matrix(a(VECTOR[:2]), a(IDS[:2]), a(IDS[1:]), shape=(4, 4)))),
    "sparse data": lambda nx, a: nx.sparse_coo_data(nx.coo_matrix(a(VECTOR[:2]), a(IDS[:2]), a(IDS[1:]), shape=(4, 4))),
    "sqrtm": lambda nx, a: nx.sqrtm(a(SYMMETRIC)),
    "squeeze": lambda nx, a: [nx.squeeze(a(TALL[:1])), nx.unsqueeze(a(VECTOR), 1), nx.transpose(a(TALL))],
    "take_along_axis": lambda nx, a: nx.take_along_axis(a(VECTOR), a(IDS), -1),
    "trace": lambda nx, a: nx.trace(a(SQUARE)),
    "unique": lambda nx, a: [nx.unique(a(IDS)), *nx.unique(a(IDS), return_inverse=True)],
    "where": lambda nx, a: [nx.where(a(VECTOR) > 0, a(VECTOR), a(-VECTOR)), *nx.where(a(VECTOR) > 0)],
    "zero_pad": lambda nx, a: nx.zero_pad(a(TALL), [(1, 2), (0, 1)], value=3.0),
    "zeros": lambda nx, a: [nx.zeros((2, 3), type_as=a(TALL)), nx.eye(2, 3, type_as=a(TALL)), nx.full(2, 0.5, a(TALL))],
}
IDS = np.asarray([0, 2, 1])


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
@pytest.mark.parametrize("name", POT)
def test_functions_of_pot(library: Library, name: str) -> None:
    expected = numbers(POT[name](ot.backend.NumpyBackend(), lambda x: np.array(x)))
    assert_equal(POT[name](for_pot.backend(library.xp)(), library.asarray), expected, rtol=1e-9)


PYHF: dict[str, Any] = {
    "astensor": lambda tb, a: [tb.astensor([[1, 2], [3, 4]]), tb.astensor([a(VECTOR)[0], a(VECTOR)[1]])],
    "clip": lambda tb, a: tb.clip(a(VECTOR), -0.5, 0.5),
    "concatenate": lambda tb, a: [tb.concatenate([a(VECTOR), [1.0]]), tb.stack([a(VECTOR), a(VECTOR)], axis=1)],
    "conditional": lambda tb, a: tb.conditional(True, lambda: a(VECTOR), lambda: a(-VECTOR)),
    "einsum": lambda tb, a: tb.einsum("ij,kj->ik", a(SQUARE), a(SQUARE)),
    "erf": lambda tb, a: [tb.erf(a(VECTOR)), tb.erfinv(tb.erf(a(VECTOR)))],
    "gather": lambda tb, a: [tb.gather(a(TALL), a(IDS)), tb.gather(a(VECTOR), a(IDS[:, None]))],
    "normal": lambda tb, a: [
        tb.normal(a(VECTOR), a(-VECTOR), a(np.abs(VECTOR))),
        tb.normal_cdf(a(10.0 * VECTOR)),
        tb.normal_logpdf(a(VECTOR), a(-VECTOR), a(np.abs(VECTOR))),
        tb.normal_dist(a(VECTOR), a(np.abs(VECTOR))).log_prob(a(VECTOR)),
    ],
    "outer": lambda tb, a: [tb.outer(a(VECTOR), a(VECTOR)), tb.product(a(TALL), axis=0), tb.sum(a(TALL), axis=1)],
    "percentile": lambda tb, a: tb.percentile(a(TALL), 30, axis=0),
    "poisson": lambda tb, a: [
        tb.poisson(a(np.asarray([0.0, 5.0])), a(np.asarray([0.0, 6.0]))),
        tb.poisson_dist(a(np.asarray([5.0, 8.0]))).log_prob(a(np.asarray([4.0, 9.0]))),
    ],
    "power": lambda tb, a: [tb.power(a(np.abs(VECTOR)), a(VECTOR)), tb.divide(a(VECTOR), a(VECTOR + 9.0))],
    "shape": lambda tb, a: [tb.shape(a(TALL)), tb.ravel(a(TALL)), tb.transpose(a(TALL)), tb.reshape(a(TALL), (3, 4))],
    "simple_broadcast": lambda tb, a: tb.simple_broadcast(a(VECTOR[:1]), a(VECTOR)),
    "tile": lambda tb, a: [tb.tile(a(TALL), (1, 2)), tb.tile(a(VECTOR), 2)],
    "tolist": lambda tb, a: [tb.tolist(a(TALL)), tb.tolist([1.0, 2.0])],
    "zeros": lambda tb, a: [tb.zeros((2, 3)), tb.ones((2,), dtype="int")],
}


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
@pytest.mark.parametrize("name", [name for name in PYHF if name != "percentile"])  # NumPy's renamed its option
def test_functions_of_pyhf(library: Library, name: str) -> None:
    with np.errstate(all="ignore"):
        expected = numbers(PYHF[name](pyhf.tensor.numpy_backend(), np.asarray))
    assert_equal(PYHF[name](for_pyhf.Backend(library.xp), library.asarray), expected, rtol=1e-9)


def test_percentile(library: Library) -> None:
    found = for_pyhf.Backend(library.xp).percentile(library.asarray(TALL), 30, axis=0)
    library.assert_equal(found, np.percentile(TALL, 30, axis=0), rtol=1e-12)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_samples_of_pyhf(library: Library) -> None:
    backend = for_pyhf.Backend(library.xp)
    rate = library.asarray(np.asarray([5.0, 80.0]))
    for distribution in (backend.poisson_dist(rate), backend.normal_dist(rate, rate**0.5)):
        found = numbers(distribution.sample((500,)))
        assert found.shape == (500, 2)
        np.testing.assert_allclose(found.mean(0), [5.0, 80.0], rtol=0.1)
        np.testing.assert_allclose(found.var(0), [5.0, 80.0], rtol=0.4)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_arrays_for_numpy_can_be_written_to(library: Library) -> None:
    found = for_pot.backend(library.xp)().to_numpy(library.asarray(VECTOR))
    assert found.flags.writeable
    np.testing.assert_array_equal(found, VECTOR)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_slopes_of_columns(library: Library) -> None:
    """POT gives the slopes of each column of one array as a list, and those of one problem out of several."""
    nx = for_pot.backend(library.xp)()
    value, x = library.asarray(np.asarray(2.0)), library.asarray(TALL)
    assert_equal(nx.set_gradients(value, x, [SQUARE[0], SQUARE[1], SQUARE[2]]), 2.0)
    assert_equal(nx.set_gradients(value, (x,), (library.asarray(VECTOR),)), 2.0)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_arrays_of_numpy_are_converted(library: Library) -> None:
    """POT computes some values on the host, and gives them to the backend as they are."""
    nx = for_pot.backend(library.xp)()
    like = library.asarray(VECTOR)
    plan = nx.todense(nx.coo_matrix(np.ones(2), np.arange(2), library.asarray(np.arange(2)), (2, 2), type_as=like))
    assert_equal(plan, np.eye(2))
    assert plan.dtype == like.dtype
    assert_equal(nx.set_gradients(library.asarray(np.asarray(2.0)), VECTOR, VECTOR), 2.0)
    tensorlib = for_tensorly.backend(library.xp)
    assert_equal(tensorlib.tensor([like[0], 2.0, VECTOR[1]], **tensorlib.context(like)), [VECTOR[0], 2.0, VECTOR[1]])
    seconds = nx._bench(lambda x: x + x, VECTOR, n_runs=2)
    assert len(seconds) == 2
    assert all(value >= 0 for value in seconds.values())


def test_gradient_of_slopes_of_columns_on_numpy() -> None:
    def value(x: Any) -> Any:
        with for_pot.backend_of(x):
            return ot.backend.get_backend(x).set_gradients(x[0, 0], x, [SQUARE[0], SQUARE[1], SQUARE[2]])

    np.testing.assert_allclose(autodiff.grad(value)(TALL), SQUARE[:3].T, rtol=1e-12)


def lines_of_code(path: Path) -> int:
    """Count the lines of a module without comments, blank lines and docstrings."""
    text = path.read_text(encoding="utf-8")
    texts = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr))
    docs = {line for x in texts if isinstance(x, ast.Constant) for line in range(x.lineno, (x.end_lineno or 0) + 1)}
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    tokens = [x for x in tokenize.generate_tokens(io.StringIO(text).readline) if x.type not in layout]
    return len({line for x in tokens for line in range(x.start[0], x.end[0] + 1)} - docs)


def test_the_page_states_the_lines_of_code() -> None:
    docs = Path(__file__).parent.parent / "docs"
    page = (docs / "backends.md").read_text(encoding="utf-8")
    stated = dict(re.findall(r"^\| (\w+) [\d.]+ \| (\d+) \|", page, re.MULTILINE))
    modules = {path.stem.removeprefix("for_"): path for path in (docs / "examples" / "backends").glob("for_*.py")}
    assert {name.lower(): int(lines) for name, lines in stated.items()} == {
        name: lines_of_code(path) for name, path in modules.items()
    }


def test_bad_input() -> None:
    with pytest.raises(KeyError, match="Invalid dtype: 'double' must be float, int, or bool"):
        for_pyhf.Backend(xpand.namespace("numpy")).astensor([1.0], dtype="double")
    with pytest.raises(ValueError, match="size must be an integer"):
        for_pot.backend(xpand.namespace("numpy"))().randperm(2.5)


# The packages as a whole. Their own code asks more of arrays than the standard has, such as `len`.

WHOLE = [library for library in EAGER_LIBRARIES if not library.id.startswith("strict")]
whole = pytest.mark.parametrize("library", WHOLE, ids=str)


@pytest.fixture
def _restored() -> Iterator[None]:
    yield
    pyhf.set_backend("numpy")
    tensorly.set_backend("numpy")


@whole
@pytest.mark.usefixtures("_restored")
def test_decompositions_of_tensorly(library: Library) -> None:
    cube = np.random.default_rng(1).normal(size=(4, 5, 3))

    def program(x: Any) -> Any:
        cp = tensorly.decomposition.parafac(x, rank=2, n_iter_max=5, init="svd")
        tucker = tensorly.decomposition.tucker(x, rank=[2, 2, 2], n_iter_max=5)
        positive = tensorly.decomposition.non_negative_parafac(x**2, rank=2, n_iter_max=5, random_state=0, init="svd")
        return [tensorly.cp_to_tensor(cp), tensorly.tucker_to_tensor(tucker), tensorly.cp_to_tensor(positive)]

    expected = numbers(program(cube))
    tensorly.set_backend(for_tensorly.backend(library.xp))
    found = program(library.asarray(cube))
    assert all(xpand.array_namespace(each) is library.xp for each in found)
    assert_equal(found, expected, rtol=1e-8)
    tensorly.set_backend("numpy")
    tensorly.set_backend(f"xpand-{xpand.library_name(library.xp)}")  # by its name
    assert tensorly.backend.current_backend() is not None


WEIGHTS = np.full(4, 0.25)
COSTS = np.abs(SQUARE)


def transport(costs: Any, weights: Any) -> list[Any]:
    return [
        ot.sinkhorn(weights, weights, costs, 1.0),
        ot.emd2(weights, weights, costs),
        ot.unbalanced.sinkhorn_unbalanced2(weights, weights, costs, 0.5, 1.0),
        ot.gromov.gromov_wasserstein2(costs + costs.T, costs.T + costs, weights, weights),
    ]


@whole
def test_distances_of_pot(library: Library) -> None:
    expected = numbers(transport(COSTS, WEIGHTS))
    mine = for_pot.register(library.xp)
    try:
        costs, weights = library.asarray(COSTS), library.asarray(WEIGHTS)
        assert type(ot.backend.get_backend(costs, weights)) is mine
        found = transport(costs, weights)
    finally:
        for_pot.unregister(library.xp)
    assert type(ot.backend.get_backend(costs)) is not mine
    assert_equal(found, expected, rtol=1e-8)


def model_and_data() -> tuple[Any, Any]:
    model = pyhf.simplemodels.uncorrelated_background([12.0, 11.0], [50.0, 52.0], [3.0, 7.0], validate=False)
    return model, pyhf.tensorlib.astensor([51.0, 48.0, *model.config.auxdata])


@whole
@pytest.mark.usefixtures("_restored")
def test_fits_of_pyhf(library: Library) -> None:
    def program() -> list[Any]:
        model, data = model_and_data()
        fixed = pyhf.infer.mle.fixed_poi_fit(1.0, data, model, return_fitted_val=True)
        limit = pyhf.infer.hypotest(1.0, data, model, test_stat="qtilde")
        return [*pyhf.infer.mle.fit(data, model, return_fitted_val=True), *fixed, limit]

    expected = numbers(program())
    pyhf.set_backend(for_pyhf.Backend(library.xp), for_pyhf.Optimizer())
    assert_equal(program(), expected, rtol=1e-5)


# Derivatives on NumPy, which the packages' own backends have none of


def test_gradient_of_tensorly_on_numpy() -> None:
    factor = np.asarray(TALL)

    def loss(x: Any) -> Any:
        with for_tensorly.backend_of(x):
            return tensorly.norm(tensorly.cp_to_tensor((None, [x, factor, factor]))) ** 2

    gram = factor.T @ factor
    np.testing.assert_allclose(autodiff.grad(loss)(factor), 2.0 * factor @ (gram * gram), rtol=1e-10)


def test_gradient_of_pot_on_numpy() -> None:
    def cost(costs: Any) -> Any:
        with for_pot.backend_of(costs):
            return ot.emd2(WEIGHTS, WEIGHTS, costs)

    np.testing.assert_allclose(autodiff.grad(cost)(COSTS), ot.emd(WEIGHTS, WEIGHTS, COSTS), atol=1e-12)


@pytest.mark.usefixtures("_restored")
def test_gradient_of_pyhf_on_numpy() -> None:
    """Fits with a gradient, which pyhf's own backend of NumPy refuses, compiled and not."""
    expected = numbers(pyhf.infer.mle.fit(*model_and_data()[::-1]))
    with pytest.raises(pyhf.exceptions.Unsupported):
        pyhf.infer.mle.fit(*model_and_data()[::-1], do_grad=True)
    for compiled in (False, True):
        pyhf.set_backend(for_pyhf.Backend(xpand.namespace("numpy")), for_pyhf.Optimizer(compiled=compiled))
        found = pyhf.infer.mle.fit(*model_and_data()[::-1], do_grad=True)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
    with pytest.raises(pyhf.exceptions.Unsupported, match="speed"):
        pyhf.infer.mle.fit(*model_and_data()[::-1], speed=2)
