"""Devices: which there are, moving, waiting, freeing, defaults, memory, on every library; several devices on JAX."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xpand
from tests.coverage_devices import JAX, NX, PHIML
from tests.libraries import Library
from xpand import UnsupportedError, trees
from xpand_extensions import autodiff, devices, jit, sparse, vmap
from xpand_extensions.devices import _host as host
from xpand_extensions.devices._move import _requested, is_out_of_memory

X = np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
CHECKS = {check.__name__: check for table in (PHIML, NX, JAX) for check in table.values() if callable(check)}


@pytest.mark.parametrize("name", CHECKS)
def test_tables(library: Library, name: str) -> None:
    """Each check of the coverage tables, once."""
    CHECKS[name](library)


# Which there are


def test_names_of_devices(library: Library) -> None:
    for each in devices.devices(library.xp):
        for name in (f"{each.kind}:{each.index}", f"{each.platform}:{each.index}", each, each.device, str(each)):
            assert devices.device_info(name, xp=library.xp) == each
        if each.index == 0:
            assert devices.device_info(each.kind.upper(), xp=library.xp) == each


def test_names_of_a_library() -> None:
    import array_api_strict as strict

    assert devices.device_info("device1", xp="array_api_strict").device == strict.Device("device1")
    assert devices.device_info("meta", xp="torch").kind == "meta"
    assert [each.kind for each in devices.devices("torch", "meta")] == ["meta"]
    assert all(each.kind != "meta" for each in devices.devices("torch"))


def test_the_default_namespace_is_meant() -> None:
    assert devices.devices() == devices.devices("numpy")
    with xpand.use("torch"):
        assert {each.library for each in devices.devices()} == {"torch"}
        assert devices.device_info().library == "torch"


def test_count_of_a_kind_that_there_is_not() -> None:
    assert devices.device_count("numpy", "tpu") == 0
    assert devices.local_device_count("numpy", "gpu") == 0


def test_device_of_what_is_traced(library: Library) -> None:
    """It never raises; what it returns while tracing is the device, or None."""
    x = library.asarray(X)
    seen: list[Any] = []

    def noted(y: Any) -> Any:
        seen.append(devices.device(y))
        assert devices.is_available(y) is xpand.is_concrete(y)
        return xpand.array_namespace(y).sum(y * y)

    autodiff.grad(noted)(x)
    vmap.vmap(noted)(x)
    if library.id != "torch":  # whose compiler takes half a minute
        jit.jit(noted)(x)
    assert seen
    assert all(each is None or each == library.expected_device for each in seen)


def test_device_of_a_compiled_tensor() -> None:
    import torch

    seen = []

    def noted(x: Any) -> Any:
        seen.append(str(devices.device(x)))
        return x + 1

    torch.compile(noted, backend="eager", fullgraph=True)(torch.ones(2))
    assert seen
    assert set(seen) == {"cpu"}


# Moving


def test_moving_trees(library: Library) -> None:
    tree = {"x": [library.asarray(X), None, "name", 2.0]}
    moved = devices.to_device(tree, library.expected_device)
    assert trees.structure(moved) == trees.structure(tree)
    assert moved["x"][1:] == [None, "name", 2.0]
    library.assert_equal(moved["x"][0], X)
    assert devices.to_device([], "cpu") == []


def test_a_tree_of_several_libraries() -> None:
    import torch

    moved = devices.to_device([np.ones(2), torch.ones(2)], "cpu")
    assert [type(x) for x in moved] == [np.ndarray, torch.Tensor]


def test_what_is_there_is_not_copied(library: Library) -> None:
    x = devices.to_device(library.asarray(X), library.expected_device)
    assert devices.to_device(x, library.expected_device) is x
    assert devices.to_device(x, library.expected_device, copy=False) is x
    assert devices.to_device(x, devices.device_info(x), copy=True) is not x


def test_copies_have_memory_of_their_own() -> None:
    import torch

    for x in (np.ones(3), torch.ones(3)):
        y = devices.to_device(x, "cpu", copy=True)
        y[0] = 7.0
        assert float(x[0]) == 1.0


def test_moving_to_another_device_and_back() -> None:
    import array_api_strict as strict

    x = strict.asarray(X)
    there = devices.to_device(x, "device1")
    assert there.device == strict.Device("device1")
    assert devices.to_device(there, "cpu").device == x.device
    with pytest.raises(ValueError, match="to_device: copy=False"):
        devices.to_device(x, "device1", copy=False)


def test_moving_a_container() -> None:
    import array_api_strict as strict

    a = sparse.COO(strict.ones(2), (strict.asarray([0, 1]), strict.asarray([1, 0])), (2, 2))
    there = devices.to_device(a, "device1")
    assert all(x.device == strict.Device("device1") for x in trees.leaves(there))
    np.testing.assert_array_equal(np.asarray(sparse.todense(there).to_device(x_device())), [[0.0, 1.0], [1.0, 0.0]])


def x_device() -> Any:
    import array_api_strict as strict

    return strict.Device("CPU_DEVICE")


def test_transformations(library: Library) -> None:
    """Derivatives go through, compiled too, and batch elements are moved together."""
    info = devices.device_info(library.expected_device, xp=library.xp)
    move = lambda x: devices.to_device(devices.to_device(x, library.expected_device), info)
    x = library.asarray(X)
    library.assert_equal(autodiff.grad(lambda x: xpand.array_namespace(x).sum(move(x) ** 2))(x), 2.0 * X)
    library.assert_equal(vmap.vmap(lambda x: move(x) * 2.0)(x), 2.0 * X)
    if library.id != "torch":
        library.assert_equal(jit.jit(lambda x: move(x) * 2.0)(x), 2.0 * X)


def test_the_derivative_comes_back() -> None:
    """The gradient of what was moved lies where the argument does."""
    import array_api_strict as strict

    move = lambda x: devices.to_device(x, "device1")
    for transform in (autodiff.grad, lambda f: jit.jit(autodiff.grad(f))):
        found = transform(lambda x: xpand.array_namespace(x).sum(move(x) ** 2))(strict.asarray(X))
        assert found.device == strict.Device("CPU_DEVICE")
        np.testing.assert_array_equal(np.asarray(found), 2.0 * X)


def test_torch_compile() -> None:
    import torch

    for device in ("cpu", torch.device("cpu")):
        moved = torch.compile(
            lambda x, device=device: devices.to_device(x, device) * 2, backend="eager", fullgraph=True
        )
        assert moved(torch.ones(2)).tolist() == [2.0, 2.0]


def test_donating() -> None:
    import jax.numpy as jnp
    import torch

    x, y = jnp.ones(3), torch.ones(3)
    assert devices.to_device([x, y], "cpu", copy=True, donate=True)[0].tolist() == [1.0] * 3
    assert x.is_deleted()
    assert y.device.type == "meta"
    kept = jnp.ones(3)
    assert devices.to_device(kept, "cpu", donate=True).tolist() == kept.tolist(), "nothing was moved: one memory"


# Freeing, waiting


def test_freed_arrays_raise() -> None:
    import jax.numpy as jnp
    import torch

    x, y = jnp.ones(3), torch.ones(3)
    assert devices.free(x)
    assert devices.free(y)
    with pytest.raises(RuntimeError, match="deleted"):
        x + 1
    assert y.shape == (3,)
    assert not devices.is_available(y)
    with pytest.raises(RuntimeError):
        y + torch.ones(3)


def test_what_another_tensor_can_see_is_not_freed() -> None:
    import torch

    x = torch.ones(4)
    view, part, shared = x.view(2, 2), x[1:], torch.from_dlpack(x)
    for each in (x, view, part):
        assert not devices.free(each)
    assert shared.tolist() == x.tolist() == [1.0] * 4
    del view, part, shared, each
    assert devices.free(x)
    needed = torch.ones(2, requires_grad=True)
    squares = needed**2
    assert not devices.free(needed)
    assert not devices.free(squares)
    values = np.ones(3)
    assert not devices.free(torch.from_numpy(values)), "the memory is NumPy's"
    assert not devices.free(torch.ones(2, device="meta"))
    factor = torch.full((2,), 3.0)
    scaled = needed * factor
    assert not devices.free(factor), "its graph holds it"
    scaled.sum().backward()
    assert needed.grad.tolist() == [3.0, 3.0]


def test_traced_arrays_are_not_freed(library: Library) -> None:
    freed: list[bool] = []

    def tried(x: Any) -> Any:
        freed.append(devices.free(x))
        return devices.synchronize(x) * 2.0

    library.assert_equal(vmap.vmap(tried)(library.asarray(X)), 2.0 * X)
    assert freed == [False]


def test_waiting_computes_nothing_lazy() -> None:
    import dask.array as da

    def fail(block: Any) -> Any:
        raise AssertionError("computed")

    lazy = da.ones(3).map_blocks(fail, meta=np.ones(0))
    assert devices.synchronize([lazy])[0] is lazy
    assert not devices.is_available([np.ones(2), lazy])
    assert not devices.free(lazy)


# Defaults


@pytest.mark.parametrize("name", ["numpy", "torch", "jax", "dask", "array_api_strict"])
def test_default_in_a_block(name: str) -> None:
    xp = xpand.namespace(name)
    before = devices.default_device(xp)
    with devices.use_device("cpu", xp=name) as device:
        assert devices.default_device(name) == device == xpand.device(xp.ones(2))
    with pytest.raises(KeyError), devices.use_device(devices.device_info(before, xp=name)):
        raise KeyError
    assert devices.default_device(name) == before


def test_default_of_torch() -> None:
    import torch

    with devices.use_device("meta", xp="torch") as meta:
        assert torch.ones(2).device == xpand.namespace("torch").asarray([1.0]).device == meta
        with devices.use_device("cpu", xp="torch"):
            assert torch.ones(2).device.type == "cpu"
        assert torch.ones(2).device == meta
    devices.set_default_device("meta", xp="torch")
    try:
        assert devices.default_device("torch").type == torch.ones(2).device.type == "meta"
    finally:
        devices.set_default_device(None, xp="torch")
    assert torch.ones(2).device.type == "cpu"


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_other_threads_keep_their_default(name: str) -> None:
    kind = "meta" if name == "torch" else "cpu"
    seen = []
    with devices.use_device(kind, xp=name):
        thread = threading.Thread(target=lambda: seen.append(xpand.device(xpand.namespace(name).ones(2))))
        thread.start()
        thread.join()
    assert devices.device_info(seen[0], xp=name).kind == "cpu"


def test_tasks_that_do_not_wait_within_a_block() -> None:
    import torch

    async def made(kind: str) -> str:
        await asyncio.sleep(0)
        with devices.use_device(kind, xp="torch"):
            found = torch.ones(1).device.type
        await asyncio.sleep(0)
        return str(found)

    async def both() -> list[str]:
        return list(await asyncio.gather(made("meta"), made("cpu"), made("meta")))

    assert asyncio.run(both()) == ["meta", "cpu", "meta"]


def test_blocks_that_are_left_in_another_order() -> None:
    """As generators do: what holds is the innermost block that is open, and in the end what was before."""

    def inside(kind: str) -> Iterator[None]:
        with devices.use_device(kind, xp="torch"):
            yield

    for first, second in (("meta", "cpu"), ("cpu", "meta")):
        blocks = inside(first), inside(second)
        for block in blocks:
            next(block)
        blocks[0].close()
        assert devices.default_device("torch").type == second
        blocks[1].close()
        assert devices.default_device("torch").type == "cpu"


def test_default_of_torch_in_compiled_functions() -> None:
    import torch

    made = jit.jit(lambda x: xpand.array_namespace(x).zeros(2))
    for kind in ("meta", "cpu"):
        with devices.use_device(kind, xp="torch"):
            assert made(torch.ones(1)).device.type == kind
    assert made(torch.ones(1)).device.type == "cpu"


# Memory


def test_out_of_memory(eager_library: Library) -> None:
    xp, device = eager_library.xp, eager_library.expected_device
    message = "memory_errors: out of memory of .* on "
    with pytest.raises(devices.DeviceMemoryError, match=message) as caught, devices.memory_errors(device, xp=xp):
        devices.synchronize(xp.zeros((2**45,), dtype=xp.float64, device=device))
    error = caught.value
    assert isinstance(error, MemoryError)
    assert error.requested == 2**48
    assert error.free is not None
    assert str(error.requested) in str(error)
    assert not is_out_of_memory(error)


def test_out_of_memory_while_moving() -> None:
    """An array that takes no memory, since it repeats a number, and would take too much as a copy."""
    import torch

    for large in (np.broadcast_to(np.ones(1), (2**45,)), torch.ones(1).expand(2**46)):
        small = {"a": np.ones(3), "b": large}
        with pytest.raises(devices.DeviceMemoryError, match="to_device: out of memory") as caught:
            devices.to_device(small, "cpu", copy=True)
        assert caught.value.requested == 2**48


def test_out_of_memory_lets_go() -> None:
    """Objects made by failing functions are dropped while the error is still being handled."""
    import weakref

    class Tracked(np.ndarray):
        pass

    seen: list[Any] = []

    def fails() -> None:
        tracked = np.ones(3).view(Tracked)
        seen.append(weakref.ref(tracked))
        np.ones(2**55)

    try:
        with devices.memory_errors():
            fails()
    except devices.DeviceMemoryError:
        assert seen[0]() is None


def test_other_errors_pass() -> None:
    with pytest.raises(RuntimeError, match="mine"), devices.memory_errors():
        raise RuntimeError("mine")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("RESOURCE_EXHAUSTED: Out of memory allocating 140737488355328 bytes.", 140737488355328),
        ("CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.1 GiB", 5 * 2**29),
        ("Out of memory allocating 1,024 bytes (allocated so far: 512 bytes).", 1024),
        ("Unable to allocate 256. TiB for an array with shape (1,) and data type float64", 2**48),
        ("you tried to allocate 4611686018427387904 bytes. Error code 12", 2**62),
        ("Failed to allocate request for 16.0KiB on device ordinal 0", 2**14),
        ("out of memory", None),
    ],
)
def test_bytes_in_messages(message: str, expected: int | None) -> None:
    assert _requested(message) == expected


def test_memory_of_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "/sys/fs/cgroup/memory.max": "1000000\n",
        "/sys/fs/cgroup/memory.current": "400000\n",
        "/sys/fs/cgroup/memory.stat": "anon 100\ninactive_file 300000\n",
        "/proc/meminfo": "MemTotal:  1000 kB\nMemAvailable:  500 kB\n",
        "/proc/cpuinfo": "processor : 0\nmodel name : A processor\n",
    }
    monkeypatch.setattr(host, "_read", lambda path: files.get(path, ""))
    monkeypatch.setattr(host, "_pages", lambda name: 2_000_000)
    assert host.total_memory() == 1_000_000
    assert host.free_memory() == 500 * 1024
    files["/proc/meminfo"] = "MemAvailable:  5000 kB\n"
    assert host.free_memory() == 900_000
    files["/sys/fs/cgroup/memory.max"] = "max\n"
    assert (host.total_memory(), host.free_memory()) == (2_000_000, 5000 * 1024)
    assert host.processor_name.__wrapped__() == "A processor"
    files.clear()
    assert host.processor_name.__wrapped__()
    monkeypatch.setattr(host, "_pages", lambda name: None)
    assert (host.total_memory(), host.free_memory()) == (None, None)


def test_no_statistics_of_the_processor(library: Library) -> None:
    if devices.device_info(xp=library.xp).kind == "cpu":
        assert devices.memory_stats(xp=library.xp) is None
    assert devices.memory_stats("meta", xp="torch") is None


# Several devices of JAX: it must be told before it starts


SEVERAL = """
import jax, jax.numpy as jnp
from xpand import namespace
from xpand_extensions import devices

