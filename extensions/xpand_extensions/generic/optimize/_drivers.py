"""For libraries without drivers: `optimize` takes its own steps."""

from typing import Any

from xpand.extend import Array

from ...optimize._drivers import Outcome, Task


def drive(task: Task, start: Array, /, *args: Any) -> Outcome | None:
    return None
