"""Results of transformations, and ways to call them: as decorators, pickled, copied, bound, with short tracebacks."""

import copy
import functools
import inspect
import operator
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest
import torch

import xpand
import xpand_extensions as xe
from tests.libraries import Library
from xpand_extensions import convert, jit, profile, vmap
from xpand_extensions.autodiff import (
    checkpoint,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    jacfwd,
    jacrev,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
)
from xpand_extensions.jit import lower, make_graph, named_call
from xpand_extensions.tracing import traced_namespace
from xpand_extensions.vmap import pmap, vectorize

X = np.asarray([1.0, 2.0])


def cube(x: Any) -> Any:
    """Return x³."""
    return x * x * x


def total(x: Any) -> Any:
    return (cube(x) * X)[0] + x[1]


@jit.jit(static_argnums=1)
def scaled(x: Any, n: int) -> Any:
    """Scale."""
    return n * x


class Model:
    """A class with transformed methods."""

    @grad(argnums=1)
    def slope(self, x: Any) -> Any:
        return x * x

    @jit.jit(static_argnums=0)
    def double(self, x: Any) -> Any:
        return 2 * x


TRANSFORMED: dict[str, Callable[..., Any]] = {
    "grad": grad(total),
    "value_and_grad": value_and_grad(total, has_aux=False),
    "jacfwd": jacfwd(cube),
    "jacrev": jacrev(cube),
    "hessian": hessian(total),
    "jit": jit.jit(cube),
    "vmap": vmap.vmap(cube, in_axes=0),
    "vectorize": vectorize(cube),
    "checkpoint": checkpoint(cube),
    "named_call": named_call(cube, name="cube"),
    "nested": jit.jit(vmap.vmap(grad(cube))),
    "by name": functools.partial(scaled, n=3),
}
"""Each is called with `X`."""


@pytest.mark.parametrize("name", TRANSFORMED)
def test_pickle(name: str) -> None:
    function = TRANSFORMED[name]
    expected = function(X)
    for again in (
        pickle.loads(pickle.dumps(function)),
        cloudpickle.loads(cloudpickle.dumps(function)),
        copy.deepcopy(function),
    ):
        for found, value in zip(_leaves(again(X)), _leaves(expected)):
            np.testing.assert_array_equal(found, value)


def _leaves(x: Any) -> list[Any]:
    return list(x) if isinstance(x, tuple) else [x]


def test_pickle_has_no_compiled_program() -> None:
    function = jit.jit(cube)
    before = len(pickle.dumps(function))
    function(X)
    assert len(pickle.dumps(function)) == before
    assert len(pickle.dumps(scaled)) < 100  # its name


def test_cloudpickle_of_functions_without_a_name() -> None:
    n = 4
    function = jit.jit(lambda x: n * x)
    np.testing.assert_array_equal(cloudpickle.loads(cloudpickle.dumps(function))(X), 4 * X)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(function)


def test_functions_with_rules() -> None:
    f = custom_jvp(cube)
    f.defjvp(_rule)
    for x in (f, custom_vjp(cube)):
        assert type(pickle.loads(pickle.dumps(x))) is type(x)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(X), f(X))


def _rule(primals: Any, tangents: Any) -> Any:
    return cube(*primals), 3 * primals[0] ** 2 * tangents[0]


def _program(x: Any) -> Any:
    """Use the standard, an operation of xpand's own, a loop, a branch, and an index."""
    summed = xe.scatter.segment_sum(x * x, np.asarray([0, 0, 1]), num_segments=2)
    carry, rows = xe.scan(lambda c, y: (c + y, c * y), 0.0, x)
    return xe.cond(x[0] > 0, lambda s: s * carry, lambda s: s, summed) + rows[:2]


@pytest.mark.parametrize("dump", [pickle.dumps, cloudpickle.dumps, None], ids=["pickle", "cloudpickle", "deepcopy"])
def test_graphs_and_linear_functions(dump: Callable[[Any], bytes] | None) -> None:
    again = copy.deepcopy if dump is None else lambda x: pickle.loads(dump(x))
    x = np.asarray([1.0, 2.0, 3.0])
    graph = make_graph(_program)(x)
    found = again(graph)
    found.check()
    assert str(found) == str(graph)
    np.testing.assert_array_equal(found.run(x)[0], graph.run(x)[0])
    for function, given in (
        (vjp(_program, x)[1], np.ones(2)),
        (linearize(_program, x)[1], x),
        (linear_transpose(lambda x: 2 * x, x), x),
    ):
        np.testing.assert_array_equal(again(function)(given), function(given))


