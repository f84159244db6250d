"""The records of profiles on every library; nothing else changes, and everything is restored."""

import asyncio
import inspect
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import xpand
from tests.libraries import LIBRARIES, Library
from xpand_extensions import autodiff, jit, linear_solve, pluggable, scatter, sparse, vmap
from xpand_extensions._dispatch import OPERATIONS
from xpand_extensions.profile import (
    Entry,
    Profile,
    _patch as _targets,
    call,
    get_current_profile,
    profile,
    profile_function,
)
from xpand_extensions.profile._record import CURRENT
from xpand_extensions.scatter import segment_sum as imported_by_name

VALUES = np.asarray([0.5, -1.5, 2.0, 3.0])
SEGMENTS = np.asarray([0, 2, 2, 1])


def names(entries: Any) -> list[str]:
    return [entry.name for entry in entries]


def library_name(library: Library) -> str:
    return xpand.library_name(library.xp)


def line() -> int:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_lineno


# Recorded calls


def test_a_function_of_a_namespace(library: Library) -> None:
    x = library.asarray(VALUES.reshape(2, 2), "float32")
    with profile() as p:
        result = library.xp.sum(x, axis=-1)
        here = line() - 1
    (entry,) = p.entries
    name = library_name(library)
    assert (entry.name, entry.kind, entry.library) == (f"{name}.sum", "namespace", name)
    assert [(each.shape, each.dtype, each.bytes) for each in entry.inputs] == [((2, 2), "float32", 16)]
    assert [(each.shape, each.dtype, each.bytes) for each in entry.outputs] == [((2,), "float32", 8)]
    assert entry.arguments == "float32(2, 2), axis=-1"
    assert entry.is_concrete is not library.lazy
    assert entry.error is None
    assert entry.place is not None
    assert (Path(entry.place.file).name, entry.place.line) == ("test_profile.py", here)
    assert entry.place.function == "test_a_function_of_a_namespace"
    assert entry.place.code == "result = library.xp.sum(x, axis=-1)"
    assert 0.0 < entry.duration <= p.duration
    library.assert_equal(result, VALUES.astype(np.float32).reshape(2, 2).sum(axis=-1))


def test_the_device(library: Library) -> None:
    x = library.asarray(VALUES)
    with profile() as p:
        library.xp.negative(x)
    device = getattr(x, "device", None)
    expected = None if device is None else str(device)
    assert [each.device for each in (*p.entries[0].inputs, *p.entries[0].outputs)] == [expected] * 2


@pytest.mark.parametrize("part", ["linalg.qr", "fft.fft"])
def test_the_parts_of_a_namespace(library: Library, part: str) -> None:
    x = library.asarray(np.eye(4, dtype=np.complex128))
    module, name = part.split(".")
    with profile() as p:
        getattr(getattr(library.xp, module), name)(x)
    assert names(p.entries) == [f"{library_name(library)}.{part}"]


def test_an_extension_and_what_is_inside_it(library: Library) -> None:
    x, segments = library.asarray(VALUES), library.asarray(SEGMENTS)
    with profile() as p:
        by_module = scatter.segment_mean(x, segments, num_segments=3)
        by_name = imported_by_name(x, segments, num_segments=3)
    assert names(p.entries) == ["scatter.segment_mean", "scatter.segment_sum"]
    assert {entry.library for entry in p.entries} == {library_name(library)}
    assert all(entry.place and entry.place.function == "test_an_extension_and_what_is_inside_it" for entry in p.entries)
    inside = [entry for top in p.entries for child in top.children for entry in child.walk()]
    assert all(entry.place is None for entry in inside), "the lines between are ours"
    assert all(entry.own_duration >= 0.0 for entry in p.walk())
    library.assert_equal(by_module, np.asarray([0.5, 3.0, 0.25]))
    library.assert_equal(by_name, np.asarray([0.5, 3.0, 0.5]))


def test_an_extension_of_many_steps(eager_library: Library) -> None:
    matrix = eager_library.asarray(np.asarray([[4.0, 1.0], [1.0, 3.0]]))
    right = eager_library.asarray(VALUES[:2])
    with profile() as p:
        linear_solve.solve(matrix, right, method="cholesky")
    (entry,) = p.entries
    assert entry.name == "linear_solve.solve"
    assert "linear_solve.factorize" in names(entry.children)
    assert entry.duration >= sum(child.duration for child in entry.children)