assert devices.device_count("jax") == devices.local_device_count("jax") == devices.device_count("jax", "cpu") == 2
first, second = devices.devices("jax")
assert [each.index for each in (first, second)] == [0, 1] and first != second
x = devices.to_device(jnp.ones(4), "cpu:1")
assert x.device == second.device == devices.device(x) and devices.device_info(x) == second
assert devices.to_device(x, second) is x
with devices.use_device(second) as device:
    assert jnp.ones(2).device == device == devices.default_device("jax")
assert jnp.ones(2).device == first.device
xp = namespace("jax")
with jax.transfer_guard_device_to_device("disallow"):  # nothing is made on the first device and then moved
    for made in (
        *(getattr(xp, name)(3, device=second.device) for name in ("empty", "ones", "zeros")),
        *(getattr(xp, f"{name}_like")(x) for name in ("empty", "ones", "zeros")),
        xp.full(3, 2.5, device=second.device),
        xp.full_like(x, 2.5),
        xp.zeros_like(jnp.ones(3), device=second.device),
    ):
        assert made.committed and made.device == second.device
assert xp.zeros_like(x, device=first.device).device == first.device
assert jax.jit(lambda y: y + xp.ones(4, device=second.device))(jax.device_put(x, first.device)).device == first.device
with devices.use_device(second), jax.default_device(first.device):
    with devices.use_device(second):
        assert jnp.ones(2).device == second.device
    assert jnp.ones(2).device == first.device, "what JAX's own block says holds again"
