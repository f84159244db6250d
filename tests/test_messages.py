"""Mistakes that users make, and what the error says: in the words of the call that they wrote, on every library."""

import importlib
import inspect
import operator
import re
from collections.abc import Callable
from keyword import iskeyword
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pytest
import torch

import xpand
import xpand_extensions
from tests.libraries import Library
from xpand_extensions import (
    convolution,
    histograms,
    indexing,
    interpolation,
    linalg,
    linear_solve,
    named,
    optimize,
    padding,
    random,
    sorting,
    sparse,
    special,
    statistics,
)
from xpand_extensions._elsewhere import ARGUMENTS, NAMES
from xpand_extensions.autodiff import grad, hessian, jacfwd, jacrev, jvp, value_and_grad
from xpand_extensions.control_flow import cond, fori_loop, scan
from xpand_extensions.jit import jit, make_graph
from xpand_extensions.scatter import at
from xpand_extensions.tracing import TracedError
from xpand_extensions.vmap import vmap


def of(x: Any) -> Any:
    return xpand.array_namespace(x)


def total(x: Any) -> Any:
    return of(x).sum(x)


def _places(x: Any) -> Any:
    return of(x).argsort(x)


MISTAKES: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "grad of None": (
        lambda x: grad(lambda x: None)(x),
        TypeError,
        r"^grad: the function must return one number, got None; does it lack a `return`\?$",
    ),
    "grad of an empty tree": (lambda x: grad(lambda x: [])(x), TypeError, r"^grad: .* got \[\], which holds no array$"),
    "value_and_grad of a pair": (
        lambda x: value_and_grad(lambda x: (total(x), x))(x),
        TypeError,
        r"^value_and_grad: .*shapes \[\(\), \(3,\)\]; return one of them, .*has_aux=True",
    ),
    "minimize a pair": (
        lambda x: optimize.minimize(lambda x: (total(x), x), x, max_steps=3),
        TypeError,
        r"^minimize: f must return one number, got tuple$",
    ),
    "minimize None": (
        lambda x: optimize.minimize(lambda x: None, x, max_steps=3),
        TypeError,
        r"^minimize: f must return one number, got None; does it lack a `return`\?$",
    ),
    "minimize a vector": (
        lambda x: optimize.minimize(lambda x: x, x, max_steps=3),
        ValueError,
        r"^minimize: f must return one number, an array of shape \(\), got shape \(3,\); reduce it",
    ),
    "a root for several numbers between two": (
        lambda x: optimize.brentq(lambda y: y - x, 0.0 * x[0], 9.0, max_steps=3),
        ValueError,
        r"^brentq: f must return one number, .* got shape \(3,\); give `a` or `b` that shape",
    ),
    "a pair of bounds for each variable": (
        lambda x: optimize.minimize(total, x, bounds=[(0.0, 1.0)] * 3),
        TypeError,
        r"^minimize: bounds must be a pair \(lower, upper\) for all variables, .*, got list$",
    ),
    "a pair of bounds for each of two variables": (
        lambda x: optimize.minimize(total, x[:2], bounds=[(0.0, 1.0)] * 2),
        TypeError,
        r"^minimize: the lower bound must be .*, an array, got tuple; bounds are a pair .* for all variables$",
    ),
    "repeats that are None": (
        lambda x: indexing.repeat(x, None),
        TypeError,
        r"^repeat: repeats must be an integer, got None \(NoneType\)",
    ),
    "root of None": (
        lambda x: optimize.root(lambda x: None, x, max_steps=3),
        TypeError,
        r"^root: the result of f must be a tree like x0, .*, got None; does it lack a `return`\?$",
    ),
    "least_squares of None": (
        lambda x: optimize.least_squares(lambda x: None, x, max_steps=3),
        TypeError,
        r"^least_squares: the result of f must hold an array or a number, got None; does it lack a `return`\?$",
    ),
    "a number for a key": (
        lambda x: random.normal(0, (3,)),
        TypeError,
        r"^normal: key must be a key, .*, got int; make one with `random\.key\(0\)`$",
    ),
    "a number to split": (lambda x: random.split(7), TypeError, r"^split: .* `random\.key\(7\)`$"),
    "a text for a key": (lambda x: random.uniform("a"), TypeError, r"^uniform: .* got str; .*`random\.key\(seed\)`$"),
    "CSR of coordinates": (
        lambda x: sparse.CSR(x, (_places(x), _places(x)), (3, 3)),
        TypeError,
        r"^CSR: indices must be an array, got a tuple; .*`COO\(values, \(rows, columns\), shape\)\.tocsr\(\)`$",
    ),
    "CSC of one tuple": (
        lambda x: sparse.CSC((x, _places(x), _places(x)), (3, 3)),
        TypeError,
        r"^CSC: values must be an array, got a tuple; .*`CSC\(values, indices, indptr, shape\)`$",
    ),
    "COO of one tuple": (
        lambda x: sparse.COO((x, (_places(x), _places(x))), (3, 3)),
        TypeError,
        r"^COO: values must be an array, got a tuple; .*`COO\(values, \(rows, columns\), shape\)`$",
    ),
    "CSR of a dense array": (
        lambda x: sparse.CSR(of(x).linalg.outer(x, x)),
        TypeError,
        r"^CSR: takes values, indices, indptr and shape, got values alone; .*`sparse\.from_dense\(x, 'csr'\)`$",
    ),
    "a preconditioner's name, direct": (
        lambda x: linear_solve.solve(of(x).linalg.outer(x, x), x, method="lu", preconditioner="jacobi"),
        TypeError,
        r"^solve: preconditioner must be a function of a residual, got the name 'jacobi'; .*linear_solve\.jacobi\(A\)",
    ),
    "a preconditioner's name, iterative": (
        lambda x: linear_solve.solve(of(x).linalg.outer(x, x), x, method="cg", preconditioner="ilu"),
        TypeError,
        r"^solve: preconditioner must be .* the name 'ilu'",
    ),
    "vmap over a number": (
        lambda x: vmap(lambda x, s: x * s)(x, 2.0),
        ValueError,
        r"^vmap: in_axes=0 maps over argument 1, which is one number and has no axis; .*in_axes=\(0, None\)",
    ),
    "vmap over a part of an argument": (
        lambda x: vmap(lambda p: p["w"])({"w": x, "scale": total(x)}),
        ValueError,
        r"^vmap: in_axes=0 maps over \['scale'\] of argument 0, which is one number",
    ),
    "vmap over a number given by name": (
        lambda x: vmap(lambda x, s: x * s)(x, s=total(x)),
        ValueError,
        r"^vmap: .* maps over an argument given by name, which is one number",
    ),
    "grad of a function and its argument": (
        lambda x: grad(total, x),
        TypeError,
        r"^grad: argnums must be an integer or a tuple of integers, got an array; .*`grad\(f\)\(x\)`$",
    ),
    "vmap of a function and its argument": (
        lambda x: vmap(total, x),
        TypeError,
        r"^vmap: in_axes must be an integer, None or a tree of these, got an array; .*`vmap\(f\)\(x\)`$",
    ),
    "minimize from a list": (
        lambda x: optimize.minimize(lambda y: total(y * x), [1.0, 2.0, 3.0]),
        TypeError,
        r"^x0 is a list, so the function got a list of numbers; for one array write `asarray\(x0\)`$",
    ),
    "minimize a Python number": (
        lambda x: optimize.minimize(lambda y: 1.0, x, max_steps=3),
        TypeError,
        r"^minimize: f returned a Python number, which has no gradient; return the array itself, .*'nelder-mead'$",
    ),
    "conversions to NumPy in a derivative": (
        lambda x: grad(lambda y: total(np.asarray(y)))(x),
        TypeError,
        r"write `xp\.s(in|um)\(x\)`.*array_namespace|write `np\.stack\(\[x, y\]\)`|`np\.sum\(x\)` in place of `da\.",
    ),
    "a matrix in lists": (
        lambda x: linear_solve.solve([[2.0, 0.0], [0.0, 1.0]], x[:2]),
        TypeError,
        r"^solve: A must be an array, .*, got list; turn a list of numbers into an array with `xp\.asarray`",
    ),
    "the namespace of a list": (
        lambda x: of([x]),
        TypeError,
        r"^array_namespace: list is not a supported array; .*`xpand\.numpy\.asarray`$",
    ),
    "the namespace of a sparse array": (
        lambda x: of(sparse.COO(x, (_places(x),), (3,))),
        TypeError,
        r"^array_namespace: .*COO is not a supported array; .*; it is sparse: use .* or write `x\.todense\(\)`$",
    ),
    "the namespace of a named array": (
        lambda x: of(named.named(x, "a")),
        TypeError,
        r"^array_namespace: .*NamedArray is not a supported array; .* pass its attribute `array`$",
    ),
    "a method of arrays on a named array": (
        lambda x: named.named(x, "a").reshape(3, 1),
        AttributeError,
        r"^'NamedArray' object has no attribute 'reshape'; write `x\.flatten_axes`",
    ),
    "one name for two axes": (
        lambda x: named.named(of(x).linalg.outer(x, x), "a"),
        ValueError,
        r"^NamedArray: the array has 2 axes, of sizes \(3, 3\), but 1 are named: 'a'; name each axis$",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(library: Library, name: str) -> None:
    call, error, message = MISTAKES[name]
    with pytest.raises(error, match=f"(?m){message}"):  # JAX adds a note
        call(library.asarray([0.5, 1.5, 2.0]))


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner, table in NAMES.items() for name in table])
def test_names_of_other_libraries(owner: str, name: str) -> None:
    """Those in the tables do not exist here, and the error says what to write."""
    write = re.escape(NAMES[owner][name].format(name=name))
    if owner in RESULTS:
        x = RESULTS[owner]()
        assert name not in x._fields
    elif owner in ("NamedArray", "Sparse"):
        x = named.named(np.ones(2), "a") if owner == "NamedArray" else sparse.from_dense(np.eye(2))
    else:
        x = xpand_extensions if owner == "xpand_extensions" else importlib.import_module(f"xpand_extensions.{owner}")
        if not iskeyword(name):
            with pytest.raises(ImportError, match=f"^cannot import '{name}': .*; write {write}$"):
                exec(f"from {x.__name__} import {name}")
    with pytest.raises(AttributeError, match=f" has no attribute '{name}'; write {write}$"):
        getattr(x, name)
    assert not hasattr(x, name)


