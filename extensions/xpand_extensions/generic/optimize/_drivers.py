"""Libraries without drivers: `optimize` takes its own steps."""

from typing import Any

from xpand.extend import Array

from ...optimize._drivers import Driver
from ...optimize._tasks import Task


def driver_of(task: Task, start: Array, /, *args: Any) -> Driver | None:
    return None
