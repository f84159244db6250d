"""Errors name the function, its argument, what to do instead, and the line of the user's code. Afterwards, no state is
left in any thread, and nothing stays in memory.
"""

import gc
import pickle
import re
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xpand
from tests.libraries import LIBRARIES
from xpand_extensions.autodiff import (
    checkpoint,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    jacfwd,
    jvp,
    linear_transpose,
    linearize,
    stop_gradient,
    vjp,
)
from xpand_extensions.control_flow import cond, fori_loop, scan
from xpand_extensions.jit import eval_shape, jit
from xpand_extensions.tracing import LeakedArrayError, NonlinearError, TracedArray, TracedError
from xpand_extensions.tracing._core import Trace
from xpand_extensions.tracing._tape import Node
from xpand_extensions.vmap import vmap

pytestmark = pytest.mark.usefixtures("only_new_objects")

HERE = re.escape(__file__)


def _array(*values: float) -> Any:
    x = np.asarray(values)
    x.flags.writeable = False
    return x


X = _array(1.0, 2.0)


def _sum(x: Any) -> Any:
    return xpand.array_namespace(x).sum(x)


def _grad(function: Callable[..., Any]) -> Callable[..., Any]:
    return grad(lambda x: _sum(function(x)))


TRANSFORMS = {"grad": _grad, "jvp": lambda f: lambda x: jvp(f, (x,), (x,)), "jit": jit, "vmap": vmap}
BLIND = {"jit": jit, "vmap": vmap}  # those under which no value is known
by_transform = pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
by_blind = pytest.mark.parametrize("transform", BLIND.values(), ids=BLIND)


def _array_of(x: Any) -> Any:
    """Put back the axis that vmap takes."""
    return x if x.ndim else xpand.array_namespace(x).stack([x, x])


# The arguments of transformations

ARGUMENTS = {
    "output": (
        lambda: grad(lambda x: x * 2.0)(X),
        TypeError,
        r"grad: the function must return one number.*\(2,\).*sum",
    ),
    "integers": (lambda: grad(_sum)(np.asarray([1, 2])), TypeError, r"grad: .*floating.*int64.*xp\.astype"),
    "data types": (lambda: jvp(_sum, (X,), (X.astype("float32"),)), TypeError, r"jvp: tangents .*float64, got float32"),
    "trees": (lambda: jvp(lambda x: x["a"], ({"a": X},), ({"b": X},)), TypeError, r"jvp: tangents .*structure.*'b'"),
    "count": (lambda: jvp(_sum, (X,), (X, X)), TypeError, r"jvp: tangents must have the structure"),
    "shapes": (lambda: jvp(_sum, (X,), (X[:1],)), ValueError, r"jvp: tangents must have the shape \(2,\), got \(1,\)"),
    "cotangents": (lambda: vjp(lambda x: x, X)[1](1.0), ValueError, r"vjp: cotangents must have the shape \(2,\)"),
    "tree of cotangents": (lambda: vjp(lambda x: (x, x), X)[1](X), TypeError, r"vjp: cotangents .*structure"),
    "argnums": (lambda: grad(_sum, 3)(X), ValueError, r"grad: argnums names argument 3.*1 positional"),
    "in_axes": (lambda: vmap(lambda x, y: x, in_axes=(0,))(X, X), ValueError, r"vmap: in_axes=\(0,\).*there are 2"),
    "axis": (lambda: vmap(lambda x: x, in_axes=3)(X), ValueError, r"vmap: in_axes=3 is out of range.*-1 to 0"),
    "sizes": (lambda: vmap(lambda x, y: x)(X, X[:1]), ValueError, r"vmap: .*one size.*\(2,\) along 0, \(1,\) along 0"),
    "no axis": (lambda: vmap(lambda x: x, in_axes=None)(X), ValueError, r"vmap: no argument is mapped.*axis_size"),
    "kind of axis": (
        lambda: vmap(lambda x: x, in_axes="a")(X),
        TypeError,
        r"vmap: in_axes must be an integer, got 'a'",
    ),
    "result of jit": (lambda: jit(lambda x: "text")(X), TypeError, r"jit: the function returned str"),
    "result of vmap": (lambda: vmap(lambda x: "text")(X), TypeError, r"vmap: the function returned str"),
    "linear": (lambda: linear_transpose(lambda x: x * x, X)(X), NonlinearError, r"multiply.*linear"),
}