RESULTS: dict[str, Callable[[], Any]] = {
    "OptimizeResult": lambda: optimize.minimize(lambda x: total(x * x), np.ones(2)),
    "SolveResult": lambda: linear_solve.solve(np.eye(2), np.ones(2)),
    "LstsqResult": lambda: linalg.lstsq(np.eye(2), np.ones(2)),
}


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_results_are_no_arrays(name: str, library: str) -> None:
    result, x = RESULTS[name](), xpand.namespace(library).ones(2)
    two_sided = (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.matmul)
    for call in (
        *(lambda f=f: f(result, x) for f in two_sided),
        *(lambda f=f: f(x, result) for f in two_sided),
        lambda: 2 * result,
        lambda: result + 1,
        lambda: -result,
        lambda: abs(result),
    ):
        with pytest.raises(TypeError, match=f"^{name} is no array; its field `x` is the solution: write `result.x`$"):
            call()
    assert len([*result]) == len(result._fields)  # it is still a tuple, for trees and to unpack


def test_names_without_a_replacement() -> None:
    for x in (xpand_extensions, linear_solve, RESULTS["SolveResult"]()):
        with pytest.raises(AttributeError, match="has no attribute 'nonsense'$"):
            x.nonsense
    with pytest.raises(ImportError, match="^cannot import name 'nonsense' from 'xpand_extensions'"):
        from xpand_extensions import nonsense  # noqa: F401


