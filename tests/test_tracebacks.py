"""Errors in functions of the user's: tracebacks show the user's frames, and a note names the user's line."""

import inspect
import os
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import xpand
import xpand_extensions as xe
from tests.libraries import Library
from xpand_extensions import (
    autodiff,
    control_flow,
    debug,
    jit,
    linear_solve,
    optimize,
    scatter,
    sparse,
    statistics,
    vmap,
    windows,
)
from xpand_extensions.autodiff import jvp
from xpand_extensions.control_flow import cond, fori_loop, scan
from xpand_extensions.jit import ShapeDtype
from xpand_extensions.optimize import minimize

X = np.asarray([1.0, 2.0])
OF_X = ShapeDtype((2,), "float64")
PACKAGES = tuple(f"{Path(package.__file__).parent}{os.sep}" for package in (xpand, xe))


def fail(*args: Any) -> Any:
    raise ArithmeticError("of the user")


def linear(x: Any) -> Any:
    return 2.0 * x


def with_rule(decorator: Callable[..., Any], rule: str) -> Any:
    made = decorator(fail)
    getattr(made, rule)(*[fail] * (2 if rule == "defvjp" else 1))
    return made


CALLS: dict[str, Callable[[], Any]] = {
    "check_grads": lambda: autodiff.check_grads(fail, (X,)),
    "closure_convert": lambda: autodiff.closure_convert(fail, X),
    "custom_linear_solve": lambda: autodiff.custom_linear_solve(linear, X, solve=fail, symmetric=True),
    "custom_root": lambda: autodiff.custom_root(linear, X, solve=fail),
    "jvp": lambda: autodiff.jvp(fail, (X,), (X,)),
    "linear_transpose": lambda: autodiff.linear_transpose(fail, X),
    "linearize": lambda: autodiff.linearize(fail, X),
    "vjp": lambda: autodiff.vjp(fail, X),
    "custom_jvp": lambda: with_rule(autodiff.custom_jvp, "defjvp")(X),
    "custom_vjp": lambda: with_rule(autodiff.custom_vjp, "defvjp")(X),
    "apply_along_axis": lambda: vmap.apply_along_axis(fail, 0, np.ones((2, 3))),
    "associative_scan": lambda: control_flow.associative_scan(fail, X),
    "cond": lambda: control_flow.cond(np.asarray(False), linear, fail, X),
    "fori_loop": lambda: control_flow.fori_loop(0, 2, fail, X),
    "map": lambda: control_flow.map(fail, X),
    "scan": lambda: control_flow.scan(fail, X, X),
    "switch": lambda: control_flow.switch(1, (linear, fail), X),
    "while_loop": lambda: control_flow.while_loop(fail, linear, X, max_iter=2),
    "callback": lambda: debug.callback(fail, X),
    "print": lambda: debug.print("{0.missing}", X),
    "eval_shape": lambda: jit.eval_shape(fail, X),
    "io_callback": lambda: jit.io_callback(fail, OF_X, X),
    "lazy_apply": lambda: jit.lazy_apply(fail, X),
    "pure_callback": lambda: jit.pure_callback(fail, OF_X, X),
    "matrix_from_function": lambda: linear_solve.matrix_from_function(fail, X),
    "solve": lambda: linear_solve.solve(fail, X),
    "solve by a preconditioner": lambda: linear_solve.solve(linear, X, method="gmres", preconditioner=fail),
    "bisect": lambda: optimize.bisect(fail, 0.0, 1.0),
    "bracketed_root": lambda: optimize.bracketed_root(fail, 0.0, 1.0),
    "brentq": lambda: optimize.brentq(fail, 0.0, 1.0),
    "fixed_point": lambda: optimize.fixed_point(fail, X),
    "iterate": lambda: optimize.iterate(fail, X, running=lambda x: x > 0.0),
    "least_squares": lambda: optimize.least_squares(fail, X),
    "minimize": lambda: optimize.minimize(fail, X),
    "root": lambda: optimize.root(fail, X),
    "custom_vmap": lambda: with_rule(vmap.custom_vmap, "def_vmap")(X),
    "apply": lambda: scatter.at(X)[0].apply(fail),
    "map_values": lambda: sparse.map_values(fail, sparse.eye(2)),
    "reduce": lambda: statistics.reduce(X, fail, 0.0),
    "window_reduce": lambda: windows.window_reduce(X, fail, 0.0, (2,)),
}


def raised_by(call: Callable[[], Any]) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011 (the tests look at it)
        call()
    return caught.value


def frames_of(error: BaseException | None) -> list[traceback.FrameSummary]:
    assert error is not None
    return list(traceback.extract_tb(error.__traceback__))


def ours(frames: list[traceback.FrameSummary]) -> list[str]:
    return [frame.name for frame in frames if frame.filename.startswith(PACKAGES)]


@pytest.mark.parametrize("name", CALLS)
def test_frames_of_all_functions_that_call_functions(name: str) -> None:
    error = raised_by(CALLS[name])
    frames = frames_of(error)
    assert len(ours(frames)) == 1, frames
    if name == "print":
        assert isinstance(error, AttributeError)
        return
    assert isinstance(error, ArithmeticError)
    assert (frames[-1].name, frames[-1].filename) == ("fail", __file__)
    assert not hasattr(error, "__notes__"), "the last frame is the user's"