blocks = [devices.use_device(each) for each in (second, first)]
for block in blocks:
    block.__enter__()
for block in blocks:  # in another order than with blocks inside each other
    block.__exit__(None, None, None)
assert jax.config.jax_default_device is None
devices.set_default_device("cpu:1", xp="jax")
assert jnp.ones(2).device == second.device
devices.set_default_device(None, xp="jax")
assert jnp.ones(2).device == first.device
moved = jax.grad(lambda x: jnp.sum(devices.to_device(x, first) ** 2))(x)
assert moved.device == second.device and moved.tolist() == [2.0] * 4
y = jnp.ones(4)
y = devices.to_device(y, first)
z = devices.to_device(y, second, donate=True)
assert y.is_deleted() and z.tolist() == [1.0] * 4
mesh = jax.sharding.Mesh(jax.devices(), "i")
spread = devices.to_device(x, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("i")))
assert len(spread.devices()) == 2 and spread.tolist() == [1.0] * 4
devices.synchronize(spread)
try:
    devices.to_device(z, first, copy=False)
except ValueError as error:
    assert "copy=False" in str(error)
else:
    raise AssertionError
"""


def test_several_devices_of_jax() -> None:
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    environment = os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    run = subprocess.run([sys.executable, "-c", SEVERAL], env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


PROCESSES = """
import sys, torch.distributed as dist
from xpand_extensions import devices