FOREIGN: list[tuple[Callable[..., Any], str, str]] = [
    (random.normal, "loc", r"`loc \+ scale \* normal\(key, …\)`"),
    (random.normal, "size", "`shape`"),
    (random.normal, "seed", r"a key as the first argument, such as `random\.key\(seed\)`"),
    (random.choice, "size", "`shape`"),
    (random.uniform, "low", "`minval`"),
    (random.poisson, "rate", "`lam`"),
    (linear_solve.solve, "restart", r"`method=\"gmres\(20\)\"`, for example"),
    (linear_solve.solve, "maxiter", "`max_steps`"),
    (linear_solve.solve, "tol", "`atol` and `rtol`"),
    (linear_solve.solve, "M", "`preconditioner`"),
    (linalg.lstsq, "rcond", "`rtol`"),
    (optimize.least_squares, "bounds", r"`minimize\(lambda x: .*"),
    (optimize.least_squares, "max_nfev", "`max_steps`"),
    (optimize.minimize, "jac", "`gradient`"),
    (optimize.minimize, "options", "each option as an argument of its own"),
    (optimize.root, "max_iter", "`max_steps`"),
    (statistics.quantile, "dim", "`axis`"),
    (statistics.quantile, "keepdim", "`keepdims`"),
    (statistics.quantile, "interpolation", "`method`"),
    (statistics.cov, "ddof", "`correction`"),
    (interpolation.interp, "xp", "the points as the second argument"),
    (padding.pad, "value", "`constant_values`"),
    (convolution.conv, "stride", "`strides`"),
    (sorting.top_k, "dim", "`axis`"),
    (histograms.histogram, "max", "`range`"),
    (vmap, "in_dims", "`in_axes`"),
    (vmap, "chunk_size", r"`control_flow\.map\(f, x, batch_size=…\)`"),
    (grad, "argnum", "`argnums`"),
    (jit, "backend", "`compiler`"),
]