def test_frames_of_pullbacks() -> None:
    square = autodiff.custom_vjp(lambda x: x * x)
    square.defvjp(lambda x: (x * x, x), fail)
    _, pull = autodiff.vjp(square, X)
    frames = frames_of(raised_by(lambda: pull(X)))
    assert ours(frames) == ["__call__"]
    assert frames[-1].name == "fail"


def test_no_function_is_forgotten() -> None:
    named = {name.partition(" ")[0] for name in CALLS}
    missing = []
    for module in (
        autodiff,
        control_flow,
        debug,
        jit,
        linear_solve,
        optimize,
        scatter,
        xe.statistics,
        vmap,
        xe.windows,
    ):
        for name in module.__all__:
            value = getattr(module, name)
            if not inspect.isfunction(value) or inspect.signature(value).return_annotation is inspect.Signature.empty:
                continue
            takes = "Callable" in str(list(inspect.signature(value).parameters.values()))
            makes_one = value.__code__.co_name == "transform" or name in {"custom_gradient", "sequential_vmap"}
            if takes and not makes_one and name not in named:
                missing.append(name)
    assert not missing


@pytest.mark.parametrize("name", ["cond", "scan", "jvp", "minimize", "vmap"])
def test_frames_on_all_libraries(library: Library, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    xp, x = library.xp, library.asarray(X)

    def outer(*args: Any) -> Any:
        return reshaped(args[-1])

    def reshaped(x: Any) -> Any:
        return xp.reshape(x, (7,))

    calls: dict[str, Callable[[], Any]] = {
        "cond": lambda: cond(xp.sum(x) > 0.0, outer, outer, x),
        "scan": lambda: scan(outer, x, xp.stack([x, x])),
        "jvp": lambda: jvp(outer, (x,), (x,)),
        "minimize": lambda: minimize(outer, x, method="bfgs", max_steps=3),
        "vmap": lambda: vmap.vmap(outer)(xp.stack([x, x])),
    }
    error = raised_by(calls[name])
    frames = frames_of(error)
    assert len(ours(frames)) == 1, frames
    of_users = [frame for frame in frames if frame.filename == __file__]
    assert [frame.name for frame in of_users[-2:]] == ["outer", "reshaped"]
    notes = [note for note in getattr(error, "__notes__", ()) if note.startswith("at ")]
    here = reshaped.__code__.co_firstlineno + 1
    assert notes == ([] if frames[-1].filename == __file__ else [f"at {__file__}:{here}, in reshaped"])

    monkeypatch.setenv("XPAND_TRACEBACK", "full")
    full = raised_by(calls[name])
    assert len(ours(frames_of(full))) > 1
    assert not [note for note in getattr(full, "__notes__", ()) if note.startswith("at ")]


def test_the_line_is_noted_once() -> None:
    def inverse(x: Any) -> Any:
        return np.linalg.inv(x)

    def nested(x: Any) -> Any:
        return cond(True, lambda x: fori_loop(0, 1, lambda i, x: inverse(x), x), lambda x: x, x)

    x = np.zeros((2, 2))
    error = raised_by(lambda: control_flow.switch(0, [nested], x))
    assert isinstance(error, np.linalg.LinAlgError)
    assert error.__notes__ == [f"at {__file__}:{inverse.__code__.co_firstlineno + 1}, in inverse"]
    assert error.args == ("Singular matrix",)
    # The functions of a library themselves have no line of the user's.
    assert not hasattr(raised_by(lambda: cond(True, np.linalg.inv, np.linalg.inv, x)), "__notes__")


def test_frames_of_causes() -> None:
    def wrapping(x: Any) -> Any:
        try:
            return vmap.vmap(fail)(np.ones(3))
        except ArithmeticError as error:
            raise TypeError("wrapped") from error

    error = raised_by(lambda: vmap.vmap(wrapping)(np.ones(3)))
    assert isinstance(error, TypeError)
    assert not ours(frames_of(error.__cause__))
    assert "fail" in [frame.name for frame in frames_of(error.__cause__)]


def test_errors_of_arguments() -> None:
    frames = frames_of(raised_by(lambda: cond(True, X, X)))  # type: ignore[arg-type]
    assert [frame.name for frame in frames][-1] == "cond"
    assert len(ours(frames)) == 1


def test_functions_stay_what_they_are() -> None:
    assert list(inspect.signature(cond).parameters) == ["pred", "true_fun", "false_fun", "operands"]
    assert (cond.__name__, cond.__module__) == ("cond", "xpand_extensions.control_flow._branches")
    assert cond.__doc__
    assert cond.native(X) is cond.native_for("numpy")
    assert pickle.loads(pickle.dumps(cond)) is cond
    assert pickle.loads(pickle.dumps(minimize)) is minimize
    with xe.profile.profile() as p:
        xe.control_flow.cond(True, linear, linear, X)
        xe.optimize.minimize(lambda x: x @ x, X)
        xe.autodiff.grad(lambda x: x @ x)(X)
    assert {"control_flow.cond", "optimize.minimize", "autodiff.grad"} <= {entry.name for entry in p.entries}


def test_under_torch_compile() -> None:
    def function(x: Any) -> Any:
        return cond(True, torch.sin, torch.cos, x) + jvp(torch.sin, (x,), (x,))[1]

    x = torch.asarray([0.5, 2.0])
    compiled = torch.compile(function, fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x), function(x))
