"""Dask's devices: the processor. Where blocks of other libraries lie is known as they are computed."""

from typing import Any

from ...devices._info import DeviceInfo


def listed(*, xp: Any = None) -> tuple[DeviceInfo, ...]:
    return (DeviceInfo("dask", "cpu", 0, "cpu", "cpu"),)