@pytest.mark.parametrize(("function", "argument", "write"), FOREIGN, ids=[f"{f.__name__}-{a}" for f, a, _ in FOREIGN])
def test_arguments_of_other_libraries(function: Callable[..., Any], argument: str, write: str) -> None:
    with pytest.raises(TypeError, match=f"^{function.__name__}: takes no argument '{argument}'; write {write}$"):
        function(np.ones(3), np.ones(3), **{argument: 1})
    with pytest.raises(TypeError, match=f"takes no argument '{argument}'"):
        function(**{argument: 1})  # as a decorator, if it is one


def test_the_table_of_arguments_names_functions_and_none_of_their_arguments() -> None:
    names = [
        "random",
        "linear_solve",
        "linalg",
        "statistics",
        "interpolation",
        "padding",
        "histograms",
        "sorting",
        "jit",
        "vmap",
    ]
    modules = [importlib.import_module(f"xpand_extensions.{name}") for name in (*names, "sorting", "jit", "vmap")]
    for name, table in ARGUMENTS.items():
        functions = [getattr(module, name) for module in modules if hasattr(module, name)]
        assert functions, name
        for function in functions:
            assert not set(table) & set(inspect.signature(function).parameters), name


def test_objects_that_hold_arrays() -> None:
    """The error says how to get an array of all elements."""
    import pandas as pd
    import scipy.sparse

    series = pd.Series([1.0, 2.0])
    for call in (
        lambda: xpand.array_namespace(series),
        lambda: grad(total)(series),
        lambda: jit(total)(series),
        lambda: optimize.minimize(total, series),
        lambda: special.logsumexp(series),
    ):
        with pytest.raises(TypeError, match=r"pandas\.Series.*; write `x\.to_numpy\(\)`$"):
            call()
    matrix = scipy.sparse.csr_array(np.eye(2))
    with pytest.raises(TypeError, match=r"; convert it with `sparse\.from_native` .* `x\.todense\(\)`$"):
        xpand.array_namespace(matrix)
    mixed = r"takes sparse arrays of one library, got a, a CSR with values in torch\.Tensor, and b, .*numpy\.ndarray; "
    for operation in (operator.matmul, operator.add):
        with pytest.raises(TypeError, match=rf"{mixed}.* `convert\(b, 'torch'\)` of `xpand\.convert`$"):
            operation(sparse.from_dense(torch.eye(2), format="csr"), matrix)


@pytest.mark.parametrize("library", ["numpy", "jax"])
@pytest.mark.parametrize("transform", [jit, vmap])
def test_values_in_strings(library: str, transform: Callable[..., Any]) -> None:
    x = xpand.namespace(library).ones((2, 2))
    text = lambda x: (f"{of(x).sum(x):.3f}", x)[1]
    with pytest.raises(TypeError, match=r"debug\.print\(.*x=x\)` of `xpand_extensions\.debug`"):
        transform(text)(x)


def test_modules_list_their_public_names() -> None:
    """`dir` shows the names of `__all__`, and modules."""
    found = [each.name for each in iter_modules(xpand_extensions.__path__) if not each.name.startswith("_")]
    capabilities = sorted({*found} - {"cli", "generic", "plugins", "tracing"})
    for name in ("xpand", "xpand.common", *(f"xpand_extensions.{each}" for each in capabilities)):
        module = importlib.import_module(name)
        others = {each for each in dir(module) if not each.startswith("_")} - set(module.__all__)
        if name == "xpand":
            others -= set(dir(xpand_extensions))  # imported on first use
        assert all(inspect.ismodule(getattr(module, each)) for each in others), (name, others)