@pytest.mark.parametrize(("call", "error", "message"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_arguments(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def _rule_jvp() -> Any:
    f = custom_jvp(lambda x: x * 2.0)
    f.defjvp(lambda primals, tangents: primals[0])
    return f


def _rule_vjp() -> Any:
    f = custom_vjp(lambda x: x * 2.0)
    f.defvjp(lambda x: (x * 2.0, None), lambda residuals, ct: (ct, ct))
    return f


@pytest.mark.parametrize("make", [_rule_jvp, _rule_vjp])
def test_rules_of_wrong_structure(make: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"custom_[jv][vj]p: .*must"):
        _grad(make())(X)


# Values that are not known

VALUES = {
    "bool": lambda x: x if _sum(x) > 0.0 else -x,
    "int": lambda x: x * int(_sum(x)),
    "float": lambda x: x * float(_sum(x)),
    "complex": lambda x: x * complex(_sum(x)),
    "index": lambda x: [x, x][xpand.array_namespace(x).argmax(_array_of(x))],
    "arange": lambda x: xpand.array_namespace(x).arange(_sum(x)),
    "zeros": lambda x: xpand.array_namespace(x).zeros((xpand.array_namespace(x).argmax(_array_of(x)),)),
}


@by_blind
@pytest.mark.parametrize("what", VALUES)
def test_values_asked_for(transform: Any, what: str) -> None:
    with pytest.raises(TracedError, match=r"use `xp\.where`") as caught:
        transform(VALUES[what])(X)
    line = VALUES[what].__code__.co_firstlineno
    assert re.search(rf"\(at {HERE}:{line}, in <lambda>\)$", str(caught.value))
    assert what in str(caught.value) or what == "zeros"


@by_blind
def test_where_it_says(transform: Any) -> None:
    """The line is that of the user's own code, below the frames of the project and of libraries of arrays."""
    from array_api_extra import apply_where

    def branch(x: Any) -> Any:
        return x if x > 0.0 else -x

    with pytest.raises(TracedError) as caught:
        transform(lambda x: xpand.trees.map(branch, [_sum(x)]))(X)
    assert caught.value.where == f"{__file__}:{branch.__code__.co_firstlineno + 1}, in branch"
    copied = pickle.loads(pickle.dumps(caught.value))
    assert (str(copied), copied.where) == (str(caught.value), caught.value.where)

    def call(x: Any) -> Any:
        return apply_where(x > 0.0, x, lambda x: x, fill_value=0.0)

    with pytest.raises(TracedError, match="mask") as caught:
        transform(call)(X[None])
    assert caught.value.where == f"{__file__}:{call.__code__.co_firstlineno + 1}, in call"


@pytest.mark.parametrize("name", ["grad", "jvp"])
def test_values_known(name: str) -> None:
    """Under derivatives Python may look at values, as with JAX; no derivative is lost silently for a number."""
    transform = TRANSFORMS[name]
    for what in ("bool", "int", "index"):
        transform(VALUES[what])(X)
    for what in ("float", "complex"):
        with pytest.raises(TracedError, match=rf"{what}\(x\): the number would have no derivative.*stop_gradient"):
            transform(VALUES[what])(X)
    np.testing.assert_array_equal(_grad(lambda x: x * float(stop_gradient(_sum(x))))(X), [3.0, 3.0])


SIZES = {
    "nonzero": lambda x: xpand.array_namespace(x).nonzero(x)[0],
    "unique_values": lambda x: xpand.array_namespace(x).unique_values(x),
    "mask": lambda x: x[x > 0.0],
}


@by_blind
@pytest.mark.parametrize("what", SIZES)
def test_sizes_that_depend_on_values(transform: Any, what: str) -> None:
    with pytest.raises(TypeError, match=rf"{what}.*size"):
        transform(lambda x: SIZES[what](_array_of(x)))(X)


# Traced arrays in the wrong hands

NUMPY = {
    "array": np.array,
    "asarray": np.asarray,
    "ascontiguousarray": np.ascontiguousarray,
    "elements": lambda x: np.array([x, x]),
    "frombuffer": lambda x: np.frombuffer(np.asarray(x)),
}


@by_transform
@pytest.mark.parametrize("what", NUMPY)
def test_given_to_numpy(transform: Any, what: str) -> None:
    with pytest.raises(TracedError, match=r"conversion to NumPy: .*np\.stack.*pure_callback.*collecting_traced"):
        transform(lambda x: NUMPY[what](_array_of(x)))(X)


TABLE = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("transform", [jit, vmap])
@pytest.mark.parametrize("index", [lambda i: i, lambda i: (slice(None), i), lambda i: (i, 0), lambda i: i > 0])
def test_a_constant_indexed_with_a_traced_array(transform: Any, index: Callable[[Any], Any]) -> None:
    """NumPy's arrays convert their index, so that nobody can trace it: the error says what to write instead."""
    i = np.asarray([2, 0])
    with pytest.raises(
        TracedError, match=r"to index a constant array with it, write `np\.asarray\(table, like=x\)\[x\]`"
    ):
        transform(lambda i: TABLE[index(i)])(i)
    traced = transform(lambda i: xpand.array_namespace(i).asarray(TABLE)[i, 1])
    np.testing.assert_array_equal(traced(i), TABLE[i, 1])


@by_transform
def test_two_libraries(transform: Any) -> None:
    for other in (library for library in LIBRARIES if library.id in ("torch", "jax", "strict")):
        y = other.asarray([1.0, 2.0])
        for mixed in (
            lambda x, y=y: x + y,
            lambda x, y=y: xpand.array_namespace(x).add(x, y),
            lambda x, y=y: xpand.array_namespace(x).stack([_array_of(x), y]),
            lambda x, y=y: _array_of(x)[y],
        ):
            with pytest.raises(TypeError, match=r"arrays of two libraries: traced arrays of numpy, and .*xp\.asarray"):
                transform(mixed)(X)


@by_transform
def test_operands_and_keys(transform: Any) -> None:
    for other in ("text", None, [1.0, 2.0]):
        with pytest.raises(TypeError, match="unsupported operand"):
            transform(lambda x, other=other: x + other)(X)
    for key in ("text", (0, "text"), 0.5):
        with pytest.raises(TypeError, match=r"x\[key\]: takes integers, slices.*xp\.asarray"):
            transform(lambda x, key=key: _array_of(x)[key])(X)
    with pytest.raises(
        AttributeError, match=r"a traced array has no 'where'.*xp\.where\(x\).*all arrays of the expression"
    ):
        transform(lambda x: x.where())(X)
    with pytest.raises(AttributeError, match=r"no '_array'.*where a function of a library was given it"):
        transform(lambda x: x._array)(X)
    with pytest.raises(TypeError, match="unhashable"):
        transform(lambda x: {x: 1})(X)


# Leaks

USES = {
    "operator": lambda x: x + 1.0,
    "function": lambda x: _sum(x),
    "index": lambda x: x[...],
    "numpy": np.asarray,
    "float": float,
    "bool": bool,
}


@by_transform
@pytest.mark.parametrize("use", USES)
def test_leaks(transform: Any, use: str) -> None:
    leaked = []

    def function(x: Any) -> Any:
        leaked.append(_sum(x) if use in ("float", "bool") else x * 2.0)
        return x * 1.0

    transform(function)(X)
    with pytest.raises(LeakedArrayError, match=r"a call of `\w+` that has ended; return it.*in <lambda>|has ended"):
        USES[use](leaked[0])
    assert "shape" in repr(leaked[0])
    with pytest.raises(LeakedArrayError, match="has ended"):
        transform(lambda x: x + leaked[0])(X)
    found = []
    thread = threading.Thread(target=lambda: found.append(_error(lambda: USES[use](leaked[0]))))
    thread.start()
    thread.join()
    assert type(found[0]) is LeakedArrayError


def _error(call: Callable[[], Any]) -> Exception | None:
    try:
        call()
    except Exception as error:
        return error
    return None


def test_leaks_name_the_transformation() -> None:
    leaked: list[Any] = []
    for name, transform in (("jit", jit), ("vmap", vmap), ("jvp", TRANSFORMS["jvp"])):
        leaked.clear()
        transform(lambda x: (leaked.append(x * 2.0), x)[1])(X)
        with pytest.raises(LeakedArrayError, match=f"a call of `{name}` that has ended"):
            _ = leaked[0] + 1.0
    _, linear = linearize(lambda x: (leaked.append(x * 2.0), x)[1], X)
    with pytest.raises(LeakedArrayError, match="`linearize`"):
        _ = leaked[-1] + 1.0
    np.testing.assert_array_equal(linear(X), X)


PASSED_ON: dict[str, Callable[[Any], Any]] = {
    "jit, returned": lambda leaked: jit(lambda x: leaked)(X),
    "jit, in a tree": lambda leaked: jit(lambda x: {"a": [x, leaked]})(X),
    "jit, given": lambda leaked: jit(lambda x: x)(leaked),
    "jit, given in vain": lambda leaked: jit(lambda x: 1.0)(leaked),
    "eval_shape": lambda leaked: eval_shape(lambda x: leaked, X),
    "grad, returned": lambda leaked: grad(lambda x: leaked)(X),
    "grad, given": lambda leaked: grad(lambda x: x)(leaked),
    "grad, beside": lambda leaked: grad(lambda x: (_sum(x), leaked), has_aux=True)(X),
    "grad, not differentiated": lambda leaked: grad(lambda x, y: _sum(x) * y)(X, leaked),
    "vmap, returned": lambda leaked: vmap(lambda x: leaked)(X),
    "vmap, given": lambda leaked: vmap(lambda x, y: y, in_axes=(0, None))(X, leaked),
    "jvp, returned": lambda leaked: jvp(lambda x: leaked, (X,), (X,)),
    "jvp, tangent": lambda leaked: jvp(lambda x: x, (X[0],), (leaked,)),
    "vjp, returned": lambda leaked: vjp(lambda x: leaked, X),
    "vjp, cotangent": lambda leaked: vjp(_sum, X)[1](leaked),
    "linearize": lambda leaked: linearize(lambda x: x, X[0])[1](leaked),
    "linear_transpose": lambda leaked: linear_transpose(lambda x: x, X[0])(leaked),
    "hessian": lambda leaked: hessian(lambda x: leaked)(X),
    "jacfwd": lambda leaked: jacfwd(lambda x: leaked)(X),
    "checkpoint": lambda leaked: grad(checkpoint(lambda x: leaked))(X),
    "cond": lambda leaked: jit(lambda x: cond(x[0] > 0.0, lambda: leaked, lambda: x[0]))(X),
    "scan": lambda leaked: jit(lambda x: scan(lambda c, _: (c, leaked), x, None, length=2)[1])(X),
    "fori_loop": lambda leaked: jit(lambda n: fori_loop(0, n, lambda i, c: leaked, _array(1.0)[0]))(np.asarray(2)),
}


@by_transform
@pytest.mark.parametrize("use", PASSED_ON)
def test_leaked_arrays_are_no_results(transform: Any, use: str) -> None:
    """They are not passed on, either, by a transformation that does nothing with them."""
    leaked: list[Any] = []
    transform(lambda x: (leaked.append(_sum(x)), x)[1])(X)
    with pytest.raises(LeakedArrayError, match=r"a call of `\w+` that has ended; return it") as caught:
        PASSED_ON[use](leaked[0])
    assert caught.value.where.startswith(__file__)


# Changes in place


def _set(x: Any) -> Any:
    x[...] = 3.0 * x
    return x


def _add(x: Any) -> Any:
    y = x
    y += 1.0
    return x * 2.0


@by_transform
def test_inputs_are_never_changed(transform: Any) -> None:
    x = np.asarray([1.0, 2.0])
    # The elements that vmap maps over are scalars, of which `+=` makes others.
    for function, expected in ((_set, [3.0, 6.0]), (_add, [2.0, 4.0] if transform is vmap else [4.0, 6.0])):
        found = transform(function)(x)
        np.testing.assert_array_equal(x, [1.0, 2.0])
        if transform in (jit, vmap):
            np.testing.assert_array_equal(found, expected)


def test_gradients_of_changes() -> None:
    np.testing.assert_array_equal(_grad(_set)(X), [3.0, 3.0])
    np.testing.assert_array_equal(_grad(_add)(X), [2.0, 2.0])


@by_transform
def test_constants(transform: Any) -> None:
    """A raw array can't hold traced elements, and other names of it would keep the old ones: it isn't written to."""
    w = np.zeros(2)

    def element(x: Any) -> Any:
        w[0] = _sum(x)
        return x

    def all_of_it(x: Any) -> Any:
        w[...] = x
        return x

    def added(x: Any) -> Any:
        y = w
        y += x
        return y

    for function in (element, all_of_it, added):
        with pytest.raises(TracedError):
            transform(function)(X)
    np.testing.assert_array_equal(w, [0.0, 0.0])


# The state after an error

FAILURES = {
    "raises": lambda x: [][1],
    "value": lambda x: np.asarray(x),
    "key": lambda x: x["text"],
    "shapes": lambda x: _array_of(x) + np.ones(7),
}
GOOD = {"grad": [2.0, 4.0], "jit": [1.0, 4.0], "vmap": [1.0, 4.0]}


def _fail_and_succeed(times: int) -> None:
    transforms = {name: TRANSFORMS[name] for name in GOOD}
    for i in range(times):
        for transform in transforms.values():
            nested = transform if i % 2 else lambda f, transform=transform: _grad(jit(vmap(f)))
            for function in FAILURES.values():
                assert _error(lambda nested=nested, function=function: nested(function)(X)) is not None
    for name, transform in transforms.items():
        np.testing.assert_array_equal(transform(lambda x: x * x)(X), GOOD[name])
        np.testing.assert_array_equal(_grad(jit(vmap(lambda x: x * x)))(X), [2.0, 4.0])


def test_a_thousand_failures() -> None:
    _fail_and_succeed(1000 // (len(FAILURES) * len(GOOD)) + 1)


def test_failures_in_threads() -> None:
    errors: list[Any] = []
    threads = [threading.Thread(target=lambda: errors.append(_error(lambda: _fail_and_succeed(4)))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [None] * 16


def _living() -> int:
    return sum(issubclass(type(x), (TracedArray, Trace, Node)) for x in gc.get_objects())


@by_transform
def test_nothing_is_kept(transform: Any) -> None:
    """Traces, arrays and tapes are freed at the end of a call without the collector; after an error, with it."""

    def failing(x: Any) -> Any:
        _ = x * x
        raise RuntimeError("on purpose")

    transform(lambda x: x * x)(X)
    gc.collect()
    gc.disable()
    try:
        before = _living()
        transform(lambda x: x * x)(X)
        assert _living() == before
    finally:
        gc.enable()
    assert isinstance(_error(lambda: transform(failing)(X)), RuntimeError)
    gc.collect()
    assert _living() == before


def test_memory_does_not_grow() -> None:
    import tracemalloc

    def work() -> None:
        _fail_and_succeed(1)
        gc.collect()

    work()
    work()
    tracemalloc.start()
    try:
        work()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(4):
            work()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 10_000, f"{grown} bytes in four rounds of 12 calls"


def test_errors_name_the_public_class_of_traced_arrays() -> None:
    doubled = custom_vjp(lambda x: 2 * x)
    doubled.defvjp(lambda x: (2 * x, None), lambda _, g: g)
    with pytest.raises(TypeError, match=r"must return a tuple of 1, .*, got xpand_extensions\.tracing\.TracedArray$"):
        grad(lambda x: xpand.array_namespace(x).sum(doubled(x)))(np.ones(2))
