"""Caches of programs: each knows the state outside of the arguments that the functions of the programs may read."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import xpand
from tests.libraries import LIBRARIES, Library
from xpand import array_namespace, default_namespace, use
from xpand_extensions import jit, linear_solve, named as hax, optimize, precision, vmap
from xpand_extensions.named import axis_mapping, physical_axis_name
from xpand_extensions.vmap import axis_size, pmap, psum

Call = Callable[[], Any]


class State(NamedTuple):
    """A state outside of the arguments."""

    read: Callable[[], float]
    """Returns a number that depends on the state."""
    values: list[Callable[[Library, Call], Any]]
    """Functions that call a function in one state each, and return its result."""


def _inside(block: Callable[[], AbstractContextManager[Any]]) -> Callable[[Library, Call], Any]:
    def run(library: Library, call: Call) -> Any:
        with block():
            return call()

    return run


def _mapped(size: int, name: str = "i") -> Callable[[Library, Call], Any]:
    def run(library: Library, call: Call) -> Any:
        lanes = library.asarray(np.zeros(size))
        return vmap(lambda lane: lane + call(), axis_name=name)(lanes)[0, ...]

    return run


@contextmanager
def _process(set_value: Callable[[Any], None], value: Any) -> Iterator[None]:
    set_value(value)
    try:
        yield
    finally:
        set_value(None)


def _mapped_size() -> float:
    try:
        return float(axis_size("i"))
    except NameError:
        return 0.5


OUTSIDE = _inside(nullcontext)
STATES = {
    "mapped axis": State(_mapped_size, [_mapped(2), _mapped(3), OUTSIDE, _mapped(3, "j")]),
    "sum over a mapped axis": State(lambda: float(psum(1.0, "i")), [_mapped(2), _mapped(3)]),
    "precision": State(
        lambda: float(precision.get_precision(xp="numpy")),
        [OUTSIDE, _inside(partial(precision.precision, 16)), _inside(partial(_process, precision.set_precision, 32))],
    ),
    "precision of integers": State(
        lambda: float(np.iinfo(precision.default_dtype("integral", xp="numpy")).bits),
        [OUTSIDE, _inside(partial(precision.precision, 64, integer=32)), _inside(partial(precision.precision, 64))],
    ),
    "precision of products": State(
        lambda: float(len(precision.get_matmul_precision() or "")),
        [OUTSIDE, *[_inside(partial(precision.matmul_precision, level)) for level in ("high", "medium")]],
    ),
    "default namespace": State(
        lambda: float(len(default_namespace().__name__)),
        [OUTSIDE, _inside(partial(use, "jax")), _inside(partial(_process, xpand.set_default_namespace, "torch"))],
    ),
    "axis mapping": State(
        lambda: float(len(physical_axis_name("a") or "")),
        [OUTSIDE, *[_inside(partial(axis_mapping, {"a": axes})) for axes in ("x", "data", ("x", "y"))]],
    ),
}


def _solve(library: Library, one: Any, read: Call) -> Call:
    multiply = jit(lambda x: x * read())
    b = library.xp.stack([one, one])
    return lambda: linear_solve.solve(multiply, b, method="cg", max_steps=2, throw=False).x[0] * read() ** 2


def _minimize(library: Library, one: Any, read: Call) -> Call:
    distance = jit(lambda x: array_namespace(x).sum((x - read()) ** 2))
    start = library.xp.stack([one, one])
    return lambda: optimize.minimize(distance, start, max_steps=3, throw=False).x[0]


def _root(library: Library, one: Any, read: Call) -> Call:
    difference = jit(lambda x: x - read())
    start = library.xp.stack([one, one])
    return lambda: optimize.root(difference, start, max_steps=2, throw=False).x[0]


def _named(library: Library, one: Any, read: Call) -> Call:
    multiply = hax.named_jit(lambda x: x * read())
    x = hax.named(one, ())
    return lambda: multiply(x).array


def _pmap(library: Library, one: Any, read: Call) -> Call:
    multiply, x = pmap(lambda x: x * read()), library.xp.stack([one])
    return lambda: multiply(x)[0, ...]


def _jit_by_name(library: Library, one: Any, read: Call) -> Call:
    multiply = jit(lambda *, x: x * read())
    return lambda: multiply(x=one)


def _jit_static(library: Library, one: Any, read: Call) -> Call:
    multiply = jit(lambda x, times: x * (read() * times), static_argnums=1)
    return lambda: multiply(one, 1)


def _jit(library: Library, one: Any, read: Call) -> Call:
    multiply = jit(lambda x: x * read())
    return lambda: multiply(one)


def _jit_within(library: Library, one: Any, read: Call) -> Call:
    multiply = jit(lambda x: x * read())
    within = jit(lambda x: multiply(x) * 1.0)
    return lambda: within(one)


CACHES = {
    "jit": _jit,
    "jit by name": _jit_by_name,
    "jit with a static argument": _jit_static,
    "jit within jit": _jit_within,
    "named_jit": _named,
    "pmap": _pmap,
    "solve": _solve,
    "minimize": _minimize,
    "root": _root,
}


EVERY = [state for state in STATES.values() if OUTSIDE in state.values]
COMBINED = State(
    lambda: sum(state.read() * 10 ** (i - 4) for i, state in enumerate(EVERY)),
    [OUTSIDE, *[next(run for run in state.values if run is not OUTSIDE) for state in EVERY], OUTSIDE],
)


def _check(library: Library, cache: str, state: State) -> None:
    one = library.asarray(1.0)
    call = CACHES[cache](library, one, state.read)
    for run in (*state.values, state.values[0]):
        expected = float(run(library, lambda: one * state.read()))
        found = float(np.asarray(library.to_numpy(run(library, call))))
        assert found == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("cache", CACHES)
def test_a_cache_knows_the_state(cache: str, state: str) -> None:
    _check(LIBRARIES[0], cache, STATES[state])


@pytest.mark.parametrize("cache", ["jit", "named_jit", "pmap"])
def test_a_cache_knows_all_states(library: Library, cache: str) -> None:
    _check(library, cache, COMBINED)


@pytest.mark.parametrize("compiling", [x for x in LIBRARIES if x.id in ("jax", "torch")], ids=str)
def test_the_programs_of_solvers_know_all_states(compiling: Library) -> None:
    _check(compiling, "solve", COMBINED)


@pytest.mark.parametrize("compiling", [x for x in LIBRARIES if x.id in ("numpy", "jax")], ids=str)
def test_a_solver_knows_all_functions_of_a_call(compiling: Library) -> None:
    """The same function with other gradients, of which two are wrong."""

    def function(x: Any) -> Any:
        return array_namespace(x).sum((x - 1.0) ** 4)

    compiled, start = jit(function), compiling.asarray(np.asarray([2.0, 4.0, -1.0]))
    gradients = [jit(lambda x, scale=scale: scale * (x - 1.0) ** 3) for scale in (4.0, 3.0, 5.0)]  # type: ignore[misc]
    for gradient in (*gradients, None, *gradients):
        given = {"method": "bfgs", "gradient": gradient, "max_steps": 2, "throw": False}
        found, expected = (optimize.minimize(f, start, **given) for f in (compiled, function))
        np.testing.assert_allclose(compiling.to_numpy(found.x), compiling.to_numpy(expected.x), rtol=1e-6)


def test_programs_follow_errstate_at_each_call() -> None:
    x = np.asarray([0.0, 1.0])
    program = jit(lambda x: 1.0 / x)
    for _ in range(2):
        with np.errstate(divide="ignore"):
            assert program(x)[0] == np.inf
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            program(x)
        with np.errstate(divide="warn"), pytest.warns(RuntimeWarning, match="divide by zero"):
            program(x)


TWO_DEVICES = """
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType

jax.config.update("jax_enable_x64", True)
from xpand import array_namespace
from xpand_extensions import jit, linear_solve, named as hax, optimize

devices = jax.devices()
assert len(devices) == 2
of = array_namespace
axis = hax.Axis("x", 4)
added = hax.named_jit(lambda a: a + hax.named(of(a.array).arange(4.0), axis))
calls = {
    "jit": jit(lambda x: of(x).arange(4.0) + x),
    "named_jit": lambda x: added(hax.named(x, axis)).array,
    "solve": lambda x: linear_solve.solve(lambda v: 2.0 * v, x, method="cg").x,
    "minimize": lambda x: optimize.minimize(lambda v: of(v).sum((v - 1.0) ** 2), x).x,
}
for name, call in calls.items():
    for device in (devices[0], devices[1], devices[0]):
        with jax.default_device(device):
            found = call(jnp.ones(4))
        assert found.devices() == {device}, (name, device, found.devices())

split = hax.named_jit(lambda a: hax.auto_sharded(2.0 * a))
a = hax.named(jnp.ones(4), axis)
for number in (2, 1, 2):
    mesh = jax.make_mesh((number,), ("data",), axis_types=(AxisType.Auto,), devices=devices[:number])
    with jax.set_mesh(mesh), hax.axis_mapping({"x": "data"}):
        found = split(a).array
    assert found.sharding.num_devices == number, (number, found.sharding)
"""


def test_default_devices_and_meshes_of_jax() -> None:
    """They belong to JAX, and are part of the keys of its programs."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-W", "error", "-c", TWO_DEVICES]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