def test_arrays_of_two_libraries() -> None:
    """The error names the arguments of the call that the user wrote."""
    x, y = np.ones(2), torch.ones(2)
    step = lambda carry, row: (carry + row, row)
    for call, names in (
        (
            lambda: optimize.minimize(lambda x, y: total(x - y), x, args=(y, y)),
            r"minimize: .* got x0 \(.*, args\[1\] \(",
        ),
        (lambda: scan(step, x, (y, y)), r"scan: .* got init \(numpy.ndarray\), xs\[0\] \(torch.Tensor\), xs\[1\] \("),
        (
            lambda: fori_loop(0, torch.asarray(2), lambda i, x: x, x),
            r"fori_loop: .* init_val \(numpy.ndarray\), bounds \(torch",
        ),
        (lambda: cond(y[0] > 0, total, total, x), r"cond: .* got pred \(torch.Tensor\), operands \(numpy.ndarray\)"),
    ):
        with pytest.raises(TypeError, match=f"^{names}"):
            call()


def test_numbers_of_numpy_beside_another_library() -> None:
    """They count as arrays of NumPy; the error says which argument, and how to get a Python number."""
    x, number = torch.ones(3), np.float32(1.5)
    with pytest.raises(TypeError, match=r"^at\.set: .*; make values a Python number: `values\.item\(\)`$"):
        at(x)[0].set(number)
    with pytest.raises(TypeError, match=r"\(Multiple namespaces\); make .*1\.5.* a Python number: `x\.item\(\)`$"):
        xpand.array_namespace(x, number)


def test_a_float64_of_numpy_is_a_float(library: Library) -> None:
    """It is a Python float too, so it serves where a function takes a number next to arrays of any library."""
    xp, number = library.xp, np.float64(2.5)
    x = library.asarray(np.asarray([1.0, 2.0, 3.0], dtype=np.float32))
    for found, expected in (
        (at(x)[1].set(number), [1.0, 2.5, 3.0]),
        (at(x)[1].add(number), [1.0, 4.5, 3.0]),
        (padding.pad(x, 1, constant_values=number), [2.5, 1.0, 2.0, 3.0, 2.5]),
        (
            linear_solve.solve(xp.eye(3, dtype=x.dtype, device=library.device), x, rtol=np.float64(1e-3)).x,
            [1.0, 2.0, 3.0],
        ),
    ):
        library.assert_equal(found, np.asarray(expected, dtype=np.float32))


def test_functions_of_numpy_know_no_names() -> None:
    x = named.named(np.ones((2, 3)), ("row", "column"))
    with pytest.raises(TypeError, match=r"^sum: NumPy's functions .*; write `x\.sum\(…\)` or `np\.sum\(x\.array\)`$"):
        np.sum(x)
    with pytest.raises(TypeError, match=r"; write `np\.interp\(x\.array\)`$"):
        np.interp(x, x, x)


def test_a_size_that_is_traced() -> None:
    """JAX's own error, a TypeError of another kind, names a plug-in's file, and `leaves[1]`."""
    import jax

    with pytest.raises(TypeError, match=r"^jit: .* depends on the argument n, .*static_argnums of `jit`") as caught:
        jit(lambda x, n: of(x).zeros(n))(jax.numpy.ones(3), 3)
    assert "leaves" not in str(caught.value)


def test_stacking_numbers() -> None:
    xp = xpand.namespace("torch")
    for function in (xp.stack, xp.concat):
        with pytest.raises(
            TypeError, match=r"^(stack|concat): takes a list of tensors, got one with float; .*`xp\.asarray`"
        ):
            function([1.0, 2.0])


@pytest.mark.parametrize(
    "call", [optimize.minimize, lambda f, x: optimize.root(lambda x: x, x), lambda f, x: optimize.bisect(total, x, x)]
)
def test_an_unknown_number_of_steps(call: Callable[..., Any]) -> None:
    """The user called `minimize`, not the loop that it runs in, and can give `max_steps`, not its steps."""
    import dask.array as da

    with pytest.raises(xpand.UnsupportedError, match=r"^(minimize|root|bisect): lazy arrays need .*; give max_steps"):
        call(total, da.ones(()))


def test_a_callback_needs_values(library: Library) -> None:
    with pytest.raises(ValueError, match=r"^minimize: a callback needs the values"):
        jit(lambda x: optimize.minimize(lambda x: total(x * x), x, max_steps=3, callback=print).x)(
            library.asarray([1.0])
        )


# Values that are not known


def branching(scale: Any, parameters: Any, size: int) -> Any:
    if total(parameters["w"]) > 0:
        return scale
    return -scale