def test_graphs_in_another_process() -> None:
    """Operations are found by their names where nothing has been traced yet."""
    x = np.asarray([1.0, 2.0, 3.0])
    graph = make_graph(_program)(x)
    code = "import pickle, sys; print(*pickle.load(sys.stdin.buffer).run(pickle.load(sys.stdin.buffer))[0])"
    found = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(graph) + pickle.dumps(x), capture_output=True, check=True
    )
    np.testing.assert_allclose([float(value) for value in found.stdout.split()], graph.run(x)[0])


def test_preconditioners() -> None:
    a = xe.sparse.from_dense(np.asarray([[4.0, 1.0], [1.0, 3.0]]), format="csr")
    for make in (xe.linear_solve.jacobi, xe.linear_solve.ilu, xe.linear_solve.ssor):
        preconditioner = make(a)
        for again in (pickle.loads(pickle.dumps(preconditioner)), copy.deepcopy(preconditioner)):
            np.testing.assert_array_equal(again(X), preconditioner(X))
    factors = xe.linear_solve.factorize(np.asarray([[4.0, 1.0], [1.0, 3.0]]))
    np.testing.assert_allclose(pickle.loads(pickle.dumps(factors)).solve(X), factors.solve(X))


# In a process without JAX and PyTorch, which shouldn't be forked.
_WORKERS = """
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from xpand_extensions import grad, jit, vmap

x = np.asarray([1.0, 2.0])
n = 3


@jit(static_argnums=1)
def power(x, n):
    return x**n


def cube(x):
    return x * x * x


if __name__ == "__main__":
    functions = [jit(cube), vmap(grad(cube)), power]
    arguments = [(x,), (x,), (x, 3)]
    expected = [x**3, 3 * x**2, x**3]
    library = sys.argv[1]
    if library == "concurrent":
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
            found = [pool.submit(f, *args).result() for f, args in zip(functions, arguments)]
    elif library == "joblib":
        import joblib

        functions[0] = jit(lambda x: n * x)
        expected[0] = n * x
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(f)(*args) for f, args in zip(functions, arguments))
    else:
        import dask

        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as pool:
            tasks = [dask.delayed(f)(*args) for f, args in zip(functions, arguments)]
            found = dask.compute(*tasks, scheduler="processes", pool=pool)
    for each, value in zip(found, expected):
        np.testing.assert_allclose(each, value)
"""


