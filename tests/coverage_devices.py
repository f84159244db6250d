"""Tests for the rows of the coverage tables about devices."""

import numpy as np

import xpand
from tests.coverage import A, Row
from tests.libraries import Library
from xpand_extensions import devices


def same(library: Library, first: devices.DeviceInfo, second: devices.DeviceInfo) -> None:
    assert (first.library, first.kind, first.index) == (second.library, second.kind, second.index)
    assert library.xp.zeros(2, device=first.device).shape == (2,)


def list_devices(library: Library) -> None:
    found = devices.devices(library.xp)
    assert {"cpu", "gpu"} & {each.kind for each in found}
    for each in found:
        same(library, each, devices.device_info(each.device, xp=library.xp))
        assert devices.devices(library.xp, each.kind)[each.index] == each
    assert devices.device_count(library.xp) == len(found)


def local(library: Library) -> None:
    assert devices.local_devices(library.xp) == devices.devices(library.xp)
    assert devices.local_device_count(library.xp) == len(devices.devices(library.xp))


def get_default_device(library: Library) -> None:
    default = devices.default_device(library.xp)
    assert xpand.device(library.xp.zeros(2)) == default
    assert devices.device_info(xp=library.xp).device == default


def set_default_device(library: Library) -> None:
    before = devices.default_device(library.xp)
    try:
        devices.set_default_device(before, xp=library.xp)
        assert xpand.device(library.xp.zeros(2)) == before
    finally:
        devices.set_default_device(None, xp=library.xp)
    assert devices.default_device(library.xp) == before


def get_device(library: Library) -> None:
    info = devices.device_info(library.asarray(A))
    assert info.device == library.expected_device
    assert info.library == xpand.library_name(library.xp)


def get_device_by_ref(library: Library) -> None:
    info = devices.device_info(library.expected_device, xp=library.xp)
    assert info.device == library.expected_device


def moved(library: Library) -> None:
    x = library.asarray(A)
    library.assert_equal(devices.to_device(x, library.expected_device), A)
    for each in devices.devices(library.xp):
        if "no_" in str(each.device):  # a device without 64-bit types can't hold these arrays
            continue
        there = devices.to_device({"x": x}, each)["x"]
        assert xpand.device(there) == each.device
        np.testing.assert_array_equal(library.to_numpy(there), A)


def copied(library: Library) -> None:
    x = library.asarray(A)
    y = devices.to_device(x, library.expected_device, copy=True)
    assert y is not x
    library.assert_equal(y, A)


def transferred(library: Library) -> None:
    x = library.asarray(A)
    library.assert_equal(devices.to_device(x, library.expected_device, copy=True, donate=True), A)


def deallocated(library: Library) -> None:
    x = library.asarray(A) + 1.0
    freed = devices.free(x)
    assert freed == (library.id.partition("-")[0] in ("torch", "jax"))
    assert not devices.free(x), "it was freed before"


def block_until_ready(library: Library) -> None:
    x = library.asarray(A) * 2.0
    tree = {"x": [x, None, "name"]}
    assert devices.synchronize(tree) is tree
    library.assert_equal(tree["x"][0], 2.0 * A)


def described(library: Library) -> None:
    info = devices.device_info(library.asarray(A))
    assert info.name
    assert info.kind in ("cpu", "gpu", "tpu")
    assert info.library == xpand.library_name(library.xp)
    assert info.device == library.expected_device
    assert info.name in info.description
    if info.kind == "cpu":
        assert info.processor_count is not None
        assert info.processor_count >= 1
        assert info.total_memory is not None
        assert info.free_memory is not None
        assert 2**20 < info.free_memory <= info.total_memory


def processes(library: Library) -> None:
    """Check a single process. test_devices has two processes of PyTorch."""
    assert devices.process_index(library.xp) == 0
    assert devices.process_indices(library.xp) == (0,)
    assert devices.process_count(library.xp) == 1


PHIML: dict[str, Row] = {
    "Backend.list_devices": list_devices,
    "Backend.get_default_device": get_default_device,
    "Backend.set_default_device": set_default_device,
    "Backend.get_device": get_device,
    "Backend.get_device_by_ref": get_device_by_ref,
    "Backend.allocate_on_device": moved,
    "Backend.block_until_ready": block_until_ready,
    "ComputeDevice.name": described,
    "ComputeDevice.device_type": described,
    "ComputeDevice.memory": described,
    "ComputeDevice.processor_count": described,
    "ComputeDevice.description": described,
    "ComputeDevice.ref": described,
    "ComputeDevice.backend": described,
}

NX: dict[str, Row] = {
    "backend_copy": copied,
    "backend_deallocate": deallocated,
    "backend_transfer": transferred,
    "init": set_default_device,
}

JAX: dict[str, Row] = {
    "device_put": moved,
    "devices": list_devices,
    "local_devices": local,
    "device_count": list_devices,
    "local_device_count": local,
    "host_id": processes,
    "host_ids": processes,
    "host_count": processes,
}