assert (devices.process_index("torch"), devices.process_count("torch")) == (0, 1)
dist.init_process_group("gloo", init_method=sys.argv[1], rank=int(sys.argv[2]), world_size=2)
assert devices.process_index("torch") == int(sys.argv[2])
assert devices.process_indices("torch") == (0, 1) and devices.process_count("torch") == 2
assert devices.process_count("numpy") == 1
dist.barrier()
dist.destroy_process_group()
"""


def test_several_processes_of_torch(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PROCESSES, f"file://{tmp_path / 'group'}"]
    runs = [subprocess.Popen([*command, str(rank)], stderr=subprocess.PIPE, text=True) for rank in range(2)]
    for run in runs:
        _, errors = run.communicate(timeout=120)
        assert run.returncode == 0, errors


# Bad input


def test_unknown_devices(library: Library) -> None:
    x, name = library.asarray(X), xpand.library_name(library.xp)
    for call in (
        lambda device: devices.to_device(x, device),
        lambda device: devices.device_info(device, xp=library.xp),
        lambda device: devices.use_device(device, xp=library.xp),
        lambda device: devices.set_default_device(device, xp=library.xp),
        lambda device: devices.memory_stats(device, xp=library.xp),
    ):
        for wrong in ("gpu:99", "nowhere", "cpu:-1", ""):
            with pytest.raises(ValueError, match=f"{name} has no device .*; there are "):
                call(wrong)
        for wrong in (3, 1.5, object(), ["cpu"]):
            with pytest.raises(TypeError, match=f"device must be a device of {name}"):
                call(wrong)


def test_unknown_kinds(library: Library) -> None:
    for function in (devices.devices, devices.local_devices, devices.device_count, devices.local_device_count):
        with pytest.raises(ValueError, match=f"{function.__name__}: .* no device of kind 'nothing' here; there are "):
            function(library.xp, "nothing")
        with pytest.raises(TypeError, match=f"{function.__name__}: kind must be a string"):
            function(library.xp, 3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no device of kind 'tpu'"):
        devices.devices(library.xp, "tpu")


def test_unknown_libraries() -> None:
    for call in (devices.devices, devices.default_device, lambda xp: devices.device_info(xp=xp)):
        with pytest.raises(ValueError, match="no known array library"):
            call("nothing")
        with pytest.raises(TypeError, match="xp must be a namespace"):
            call(3)  # type: ignore[operator]


def test_a_device_of_another_library() -> None:
    import torch

    info = devices.device_info("cpu", xp="torch")
    with pytest.raises(ValueError, match="to_device: takes a device of numpy, got one of torch"):
        devices.to_device(np.ones(2), info)
    with pytest.raises(TypeError, match="device must be a device of numpy"):
        devices.to_device(np.ones(2), torch.device("cpu"))
    with pytest.raises(ValueError, match="takes a device of jax, got one of torch"):
        devices.use_device(info, xp="jax")


def test_no_default_to_choose() -> None:
    for call in (devices.use_device, devices.set_default_device):
        with (
            pytest.raises(
                UnsupportedError, match="array_api_strict makes arrays on .* by default, and this cannot be changed"
            ),
            call("device1", xp="array_api_strict") or pytest.fail("it raises"),
        ):
            pass


def test_no_arrays() -> None:
    with pytest.raises(TypeError, match="device: x must be an array"):
        devices.device([1.0])
    with pytest.raises(TypeError, match="free: x must be an array"):
        devices.free([np.ones(2)])
    with pytest.raises(TypeError, match="to_device: copy must be True or False"):
        devices.to_device(np.ones(2), "cpu", copy=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="to_device: donate must be True or False"):
        devices.to_device(np.ones(2), "cpu", donate=None)  # type: ignore[arg-type]


def test_the_device_of_a_tracer_is_not_known() -> None:
    import jax

    def ask(x: Any) -> Any:
        with pytest.raises(ValueError, match="isn't known while it is traced"):
            devices.device_info(x)
        return x

    jax.jit(ask)(np.ones(2))
