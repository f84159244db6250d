"""Dask's only device is the CPU. The devices of other libraries' blocks are unknown until they are computed."""

from typing import Any

from ...devices._info import DeviceInfo


def listed(*, xp: Any = None) -> tuple[DeviceInfo, ...]:
    return (DeviceInfo("dask", "cpu", 0, "cpu", "cpu"),)