def test_methods_of_public_classes(eager_library: Library) -> None:
    x = eager_library.asarray(VALUES)
    dense = eager_library.asarray(np.eye(2))
    with profile() as p:
        scatter.at(x)[0].add(1.0)
        sparse.from_dense(dense) @ x[:2]
    found = names(p.walk())
    assert "scatter.At.add" in found
    assert any(name.endswith("__matmul__") for name in found)


def test_functions_of_the_user(eager_library: Library) -> None:
    xp = eager_library.xp

    def inner(x: Any) -> Any:
        return xp.sin(x)

    def outer(x: Any) -> Any:
        return inner(inner(x))

    x = eager_library.asarray(VALUES)
    with profile() as p:
        outer(x)
    first, second = p.entries
    function = "test_functions_of_the_user.<locals>"
    assert [place.function for place in first.stack] == [
        f"{function}.inner",
        f"{function}.outer",
        "test_functions_of_the_user",
    ]
    assert first.place == second.place


def test_call_makes_an_entry(library: Library) -> None:
    xp, x = library.xp, library.asarray(VALUES)

    def double(x: Any, *, times: int) -> Any:
        return xp.multiply(x, x)

    assert call(double, x, times=2) is not None  # without a profile
    with profile() as p:
        call(double, x, times=2, name="mine")
        call(double, x, times=3)
    first, second = p.entries
    assert (first.name, second.name, first.kind) == ("mine", "double", "call")
    assert second.arguments == "float64(4,), times=3"
    (inside,) = first.children
    assert inside.name == f"{library_name(library)}.multiply"
    assert inside.place is not None
    assert inside.place.function.endswith("double")


def test_what_raises_is_recorded_and_raised(library: Library) -> None:
    x = library.asarray(VALUES)
    with profile() as p:
        with pytest.raises(TypeError, match="segment_sum"):
            scatter.segment_sum(x, x, num_segments=3)
        with pytest.raises(ZeroDivisionError):
            call(lambda: 1 / 0)
        library.xp.sin(x)
    assert [entry.error for entry in p.entries] == ["TypeError", "ZeroDivisionError", None]
    assert p.entries[0].outputs == ()