def test_which_argument_is_not_known() -> None:
    """JAX's own message names a plug-in's file, and `leaves[1]`."""
    import jax

    x = jax.numpy.ones(3)
    line = branching.__code__.co_firstlineno + 1
    for call in (
        lambda: jit(branching, static_argnums=2)(x, {"w": x}, 3),
        lambda: jit(branching, static_argnames="size")(x, parameters={"w": x}, size=3),
    ):
        with pytest.raises(jax.errors.TracerBoolConversionError) as caught:
            call()
        message = str(caught.value)
        assert re.search(
            rf"^jit: .* at .*test_messages\.py:{line}, in branching; .*the argument parameters\['w'\]", message
        )
        assert "leaves" not in message
        assert "plugins" not in message
    with pytest.raises(jax.errors.TracerBoolConversionError, match=r"the argument size, and is not known"):
        jit(lambda scale, size: scale if size > 0 else -scale)(x, 3)
    with pytest.raises(jax.errors.TracerBoolConversionError, match=r"^scan: .*test_messages\.py:\d+, in <lambda>"):
        scan(lambda c, row: (c if row > 0 else -c, row), x[0], x)


def _on_the_host(x: Any) -> Any:
    return np.sum(np.sin(np.asarray(x)))


@pytest.mark.parametrize("transform", [grad, jit, vmap], ids=["grad", "jit", "vmap"])
def test_a_function_of_numpy_on_traced_arrays(library: Library, transform: Any) -> None:
    """It can't be traced, and the error names the line; PyTorch's says to detach, which would lose the derivative."""
    line = _on_the_host.__code__.co_firstlineno + 1
    x = library.asarray(np.ones((2, 3)) if transform is vmap else np.ones(3))
    with pytest.raises(Exception, match=rf"(?s)test_messages\.py:{line}, in _on_the_host") as caught:
        transform(_on_the_host)(x)
    assert "detach" not in str(caught.value)
    if library.id == "torch":
        assert isinstance(caught.value, TracedError)
        assert "xpand.array_namespace(x" in str(caught.value)


def _described(x: Any) -> Any:
    _ = f"{x:.3f}"
    return x


def test_a_text_of_a_value(library: Library) -> None:
    """Unknown values can't be written; the text of known values loses no derivative."""
    line = _described.__code__.co_firstlineno + 1
    for transform in (jit, make_graph):
        with pytest.raises(TypeError, match=rf"(?s)test_messages\.py:{line}, in _described") as caught:
            transform(_described)(library.asarray(1.5))
        assert "not known" in str(caught.value) or "depends on the values" in str(caught.value)
    if library.id == "numpy":
        texts: list[str] = []
        grad(lambda x: (texts.append(f"{x:.3f}"), x)[1])(library.asarray(1.5))
        assert texts == ["1.500"]
        grad(lambda x: (texts.append(f"{x}"), x)[1])(library.asarray(1.5))
        assert texts[1].startswith("Traced(shape=()")


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("item", "values are concrete outside the transformation"),
        ("numpy", "values are concrete outside the transformation"),
        ("clone", r"write `xp\.asarray\(x, copy=True\)`"),
        ("exp", r"write `xp\.exp\(x\)` with `xp = xpand\.array_namespace\(x, …\)`"),
        ("sort_values", "use the functions of the standard with"),
    ],
)
def test_attributes_that_are_not_the_standard_s(name: str, advice: str) -> None:
    """Of array-api-strict, whose arrays have no more attributes than the standard."""
    import array_api_strict as strict

    with pytest.raises(AttributeError, match=f"a traced array has no {name!r}: .*{advice}") as caught:
        jit(lambda x: getattr(x, name))(strict.ones(3))
    for function in re.findall(r"`xp\.(\w+)\(", str(caught.value)):
        assert hasattr(strict, function), f"xp.{function} does not exist"


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda x: grad(lambda x: x * float(x))(x),
    "jacrev": lambda x: jacrev(lambda x: x * float(x))(x),
    "jacfwd": lambda x: jacfwd(lambda x: x * float(x))(x),
    "hessian": lambda x: hessian(lambda x: x * float(x))(x),
    "jvp": lambda x: jvp(lambda x: x * float(x), (x,), (x,)),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_the_transformation_that_was_called(name: str) -> None:
    """`grad` is made of `vjp`, and `hessian` of both: that is no concern of the user's."""
    import numpy as np

    with pytest.raises(TypeError, match=f"`{name}`"):
        NUMBERS[name](np.asarray(2.0))