@pytest.mark.parametrize("library", ["concurrent", "joblib", "dask"])
def test_workers(library: str, tmp_path: Path) -> None:
    script = tmp_path / "workers.py"
    script.write_text(_WORKERS)
    done = subprocess.run([sys.executable, str(script), library], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_decorators() -> None:
    for transform, options, expected in (
        (grad, {"argnums": 1}, 2.0),
        (value_and_grad, {"argnums": 1}, (6.0, 2.0)),
        (jacfwd, {"argnums": 1}, 2.0),
        (jacrev, {"argnums": 1}, 2.0),
        (hessian, {"argnums": 1}, 0.0),
        (jit.jit, {"static_argnums": 1}, 6.0),
        (checkpoint, {"static_argnums": 1}, 6.0),
        (vmap.vmap, {"in_axes": None, "axis_size": 1}, [6.0]),
        (pmap, {"in_axes": None, "axis_size": 1}, None),
        (vectorize, {"signature": "(),()->()"}, 6.0),
        (named_call, {"name": "product"}, 6.0),
        (custom_jvp, {"nondiff_argnums": (1,)}, None),
        (custom_vjp, {}, None),
        (make_graph, {}, None),
        (lower, {}, None),
    ):

        @transform(**options)
        def product(x: Any, y: Any) -> Any:
            """Multiply."""
            return x * y

        plain = transform(lambda x, y: x * y, **options)
        assert type(product) is type(plain)
        assert product.__name__ == "product"
        if expected is not None:
            np.testing.assert_array_equal(product(2.0, 3.0), expected)
            np.testing.assert_array_equal(plain(2.0, 3.0), expected)


def test_decorators_in_calls() -> None:
    @jit.jit(static_argnames="n")
    @grad(argnums=0)
    def power(x: Any, n: int) -> Any:
        return x**n

    assert float(power(2.0, n=3)) == 12.0
    with pytest.raises(TypeError, match="jit: takes a function, got NoneType"):
        jit.jit(None)
    with pytest.raises(TypeError, match="grad: takes a function, got int"):
        grad(1)


def test_names_signatures_and_methods() -> None:
    assert (scaled.__name__, scaled.__doc__, scaled.__module__) == ("scaled", "Scale.", __name__)
    assert list(inspect.signature(scaled).parameters) == ["x", "n"]
    assert scaled.__wrapped__(X, 2)[0] == 2.0
    assert repr(scaled).startswith("<jit of <function scaled")
    assert list(inspect.signature(grad).parameters)[:2] == ["function", "argnums"]
    model = Model()
    assert float(model.slope(3.0)) == 6.0
    np.testing.assert_array_equal(model.double(X), 2 * X)
    assert isinstance(Model.__dict__["slope"], type(scaled))


def _fail(x: Any) -> Any:
    return np.linalg.cholesky(x) if isinstance(x, np.ndarray) else x @ x[:1]


@pytest.mark.parametrize("x", [np.ones(3), torch.ones(3)], ids=["numpy", "torch"])
def test_tracebacks_show_the_frames_of_the_user(x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = [jit.jit(vmap.vmap(grad(_fail)))] if isinstance(x, np.ndarray) else []  # PyTorch's tracer takes seconds
    for function in (grad(_fail), vmap.vmap(lambda x: _fail(x)), jacfwd(_fail), *compiled):
        for given in ((x,), (x[None],), (x[None, None],)):
            with pytest.raises((ValueError, RuntimeError, TypeError, IndexError)) as error:
                function(*given)
            frames = traceback.extract_tb(error.value.__traceback__)
            ours = [frame.name for frame in frames if "xpand_extensions" in frame.filename]
            assert ours == ["__call__"], frames
    with monkeypatch.context() as patched:
        patched.setenv("XPAND_TRACEBACK", "full")
        with pytest.raises((ValueError, RuntimeError, TypeError)) as error:
            grad(_fail)(x)
    frames = traceback.extract_tb(error.value.__traceback__)
    assert len([frame for frame in frames if "xpand_extensions" in frame.filename]) > 3
    assert "_fail" in [frame.name for frame in frames]


def test_tracebacks_begin_with_the_function() -> None:
    def helper(x: Any) -> Any:
        return x @ x[:1]

    with pytest.raises(ValueError, match="matmul") as error:
        grad(lambda x: helper(x))(np.ones(3))
    names = [frame.name for frame in traceback.extract_tb(error.value.__traceback__)]
    assert names == ["test_tracebacks_begin_with_the_function", "__call__", "<lambda>", "helper"]


def test_modules_are_called() -> None:
    np.testing.assert_array_equal(jit(cube)(X), cube(X))
    np.testing.assert_array_equal(vmap(cube, in_axes=0)(X), cube(X))
    assert isinstance(convert(X, "torch"), torch.Tensor)
    with profile() as found:
        pass
    assert not found.entries
    assert inspect.signature(jit) == inspect.signature(jit.jit)
    assert inspect.ismodule(jit)

    @jit(static_argnums=1)
    def power(x: Any, n: int) -> Any:
        return x**n

    np.testing.assert_array_equal(power(X, 2), X**2)


def test_one_import() -> None:
    assert xe.grad is grad
    assert xe.jit is jit
    assert float(xe.cond(True, lambda: 1.0, lambda: 2.0)) == 1.0
    assert xe.scatter.segment_sum(X, np.asarray([0, 0]), num_segments=1)[0] == 3.0
    assert {"grad", "scatter", "jit"} <= set(dir(xe))


def test_names_from_elsewhere() -> None:
    for what, name, write in (
        (xe.random, "PRNGKey", "`random.key"),
        (xe.linalg, "cholesky", "`xp.linalg.cholesky`"),
        (xe.special, "gamma", "gammaln"),
        (xe.sparse, "csr_matrix", "`sparse.CSR`"),
        (xe.sparse.eye(2), "nnz", "`a.nse`"),
        (xe.sparse.eye(2), "toarray", "`a.todense\\(\\)`"),
        (xe, "PRNGKey", "`random.key"),
        (xe, "fft", "`xp.fft` of the standard"),
        (xe, "minimize", "`xpand.optimize.minimize`"),
        (xe, "numpy", "`import xpand.numpy`"),
        (xe, "tree_map", "`xpand.trees`"),
        (xe.linear_solve, "spsolve", "`linear_solve.solve"),
        (xe, "softmax", "`xpand.special.softmax`"),
        (xe.named, "softmax", "`named.special.softmax`"),
        (jit, "make_jaxpr", "`jit.make_graph`"),
    ):
        with pytest.raises(AttributeError, match=f"no attribute '{name}'; write .*{write}"):
            getattr(what, name)
        assert not hasattr(what, "nothing_like_this")
    with pytest.raises(AttributeError, match="has no attribute 'T'$"):  # the advice for named arrays is not for modules
        _ = xe.T
    with pytest.raises(TypeError, match="minimize: takes no argument 'tol'; write `atol` and `rtol`"):
        xe.optimize.minimize(total, X, tol=1e-3)


def test_names_from_elsewhere_lead_somewhere() -> None:
    """The table's suggestions exist."""
    from xpand_extensions._elsewhere import NAMES

    for capability, names in NAMES.items():
        for name, instead in names.items():
            owners: dict[str, Any] = {
                "NamedArray": xe.named.NamedArray,
                "Sparse": xe.sparse.CSR,
                "OptimizeResult": xe.optimize.OptimizeResult,
                "SolveResult": xe.linear_solve.SolveResult,
                "LstsqResult": xe.linalg.LstsqResult,
                "xpand_extensions": xe,
            }
            owner = owners[capability] if capability in owners else getattr(xe, capability)
            assert not hasattr(owner, name) or inspect.ismodule(getattr(owner, name)), f"{capability}.{name} exists"
            head = instead.format(name=name).partition("`")[2].partition("`")[0].split("(")[0].split("[")[0]
            module, _, attribute = head.rpartition(".")
            if module in ("x", "r"):  # an attribute of the object itself
                assert hasattr(owner, attribute), instead
            elif module == "r.x":
                assert hasattr(np.eye(2), attribute), instead
            elif module and not module.startswith(("xp", "a")):
                assert hasattr(operator.attrgetter(module)(xe), attribute), instead


def test_names_outside_the_standard_lead_somewhere() -> None:
    """The table's suggestions exist, and the names have no place in the standard."""
    from xpand._renamed import _RENAMED, renamed
    from xpand_extensions._elsewhere import instead_of

    xp = traced_namespace(xpand.namespace("array_api_strict"))
    for name in _RENAMED:
        assert _find(xp, name) is None, f"{name} exists"
        for part in (renamed(name) or "").split(" or "):
            assert callable(_find(xp, part.strip("`").removeprefix("xp.").partition("(")[0])), part
    assert instead_of("nanmedian") == "write `xpand.statistics.nanmedian`"
    for library in ("torch", "jax"):
        with pytest.raises(AttributeError, match="has no attribute 'summ'$"):
            _ = xpand.namespace(library).summ
    with pytest.raises(AttributeError, match=r"has no attribute 'power'; write `xp\.pow\(x, y\)`"):
        _ = xpand.namespace("torch").power


def _find(xp: Any, path: str) -> Any:
    for part in path.split("."):
        xp = getattr(xp, part, None)
    return xp


def test_data_types_by_name() -> None:
    for xp in ("numpy", "torch"):
        key = xe.random.key(0, xp=xp)
        for result in (
            xe.random.normal(key, (2,), dtype="float32"),
            xe.sparse.eye(2, xp=xp, dtype="float32"),
            xe.sparse.astype(xe.sparse.eye(2, xp=xp), "float32"),
            xe.bits.bitcast(xe.random.bits(key, (2,), dtype="uint32"), "float32"),
        ):
            assert str(result.dtype).endswith("float32")
    with pytest.raises(TypeError, match="normal: dtype must be a data type or the name of one"):
        xe.random.normal(key, (2,), dtype="sin")


def test_gradients_of_lists_of_numbers_are_arrays() -> None:
    found = grad(lambda v: v[0] * v[1] + v[2])([1.0, 2.0, 3.0])
    assert [type(x) for x in found] == [np.ndarray] * 3
    assert [float(x) for x in found] == [2.0, 1.0, 1.0]
    assert type(grad(lambda x: x * x)(3.0)) is type(grad(lambda x: x + 1)(3.0)) is np.ndarray


def test_messages_of_calls_that_newcomers_write(library: Library) -> None:
    x = library.asarray(X)
    with pytest.raises(TypeError, match=r"at: takes no assignment, .*write `x = at\(x\)\[index\]\.set\(values\)`"):
        xe.scatter.at(x)[0] = 5.0
    with pytest.raises(
        ValueError, match="called with 0 positional arguments; pass arguments with derivatives by position"
    ):
        grad(total)(x=x)