def test_compiled_functions_are_one_entry(eager_library: Library) -> None:
    x = eager_library.asarray(VALUES)
    inner = jit.jit(lambda x: xpand.array_namespace(x).sin(x))

    def f(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        return xp.exp(inner(x))

    compiled = jit.jit(f)
    with profile() as p:
        first = compiled(x)
        again = compiled(x)
    assert names(p.entries) == ["jit(f)", "jit(f)"]
    traced, run = p.entries
    assert traced.kind == run.kind == "compiled"
    assert names(traced.children)[0] == "f: tracing"
    assert run.children == ()
    inside = [entry for entry in traced.walk() if entry.kind == "namespace" and entry.outputs and not entry.is_concrete]
    assert {entry.name.rpartition(".")[2] for entry in inside} >= {"sin", "exp"}
    eager_library.assert_equal(again, eager_library.to_numpy(first))


def test_functions_that_are_not_to_be_compiled(eager_library: Library) -> None:
    xp, x = eager_library.xp, eager_library.asarray(VALUES)
    compiled = jit.jit(lambda x: xp.sin(x))
    with profile() as p, jit.disable_jit():
        compiled(x)
    with jit.disable_jit(), profile() as q:
        compiled(x)
    assert names(p.entries) == names(q.entries) == [f"{library_name(eager_library)}.sin"]


def test_under_transformations(eager_library: Library) -> None:
    x = eager_library.asarray(VALUES)

    def f(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        return xp.sum(xp.sin(x))

    expected = eager_library.to_numpy(autodiff.grad(f)(x))
    mapped = eager_library.to_numpy(vmap.vmap(f)(x))
    with profile() as p:
        gradient = autodiff.grad(f)(x)
        found = vmap.vmap(f)(x)
    eager_library.assert_equal(gradient, expected)
    eager_library.assert_equal(found, mapped)
    assert [name.rpartition(".")[2] for name in names(p.walk())].count("sin") >= 2


def test_inside_the_compilers_of_the_libraries() -> None:
    import jax
    import jax.numpy as jnp
    import torch

    def f(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        segments = xp.asarray([0, 1, 1, 0])
        return scatter.segment_sum(xp.sin(x), segments, num_segments=2, mode="drop")

    expected = np.asarray(f(jnp.asarray(VALUES)))
    compiled = jax.jit(f)
    torch.compiler.reset()
    with profile() as p:
        np.testing.assert_allclose(compiled(jnp.asarray(VALUES)), expected)
        np.testing.assert_allclose(compiled(jnp.asarray(VALUES)), expected)
        assert recorded_now().count("jax.sin") == 1
        graph = torch.compile(f, fullgraph=True, backend="eager")
        np.testing.assert_allclose(graph(torch.asarray(VALUES)), expected)
        graph = torch.compile(scatter.segment_sum, fullgraph=True, backend="eager")
        segments = torch.asarray([0, 1, 1, 0])
        named = torch.compile(lambda x: call(torch.sin, x, name="mine"), fullgraph=True, backend="eager")
        np.testing.assert_allclose(named(torch.asarray(VALUES)), np.sin(VALUES))
        found = graph(torch.sin(torch.asarray(VALUES)), segments, num_segments=2, mode="drop")
        np.testing.assert_allclose(found, expected)
    assert "scatter.segment_sum" in names(p.entries)


def recorded_now() -> list[str]:
    """Name what is recorded so far, in this thread."""
    recorder = CURRENT.get()
    assert recorder is not None
    return [record[0].name for record in recorder.lane().root]


def test_other_packages_operations() -> None:
    @pluggable
    def tripled(x: Any, /) -> Any:
        """Three times `x`."""
        return tripled.native(x)(x)

    @tripled.default
    def _(x: Any, /) -> Any:
        return x + x + x

    assert tripled(VALUES).shape == (4,)
    try:
        with profile() as p:
            tripled(VALUES)
            tripled.native(VALUES)(VALUES)  # a step of an implementation
        assert len(p.entries) == 1
        assert p.entries[0].name.endswith("tripled")
        assert p.entries[0].arguments == "float64(4,)"
    finally:
        del OPERATIONS[next(path for path in OPERATIONS if path.endswith("tripled"))]


# Nothing else changes


def everything() -> Iterator[tuple[str, Any]]:
    """Yield all that a profile exchanges while it is active."""
    for library in LIBRARIES:
        # Read the parts before listing: a namespace may import them when they are first read.
        parts = {"": library.xp, "linalg": library.xp.linalg, "fft": library.xp.fft}
        for part, owner in parts.items():
            for name, value in list(vars(owner).items()):
                yield f"{library.id}.{part}.{name}", value
    for owner, name, function, _ in _targets.own_functions():
        yield f"{owner.__name__}.{name}", vars(owner)[name]
        yield f"{owner.__name__}.{name} attributes", tuple(sorted(function.__dict__))


def assert_same(before: dict[str, Any]) -> None:
    after = dict(everything())
    assert before.keys() == after.keys()
    changed = [name for name in before if before[name] is not after[name] and before[name] != after[name]]
    assert not changed
    functions = [name for name in before if callable(before[name])]
    assert all(before[name] is after[name] for name in functions)


def test_everything_is_put_back() -> None:
    with profile():
        pass  # imports what is left to import, and makes the namespaces of traced arrays
    before = dict(everything())

    def fails() -> None:
        with profile():
            assert dict(everything()) != before
            with profile():
                pass
            assert dict(everything()) != before
            raise KeyError

    with pytest.raises(KeyError):
        fails()
    assert_same(before)
    assert get_current_profile() is None


def test_everything_is_put_back_after_many_threads() -> None:
    scatter.segment_sum(np.ones(2), np.asarray([0, 1]), num_segments=2)  # imports the implementation
    before = dict(everything())
    xp = xpand.namespace("numpy")
    barrier = threading.Barrier(8)

    def work(number: int) -> list[str]:
        barrier.wait()
        for _ in range(5):
            with profile() as p:
                for _ in range(number):
                    xp.sin(np.ones(2))
            scatter.segment_sum(np.ones(2), np.asarray([0, 1]), num_segments=2)
        return names(p.entries)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(8)))
    assert found == [["numpy.sin"] * number for number in range(8)]
    assert_same(before)


def test_what_others_replace_stays() -> None:
    import array_api_strict as strict

    original = strict.sin
    mine = lambda x: x
    with profile():
        strict.sin = mine
    try:
        assert strict.sin is mine
    finally:
        strict.sin = original


def test_namespaces_that_lack_functions_of_the_standard(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = ModuleType("poor_namespace")
    module.__array_api_version__ = "2025.12"
    module.__array_namespace_info__ = xpand.namespace("numpy").__array_namespace_info__
    module.asarray, module.sin = np.asarray, np.sin
    monkeypatch.setitem(sys.modules, "poor_namespace", module)
    with profile() as p:
        module.sin(VALUES)
    assert names(p.entries) == ["poor_namespace.sin"]
    assert module.sin is np.sin


def test_a_facade_imported_by_name_is_recorded_by_dispatch() -> None:
    keep = imported_by_name
    with profile() as p:
        keep(VALUES, SEGMENTS, num_segments=3)
        vmap.vmap(lambda x: keep(x, SEGMENTS, num_segments=3))(VALUES[None])
        # Not the facade: the steps of another implementation call this.
        keep.native(VALUES)(VALUES, SEGMENTS, num_segments=3)
    assert names(p.entries) == ["scatter.segment_sum", "vmap.vmap", *names(p.entries)[2:]]
    assert p.entries[0].arguments.startswith("float64(4,), int64(4,), num_segments=3")
    assert names(p.walk()).count("scatter.segment_sum") == 2


def test_compiled_functions_stay_compiled() -> None:
    traces = []

    def f(x: Any) -> Any:
        traces.append(x)
        return xpand.array_namespace(x).sin(x)

    compiled = jit.jit(f)
    compiled(VALUES)
    with profile():
        compiled(VALUES)
    compiled(VALUES)
    assert len(traces) == 1


def test_functions_look_the_same() -> None:
    xp = xpand.namespace("numpy")
    signature = inspect.signature(scatter.segment_sum)
    with profile():
        assert inspect.signature(scatter.segment_sum) == signature
        assert scatter.segment_sum.__doc__
        assert xp.add.reduce(np.ones(3)) == 3.0
        assert xp.sin.__name__ == "sin"
        with pytest.raises(TypeError, match="segment_sum"):
            scatter.segment_sum()


def test_arrays_are_let_go() -> None:
    import weakref

    xp = xpand.namespace("numpy")

    class Mine(np.ndarray):
        pass

    with profile() as p:
        x = np.ones(3).view(Mine)
        alive = weakref.ref(x)
        xp.sin(x)
        del x
        assert alive() is None
    assert p.entries[0].inputs[0].shape == (3,)


def test_other_threads_are_not_recorded() -> None:
    xp = xpand.namespace("numpy")
    with profile() as p:
        thread = threading.Thread(target=lambda: xp.sin(np.ones(2)))
        thread.start()
        thread.join()
        xp.cos(np.ones(2))
    assert names(p.entries) == ["numpy.cos"]


def test_tasks_and_the_threads_they_run_in() -> None:
    xp = xpand.namespace("numpy")

    async def recorded() -> Profile:
        with profile() as p:
            await asyncio.sleep(0)
            xp.sin(np.ones(2))
            await asyncio.to_thread(xp.cos, np.ones(2))  # takes the context along
        return p

    async def beside() -> None:
        await asyncio.sleep(0)
        xp.tan(np.ones(2))

    async def both() -> Profile:
        found, _ = await asyncio.gather(recorded(), beside())
        return found

    assert names(asyncio.run(both()).entries) == ["numpy.sin", "numpy.cos"]


def test_tasks_that_outlive_the_profile() -> None:
    xp = xpand.namespace("numpy")
    compiled = jit.jit(lambda x: xpand.array_namespace(x).sin(x))
    compiled(np.ones(2))

    async def later(ended: asyncio.Event) -> None:
        await ended.wait()
        assert get_current_profile() is None
        with profile():  # has calls recorded again, of its own context
            await asyncio.create_task(same())
        compiled(np.ones(2))
        assert call(abs, -1) == 1

    async def same() -> None:
        xp.cos(np.ones(2))

    async def main() -> Profile:
        ended = asyncio.Event()
        with profile() as p:
            task = asyncio.create_task(later(ended))
            await asyncio.sleep(0)
            xp.sin(np.ones(2))
        ended.set()
        await task
        return p

    assert names(asyncio.run(main()).entries) == ["numpy.sin"]


# Profiles within profiles, times taken anew


def test_nested_profiles() -> None:
    xp, x = xpand.namespace("numpy"), np.ones(2)
    with profile() as outer:
        xp.sin(x)
        assert get_current_profile() is outer

        def within() -> Profile:
            with profile(trace=False) as inner:
                xp.cos(x)
                assert get_current_profile() is inner
            return inner

        inner = call(within)
        xp.tan(x)
    assert names(inner.entries) == ["numpy.cos"]
    assert names(outer.entries) == ["numpy.sin", "within", "numpy.tan"]
    assert names(outer.entries[1].children) == ["numpy.cos"]
    around, inside = outer.entries[1], outer.entries[1].children[0]
    assert around.start <= inside.start <= inside.stop <= around.stop
    assert 0.0 <= inner.entries[0].start < inner.duration <= outer.duration


def test_a_nested_profile_that_fails() -> None:
    xp, x = xpand.namespace("numpy"), np.ones(2)
    with profile() as outer:

        def fails() -> None:
            with profile() as inner:
                found.append(inner)
                xp.cos(x)
                raise KeyError

        found: list[Profile] = []
        with pytest.raises(KeyError):
            fails()
        xp.sin(x)
    assert names(found[0].entries) == ["numpy.cos"]
    assert names(outer.entries) == ["numpy.cos", "numpy.sin"]


TREES = st.recursive(st.just([]), lambda inner: st.lists(inner, max_size=3), max_leaves=12)


@settings(max_examples=25)
@given(TREES)
def test_calls_inside_calls(tree: list[Any]) -> None:
    def run(tree: list[Any]) -> None:
        for child in tree:
            call(run, child)

    def shape(entries: tuple[Entry, ...]) -> list[Any]:
        return [shape(entry.children) for entry in entries]

    with profile() as p:
        run(tree)
    assert shape(p.entries) == tree
    last = 0.0
    for entry in p.walk():
        assert last <= entry.start <= entry.stop <= p.duration + 1e-9
        assert entry.own_duration >= -1e-9
        last = entry.start


def test_what_recording_takes_is_left_out() -> None:
    xp, x = xpand.namespace("numpy"), np.ones(2)

    def many() -> None:
        for _ in range(300):
            xp.sin(x)

    durations: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(8):  # in turns, since the processor's speed changes
        for subtract, found in durations.items():
            with profile(subtract_trace_time=subtract) as p:
                call(many)
            assert sum(entry.duration for entry in p.entries[0].children) <= p.entries[0].duration
            found.append(p.entries[0].duration)
    # Of some 3 µs a call, all but the call itself and the way there.
    assert min(durations[True]) < 0.7 * min(durations[False])


def test_retime() -> None:
    xp, x = xpand.namespace("numpy"), np.ones(2)
    slow = threading.Event()

    def work() -> None:
        xp.sin(x)
        if not slow.is_set():
            slow.wait(0.05)
        xp.cos(x)

    with profile() as p:
        call(work, name="all")
    arguments = [entry.arguments for entry in p.walk()]
    assert p.duration > 0.05
    slow.set()
    with p.retime():
        call(work, name="all")
    assert p.duration < 0.05
    assert p.entries[0].duration <= p.duration
    assert [entry.arguments for entry in p.walk()] == arguments
    before = [entry.duration for entry in p.walk()]
    with pytest.raises(RuntimeError, match="call 1 was all, and is numpy.sin now"), p.retime():
        xp.sin(x)

    def more() -> None:
        with p.retime():
            call(work, name="all")
            xp.sin(x)

    with pytest.raises(RuntimeError, match="there were 3 calls, and are 4 now"):
        more()
    assert [entry.duration for entry in p.walk()] == before


def test_profile_function(eager_library: Library) -> None:
    xp = eager_library.xp
    seen = []

    def f(x: Any, *, scale: float) -> Any:
        seen.append(get_current_profile() is not None)
        return xp.sum(xp.sin(x) * scale)

    p = profile_function(f, [eager_library.asarray(VALUES)], {"scale": 2.0}, warmup=2, repeats=3)
    assert seen == [False] * 2 + [True] * 4
    name = library_name(eager_library)
    assert names(p.entries) == [f"{name}.sin", f"{name}.sum"]
    assert p.entries[0].arguments == "float64(4,)"
    assert p.duration >= sum(entry.duration for entry in p.entries)
    seen.clear()
    profile_function(f, (eager_library.asarray(VALUES),), {"scale": 2.0}, warmup=0, retime=False)
    assert seen == [True]


def test_times_and_names_alone() -> None:
    xp = xpand.namespace("numpy")
    with profile(trace=False, synchronize=False) as p:
        xp.sin(np.ones(2))
    (entry,) = p.entries
    assert (entry.name, entry.arguments, entry.stack, entry.library) == ("numpy.sin", "", (), "numpy")
    assert entry.duration > 0.0


def test_it_waits_for_the_results() -> None:
    """JAX returns before it has computed: what a call takes is then in its own entry, not in the one that reads."""
    import jax

    x = jax.numpy.ones((1200, 1200))
    xp = xpand.namespace("jax")
    xp.matmul(x, x).block_until_ready()
    with profile() as p:
        jax.device_get(call(lambda: xp.matmul(x, x)))
        call(lambda: None, name="nothing")
    product = p.entries[0].children[0]
    assert product.duration > 0.5 * (p.duration - p.entries[1].duration)


def test_libraries() -> None:
    numpy, strict = xpand.namespace("numpy"), xpand.namespace("array_api_strict")

    def work() -> None:
        numpy.sin(np.ones(2))
        strict.cos(strict.ones(2))

    with profile(libraries=["array_api_strict"]) as p, profile(libraries=[numpy]) as q:
        call(work)
    assert names(p.walk()) == ["work", "array_api_strict.ones", "array_api_strict.cos"]
    assert names(q.walk()) == ["work", "numpy.sin"]
    with q.retime():
        call(work)


def test_memory() -> None:
    xp = xpand.namespace("numpy")
    with profile(memory=True) as p:
        allocated = xp.ones(100_000)
        call(lambda: (xp.ones(400_000), None)[1], name="dropped")
    first, second = p.entries
    assert first.memory is not None
    assert second.memory is not None
    assert p.memory is not None
    # The allocator and the profile itself need more.
    assert 0 <= first.memory.allocated - allocated.nbytes < 20_000
    assert abs(second.memory.allocated) < 20_000
    assert 0 <= second.memory.peak - 3_200_000 < 20_000
    assert 0 <= p.memory.peak - 4_000_000 < 100_000
    with profile() as q:
        xp.ones(3)
    assert q.memory is None
    assert q.entries[0].memory is None


def test_memory_within_a_profile() -> None:
    with profile() as outer, profile(memory=True) as inner:
        xpand.namespace("numpy").ones(10)
    assert names(outer.entries) == names(inner.entries) == ["numpy.ones"]


def test_memory_within_memory() -> None:
    xp = xpand.namespace("numpy")
    with profile(memory=True) as outer:
        call(lambda: xp.ones(400_000), name="before")
        with profile(memory=True) as inner:
            xp.ones(100_000)
        xp.ones(10)
    assert outer.memory is not None
    assert inner.memory is not None
    assert 0 <= outer.memory.peak - 3_200_000 < 100_000
    assert 0 <= inner.memory.peak - 800_000 < 20_000
    assert names(outer.entries) == ["before", "numpy.ones", "numpy.ones"]
    assert [entry.memory is not None for entry in outer.entries] == [True] * 3
    assert not tracemalloc.is_tracing()


# Bad input


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: profile(trace=1), TypeError, "profile: trace must be True or False"),
        (lambda: profile(memory="yes"), TypeError, "profile: memory"),
        (lambda: profile(libraries="numpy"), TypeError, "profile: libraries must be a sequence"),
        (lambda: profile(libraries=["numbpy"]), ValueError, "'numbpy' is no known array library"),
        (lambda: profile(save="/nowhere/at/all.json"), FileNotFoundError, "profile: can't write this file"),
        (lambda: profile_function(3), TypeError, "profile_function: takes a function, got int"),
        (lambda: profile_function(abs, repeats=0), ValueError, "profile_function: repeats"),
        (lambda: profile_function(abs, warmup=-1), ValueError, "profile_function: warmup"),
        (lambda: profile_function(abs, warmup=0.5), TypeError, "profile_function: warmup"),
        (lambda: profile_function(abs, retime=None), TypeError, "profile_function: retime"),
        (lambda: call(3), TypeError, "call: takes a function, got int"),
        (lambda: call(abs, -1, name=2), TypeError, "call: name must be a string, got int"),
    ],
)
def test_bad_input(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("method", ["print", "table", "to_html", "duration", "entries", "memory", "save", "retime"])
def test_what_a_running_profile_can_not_tell(method: str) -> None:
    def ask(p: Profile) -> None:
        found = getattr(p, method)
        found = found("file") if method == "save" else found()
        with found:
            pass

    with profile() as p:
        assert repr(p) == "<Profile, being recorded>"
        with pytest.raises(RuntimeError, match=rf"Profile\.{method}: the profile is still being recorded"):
            ask(p)
    assert repr(p).startswith("<Profile: 0 calls in ")
